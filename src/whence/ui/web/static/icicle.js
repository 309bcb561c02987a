// The picture of the run: a row for each depth, a box for each call, drawn on a canvas.
//
// The server says which boxes there are; this file draws them, zooms, and finds the box under the
// pointer. It knows states as numbers with colours, and nothing of what they mean.

import { call } from "./api.js";
import { count, fill, h, printable, say } from "./dom.js";

const ROW = 22;
const GAP = 1;
const SHORTEST_LABEL = 26;
const FEW_ROWS = 60;
const MOST_ROWS = 400;
const HATCHES = { 1: "right", 2: "wrong", 3: "bad", 4: "dots", 5: "aside", 7: "skip" };
export const STATES = [
  ["suspect", "can be at fault"],
  ["right", "right"],
  ["wrong", "wrong"],
  ["inadmissible", "got what it never should"],
  ["trusted", "trusted"],
  ["aside", "set aside"],
  ["cleared", "out of the search"],
  ["skipped", "not known"],
];

export class Icicle {
  /** `open(id)` is called for a call that was chosen; `zoomed()` when another part is shown. */
  constructor({ open, zoomed }) {
    this.open = open;
    this.zoomed = zoomed;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.spacer = h("div", { class: "spacer" });
    this.element = h(
      "div",
      {
        class: "icicle",
        role: "application",
        "aria-roledescription": "picture of calls",
        "aria-label":
          "The calls of the run. Arrow keys move to callers, callees and neighbours, Enter opens " +
          "a call, plus and minus zoom. The outline says the same as text.",
        tabindex: "0",
        id: "icicle",
      },
      this.spacer,
      this.canvas,
    );
    /** Where on the screen the first box of a function is; for tests. */
    this.element.placeOf = (name) => {
      const box = this.boxes.find((one) => one.name === name && one.siblings === 1);
      if (!box) return null;
      const place = this.element.getBoundingClientRect();
      const [left, right] = this.#place(box, this.element.clientWidth);
      return [place.left + (left + right) / 2, place.top + (box.row + 0.5) * ROW - this.element.scrollTop];
    };
    this.tip = document.getElementById("tip");
    this.view = { from: null, to: null, left: 0, right: 1 };
    this.width = "calls";
    this.colour = "state";
    this.find = "";
    this.boxes = [];
    this.picture = null;
    this.selected = null; // the id of the first call of the chosen box
    this.opened = null; // the id of the call that is shown beside the picture
    this.requests = 0;
    this.wantedRows = FEW_ROWS;
    new ResizeObserver(() => this.#resized()).observe(this.element);
    this.element.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.element.addEventListener("pointermove", (event) => this.#hover(event));
    this.element.addEventListener("pointerleave", () => this.#unhover());
    this.element.addEventListener("click", (event) => this.#click(event));
    this.element.addEventListener("dblclick", (event) => this.#doubleClick(event));
    this.element.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("focus", () => this.draw());
    this.element.addEventListener("blur", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.restyle());
  }

  // --- what is shown ---------------------------------------------------------------------------

  async load({ animate = false } = {}) {
    const pixels = Math.max(64, Math.round(this.element.clientWidth));
    if (!this.element.clientWidth) return;
    const request = ++this.requests;
    const params = { pixels, rows: this.wantedRows, width: this.width };
    if (this.find && !this.merged) params.find = this.find;
    if (this.view.from !== null) params.from = this.view.from;
    if (this.view.to !== null) params.to = this.view.to;
    if (this.view.left > 0 || this.view.right < 1) {
      params.left = this.view.left;
      params.right = this.view.right;
    }
    let picture;
    try {
      picture = await call(this.merged ? "merged" : "picture", params);
    } catch (problem) {
      if (this.view.from !== null && problem.code !== "gone") {
        this.view = { from: null, to: null, left: 0, right: 1 };
        return this.load();
      }
      throw problem;
    }
    if (request !== this.requests) return; // a later one is on its way
    const before = new Map(this.boxes.map((box) => [box.id, box]));
    this.picture = picture;
    this.boxes = unpacked(picture);
    this.rows = [];
    for (const box of this.boxes) (this.rows[box.row] ??= []).push(box);
    const height = Math.max(1, this.rows.length) * ROW + 8;
    this.spacer.style.height = `${height}px`;
    this.element.style.flexBasis = `${Math.min(height, 1200)}px`;
    this.zoomed(picture);
    this.loadedWidth = pixels;
    if (animate && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.#animate(before);
    else this.draw();
  }

  /** Rows are asked for when they are about to be seen: a recursion may be very deep. */
  #scrolled() {
    this.draw();
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    const isNearEnd = scrollTop + clientHeight > scrollHeight - 6 * ROW;
    if (isNearEnd && this.rows?.length >= this.wantedRows && this.wantedRows < MOST_ROWS) {
      this.wantedRows = Math.min(MOST_ROWS, this.wantedRows * 2);
      this.load().catch(() => {});
    }
  }

  zoom(from, to = from) {
    this.view = { from, to, left: 0, right: 1 };
    this.element.scrollTop = 0;
    this.wantedRows = FEW_ROWS;
    return this.load({ animate: true });
  }

  /** Merge equal calls, or show them in order again. */
  merge(merged) {
    this.merged = merged;
    this.selected = null;
    this.boxes = [];
    return this.zoom(null);
  }

  zoomOut() {
    if (this.view.left > 0 || this.view.right < 1) {
      this.view = { ...this.view, left: 0, right: 1 };
      return this.load({ animate: true });
    }
    const callers = this.picture?.callers ?? [];
    if (!callers.length) return undefined;
    const caller = callers[callers.length - 1].id;
    return caller === callers[0].id ? this.zoom(null) : this.zoom(caller);
  }

  #animate(before) {
    const start = performance.now();
    const length = 220;
    for (const box of this.boxes) {
      const old = before.get(box.id);
      box.from = old ? [old.left, old.right] : null;
    }
    window.isDrawing = true;
    const frame = (now) => {
      const part = Math.min(1, (now - start) / length);
      this.draw(part === 1 ? 1 : 1 - (1 - part) ** 3);
      if (part < 1) requestAnimationFrame(frame);
      else window.isDrawing = false;
    };
    requestAnimationFrame(frame);
  }

  #resized() {
    const width = Math.round(this.element.clientWidth);
    this.draw();
    clearTimeout(this.resizing);
    if (width && width !== this.loadedWidth) {
      this.resizing = setTimeout(() => this.load().catch(() => {}), 120);
    }
  }

  // --- drawing ---------------------------------------------------------------------------------

  restyle() {
    this.styles = null;
    this.draw();
  }

  #styles() {
    if (this.styles) return this.styles;
    // A probe, because a custom property is not resolved until something is coloured by it.
    const probe = h("span", { hidden: true });
    document.body.append(probe);
    const value = (name) => {
      probe.style.color = `var(${name})`;
      return getComputedStyle(probe).color;
    };
    const family = getComputedStyle(document.body).fontFamily;
    this.styles = {
      fills: STATES.map(([name]) => value(`--state-${name}`)),
      inks: STATES.map(([name]) => value(`--ink-${name}`)),
      ink: value("--ink"),
      paper: value("--paper"),
      accent: value("--accent"),
      found: value("--found"),
      path: value("--path"),
      hatch: value("--hatch"),
      givers: [1, 2, 3, 4, 5, 6].map((n) => value(`--giver-${n}`)),
      patterns: {},
      font: `12px ${family}`,
    };
    probe.remove();
    return this.styles;
  }

  #pattern(kind) {
    const styles = this.#styles();
    if (kind in styles.patterns) return styles.patterns[kind];
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const pen = tile.getContext("2d");
    pen.strokeStyle = pen.fillStyle = styles.hatch;
    pen.lineWidth = 1;
    pen.beginPath();
    if (kind === "aside" || kind === "wrong" || kind === "bad") {
      for (const at of [-8, 0, 8]) {
        pen.moveTo(at, 8);
        pen.lineTo(at + 8, 0);
      }
    }
    if (kind === "skip" || kind === "bad") {
      for (const at of [-8, 0, 8]) {
        pen.moveTo(at, 0);
        pen.lineTo(at + 8, 8);
      }
    }
    if (kind === "implicit") {
      pen.moveTo(0, 4);
      pen.lineTo(8, 4);
    }
    pen.stroke();
    if (kind === "dots") pen.fillRect(2, 2, 1.5, 1.5);
    const pattern = pen.createPattern(tile, "repeat");
    styles.patterns[kind] = kind === "right" ? null : pattern;
    return styles.patterns[kind];
  }

  draw(part = 1) {
    const width = this.element.clientWidth;
    const height = this.element.clientHeight;
    if (!width || !height) return;
    const ratio = window.devicePixelRatio || 1;
    const canvas = this.canvas;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const styles = this.#styles();
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = styles.font;
    pen.textBaseline = "middle";
    const top = this.element.scrollTop;
    const firstRow = Math.floor(top / ROW);
    const lastRow = Math.min((this.rows?.length ?? 0) - 1, Math.ceil((top + height) / ROW));
    for (let row = firstRow; row <= lastRow; row++) {
      for (const box of this.rows[row] ?? []) this.#box(pen, styles, box, width, top, part);
    }
    this.#asked(pen, styles, width, top);
  }

  #place(box, width, part = 1) {
    let [left, right] = [box.left, box.right];
    if (part < 1 && box.from) {
      left = box.from[0] + (left - box.from[0]) * part;
      right = box.from[1] + (right - box.from[1]) * part;
    }
    return [left * width, Math.max(left * width + 1, right * width - GAP)];
  }

