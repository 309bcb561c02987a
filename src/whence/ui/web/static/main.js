// Puts the page together: asks the server for the session, hands it to the panels, and sends what a
// person says. The server is the only one who knows what an answer means.

import { call, GONE, listen } from "./api.js";
import { count, fill, h, say, tabs, withKey } from "./dom.js";
import { Icicle, STATES } from "./icicle.js";
import { FunctionTable, foundList, Outline } from "./lists.js";
import { SidePanel, sourceLines, stateBadge } from "./panels.js";
import { QuestionPanel } from "./question.js";

const VIEWS = [["picture", "Picture"], ["outline", "Outline"], ["functions", "Functions"]];
const KEYS = [
  ["y", "Right"], ["n", "Wrong (with the marked part)"], ["i", "It should never get this"], ["?", "Don’t know"],
  ["t", "Trust this function"], ["w", "Where did the marked part come from?"], ["u", "Undo"], ["r", "Redo"],
  ["p", "Go to the values; arrows move, Enter marks a part"], ["g", "Go to the picture"], ["q", "Go to the question"],
  ["/", "Search"], ["1  2", "Which of two contradicting statements holds"], ["Esc", "Unmark; back to the question"], ["h", "This list"],
];

class App {
  constructor() {
    this.session = null;
    this.opened = null;
    this.busy = false;
    this.view = "picture";
    this.question = new QuestionPanel(this);
    this.side = new SidePanel(this);
    this.icicle = new Icicle({ open: (id) => this.open(id), zoomed: (picture) => this.#crumbs(picture) });
    this.outline = new Outline({ open: (id) => this.open(id) });
    this.functions = new FunctionTable({ open: (id) => this.open(id), judge: (id, verdict) => this.answer(verdict, { calls: [id] }) });
    this.bar = document.getElementById("bar");
    this.notice = document.getElementById("notice");
    const scheme = localStorage.getItem("whence-scheme");
    if (scheme) document.documentElement.dataset.scheme = scheme;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#bar());
  }

  async start() {
    this.#run();
    try {
      this.overview = await call("overview");
      if (this.overview.browse) {
        this.icicle.browse = this.browsing = true;
        this.icicle.colour = this.colour.value = "function";
        this.colour.parentElement.hidden = this.width.parentElement.hidden = true;
        this.functions.judge = null;
        this.#legend();
      }
      await this.refresh(await call("next"));
    } catch (problem) {
      this.tell(problem.message);
      return;
    }
    this.events = listen(
      (revision) => {
        if (revision !== null && revision !== this.session.revision && !this.busy) this.reload();
      },
      (progress) => this.#progress(progress),
      (reachable) => (reachable ? this.tell("") : this.tell(GONE)),
    );
    document.addEventListener("keydown", (event) => this.#key(event));
  }

  // --- the session -----------------------------------------------------------------------------

  async reload() {
    await this.guarded(async () => this.refresh(await call("next")));
  }

  /** Draw a session. What was opened stays open unless something was said. */
  async refresh(session, { keep = true } = {}) {
    const isNew = this.session?.revision !== session.revision;
    this.session = { ...session, browse: this.overview.browse };
    if (!keep) this.opened = null;
    else if (this.opened && isNew) this.opened = await call("call", { call: this.opened.call }).catch(() => null);
    this.#bar();
    this.question.draw(this.session, this.opened);
    this.icicle.opened = this.shownCall();
    await Promise.all([this.#drawRun(), this.side.draw()]);
    const asked = session.question;
    document.title = asked ? `Question ${asked.number} · whence` : session.diagnosis ? "Diagnosis · whence" : "whence";
  }

  /** Change the session, and show what comes of it. */
  async act(method, params = {}) {
    if (this.busy) return;
    await this.guarded(async () => {
      const result = await call(method, params);
      const session = result?.needs ? result : await call("next");
      this.notice.hidden = true;
      await this.refresh(session, { keep: false });
      this.#announce(session);
    });
  }

  async answer(verdict, params = {}) {
    if (this.busy) return undefined;
    if (params.part && !(await this.mayFollow())) return undefined;
    // The revision tells the server which question this answers: another tab may have gone on.
    return this.act("answer", { verdict, ...params, revision: this.session.revision });
  }

  /** Ask once whether the program may run again for marked parts; false: nothing is to be said. */
  async mayFollow() {
    const { reruns } = this.session;
    if (!reruns || reruns.allowed || reruns.is_harmless || this.wasAsked) return true;
    const reply = await this.#choose("Run the program again?", [
      h("p", {}, "What you marked can be followed to its origin if this runs again:"),
      h("pre", { class: "values", lines: reruns.command }),
      h("p", {}, "It repeats its effects on files and on other programs."),
    ], [["run", "Run it again"], ["no", "Search without it"], ["", "Cancel"]]);
    if (!reply) return false;
    this.wasAsked = true;
    if (reply === "run") {
      const { revision } = await call("allow", { on: true });
      this.session.revision = revision;
      this.session.reruns.allowed = true;
    }
    return true;
  }

  /** A dialog with some buttons; the name of the one that was chosen, empty if it was closed. */
  #choose(title, content, choices) {
    return new Promise((resolve) => {
      const dialog = h("dialog", { "aria-label": title },
        h("h2", {}, title), content,
        h("form", { method: "dialog", class: "row" }, choices.map(([value, words]) => h("button", { value }, words))));
      dialog.addEventListener("close", () => {
        dialog.remove();
        resolve(dialog.returnValue);
      });
      document.body.append(dialog);
      dialog.showModal();
    });
  }

  async guarded(work) {
    this.busy = true;
    const wait = setTimeout(() => document.body.classList.add("waiting"), 250);
    this.#bar();
    try {
      await work();
    } catch (problem) {
      if (problem.code === "stale") await this.refresh(await call("next"));
      this.tell(problem.message);
    } finally {
      this.busy = false;
      clearTimeout(wait);
      document.body.classList.remove("waiting");
      this.#bar();
    }
  }

  tell(message) {
    this.notice.hidden = !message;
    if (message) fill(this.notice, h("span", {}, message), h("button", { type: "button", class: "plain", onclick: () => (this.notice.hidden = true) }, "Close"));
  }

  #announce(session) {
    if (session.question) say(`Question ${session.question.number}: ${session.question.call.equation}. ${session.question.call.asked}`);
    else if (session.diagnosis) {
      say(session.diagnosis.text.split("\n")[0]);
      document.getElementById("question").focus({ preventScroll: false });
    }
  }

  shownCall() {
    return this.opened?.call ?? this.session?.question?.call.call ?? this.session?.diagnosis?.record?.at_fault?.call ?? null;
  }

  // --- what panels ask for ---------------------------------------------------------------------

  async open(id) {
    await this.guarded(async () => {
      this.opened = id === null ? null : await call("call", { call: id });
      this.question.draw(this.session, this.opened);
      this.icicle.show(this.shownCall());
      await this.side.draw(this.side.tab === "answers" ? "source" : this.side.tab);
      if (matchMedia("(max-width: 899px)").matches && id !== null) {
        document.getElementById("question").scrollIntoView({ behavior: "smooth" });
      }
    });
  }

  marked(id, part) {
    say(`Marked ${part.path}`);
  }

  why(id, part) {
    return this.side.ask(id, part);
  }

  trust(view) {
    return this.act("trust", { name: view.function.name, scope: "function" });
  }

  showSource() {
    return this.side.draw("source");
  }

  async linesThatRan(id) {
    await this.guarded(async () => {
      const view = await call("source", { call: id, run: true });
      fill(this.side.body, sourceLines(view, this, null));
    });
  }

  rowButton(row) {
    return h("button", { class: "plain", type: "button", onclick: () => this.open(row.call) }, stateBadge(row), h("code", {}, row.equation));
  }

  async test() {
    await this.guarded(async () => {
      const view = await call("test");
      const copy = h("button", { type: "button", onclick: async () => {
        await navigator.clipboard.writeText(view.text);
        say("Copied");
        copy.textContent = "Copied";
      } }, "Copy");
      fill(document.getElementById("extra"), h("h3", {}, `A test that fails until the fault is fixed (${view.path})`), h("pre", { class: "test", tabindex: "0", lines: view.text }), copy);
    });
  }

  async report() {
    await this.guarded(async () => {
      const { name, html } = await call("report");
      const link = h("a", { download: name });
      link.href = URL.createObjectURL(new Blob([html], { type: "text/html" }));
      link.click();
      URL.revokeObjectURL(link.href);
    });
  }

  zoomInto() {
    this.icicle.showPath([]);
    return this.act("zoom");
  }

  // --- the bar ---------------------------------------------------------------------------------

  #bar() {
    const { session } = this;
    if (!session || this.isOver) return;
    const button = (label, key, enabled, act, name) =>
      h("button", { type: "button", id: name, disabled: !enabled || this.busy, "aria-keyshortcuts": key, onclick: act }, ...withKey(label, key));
    fill(
      this.bar,
      h("h1", {}, h("img", { src: "icon.svg", alt: "" }), "whence", h("span", { class: "name", title: session.recording }, this.overview.name)),
      session.browse ? h("span", { class: "quiet" }, count(session.calls, "call")) : h("span", { class: "quiet", id: "progress" }, `${count(session.suspects, "suspect")} of ${count(session.calls, "call")}`),
      !session.browse && this.#chart(),
      h("span", { class: "grow" }),
      h("span", { class: "row" },
        this.busy && [h("span", { class: "busy", role: "img", "aria-label": "working" }), h("span", { id: "activity", class: "quiet" })],
        session.inside && h("button", { type: "button", onclick: () => this.act("leave") }, "Back to the whole run"),
        !session.browse && [
          button("Undo", "u", session.can_undo, () => this.act("undo"), "undo"),
          button("Redo", "r", session.can_redo, () => this.act("redo"), "redo")],
        h("button", { type: "button", onclick: () => this.#help(), "aria-keyshortcuts": "h" }, ...withKey("Keys", "h")),
        h("button", { type: "button", onclick: () => this.#scheme() }, this.#isDark() ? "Light" : "Dark"),
        h("button", { type: "button", id: "finish", onclick: () => this.#finish() }, "Finish")),
    );
  }

  /** How many suspects were left after each answer, on a logarithmic scale. */
  #chart() {
    const points = this.session.history ?? [];
    if (points.length < 2) return null;
    const most = Math.log10(1 + Math.max(...points));
    const place = (value, index) => [4 + (index / (points.length - 1)) * 112, 3 + (1 - Math.log10(1 + value) / (most || 1)) * 20];
    const svg = (tag, attributes) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      return element;
    };
    const picture = svg("svg", { class: "chart", viewBox: "0 0 120 26", role: "img", "aria-label": `Suspects after each answer: ${points.join(", ")}` });
    picture.append(svg("polyline", { points: points.map((value, index) => place(value, index).join(",")).join(" "), fill: "none", stroke: "currentColor", "stroke-width": "1.5" }));
    const [x, y] = place(points[points.length - 1], points.length - 1);
    picture.append(svg("circle", { cx: x, cy: y, r: 3, fill: "currentColor" }));
    return picture;
  }

  /** What takes long, as the server tells it. */
  #progress(progress) {
    const place = document.getElementById("activity");
    if (!place) return;
    const done = progress?.of ? `: ${progress.done.toLocaleString("en")} of ${progress.of.toLocaleString("en")}` : "";
    fill(place, progress ? `${progress.what}${done}` : "");
  }

  async #finish() {
    const words = this.session.browse ? "whence ends with this page." : "whence ends with this page. Your answers are kept: whence web goes on from here.";
    const reply = await this.#choose("Finish here?", h("p", {}, words), [["finish", "Finish"], ["", "Go on"]]);
    if (reply !== "finish") return;
    await this.guarded(async () => {
      const { log } = await call("finish");
      this.events.close();
      this.isOver = true;
      fill(document.getElementById("main"), h("section", { class: "over" }, h("h2", {}, "The session is over."), h("p", {}, log ? "Your answers are kept in " : "", log && h("code", {}, log)), h("p", {}, "You can close this tab.")));
      fill(this.bar);
    });
  }

  #isDark() {
    return (document.documentElement.dataset.scheme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  }

  #scheme() {
    const scheme = this.#isDark() ? "light" : "dark";
    document.documentElement.dataset.scheme = scheme;
    localStorage.setItem("whence-scheme", scheme);
    this.icicle.restyle();
    this.#bar();
  }

  #help() {
    const rows = KEYS.map(([key, words]) => h("tr", {}, h("td", {}, h("kbd", {}, key)), h("td", {}, words)));
    this.#choose("Keys", h("table", {}, h("tbody", {}, rows)), [["", "Close"]]);
  }

  // --- the run ---------------------------------------------------------------------------------

  #run() {
    const run = document.getElementById("run");
    this.search = h("input", { type: "search", placeholder: "function or value", "aria-label": "Search for a function or a value", onkeydown: (event) => {
      event.stopPropagation();
      if (event.key === "Enter") this.#search(this.search.value.trim());
      if (event.key === "Escape") {
        this.search.value = "";
        this.#search("");
        this.icicle.element.focus();
      }
    } });
    const width = h("select", { "aria-label": "Width of a box", onchange: (event) => {
      this.icicle.width = event.target.value;
      this.icicle.load({ animate: true });
    } }, h("option", { value: "calls" }, "all calls"), h("option", { value: "suspicion" }, "suspicion left"));
    const order = h("select", { "aria-label": "Order of the boxes", onchange: (event) => {
      this.icicle.merge(event.target.value === "merged");
      this.width.parentElement.hidden = this.browsing || this.icicle.merged;
    } }, h("option", { value: "order" }, "as called"), h("option", { value: "merged" }, "merged"));
    const colour = h("select", { "aria-label": "Colour of a box", onchange: (event) => {
      this.icicle.colour = event.target.value;
      this.icicle.draw();
      this.#legend();
    } }, h("option", { value: "state" }, "state"), h("option", { value: "giver" }, "who answered"), h("option", { value: "function" }, "function"));
    this.colour = colour;
    this.width = width;
    this.order = order;
    this.choices = h("span", { class: "row" }, h("label", {}, "calls", order), h("label", {}, "width", width), h("label", {}, "colour", colour));
    this.tabBar = h("span");
    this.crumbs = h("nav", { class: "crumbs", "aria-label": "Where in the run" });
    this.legend = h("div", { class: "legend" });
    this.runBody = h("div", { class: "body", id: "run-body", role: "tabpanel" });
    fill(run, h("div", { class: "toolbar" }, this.tabBar, this.choices, h("span", { class: "grow" }), this.search), this.crumbs, this.runBody);
    this.#legend();
    this.#chooseView("picture");
  }

