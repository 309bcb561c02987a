// Makes elements. Every text of a program reaches the page through `text`, as text: nothing here
// takes markup, and what could move, hide or reorder letters is spelled out, as at a terminal.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const NAMED = { "\n": "\\n", "\r": "\\r", "\t": "    " };

function spelled(character) {
  if (character in NAMED) return NAMED[character];
  if (character < "\x7f") return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
  let units = "";
  for (let at = 0; at < character.length; at++) {
    units += `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`;
  }
  return units;
}

/** The text on one line, with everything spelled out that could leave its line. */
export function printable(text) {
  return String(text).replace(HIDDEN, spelled);
}

/** The same, with its line breaks. */
export function printableLines(text) {
  return String(text).split("\n").map(printable).join("\n");
}

/**
 * An element. `on…` properties are listeners, `class` and `text` are what they say, booleans are
 * set or left out, and everything else is an attribute. Children are elements or texts.
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "lines") element.textContent = printableLines(value);
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, printable(value));
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(printable(child)));
  }
}

/** Put these children in the place of what an element holds. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** Text that a screen reader says although nothing has the focus. */
export function say(text) {
  document.getElementById("spoken").textContent = printable(text);
}

/** A label with the key that does the same. */
export function withKey(label, key) {
  return [label, key && h("kbd", { "aria-hidden": "true" }, key)];
}

export function tabs(label, entries, chosen, choose) {
  // The WAI-ARIA pattern: one tab stop, arrows move between the tabs.
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": label });
  entries.forEach(([name, title], index) => {
    const tab = h("button", {
      role: "tab",
      id: `tab-${name}`,
      type: "button",
      "aria-selected": name === chosen ? "true" : "false",
      tabindex: name === chosen ? "0" : "-1",
      onclick: () => choose(name),
      onkeydown: (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        event.stopPropagation();
        const next = entries[(index + step + entries.length) % entries.length][0];
        choose(next);
        document.getElementById(`tab-${next}`)?.focus();
      },
    }, title);
    list.append(tab);
  });
  return list;
}
