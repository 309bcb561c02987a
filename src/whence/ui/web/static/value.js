// Values as trees whose every part can be marked. Small ones stand on one line, larger ones unfold;
// what the server has not sent yet is fetched when it is opened.

import { call } from "./api.js";
import { append, count, fill, h, printable, printableLines } from "./dom.js";

const ONE_LINE = 76;
const BRACKETS = {
  list: ["[", "]"], tuple: ["(", ")"], dict: ["{", "}"], set: ["{", "}"], object: ["(", ")"],
};

/** The tree of some named values of one call: `[{name, value, side, note}]`. */
export function valueTree(label, entries, context) {
  const tree = h("div", { class: "values", role: "tree", "aria-label": label });
  append(tree, [entries.map((entry) => valueItem(entry, context))]);
  const first = tree.querySelector('[role="treeitem"]');
  if (first) first.tabIndex = 0;
  tree.addEventListener("click", (event) => clicked(event, context));
  tree.addEventListener("keydown", (event) => keyed(event, tree, context));
  return tree;
}

function valueItem({ name, value, side, note, marked = "" }, context) {
  return block(value, name, { ...context, side, note, marked });
}

function isInline(value) {
  if (value.text.length > ONE_LINE) return false;
  if (value.kind === "atom" || value.kind === "shared") return true;
  return value.more === 0 && value.omitted === 0 && value.unused === 0 && value.parts.every((part) => isInline(part.value));
}

function about(element, value, context) {
  element.dataset.path = value.path;
  element.dataset.side = context.side;
  element.classList.add("part");
  element.setAttribute("aria-selected", String(context.isMarked(value.path, context.side)));
  element.classList.toggle("marked", context.isMarked(value.path, context.side));
  return element;
}

function labelled(name) {
  return name === "" || name === undefined ? null : [h("span", { class: "label" }, name), " = "];
}

/** A value on lines of its own, which unfolds unless it fits on one. */
function block(value, name, context) {
  const note = context.note && h("span", { class: "quiet" }, "  ", context.note);
  const inner = { ...context, note: undefined };
  if (isInline(value)) {
    const item = h("div", { role: "treeitem", tabindex: "-1" },
      h("div", { class: "line" }, h("code", {}, labelled(name), inlineParts(value, inner)), note));
    return about(item, value, inner);
  }
  if (value.kind === "atom") return longText(value, name, inner, note);
  const item = h("div", { role: "treeitem", tabindex: "-1", "aria-expanded": "false" });
  const twist = h("span", { class: "twist", "aria-hidden": "true" }, "▸");
  const [opening, closing] = BRACKETS[value.kind] ?? ["(", ")"];
  const head = `${value.type}${opening}…${closing}`;
  const text = h("span", {}, value.text);
  item.summary = (open) => fill(text, open ? head : value.text);
  const line = h("div", { class: "line" }, twist, h("code", {}, labelled(name), text), note,
    h("span", { class: "quiet" }, "  ", count(value.size, "part")));
  item.append(line);
  about(item, value, inner);
  item.unfold = (open) => unfold(item, twist, value, inner, open);
  if (value.parts.length && value.parts.length + value.more <= 12 && context.opensFirst) {
    item.unfold(true);
  }
  return item;
}

async function unfold(item, twist, value, context, open) {
  item.setAttribute("aria-expanded", String(open));
  twist.textContent = open ? "▾" : "▸";
  item.summary(open);
  item.querySelector(":scope > [role=group]")?.remove();
  if (!open) return;
  const group = h("div", { role: "group", class: "unfolded" });
  item.append(group);
  const below = { ...context, opensFirst: false };
  const add = (view) => {
    append(group, [view.parts.map((part, index) => block(part.value, part.label || `[${view.first + index}]`, below))]);
    const left = [];
    if (view.more) {
      const more = h("button", { type: "button", class: "plain more", onclick: async (event) => {
        event.stopPropagation();
        more.remove();
        add(await fetchParts(value, context, view.first + view.parts.length));
      } }, `${view.more} more …`);
      group.append(more);
    }
    if (view.omitted) left.push(`${count(view.omitted, "part")} not recorded`);
    if (view.unused) left.push(`${count(view.unused, "part")} not used by the call`);
    if (left.length) group.append(h("div", { class: "more" }, left.join(", ")));
  };
  if (value.parts.length) add(value);
  else if (value.more) {
    try {
      add(await fetchParts(value, context, 0));
    } catch (problem) {
      group.append(h("div", { class: "more" }, problem.message));
    }
  } else add(value);
}

