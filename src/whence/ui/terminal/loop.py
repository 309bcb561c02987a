"""The question loop: shows what the session needs, reads a line, sends what it means.

There is one loop for all that a session can ask for; what differs is what is shown, and what an
empty line means. Nothing that is typed ends it except leaving: what cannot be done is said, and
the question is asked again.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

from whence.errors import UsageError, WhenceError
from whence.model.call import MarkedPart
from whence.model.question import Question
from whence.model.symptom import SYMPTOM
from whence.model.verdict import PERSON, Answer, Scope, Trust, Verdict
from whence.ports import Following, Reruns, Zooming
from whence.report.raising import own_primitive
from whence.report.regression_test import regression_test, write_test
from whence.report.source import source_lines
from whence.report.text import lines as report_lines
from whence.session.events import (
    Answered,
    Ask,
    Event,
    Exhausted,
    Expand,
    Found,
    OracleTurned,
    Outcome,
    Redone,
    Rejected,
    Resolved,
    RestSearched,
    Revise,
    StrategyChosen,
    Trace,
    TrustGiven,
    TrustWithdrawn,
    Undone,
)
from whence.session.reaction import react
from whence.tree.readable_call import readable_call
from whence.ui import DrivenSession
from whence.ui.terminal import commands, messages
from whence.ui.terminal.browse import browse, check_mark
from whence.ui.terminal.commands import Command
from whence.ui.terminal.completion import completer
from whence.ui.terminal.info_command import info_lines
from whence.ui.terminal.listing import (
    MOST,
    calls_of,
    find_function,
    instance_lines,
    listing_lines,
    suspect_lines,
    suspects,
)
from whence.ui.terminal.question_text import View, opening, prompt, question_lines
from whence.ui.terminal.save_command import save
from whence.ui.terminal.screen import Line, Screen, Tone, hanging, wrapped
from whence.ui.terminal.show_command import MOST_LINES, call_lines, whole_lines
from whence.ui.terminal.switches import (
    find_oracle,
    find_switch,
    oracle_lines,
    strategy_lines,
    switch_lines,
)

LEFT = "left with quit"
RAN_OUT = "the answers ran out"
_SCROLLS = 6
"""After more lines than this the question is shown again."""
_PATIENT, _FEW = 3, 3
"""After so many questions one is told of `suspects`, unless so few calls are left."""


def converse(debugging: DrivenSession, screen: Screen, outcome: Outcome) -> tuple[Outcome, str]:
    """Hold the session from an outcome on; its last outcome, and why it was left before its end."""
    return _Conversation(debugging, screen, outcome).run()


class _Left(Exception):
    """The person leaves, or the answers have come to their end."""


class _Conversation:
    def __init__(self, debugging: DrivenSession, screen: Screen, outcome: Outcome) -> None:
        self.debugging = debugging
        self.screen = screen
        self.outcome = outcome
        self._fresh = True
        self._counted: Outcome | None = None
        self._heard = False
        self._knows_of_suspects = False

    def run(self) -> tuple[Outcome, str]:
        if isinstance(self.outcome, Ask):
            self._open()
        try:
            while True:
                self._turn()
        except _Left as left:
            reason = str(left)
        if isinstance(self.outcome, Found | Exhausted):
            return self.outcome, ""
        self.screen.note(messages.leaving(self.debugging, reason))
        return self.outcome, reason

    def _open(self) -> None:
        state = self.debugging.state
        space = state.space()
        call, _ = readable_call(state.tree, space.top)
        is_wrong = space.verdict(space.top) is Verdict.WRONG
        answers = sum(answer.by != SYMPTOM for answer in state.facts.answers)
        has_symptom = answers < len(state.facts.answers)
        top = None if has_symptom and not answers and not call.arguments else call
        question = self._question()
        inside = question is not None and question.call.step is not None
        width = self.screen.width
        self.screen.say(
            *opening(top, is_wrong=is_wrong, answers=answers, width=width, inside=inside)
        )

    # --- one turn ------------------------------------------------------------------------------

    def _turn(self) -> None:
        if self._fresh:
            self._show()
            self._fresh = False
        try:
            self._obey(self._next_command())
        except WhenceError as problem:
            self.screen.warn(str(problem))

    def _show(self) -> None:
        outcome = self.outcome
        if isinstance(outcome, Ask):
            self._show_question(outcome)
        elif isinstance(outcome, Revise):
            self.screen.say("", *messages.contradiction(self.debugging.state, outcome))
        elif isinstance(outcome, Found | Exhausted):
            debugging, diagnosis = self.debugging, outcome.diagnosis
            findings = debugging.findings(diagnosis)
            lines = report_lines(debugging.state, diagnosis, debugging.sources, findings)
            if self.screen.interactive:
                lines = [part for line in lines for part in hanging(line, self.screen.width)]
            self.screen.say("", Line(lines[0], Tone.FAULT), *lines[1:])

    def _show_question(self, outcome: Ask) -> None:
        answers = self.debugging.state.facts.answers
        number = sum(answer.by == "person" for answer in answers) + 1
        width, function = self.screen.width, outcome.question.function
        lines = question_lines(outcome.question, number, width, self._view())
        if function is not None:
            table = instance_lines(self.debugging.state, function, width, self.debugging.sources)
            lines = [*(Line(row, Tone.QUIET) for row in table), Line(""), *lines]
        if self._counted is not outcome:
            self.debugging.shown("\n".join(line.text for line in lines))
            self._counted = outcome
        self.screen.say("", *lines)
        if self.screen.interactive and number > _PATIENT and not self._knows_of_suspects:
            left = suspects(self.debugging.state).total
            if _FEW < left <= MOST:
                self._knows_of_suspects = True
                self.screen.note(f"(suspects lists the {left} calls that are left)")

    def _view(self) -> View:
        """What the question is seen with: calls of one function are told apart by what differs."""
        state = self.debugging.state
        answers = [answer for answer in state.facts.answers if answer.by == PERSON]
        last = None
        if answers:
            last, _ = readable_call(state.tree, state.tree.position(answers[-1].node))
        sources, question = self.debugging.sources, self._question()
        raised = None if question is None else own_primitive(state, question.node, sources)
        by = "" if raised is None else raised.text
        return View(sources, last, self.screen.emphasises, by)

    def _next_command(self) -> Command:
        outcome = self.outcome
        ended = isinstance(outcome, Found | Exhausted)
        quietly = ended and not self.screen.interactive
        question = self._question()
        call = question.call if question else None
        complete = completer(self.debugging.state.tree, call)
        shown = self._prompt()
        if quietly and not self._heard:
            # Nobody has said anything, so no script is there: its input may well stay silent.
            raise _Left(RAN_OUT)
        line = self.screen.read(None if quietly else shown, complete)
        self._heard = True
        if line is None:
            raise _Left(LEFT if self.screen.interactive else RAN_OUT)
        if not quietly:
            return commands.parse(line, hint=self._hint())
        # A script that has no more to say about the end is done: the rest is not for us.
        try:
            command = commands.parse(line)
        except UsageError as problem:
            raise _Left(RAN_OUT) from problem
        if isinstance(command, commands.Accept | commands.Judge | commands.Keep):
            raise _Left(RAN_OUT)
        self.screen.say(shown + line)
        return command

    def _prompt(self) -> str:
        match self.outcome:
            case Ask(question):
                return prompt(question)
            case Revise():
                return "Which one holds? [1/2/undo] "
            case Exhausted(_, rest):
                also = "rest searches on, " if rest else ""
                return f"Enter ends; {also}undo, distrust, list, save, help > "
            case _:
                return self._end_prompt()

    def _end_prompt(self) -> str:
        can_zoom = isinstance(self.debugging.reruns, Zooming)
        also = "zoom, undo, source" if can_zoom else "undo, list, source"
        return f"Enter ends; reject if this is not it; {also}, test, save, help > "

    def _hint(self) -> str:
        match self.outcome:
            case Ask():
                return commands.HINT
            case Revise():
                return "type 1, 2 or undo"
            case _:
                return "type help, or Enter to end"

    def _question(self) -> Question | None:
        return self.outcome.question if isinstance(self.outcome, Ask) else None

    def _node(self) -> int:
        """The call that commands are about when they name none."""
        outcome = self.outcome
        if isinstance(outcome, Ask):
            return outcome.question.node
        if isinstance(outcome, Revise) and isinstance(outcome.later, Answer):
            return outcome.later.node
        state = self.debugging.state
        if isinstance(outcome, Found | Exhausted):
            diagnosis = outcome.diagnosis
            nodes = [diagnosis.node] if diagnosis.node is not None else diagnosis.candidates
            if nodes:
                return nodes[0]
        return state.tree.id(state.space().top)

    # --- what was typed ------------------------------------------------------------------------

    def _obey(self, command: Command) -> None:
        match command:
            case commands.Judge():
                self._judge(command)
            case commands.Accept():
                self._accept()
            case commands.Keep(earlier):
                self._need(Revise, "1 and 2 are for when two statements contradict each other")
                self._send(Resolved(keep_earlier=earlier))
            case commands.TrustCode():
                self._trust(command)
            case commands.ChooseStrategy(name) if name:
                self._send(StrategyChosen(name))
                self.screen.note(f"From now on: {self.debugging.state.facts.strategy}.")
            case commands.TurnSwitch(name, on) if name:
                turned = find_switch(name, on)
                self._send(turned)
                self.screen.note(f"{turned.name} is {'on' if on else 'off'} now.")
            case commands.TurnOracle(name, on) if name:
                oracle = find_oracle(self.debugging, name)
                self._send(OracleTurned(oracle, on))
                self.screen.note(f"{oracle} is {'on' if on else 'off'} now.")
            case commands.Step(at_end):
                self._step_through(at_end)
            case commands.Do(what):
                self._do(what)
            case _:
                self._look(command)

    def _do(self, what: str) -> None:
        if what == "quit":
            raise _Left(LEFT)
        if what in ("info", "source", "suspects"):
            self._look(commands.Do(what))
            return
        if what in ("full", "ran"):
            self._run_again(what)
            return
        if what == "zoom":
            self._zoom()
            return
        if what == "reject":
            self._need(Found, "reject is for when a diagnosis stands")
            self._send(Rejected())
            self.screen.note("Asked again from the start; Enter repeats an earlier answer.")
        elif what == "rest":
            rest = isinstance(self.outcome, Exhausted) and self.outcome.rest
            if not rest:
                raise UsageError("rest is for when the top of the tree was judged right")
            self._send(RestSearched())
        else:
            before = self.debugging.state.facts
            self._send(Undone() if what == "undo" else Redone())
            verb = "Taken back" if what == "undo" else "Said again"
            state = self.debugging.state
            self.screen.note(f"{verb}: {messages.difference(state, before)}.")

    def _need(self, kind: type[Outcome], otherwise: str) -> None:
        if not isinstance(self.outcome, kind):
            raise UsageError(otherwise)

    def _judge(self, command: commands.Judge) -> None:
        if isinstance(self.outcome, Revise):
            raise UsageError("first say which of the two holds: 1 or 2, or undo")
        if command.nodes:
            answers = tuple(
                Answer(node, command.verdict, expected=command.expected) for node in command.nodes
            )
            self._send(Answered(answers))
            if not isinstance(self.outcome, Revise):
                self.screen.note(messages.noted(answers))
                self._tell_expected(answers[0])
            return
        question = self._question()
        if isinstance(self.outcome, Found) and command.verdict is Verdict.RIGHT:
            raise _Left(LEFT)
        if question is None:
            raise UsageError("no question is open; name the calls that you mean, as in: n 14 18")
        mark = None
        if command.part:
            part = check_mark(question.call, command.part, command.verdict)
            mark = part.mark
            self._allow_following(question.node, part)
        answer = Answer(question.node, command.verdict, mark, expected=command.expected)
        self._send(Answered((answer,)))
        if mark is not None and not isinstance(self.outcome, Revise):
            self._tell_origin(self.debugging, answer)
        self._tell_expected(answer)

    def _tell_origin(self, debugging: DrivenSession, answer: Answer) -> None:
        note, *more = messages.origin_lines(debugging.state, answer, debugging.sources)
        self.screen.note(note)
        self.screen.say(*more)

    def _tell_expected(self, answer: Answer) -> None:
        if answer.expected is not None and not isinstance(self.outcome, Revise):
            self.screen.note(messages.expected(self.debugging.state, answer))
            if not messages.is_what_it_gave(self.debugging.state, answer):
                self._try(answer)

    def _try(self, answer: Answer) -> None:
        """Say what becomes of the run with what a person expected, if that changes nothing else."""
        reruns = self.debugging.reruns
        if reruns is None or not reruns.is_harmless or not messages.can_be_tried(answer):
            return
        state, own = self.debugging.state, {answer.node: answer.expected or ""}
        others = messages.expected_elsewhere(state, answer.node)
        for values in ({**others, **own}, own) if others else (own,):
            try:
                with self.debugging.waiting("trying that"):
                    trial = reruns.tried(values)
            except WhenceError as problem:
                self.screen.note(f"Not tried{messages.together(values, answer.node)}: {problem}")
                continue
            except KeyboardInterrupt:
                self.screen.note("Stopped.")
                return
            wrong = messages.wrong_line(state)
            head = f"Tried{messages.together(values, answer.node)}"
            self.screen.say(*messages.trial(trial, self.screen.width, head, wrong))
            return

    def _accept(self) -> None:
        if isinstance(self.outcome, Found | Exhausted):
            raise _Left(LEFT)
        question = self._question()
        if question is None or question.default is None:
            self._fresh = True
            return
        repeated = replace(question.default, node=question.node, by="person", reason="")
        self._send(Answered((repeated,)))

    def _trust(self, command: commands.TrustCode) -> None:
        if isinstance(self.outcome, Revise):
            raise UsageError("first say which of the two holds: 1 or 2, or undo")
        trust = self._meant(command)
        self._send(TrustWithdrawn(trust) if command.withdraw else TrustGiven(trust))
        if not isinstance(self.outcome, Revise):
            self.screen.note(messages.trusted(trust, withdrawn=command.withdraw))

    def _meant(self, command: commands.TrustCode) -> Trust:
        state = self.debugging.state
        trusts = state.facts.trusts
        if command.withdraw and not command.name:
            fitting = [t for t in trusts if command.scope in (None, t.scope)]
            if len(fitting) == 1:
                return fitting[0]
            choices = ", ".join(map(str, fitting)) or "nothing"
            raise UsageError(f"say which trust to take back; there is {choices}")
        if command.withdraw:
            for trust in trusts:
                if trust.name == command.name and command.scope in (None, trust.scope):
                    return trust
        scope = command.scope or Scope.FUNCTION
        if scope is Scope.FUNCTION and command.name:
            number = find_function(state.tree, command.name)
            return Trust(scope, state.tree.functions[number].name)
        return Trust(scope, command.name or self._name_here(scope))

    def _name_here(self, scope: Scope) -> str:
        tree = self.debugging.state.tree
        function = tree.call(tree.position(self._node())).function
        file = function.location.file if function.location else ""
        names = {Scope.FUNCTION: function.name, Scope.MODULE: function.module, Scope.FILE: file}
        if not names[scope]:
            raise UsageError(
                f"the tree does not say which {scope.value} {function.short()} is in; name one"
            )
        return names[scope]

    def _send(self, event: Event) -> None:
        before = self.debugging.state
        try:
            self.outcome = self.debugging.send(event)
        except WhenceError:
            # The event may have been taken in and something after it failed, say an oracle.
            if self.debugging.state is not before:
                outcome = react(self.debugging.state)
                if isinstance(outcome, Expand | Trace):
                    raise
                self.outcome = outcome
                self._fresh = True
            raise
        self._fresh = True

    # --- what only shows something -------------------------------------------------------------

    def _look(self, command: Command) -> None:
        state, width = self.debugging.state, self.screen.width
        match command:
            case commands.Browse(path):
                self._browse(path)
                return
            case commands.ListCalls(name):
                out = self._listing(name)
            case commands.ShowCall(node):
                wanted = self._node() if node is None else node
                out = whole_lines(state, wanted, width)
                if self.debugging.reruns is not None and any("…" in line for line in out):
                    out.append("(… was not recorded; full runs the program again for it)")
            case commands.ChooseStrategy():
                out = strategy_lines(state.facts.strategy, width)
            case commands.TurnSwitch():
                out = switch_lines(state.facts.switches)
            case commands.WriteTest(file):
                out = self._test(file)
            case commands.TurnOracle():
                out = oracle_lines(self.debugging)
            case commands.Save(file):
                out = wrapped(save(self.debugging, file), width)
            case commands.Help(topic):
                asked = isinstance(self.outcome, Ask)
                out = commands.help_text(topic, at_question=asked).splitlines()
                if topic:
                    out = [line for paragraph in out for line in wrapped(paragraph, width)]
            case commands.Do("suspects"):
                out = suspect_lines(state, width)
            case commands.Do("source"):
                call = state.tree.call(state.tree.position(self._node()))
                out = source_lines(call, self.debugging.sources)
            case _:
                out = info_lines(self.debugging, self._node(), self._question())
        self.screen.say(*out)
        # What was asked for is left to be read: the question would push it off a small screen.
        reading = isinstance(command, commands.Help | commands.ListCalls | commands.ShowCall)
        reading = reading or command == commands.Do("suspects")
        going_on = isinstance(self.outcome, Ask | Revise)
        self._fresh = len(out) > _SCROLLS and going_on and not reading

    def _run_again(self, what: str) -> None:
        reruns = self.debugging.reruns
        if reruns is None:
            raise UsageError("how its program is run is not known of this tree")
        node, width = self._node(), self.screen.width
        if not self._may_run(reruns):
            self.screen.note("Not run.")
            return
        self.screen.note("running it again …")
        tree = self.debugging.state.tree
        try:
            with self.debugging.waiting("running it again"):
                whole = reruns.whole(node) if what == "full" else None
                ran = frozenset[int]() if whole else reruns.lines(node)
        except KeyboardInterrupt:
            self.screen.note("Stopped.")
            return
        if whole is not None:
            self.screen.say(*islice(call_lines(whole, width), MOST_LINES))
            return
        call = tree.call(tree.position(node))
        self.screen.say(*source_lines(call, self.debugging.sources, ran))

    def _step_through(self, at_end: bool) -> None:
        reruns = self.debugging.reruns
        if reruns is None:
            raise UsageError("how its program is run is not known of this tree")
        if not self.screen.interactive:
            raise UsageError("pdb is for a person at a terminal")
        self.screen.note("running it again up to there …")
        reruns.debug(self._node(), at_end=at_end)
        self._fresh = True

    def _zoom(self) -> None:
        """Go into the call at fault: the same conversation, about its steps."""
        outcome, reruns = self.outcome, self.debugging.reruns
        node = outcome.diagnosis.node if isinstance(outcome, Found) else None
        if node is None:
            raise UsageError("zoom is for when a call was found to be at fault")
        if not isinstance(reruns, Zooming):
            raise UsageError("only calls of recorded Python programs are gone into")
        if self.screen.interactive and not self._may_run(reruns):
            self.screen.note("Not run.")
            return
        try:
            inner, first = self.debugging.zoom(node)
        except KeyboardInterrupt:
            self.screen.note("Stopped.")
            return
        for answer in inner.state.facts.answers:
            if answer.mark is not None and answer.node == node:
                self._tell_origin(inner, answer)
        converse(inner, self.screen, first)
        self.screen.note(f"Back at the diagnosis: call {node} is at fault.")

    def _may_run(self, reruns: Reruns) -> bool:
        """Whether the program may be run again; where that has effects a person is asked, once."""
        if reruns.is_harmless:
            return True
        if not self.debugging.may_run:
            self.screen.say(*wrapped(f"This runs again: {reruns.command}", self.screen.width))
            self.screen.say("What it does to files, or to others, it does once more.")
            reply = self.screen.read("Run it? [y/N] ")
            self.debugging.may_run = reply is not None and reply.strip().lower() in ("y", "yes")
        return self.debugging.may_run

    def _allow_following(self, node: int, part: MarkedPart) -> None:
        """Where a part came from may take a run of the program, which a person has to allow."""
        reruns = self.debugging.reruns
        if not (self.screen.interactive and isinstance(reruns, Following)):
            return
        if reruns.needs_run(node, part) and not self._may_run(reruns):
            self.screen.note("Not run.")

    def _test(self, file: str) -> list[str]:
        outcome = self.outcome
        if not isinstance(outcome, Found):
            raise UsageError("test is for when a call was found to be at fault")
        path = Path(file).expanduser() if file else None
        state, writer = self.debugging.state, self.debugging.tests
        test = regression_test(state, outcome.diagnosis, writer, path)
        if file:
            return wrapped(write_test(test), self.screen.width)
        note = f" (It is a test {test.note}.)" if test.note else ""
        hint = wrapped(f"test {test.path} writes it.{note}", self.screen.width)
        return [*(f"  {line}".rstrip() for line in test.text.splitlines()), *hint]

    def _listing(self, name: str) -> list[str]:
        state = self.debugging.state
        here = state.tree.position(self._node())
        own = int(state.tree.columns.function[here])
        function = find_function(state.tree, name) if name else own
        others = function == own
        listing = calls_of(state, function, here if others else None)
        out = listing_lines(state, listing, self.screen.width, others=others)
        if listing.suspects > 1 and isinstance(self.outcome, Ask):
            nodes = [str(state.tree.id(int(p))) for p in listing.positions[:2]]
            out.append(f"Several can be judged at once: y {' '.join(nodes)}")
        return out

    def _browse(self, path: str) -> None:
        tree = self.debugging.state.tree
        question = self._question()
        call = question.call if question else tree.call(tree.position(self._node()))
        judged = browse(self.screen, call, path, can_mark=question is not None)
        self._fresh = isinstance(self.outcome, Ask | Revise)
        if judged is not None:
            self._judge(judged)