  #chooseView(name) {
    this.view = name;
    fill(this.tabBar, tabs("The run", VIEWS, name, (next) => { this.#chooseView(next); this.#drawRun(); }));
    this.runBody.setAttribute("aria-labelledby", `tab-${name}`);
    this.choices.hidden = name !== "picture";
    if (name !== "picture") this.crumbs.hidden = true;
    if (name === "picture") fill(this.runBody, this.icicle.element, this.legend);
    else if (name === "outline") fill(this.runBody, h("div", { class: "scroll" }, this.outline.element));
    else fill(this.runBody, this.functions.element);
  }

  #drawRun() {
    if (!this.session) return undefined;
    if (this.view === "outline") return this.outline.load();
    if (this.view === "functions") return this.functions.load();
    return this.icicle.load({ animate: true });
  }

  #legend() {
    const names = this.icicle.colour === "state" ? STATES : [];
    fill(this.legend, names.map(([name, words]) => h("span", {}, h("i", { class: name }), words)), !this.icicle.browse && h("span", {}, h("i", { class: "asked" }), "asked now"));
  }

  #crumbs(picture) {
    const { icicle } = this;
    const link = (words, act) => h("button", { class: "plain", type: "button", onclick: act }, words);
    const zoomed = picture.callers.length > 0 || icicle.view.left > 0 || icicle.view.right < 1;
    const callers = picture.callers.length > 8 ? [...picture.callers.slice(0, 2), null, ...picture.callers.slice(-5)] : picture.callers;
    const top = icicle.boxes[0];
    const asked = picture.asked;
    const isHidden = asked && (asked.right <= 0 || asked.left >= 1 || asked.row < 0 || asked.row >= 400 || asked.right - asked.left < 0.01);
    this.crumbs.hidden = !(zoomed || isHidden) || this.view !== "picture";
    fill(this.crumbs,
      zoomed && link(["⟵ out"], () => icicle.zoomOut()),
      callers.map((caller) => [caller === null ? h("span", {}, "…") : link(h("code", {}, caller.name), () => icicle.zoom(caller.id === picture.callers[0].id ? null : caller.id)), h("span", { "aria-hidden": "true" }, "›")]),
      top && h("code", {}, picture.first === picture.last ? top.name : `${count(picture.boxes.siblings.filter((_, index) => picture.boxes.row[index] === 0).reduce((a, b) => a + b, 0), "call")}`),
      h("span", { class: "grow" }),
      isHidden && link("show the call asked about", () => this.#showAsked()));
  }

  async #showAsked() {
    const node = this.session.question.call;
    // The nearest caller below which the call is wide enough to be seen.
    const callers = node.callers;
    const at = callers[Math.min(2, callers.length - 1)];
    await this.icicle.zoom(at ? at.call : node.call);
  }

