// What stands beside the question: source, origins, answers. Each panel draws what the session says.

import { call } from "./api.js";
import { append, count, fill, h, tabs, withKey } from "./dom.js";

const TABS = [["source", "Source"], ["origin", "Where from"], ["answers", "Answers"]];
const BROWSING = TABS.slice(0, 2);
const STATE_CLASS = { "set aside": "aside", "ruled out": "cleared" };
const VERDICTS = [["right", "Right"], ["wrong", "Wrong"], ["inadmissible", "Should never get this"], ["unknown", "Don’t know"]];

export function stateBadge(row) {
  const name = STATE_CLASS[row.state] ?? row.state;
  return h("i", { class: `badge ${name}`, title: row.state, role: "img", "aria-label": row.state });
}

export class SidePanel {
  constructor(app) {
    this.app = app;
    this.element = document.getElementById("side");
    this.tab = "source";
    this.body = h("div", { class: "scroll", id: "side-body", role: "tabpanel", tabindex: "0" });
    this.why = null;
  }

  async draw(tab = this.tab) {
    this.tab = tab;
    const focused = document.activeElement?.getAttribute("role") === "tab" && this.element.contains(document.activeElement);
    fill(this.element, h("div", { class: "toolbar" }, tabs("Details", this.app.overview?.browse ? BROWSING : TABS, tab, (name) => this.draw(name))), this.body);
    this.body.setAttribute("aria-labelledby", `tab-${tab}`);
    if (focused) document.getElementById(`tab-${tab}`).focus();
    const request = (this.request = {});
    const content = await { source: () => this.#source(), origin: () => this.#origin(), answers: () => this.#answers() }[tab]();
    if (request === this.request && content !== undefined) fill(this.body, content);
    const line = this.body.querySelector(".origin, .raised");
    if (line && request === this.request) line.scrollIntoView({ block: "nearest" });
  }

  // --- source ----------------------------------------------------------------------------------

  async #source(node = this.app.shownCall()) {
    if (node === null) return h("p", { class: "quiet" }, "Open a call to see its source.");
    const view = await call("source", { call: node }).catch((problem) => ({ lines: [], unknown: problem.message }));
    return sourceLines(view, this.app, this.why?.origin);
  }

  // --- origins ---------------------------------------------------------------------------------

  async ask(node, part, run = null) {
    this.tab = "origin";
    await this.draw("origin");
    fill(this.body, h("p", { class: "row" }, h("span", { class: "busy" }), run ? "Running the program again …" : "Following the value …"));
    try {
      this.why = await call("why", { call: node, path: part.path, side: part.side, run });
      this.asked = { node, part };
      if (run) this.app.session.reruns = { ...this.app.session.reruns, allowed: true };
      const { origin, through } = this.why;
      this.app.icicle.showPath([origin?.call?.call, ...through.map((row) => row.call)]);
    } catch (problem) {
      this.why = null;
      fill(this.body, h("p", {}, problem.message),
        problem.code === "not-allowed" && h("button", { type: "button", onclick: () => this.ask(node, part, true) }, "Run the program again to find out"));
      return;
    }
    await this.draw("origin");
  }