  #box(pen, styles, box, width, top, part) {
    const [left, right] = this.#place(box, width, part);
    if (right < 0 || left > width) return;
    const [a, b] = [Math.max(0, left), Math.min(width, right)];
    const y = box.row * ROW - top + 1;
    const tall = ROW - GAP;
    pen.globalAlpha = part < 1 && !box.from ? part : 1;
    if (this.find && !this.merged && !box.found) pen.globalAlpha *= 0.3;
    pen.fillStyle = this.#fill(styles, box);
    pen.fillRect(a, y, b - a, tall);
    const hatch = box.implicit ? "implicit" : this.colour !== "function" && HATCHES[box.state];
    const pattern = hatch && this.#pattern(hatch);
    if (pattern) {
      pen.fillStyle = pattern;
      pen.fillRect(a, y, b - a, tall);
    }
    if (box.siblings !== 1 && b - a > 6) {
      pen.fillStyle = styles.hatch;
      for (let x = a + 2; x < b - 1; x += 4) pen.fillRect(x, y + tall - 3, 2, 2);
    }
    if (this.find && box.found) {
      pen.fillStyle = styles.found;
      pen.fillRect(a, y + tall - 4, b - a, 4);
    }
    if (b - a >= SHORTEST_LABEL) this.#label(pen, styles, box, a, b, y + tall / 2 + 0.5);
    if (this.path?.has(box.call) && box.siblings === 1) {
      pen.fillStyle = styles.path;
      pen.fillRect(a, y, b - a, 3);
      pen.fillRect(a, y + tall - 3, b - a, 3);
    }
    const focused = box.id === this.selected && document.activeElement === this.element;
    if (focused || (box.call === this.opened && box.siblings === 1)) {
      pen.strokeStyle = focused ? styles.accent : styles.ink;
      pen.lineWidth = 2;
      pen.strokeRect(a + 1, y + 1, Math.max(1, b - a - 2), tall - 2);
    }
    pen.globalAlpha = 1;
  }

  #fill(styles, box) {
    if (this.colour === "function") {
      if (!box.name) return styles.fills[6];
      let sum = 0;
      for (const character of box.name) sum = (sum * 31 + character.codePointAt(0)) % 9973;
      return styles.givers[sum % styles.givers.length];
    }
    if (this.colour === "giver" && box.by) {
      const givers = (this.givers ??= []);
      if (!givers.includes(box.by)) givers.push(box.by);
      return styles.givers[givers.indexOf(box.by) % styles.givers.length];
    }
    return styles.fills[box.state] || styles.fills[0];
  }

  #label(pen, styles, box, a, b, y) {
    const room = b - a - 8;
    const full = labelOf(box);
    let label = full;
    if (pen.measureText(label).width > room) {
      let [low, high] = [0, label.length];
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (pen.measureText(`${full.slice(0, middle)}…`).width <= room) low = middle;
        else high = middle - 1;
      }
      if (low < 2) return;
      label = `${full.slice(0, low)}…`;
    }
    const isPlain = this.colour === "function" || (this.colour === "giver" && box.by);
    pen.fillStyle = isPlain ? styles.ink : styles.inks[box.state];
    pen.fillText(label, a + 4, y);
  }

  #asked(pen, styles, width, top) {
    const asked = this.picture?.asked;
    if (!asked || asked.row < 0) return;
    const left = asked.left * width;
    const right = Math.max(left + 4, asked.right * width - GAP);
    if (right < 0 || left > width) return;
    const drawn = this.rows.length - 1;
    const row = Math.min(asked.row, drawn);
    const y = row * ROW - top + 1;
    pen.strokeStyle = styles.accent;
    pen.lineWidth = 3;
    pen.strokeRect(left + 1.5, y + 1.5, Math.max(1, right - left - 3), ROW - GAP - 3);
    pen.fillStyle = styles.accent;
    const x = (Math.max(0, left) + Math.min(width, right)) / 2;
    pen.beginPath(); // a pointer from below, which is seen even where the box is a sliver
    pen.moveTo(x, y + ROW);
    pen.lineTo(x - 5, y + ROW + 7);
    pen.lineTo(x + 5, y + ROW + 7);
    pen.fill();
  }

  // --- pointer ---------------------------------------------------------------------------------

  #under(event) {
    const rectangle = this.element.getBoundingClientRect();
    const x = event.clientX - rectangle.left;
    const y = event.clientY - rectangle.top + this.element.scrollTop;
    const row = this.rows?.[Math.floor(y / ROW)];
    if (!row || x > this.element.clientWidth) return null;
    const width = this.element.clientWidth;
    let [low, high] = [0, row.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (row[middle].left * width <= x) low = middle;
      else high = middle - 1;
    }
    const [left, right] = this.#place(row[low], width);
    return x >= left - 1 && x <= Math.max(right, left + 3) ? row[low] : null;
  }

  #hover(event) {
    const box = this.#under(event);
    this.element.classList.toggle("pointing", Boolean(box));
    if (!box) return this.#unhover();
    if (this.hovered !== box) {
      this.hovered = box;
      clearTimeout(this.asking);
      fill(this.tip, h("strong", {}, labelOf(box)), h("div", {}, ...described(box, this.browse)));
      if (box.siblings === 1) {
        this.asking = setTimeout(async () => {
          const row = await call("row", { id: box.call }).catch(() => null);
          if (row && this.hovered === box) {
            fill(this.tip, h("code", {}, row.equation), h("div", {}, ...described(box, this.browse)));
            this.#placeTip(event);
          }
        }, 120);
      }
    }
    this.tip.hidden = false;
    this.#placeTip(event);
    return undefined;
  }

  #placeTip(event) {
    const tip = this.tip;
    const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    const below = event.clientY + 18 + tip.offsetHeight < window.innerHeight;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${below ? event.clientY + 18 : event.clientY - tip.offsetHeight - 10}px`;
  }

  #unhover() {
    this.hovered = null;
    clearTimeout(this.asking);
    this.tip.hidden = true;
  }

  #click(event) {
    const box = this.#under(event);
    if (box) this.#choose(box);
  }

  #doubleClick(event) {
    const box = this.#under(event);
    if (box) this.zoom(box.id, box.last);
  }

  #wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const rectangle = this.element.getBoundingClientRect();
    const at = (event.clientX - rectangle.left) / this.element.clientWidth;
    const { left, right } = this.view;
    const wide = Math.min(1, Math.max(1e-6, (right - left) * Math.exp(event.deltaY / 240)));
    const fixed = left + at * (right - left);
    const begin = Math.max(0, Math.min(1 - wide, fixed - at * wide));
    this.view = { ...this.view, left: begin, right: Math.min(1, begin + wide) };
    clearTimeout(this.wheeling);
    this.wheeling = setTimeout(() => this.load().catch(() => {}), 30);
  }

  // --- choosing --------------------------------------------------------------------------------

  #choose(box) {
    this.selected = box.id;
    if (box.siblings !== 1) {
      this.zoom(box.id, box.last);
      return;
    }
    this.open(box.call);
    this.draw();
  }

  show(id) {
    this.opened = id;
    this.draw();
  }

  /** Point out the calls that a value passed through. */
  showPath(ids) {
    this.path = new Set(ids);
    this.draw();
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = {
      ArrowUp: () => this.#move(-1),
      ArrowDown: () => this.#move(1),
      ArrowLeft: () => this.#beside(-1),
      ArrowRight: () => this.#beside(1),
      Enter: () => this.#current() && this.#choose(this.#current()),
      " ": () => this.#current() && this.#choose(this.#current()),
      "+": () => this.#current() && this.zoom(this.#current().id, this.#current().last),
      "=": () => this.#current() && this.zoom(this.#current().id, this.#current().last),
      "-": () => this.zoomOut(),
      Escape: () => this.zoom(null),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    move();
  }

  #current() {
    return this.boxes.find((box) => box.id === this.selected) ?? this.boxes[0];
  }

  #move(step) {
    const box = this.#current();
    const middle = (box.left + box.right) / 2;
    const row = this.rows[box.row + step] ?? [];
    const next =
      step < 0
        ? row.find((other) => other.left <= middle && other.right >= middle)
        : row.find((other) => other.right > box.left && other.left < box.right);
    this.#focus(next);
  }

  #beside(step) {
    const box = this.#current();
    const row = this.rows[box.row];
    this.#focus(row[row.indexOf(box) + step]);
  }

  #focus(box) {
    if (!box) return;
    this.selected = box.id;
    const y = box.row * ROW;
    const { scrollTop, clientHeight } = this.element;
    if (y < scrollTop) this.element.scrollTop = y;
    else if (y + ROW > scrollTop + clientHeight) this.element.scrollTop = y + ROW - clientHeight;
    this.draw();
    say([labelOf(box), ...described(box, this.browse)].join(", "));
  }
}

function unpacked(picture) {
  const packed = picture.boxes;
  const implicit = new Set(packed.implicit);
  return packed.id.map((id, index) => ({
    id,
    last: packed.last[index],
    call: packed.call ? packed.call[index] : id,
    row: packed.row[index],
    left: packed.left[index],
    right: packed.right[index],
    siblings: packed.siblings[index],
    calls: packed.calls[index],
    state: packed.state[index],
    suspects: packed.suspects[index],
    name: picture.names[packed.function[index]] ?? "",
    implicit: implicit.has(index),
    by: packed.by[index] ?? "",
    found: packed.found ? packed.found[index] : 0,
  }));
}

export function labelOf(box) {
  const name = printable(box.name || "several functions");
  if (box.siblings === 1) return name;
  return `${name} × ${box.siblings ? box.siblings.toLocaleString("en") : "many"}`;
}

function described(box, browsing) {
  const parts = [];
  if (box.siblings === 1 && !browsing) parts.push(STATES[box.state][1]);
  if (box.by) parts.push(` (said by ${box.by})`);
  const below = box.calls - (box.siblings || 0);
  if (below > 0) parts.push(`${parts.length ? ", " : ""}${count(below, "call")} below`);
  if (box.suspects && !browsing) parts.push(`${parts.length ? ", " : ""}${count(box.suspects, "suspect")}`);
  if (box.implicit) parts.push(", its callees were only counted");
  if (box.siblings !== 1) parts.push(", click to look inside");
  return parts;
}
