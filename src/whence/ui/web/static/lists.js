// The run as text: an outline that screen readers can walk through, a table of functions, and the
// calls of one function, any of which can be judged.

import { call } from "./api.js";
import { append, count, fill, h } from "./dom.js";
import { STATES } from "./icicle.js";

export function badge(row) {
  const [name, words] = row.implicit && row.state === 0 ? ["aside", "only counted"] : STATES[row.state];
  return h("i", { class: `badge ${name}`, title: words, role: "img", "aria-label": words });
}

/** A tree of calls, whose branches are loaded when they are opened. */
export class Outline {
  constructor({ open }) {
    this.open = open;
    this.element = h("ul", { class: "tree", role: "tree", "aria-label": "The calls of the run" });
    this.element.addEventListener("keydown", (event) => this.#key(event));
  }

  async load() {
    const { calls } = await call("outline");
    fill(this.element, calls.map((row) => this.#item(row)));
    const first = this.element.firstElementChild;
    if (first) {
      first.tabIndex = 0;
      await this.#toggle(first, true);
    }
  }

  #item(row) {
    const item = h(
      "li",
      {
        role: "treeitem",
        tabindex: "-1",
        "aria-selected": row.asked ? "true" : "false",
        "aria-expanded": row.calls > 1 ? "false" : undefined,
        data: { id: row.id },
      },
      h(
        "div",
        { class: "line", onclick: (event) => this.#clicked(event, item) },
        h("span", { class: "twist", "aria-hidden": "true" }, row.calls > 1 ? "▸" : ""),
        badge(row),
        h("code", {}, row.equation),
        row.asked && h("span", { class: "quiet" }, "asked now"),
        row.calls > 1 && h("span", { class: "quiet" }, count(row.calls - 1, "call")),
      ),
    );
    item.row = row;
    return item;
  }

  #clicked(event, item) {
    this.#focus(item);
    if (event.target.closest(".twist")) this.#toggle(item);
    else this.open(item.row.id);
  }

  async #toggle(item, wanted = item.getAttribute("aria-expanded") !== "true") {
    if (!item.hasAttribute("aria-expanded")) return;
    item.setAttribute("aria-expanded", String(wanted));
    item.querySelector(".twist").textContent = wanted ? "▾" : "▸";
    let group = item.querySelector(":scope > ul");
    if (!wanted) {
      group?.remove();
      return;
    }
    if (group) return;
    group = h("ul", { role: "group" });
    item.append(group);
    await this.#more(item, group, null);
  }

  async #more(item, group, after) {
    const { calls, more } = await call("outline", { id: item.row.id, after, limit: 50 });
    append(group, [calls.map((row) => this.#item(row))]);
    if (more === null) return;
    const next = h(
      "li",
      { role: "treeitem", tabindex: "-1", "aria-selected": "false" },
      h("div", { class: "line", onclick: () => next.more() }, h("span", { class: "more" }, "more …")),
    );
    next.more = async () => {
      next.remove();
      await this.#more(item, group, more);
    };
    group.append(next);
  }

  #visible() {
    return [...this.element.querySelectorAll('[role="treeitem"]')];
  }

  #focus(item) {
    if (!item) return;
    for (const other of this.element.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    item.tabIndex = 0;
    item.focus();
  }

  #key(event) {
    const item = event.target.closest('[role="treeitem"]');
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const items = this.#visible();
    const at = items.indexOf(item);
    const is_open = item.getAttribute("aria-expanded") === "true";
    const moves = {
      ArrowDown: () => this.#focus(items[at + 1]),
      ArrowUp: () => this.#focus(items[at - 1]),
      Home: () => this.#focus(items[0]),
      End: () => this.#focus(items[items.length - 1]),
      ArrowRight: () => (is_open ? this.#focus(items[at + 1]) : this.#toggle(item, true)),
      ArrowLeft: () =>
        is_open
          ? this.#toggle(item, false)
          : this.#focus(item.parentElement.closest('[role="treeitem"]')),
      Enter: () => (item.more ? item.more() : this.open(item.row.id)),
      " ": () => (item.more ? item.more() : this.open(item.row.id)),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    moves[event.key]();
  }
}

/** The functions of the run; one of them with its callers, callees and all its calls. */
export class FunctionTable {
  constructor({ open, judge }) {
    this.open = open;
    this.judge = judge;
    this.element = h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Functions" });
    this.shown = null;
    this.by = "suspects";
  }

  async load() {
    if (this.shown !== null) await this.#function(this.shown);
    else await this.#functions();
  }

  async show(number) {
    this.shown = number;
    await this.load();
  }

  async #functions() {
    const { functions } = await call("functions");
    this.all = functions;
    const { by } = this;
    functions.sort((a, b) => (by === "name" ? a.name.localeCompare(b.name) : b[by] - a[by]) || b.calls - a.calls);
    const heading = (key, title, kind = "number") =>
      h(
        "th",
        { class: kind, "aria-sort": key === by ? (key === "name" ? "ascending" : "descending") : undefined },
        h("button", { class: "plain", type: "button", onclick: () => { this.by = key; this.load(); } }, title),
      );
    fill(
      this.element,
      h(
        "table",
        {},
        h("caption", { class: "unseen" }, "The functions of the run"),
        h("thead", {}, h("tr", {},
          heading("name", "function", ""), heading("calls", "calls"), heading("suspects", "suspects"),
          heading("right", "right"), heading("wrong", "wrong"), h("th", {}, "defined in"))),
        h("tbody", {}, functions.map((f) =>
          h("tr", {},
            h("td", { class: "code" }, h("button", { class: "plain", type: "button", onclick: () => this.show(f.function) }, h("code", {}, f.name))),
            ...["calls", "suspects", "right", "wrong"].map((key) => h("td", { class: "number" }, f[key].toLocaleString("en"))),
            h("td", { class: "quiet code" }, f.place)))),
      ),
    );
  }

  async #function(number) {
    const [{ calls, total }, { callers, callees }, { functions }] = await Promise.all([
      call("instances", { function: number, limit: 100 }),
      call("neighbours", { function: number }),
      call("functions"),
    ]);
    const about = functions.find((f) => f.function === number);
    const links = (entries) =>
      entries.length
        ? entries.slice(0, 12).map((f) =>
          h("button", { class: "plain", type: "button", onclick: () => this.show(f.function) },
            h("code", {}, f.name), h("span", { class: "quiet" }, `× ${f.calls.toLocaleString("en")}`)))
        : h("span", { class: "quiet" }, "nothing that was recorded");
    const body = h("tbody");
    append(body, [calls.map((row) => this.#instance(row))]);
    fill(
      this.element,
      h("div", { class: "row" },
        h("button", { class: "plain", type: "button", onclick: () => this.show(null) }, "← all functions"),
        h("h3", {}, h("code", {}, about.name)), h("span", { class: "quiet" }, about.place)),
      h("div", { class: "row" }, h("span", { class: "quiet" }, "called by"), links(callers)),
      h("div", { class: "row" }, h("span", { class: "quiet" }, "calls"), links(callees)),
      h("table", {},
        h("caption", { class: "unseen" }, `The calls of ${about.name}`),
        h("thead", {}, h("tr", {}, h("th", {}, "state"), h("th", {}, `call (${total.toLocaleString("en")})`), this.judge && h("th", {}, "judge"))),
        body),
      calls.length < total && h("button", { type: "button", onclick: (event) => this.#more(number, body, event.target) }, "more"),
    );
  }

  async #more(number, body, button) {
    const { calls, total } = await call("instances", { function: number, offset: body.children.length, limit: 200 });
    append(body, [calls.map((row) => this.#instance(row))]);
    if (body.children.length >= total) button.remove();
  }

  #instance(row) {
    const verdict = (name, letter, title) =>
      h("button", { class: "plain", type: "button", title: `${title}: call ${row.id}`, "aria-label": `${title}: call ${row.id}`, onclick: () => this.judge(row.id, name) }, letter);
    return h("tr", { class: row.asked ? "current" : undefined },
      h("td", {}, badge(row)),
      h("td", { class: "code" }, h("button", { class: "plain", type: "button", onclick: () => this.open(row.id) }, h("code", {}, row.equation))),
      this.judge && h("td", {}, h("span", { class: "row" }, verdict("right", "y", "Right"), verdict("wrong", "n", "Wrong"), verdict("inadmissible", "i", "Should never get this input"))));
  }
}

/** What a search found, as a list. */
export function foundList(result, open, more) {
  return h("div", { class: "scroll" },
    h("p", { class: "quiet", role: "status" },
      result.total
        ? `${count(result.total, "call")} by ${result.where}${result.calls.length < result.total ? `, the first ${result.calls.length} of them` : ""}.`
        : result.more === null ? "Nothing was found." : `Nothing yet; ${count(result.read, "call")} read.`,
      result.more !== null && [" ", h("button", { type: "button", class: "plain", onclick: more }, "Search on")]),
    h("ul", { class: "tree" }, result.calls.map((row) =>
      h("li", {}, h("button", { class: "plain", type: "button", onclick: () => open(row.id) }, badge(row), h("code", {}, row.equation))))));
}