  async #origin() {
    const { why, app } = this;
    if (!why) {
      return h("p", { class: "quiet" }, "Mark a part of a value (click it), then ask “Where did it come from?”, ",
        h("kbd", {}, "w"), ". Its origin and the calls that it passed through appear here.");
    }
    const out = [
      h("p", {}, h("code", {}, why.path), " of call ", String(why.call), " is ", h("code", {}, why.value.text)),
      why.unknown && h("p", { class: "banner" }, `Where it came from is not known: ${why.unknown}.`),
      why.needs_run && h("button", { type: "button", onclick: () => this.ask(this.asked.node, this.asked.part, true) }, "Run the program again to find out"),
    ];
    if (why.origin) {
      out.push(h("h3", {}, "It was made here"), originView(why.origin, app));
      if (why.origin.call) {
        const view = await call("source", { call: why.origin.call.call }).catch(() => null);
        if (view) out.push(sourceLines(view, app, why.origin));
      }
    }
    if (why.through.length) {
      out.push(h("h3", {}, "It passed through"), h("ol", { class: "chain" }, why.through.map((row) => h("li", {}, app.rowButton(row)))));
    }
    if (why.made_of.length) {
      out.push(h("h3", {}, "A step back: what it was made of"), why.made_of.map((origin) => originView(origin, app)));
    }
    if (why.candidates.length) {
      out.push(h("h3", {}, "It was one of these"), why.candidates.map((origin) => originView(origin, app)));
    }
    if (why.influenced_by !== null && why.influenced_by !== undefined) {
      out.push(h("p", { class: "quiet" }, `${count(why.influenced_by, "call")} could have influenced it, also by what they kept from happening.`));
    }
    return out;
  }

  // --- answers ---------------------------------------------------------------------------------

  async #answers() {
    const [view, strategies] = await Promise.all([call("answers"), call("strategy")]);
    const { app } = this;
    const rows = view.answers.map((answer) => {
      const revised = h("select", { "aria-label": `Revise the answer about call ${answer.call}`, onchange: (event) => {
        const verdict = event.target.value;
        app.act("revise", { index: answer.index, verdict: verdict === "withdraw" ? "" : verdict });
      } },
        h("option", { value: "", selected: true, disabled: true }, "change …"),
        VERDICTS.filter(([name]) => name !== answer.verdict).map(([name, words]) => h("option", { value: name }, words)),
        h("option", { value: "withdraw" }, "take it back"));
      return h("li", { class: "answer" },
        h("div", { class: "row" },
          h("span", { class: `said ${answer.verdict}` }, answer.verdict),
          h("span", { class: "quiet" }, answer.by === "symptom" ? "as was said of the run" : `said by ${answer.by}`),
          h("span", { class: "grow" }),
          answer.by === "person" ? revised : null),
        app.rowButton({ call: answer.call, equation: answer.equation, state: answer.verdict }),
        answer.part && h("div", {}, "wrong part: ", h("code", {}, answer.part)),
        answer.expected && h("div", {}, "should have been ", h("code", {}, answer.expected)),
        answer.reason && h("div", { class: "quiet" }, answer.reason));
    });
    const choice = h("select", { id: "strategy", onchange: (event) => app.act("strategy", { name: event.target.value }) },
      strategies.strategies.map((strategy) => h("option", { value: strategy.name, selected: strategy.is_current }, strategy.name)));
    const current = strategies.strategies.find((strategy) => strategy.is_current);
    return [
      rows.length ? h("ol", { class: "log" }, rows) : h("p", { class: "quiet" }, "Nothing was answered yet."),
      view.trusted.length > 0 && [h("h3", {}, "Trusted"), h("ul", { class: "log" }, view.trusted.map((name) => {
        const [scope, ...words] = name.split(" ");
        return h("li", { class: "row" }, h("code", {}, name), h("span", { class: "grow" }),
          h("button", { type: "button", class: "plain", onclick: () => app.act("trust", { scope, name: words.join(" "), withdraw: true }) }, "trust no longer"));
      }))],
      view.oracles.length > 0 && [h("h3", {}, "Asked before you"), view.oracles.map((name) => {
        const box = h("input", { type: "checkbox", onchange: (event) => app.act("oracle", { name, on: event.target.checked }) });
        box.checked = !view.silenced.includes(name);
        return h("label", { class: "row" }, box, name);
      })],
      h("div", { class: "group" }, h("label", { class: "row" }, "Strategy", choice), current && h("p", { class: "quiet" }, current.description)),
    ];
  }
}

function originView(origin, app) {
  return h("div", { class: "group values" },
    origin.expression && h("div", {}, h("code", {}, origin.expression)),
    h("div", { class: "quiet" }, origin.place?.shown ?? ""),
    origin.source && h("div", {}, h("code", {}, origin.source.trim())),
    origin.call && app.rowButton(origin.call));
}

/** Source with the lines that ran, the place of an origin, and links to the calls that a line made. */
export function sourceLines(view, app, origin) {
  if (!view.lines.length) return h("p", { class: "quiet" }, view.unknown || "The source is not there.");
  const code = h("div", { class: "source", tabindex: "0", role: "region", "aria-label": "Source" });
  for (const line of view.lines) {
    const isOrigin = origin?.place && view.place && origin.place.file === view.place.file && origin.place.line === line.number;
    const classes = ["line-of-source", line.ran && "ran", isOrigin && "origin", view.raised === line.number && "raised"];
    append(code, [h("span", { class: classes.filter(Boolean).join(" ") },
      h("span", { class: "number" }, String(line.number)),
      ...marked(line.text, isOrigin ? origin.expression : ""),
      line.calls.length > 0 && [" ", h("button", { class: "plain quiet", type: "button", "aria-label": `Open call ${line.calls[0]}, made in line ${line.number}`, onclick: () => app.open(line.calls[0]) }, line.calls.length > 1 ? `→ ${line.calls.length} calls` : `→ call ${line.calls[0]}`)],
      isOrigin && h("span", { class: "quiet" }, "  ← made here"),
      view.raised === line.number && h("span", { class: "quiet" }, "  ← raised here"))]);
  }
  return [
    h("div", { class: "row" }, h("span", { class: "place" }, view.place?.shown ?? ""),
      view.changed && h("span", { class: "said wrong" }, "This file was changed after the run: what is shown may not be what ran."),
      app.session?.reruns && view.lines.every((line) => line.ran === null) && h("button", { type: "button", class: "plain", onclick: () => app.linesThatRan(view.call) }, "Which lines ran?")),
    code,
    view.more > 0 && h("p", { class: "quiet" }, `and ${count(view.more, "other line")}`),
    view.unknown && h("p", { class: "quiet" }, `Which lines ran is not known: ${view.unknown}.`),
  ];
}

function marked(text, expression) {
  const at = expression ? text.indexOf(expression) : -1;
  if (at < 0) return [text];
  return [text.slice(0, at), h("mark", {}, expression), text.slice(at + expression.length)];
}

export { withKey };
