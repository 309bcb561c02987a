// The centre of the page: the question, or whatever else the session needs; and any other call that
// was opened, to be judged out of turn. What may be said and what follows from it is the session's.

import { count, fill, h, withKey } from "./dom.js";
import { difference, remark, valueTree } from "./value.js";

const OUTCOMES = {
  returned: "It returned", raised: "It raised", yielded: "It was left after it yielded",
  "not terminated": "It did not end", failed: "It failed",
};
const CHANGES = {
  made: "is new:", inserted: "was inserted:", added: "was added:", removed: "was removed:", reordered: "was reordered:",
  "not recorded": "changed in a part that was not recorded",
};

export class QuestionPanel {
  /** `act(method, params)` changes the session; `app` opens calls and asks for origins. */
  constructor(app) {
    this.app = app;
    this.element = document.getElementById("question");
    this.part = null; // {path, side} of the marked part
    this.shown = null; // the call that is shown
  }

  get marked() {
    return this.part;
  }

  draw(session, opened) {
    const isOpened = opened && opened.call !== session.question?.call.call;
    const view = isOpened ? opened : session.question?.call;
    if (view?.call !== this.shown?.call) this.part = null;
    this.shown = view ?? null;
    const parts = [this.#notes(session)];
    if (isOpened) parts.push(this.#opened(view, session));
    else if (session.browse) {
      parts.push(h("h2", {}, "Look around"), h("p", { class: "quiet" }, "Click a call in the picture, or open the outline. Nothing is asked."));
    } else if (session.needs === "question") parts.push(this.#question(session));
    else if (session.needs === "contradiction") parts.push(this.#contradiction(session.contradiction));
    else if (session.needs === "symptom") parts.push(this.#symptom(session.symptom));
    else if (session.diagnosis) parts.push(this.#diagnosis(session.diagnosis));
    else parts.push(h("h2", {}, "Nothing left to ask"));
    fill(this.element, parts);
    if (view) this.#drawMarking();
  }

  #notes(session) {
    const notes = session.notes;
    return notes.length > 0 && h("div", { class: "banner", role: "status" }, notes.map((note) => h("div", {}, note)));
  }

  // --- a call ----------------------------------------------------------------------------------

  #question(session) {
    const question = session.question;
    const [least, most] = [question.least, question.most];
    const left = most === null ? "" : most === 0 ? "the last one" : least ? `${least} to ${most} more` : `up to ${most} more`;
    return [
      h("div", { class: "ask" },
        h("h2", { id: "asked" }, `Question ${question.number}`, h("span", { class: "quiet" }, ` · ${question.call.asked}`)),
        h("span", { class: "quiet" }, left, left && " · ", count(question.suspects, "suspect"))),
      this.#call(question.call),
      question.default && h("p", { class: "banner" }, `You said ${question.default.verdict} before. `,
        h("button", { type: "button", onclick: () => this.app.answer(question.default.verdict) }, "Say it again")),
      this.#marking(),
      this.#verdicts(question.call, true),
      question.instances.length > 0 && this.#instances(question.instances),
      h("div", { class: "aside" },
        h("details", {}, h("summary", {}, "Why this call?"), h("p", {}, `${question.why} (${question.strategy})`)),
        this.#trust(question.call)),
    ];
  }

  #opened(view, session) {
    return [
      h("div", { class: "ask" },
        h("h2", {}, `Call ${view.call}`, h("span", { class: "quiet" }, ` · ${view.state}`)),
        h("button", { type: "button", onclick: () => this.app.open(null) }, ...withKey(session.needs === "question" ? "Back to the question" : "Close", "Esc"))),
      this.#call(view),
      this.#marking(),
      session.browse || session.needs === "symptom" ? null : [this.#verdicts(view, false), h("div", { class: "aside" }, h("span"), this.#trust(view))],
      view.callees.length > 0 && h("div", { class: "group" }, h("h3", {}, "It called"),
        h("ul", { class: "tree" }, view.callees.map((row) => h("li", {}, this.app.rowButton(row)))),
        view.more_callees > 0 && h("span", { class: "quiet" }, `and ${count(view.more_callees, "other call")}`)),
    ];
  }

  #call(view) {
    const { app } = this;
    const place = view.place && h("button", { class: "plain place", type: "button", onclick: () => app.showSource(view.call) }, view.place.shown);
    const called = view.called_as && h("span", { class: "quiet" }, "called as ", h("code", {}, view.called_as));
    const context = {
      call: view.call,
      opensFirst: true,
      isMarked: (path, side) => this.part?.path === path && this.part?.side === side,
      mark: (path, side) => this.mark(path, side),
    };
    const own = view.text && h("pre", { class: "values" }, view.text);
    const entries = view.arguments.map((input, index) => ({
      name: input.name || `arg${index + 1}`, value: input.value, side: input.side,
      note: input.differs ? "differs from the last one" : input.is_default ? "default" : "",
    }));
    const groups = [
      entries.length > 0 && group("It was given", valueTree("What it was given", entries, context)),
      view.reads.length > 0 && group("It read", valueTree("What it read", view.reads.map((read) => ({ name: read.name, value: read.value, side: "input", note: read.differs ? "differs from the last one" : "" })), context)),
      this.#outcome(view, context),
      view.changes.length > 0 && group("It changed", this.#changes(view, context)),
      view.printed.lines.length > 0 && group("It printed", this.#printed(view, context)),
    ];
    return [
      h("div", { class: "row" },
        h("span", { class: "call-name" }, view.step ? view.step.label : view.function.qualname || view.function.name), place, called),
      view.documentation && h("p", { class: "quiet" }, view.documentation),
      view.problem && h("p", { class: "banner fault" }, view.problem),
      view.outline?.length > 0 && h("pre", { class: "values", lines: view.outline.join("\n") }),
      own,
      groups,
    ];
  }

  #outcome(view, context) {
    const outcome = view.outcome;
    const entries = outcome.yielded.map((value, index) => ({ name: `yielded[${index}]`, value, side: "outcome" }));
    if (outcome.value) entries.push({ name: "", value: outcome.value, side: "outcome" });
    const title = outcome.yielded.length && outcome.kind === "returned" ? "It yielded, then returned" : OUTCOMES[outcome.kind] ?? outcome.kind;
    if ((view.step || view.text) && !entries.length && !outcome.raised_by) return null;
    return group(
      title,
      entries.length ? valueTree("Its outcome", entries, context) : outcome.kind === "returned" ? h("p", { class: "quiet" }, "a value that was not recorded") : null,
      outcome.more_yielded > 0 && h("p", { class: "quiet" }, `and ${count(outcome.more_yielded, "other value")}`),
      outcome.raised_by && h("p", { class: "quiet" }, "in ", h("code", {}, outcome.raised_by)),
    );
  }

  #changes(view, context) {
    const tree = h("div", { class: "values", role: "tree", "aria-label": "What it changed" });
    for (const change of view.changes) {
      const item = h("div", { role: "treeitem", tabindex: "-1", class: "part line", "aria-selected": "false", data: { path: change.path, side: "outcome" } },
        h("code", {}, h("span", { class: "label" }, change.path)), " ",
        h("span", { class: "quiet" }, CHANGES[change.kind] ?? "", " "),
        change.before || change.after ? difference(change.before, change.after) : null);
      tree.append(item);
    }
    if (tree.firstElementChild) tree.firstElementChild.tabIndex = 0;
    tree.addEventListener("click", (event) => {
      const item = event.target.closest("[data-path]");
      if (item && !getSelection()?.toString()) context.mark(item.dataset.path, "outcome");
    });
    tree.addEventListener("keydown", (event) => {
      const item = event.target.closest("[data-path]");
      if (!item) return;
      const next = { ArrowDown: item.nextElementSibling, ArrowUp: item.previousElementSibling }[event.key];
      if (next) { item.tabIndex = -1; next.tabIndex = 0; next.focus(); }
      else if (event.key === "Enter" || event.key === " ") context.mark(item.dataset.path, "outcome");
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    return [tree, view.more_changes > 0 && h("p", { class: "quiet" }, `and ${count(view.more_changes, "other change")}`)];
  }

  #printed(view, context) {
    const entries = view.printed.lines.map((line, index) => ({
      name: "", side: "outcome",
      value: { path: `printed[${index}]`, kind: "atom", text: line, parts: [], more: 0, omitted: 0, unused: 0, size: 0, first: 0, characters: 0 },
    }));
    return [valueTree("What it printed", entries, context), view.printed.more > 0 && h("p", { class: "quiet" }, `and ${count(view.printed.more, "other line")}`)];
  }

  #instances(rows) {
    return h("div", { class: "group" }, h("h3", {}, "Other calls of it"),
      h("ul", { class: "tree" }, rows.map((row) => h("li", {}, this.app.rowButton(row)))));
  }

  // --- saying something ------------------------------------------------------------------------

  mark(path, side) {
    const same = this.part?.path === path && this.part?.side === side;
    this.part = same ? null : { path, side };
    this.#drawMarking();
    if (this.part) this.app.marked(this.shown.call, this.part);
  }

  unmark() {
    if (!this.part) return false;
    this.part = null;
    this.#drawMarking();
    return true;
  }

  #marking() {
    this.markingBox = h("div", { class: "marking", hidden: true });
    return this.markingBox;
  }

  #drawMarking() {
    remark(this.element, (path, side) => this.part?.path === path && this.part?.side === side);
    if (!this.markingBox) return;
    this.markingBox.hidden = !this.part;
    for (const [name, button] of Object.entries(this.buttons ?? {})) {
      if (name === "right" || name === "unknown") continue;
      const fits = !this.part || (this.part.side === "input") === (name === "inadmissible");
      button.disabled = !fits;
    }
    if (!this.part) return;
    const { path, side } = this.part;
    const isInput = side === "input";
    this.expected = h("input", { type: "text", id: "expected", "aria-label": `What ${path} should have been`, placeholder: isInput ? "why, if you like" : "what it should have been, if you know", onkeydown: (event) => {
      event.stopPropagation();
      if (event.key === "Enter") this.say(isInput ? "inadmissible" : "wrong");
      if (event.key === "Escape") this.unmark();
    } });
    fill(this.markingBox,
      h("div", {}, "Marked: ", h("code", {}, path), isInput ? ", which it was given" : ""),
      h("div", { class: "row" },
        !isInput && this.expected,
        h("button", { type: "button", onclick: () => this.say(isInput ? "inadmissible" : "wrong") }, ...withKey(isInput ? "It should never get this" : "This is wrong", isInput ? "i" : "n")),
        h("button", { type: "button", onclick: () => this.app.why(this.shown.call, this.part) }, ...withKey("Where did it come from?", "w")),
        h("button", { type: "button", onclick: () => this.unmark() }, ...withKey("Unmark", "Esc"))));
  }

  #verdicts(view, isQuestion) {
    const button = (verdict, label, key, kind) => {
      const element = h("button", { type: "button", class: kind, "aria-keyshortcuts": key, onclick: () => this.say(verdict) }, ...withKey(label, key));
      this.buttons[verdict] = element;
      return element;
    };
    this.buttons = {};
    const isFailed = view.outcome.kind === "failed";
    return h("div", { class: "verdicts", role: "group", "aria-label": isQuestion ? view.asked : "Judge this call" },
      button("right", isFailed ? "Nothing missing" : "Right", "y", "right"),
      button("wrong", isFailed ? "An answer is missing" : "Wrong", "n", "wrong"),
      button("inadmissible", "Should never get this", "i", "bad"),
      isQuestion && button("unknown", "Don’t know", "?", "plain-verdict"));
  }

  #trust(view) {
    return h("button", { type: "button", class: "plain", "aria-keyshortcuts": "t", title: "Its own code cannot be at fault; what it calls is still searched", onclick: () => this.app.trust(view) }, ...withKey("Trust this function", "t"));
  }