  async #search(text) {
    if (!text) {
      this.icicle.find = "";
      this.#chooseView("picture");
      await this.icicle.load();
      return;
    }
    await this.guarded(async () => {
      const result = await call("search", { text });
      this.icicle.find = result.where === "name" && result.total ? text : "";
      if (this.icicle.merged) { // calls are found one by one
        this.order.value = "order";
        await this.icicle.merge(false);
      }
      if (this.icicle.find && this.view === "picture") {
        await this.icicle.load();
        say(count(result.total, "call"));
        this.crumbs.hidden = false;
        this.crumbs.append(h("button", { class: "plain", type: "button", onclick: () => this.#found(text, result) }, `list ${count(result.total, "call")}`));
      } else this.#found(text, result);
    });
  }

  #found(text, result) {
    this.crumbs.hidden = true;
    this.choices.hidden = true;
    const more = () => this.guarded(async () => {
      const next = await call("search", { text, after: result.more });
      this.#found(text, { ...next, calls: [...result.calls, ...next.calls], total: result.total + next.total });
    });
    fill(this.runBody, foundList(result, (id) => this.open(id), more));
  }

  // --- keys ------------------------------------------------------------------------------------

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || this.isOver) return;
    if (event.target.closest?.("input, select, textarea, dialog")) return;
    const { session, question } = this;
    const judges = !session.browse && (session.question || this.opened);
    const keys = {
      y: () => judges && question.say("right"),
      n: () => judges && question.say("wrong"),
      i: () => judges && question.say("inadmissible"),
      "?": () => judges && !this.opened && question.say("unknown"),
      t: () => judges && question.shown && this.trust(question.shown),
      w: () => question.marked && this.why(question.shown.call, question.marked),
      u: () => session.can_undo && this.act("undo"),
      r: () => session.can_redo && this.act("redo"),
      1: () => session.contradiction && this.act("keep", { which: "earlier" }),
      2: () => session.contradiction && this.act("keep", { which: "later" }),
      p: () => document.querySelector('#question [role="treeitem"][tabindex="0"]')?.focus(),
      g: () => (this.view === "picture" ? this.icicle.element : this.runBody.querySelector('[tabindex="0"]'))?.focus(),
      q: () => document.getElementById("question").focus(),
      "/": () => this.search.focus(),
      h: () => this.#help(),
      Escape: () => question.unmark() || (this.opened && this.open(null)),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }
}

window.whence = new App();
window.whence.start();