function fetchParts(value, context, first) {
  return call("value", { call: context.call, path: value.path, side: context.side, first, depth: 1, parts: 50 });
}

function inlineParts(value, context) {
  if (value.kind === "atom" || value.kind === "shared" || !value.parts.length || !BRACKETS[value.kind]) {
    return value.text;
  }
  const [opening, closing] = value.text.endsWith("}") && value.kind === "object" ? ["{", "}"] : BRACKETS[value.kind];
  const out = [`${value.type}${opening}`];
  value.parts.forEach((part, index) => {
    if (index) out.push(", ");
    if (part.label) out.push(value.kind === "dict" ? `${part.label}: ` : `${part.label}=`);
    const inner = h("span", { role: "treeitem", tabindex: "-1" }, inlineParts(part.value, context));
    out.push(about(inner, part.value, context));
  });
  if (value.kind === "tuple" && value.parts.length === 1) out.push(",");
  out.push(closing);
  return h("span", { role: "group" }, out);
}

/** A long text in a box that scrolls; a text of several lines is broken where its lines end. */
function longText(value, name, context, note) {
  const shown = h("div", { class: "text-value code" });
  const show = (text) => {
    shown.textContent = printableLines(text.replaceAll("\\n", "\\n\n"));
  };
  show(value.text);
  const item = h("div", { role: "treeitem", tabindex: "-1" },
    h("div", { class: "line" }, h("code", {}, labelled(name)), note), shown);
  if (value.characters) {
    const more = h("button", { type: "button", class: "plain more", onclick: async (event) => {
      event.stopPropagation();
      const whole = await call("value", { call: context.call, path: value.path, side: context.side, text: 200000 });
      show(whole.text);
      more.remove();
    } }, `all ${value.characters.toLocaleString("en")} characters`);
    item.append(more);
  }
  return about(item, value, context);
}

/** Two values, the first of which became the second. Of long texts, what differs is pointed out. */
export function difference(before, after) {
  if (!before) return h("code", { class: "diff-new" }, after?.text ?? "");
  if (!after) return h("code", { class: "diff-gone" }, before.text);
  const [a, b] = [printable(before.text), printable(after.text)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  if (start + end < 12) [start, end] = [0, 0];
  const parts = (text, kind) => [
    text.slice(0, start), h("span", { class: kind }, text.slice(start, text.length - end) || "∅"), text.slice(text.length - end),
  ];
  return h("span", {}, h("code", {}, parts(a, "diff-gone")), " → ", h("code", {}, parts(b, "diff-new")));
}

// --- marking ------------------------------------------------------------------------------------

function clicked(event, context) {
  if (event.target.closest("button")) return;
  const item = event.target.closest("[data-path]");
  if (!item) return;
  if (event.target.closest(".twist") && item.unfold) {
    item.unfold(item.getAttribute("aria-expanded") !== "true");
    return;
  }
  if (getSelection()?.toString()) return; // a text is being selected, to be copied
  context.mark(item.dataset.path, item.dataset.side);
}

/** Show which part is marked, without drawing the values anew. */
export function remark(root, isMarked) {
  for (const item of root.querySelectorAll("[data-path]")) {
    const marked = isMarked(item.dataset.path, item.dataset.side);
    item.classList.toggle("marked", marked);
    item.setAttribute("aria-selected", String(marked));
  }
}

function keyed(event, tree, context) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("button")) return;
  const item = event.target.closest('[role="treeitem"]');
  if (!item) return;
  const items = [...tree.querySelectorAll('[role="treeitem"]')];
  const at = items.indexOf(item);
  const focus = (next) => {
    if (!next) return;
    for (const other of items) other.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  };
  const is_open = item.getAttribute("aria-expanded") === "true";
  const moves = {
    ArrowDown: () => focus(items[at + 1]),
    ArrowUp: () => focus(items[at - 1]),
    Home: () => focus(items[0]),
    End: () => focus(items[items.length - 1]),
    ArrowRight: () => (item.unfold && !is_open ? item.unfold(true) : focus(items[at + 1])),
    ArrowLeft: () => (item.unfold && is_open ? item.unfold(false) : focus(item.parentElement.closest('[role="treeitem"]') ?? items[at - 1])),
    Enter: () => context.mark(item.dataset.path, item.dataset.side),
    " ": () => context.mark(item.dataset.path, item.dataset.side),
  };
  if (!moves[event.key]) return;
  event.preventDefault();
  event.stopPropagation();
  moves[event.key]();
}

export { fill };