  /** Judge the call that is shown, with the marked part if there is one. */
  say(verdict) {
    if (!this.shown) return;
    const params = { calls: [this.shown.call] };
    if (this.part && (verdict === "wrong" || verdict === "inadmissible")) {
      if ((this.part.side === "input") !== (verdict === "inadmissible")) return;
      params.part = this.part.path;
      if (this.expected?.value.trim() && verdict === "wrong") params.expected = this.expected.value.trim();
    }
    this.app.answer(verdict, params);
  }

  // --- what else a session may need ------------------------------------------------------------

  #contradiction(view) {
    const keep = (which) => () => this.app.act("keep", { which });
    return [
      h("h2", {}, "Two statements contradict each other"),
      h("p", {}, view.why),
      h("p", { class: "values" }, view.earlier),
      h("p", { class: "values" }, view.later),
      h("div", { class: "verdicts" },
        h("button", { type: "button", onclick: keep("earlier") }, ...withKey("The earlier one holds", "1")),
        h("button", { type: "button", onclick: keep("later") }, ...withKey("The later one holds", "2"))),
    ];
  }

  #symptom(view) {
    const wrong = (params) => () => this.app.act("wrong", params);
    if (view.operands.length) {
      const boxes = view.operands.map((operand, index) =>
        h("label", { class: "row values" }, h("input", { type: "checkbox", value: String(index) }), h("code", {}, operand.expression, operand.value && ` is ${operand.value}`)));
      return [
        h("h2", {}, "Which side is wrong?"),
        h("pre", { class: "values", lines: view.statement }),
        h("div", { class: "group" }, boxes),
        h("div", { class: "verdicts" }, h("button", { type: "button", onclick: () => {
          const operands = boxes.map((box) => box.querySelector("input")).filter((box) => box.checked).map((box) => Number(box.value));
          this.app.act("wrong", { operands });
        } }, "These are wrong")),
      ];
    }
    const lines = view.output.map((line, index) =>
      h("li", {}, h("button", { class: "plain", type: "button", onclick: wrong({ what: `output:${index + 1}` }) },
        h("span", { class: "quiet" }, String(index + 1).padStart(3)), h("code", {}, line || " "))));
    return [
      h("h2", {}, "What is wrong?"),
      h("p", {}, view.ending),
      lines.length > 0 && group("It printed; click a line that is wrong", h("ol", { class: "log" }, lines)),
      view.more_output > 0 && h("p", { class: "quiet" }, `and ${count(view.more_output, "other line")}`),
      h("div", { class: "verdicts" },
        h("button", { type: "button", onclick: wrong({}) }, view.default && !view.default.startsWith("output") ? `This: ${view.default}` : "The run as a whole"),
        h("button", { type: "button", onclick: wrong({ what: "nothing" }) }, "Nothing is wrong")),
    ];
  }

  #candidates(record) {
    const rows = record?.candidates ?? [];
    return rows.length > 0 && group("It can be any of these", h("ul", { class: "tree" }, rows.map((row) =>
      h("li", {}, this.app.rowButton({ call: row.call, equation: row.equation, state: "suspect" })))));
  }

  #diagnosis(view) {
    const [headline, ...rest] = view.text.split("\n");
    const node = view.record?.at_fault?.call ?? null;
    return [
      h("div", { class: `banner ${view.status === "found" ? "fault" : ""}` }, h("h2", { id: "diagnosis" }, headline)),
      h("pre", { class: "values", lines: rest.join("\n") }),
      h("div", { class: "verdicts" },
        h("button", { type: "button", onclick: () => this.app.test() }, "Regression test"),
        h("button", { type: "button", onclick: () => this.app.report() }, "Save the report"),
        view.can_zoom && h("button", { type: "button", onclick: () => this.app.zoomInto() }, "Look inside this call"),
        view.can_search_rest && h("button", { type: "button", onclick: () => this.app.act("rest") }, "Search on"),
        view.status === "found" && h("button", { type: "button", onclick: () => this.app.act("reject") }, "That is not it"),
        node !== null && h("button", { type: "button", onclick: () => this.app.open(node) }, "Open the call")),
      this.#candidates(view.record),
      h("div", { id: "extra" }),
    ];
  }
}

function group(title, ...children) {
  return h("div", { class: "group" }, h("h3", {}, title), ...children);
}
