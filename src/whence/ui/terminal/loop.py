"""The question loop: shows what the session needs, reads a line, sends what it means.

There is one loop for all that a session can ask for; what differs is what is shown, and what an
empty line means. Nothing that is typed ends it except leaving: what cannot be done is said, and
the question is asked again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from whence.errors import UsageError, WhenceError
from whence.model.diagnosis import Diagnosis
from whence.model.question import Question
from whence.model.verdict import PERSON, Answer, Verdict
from whence.ports import Zooming
from whence.report.regression_test import write_test, wrong_answer
from whence.report.source import source_lines
from whence.session import events
from whence.session.events import Event, Outcome
from whence.ui import DrivenSession
from whence.ui.terminal import commands, messages
from whence.ui.terminal.browse import browse, check_mark
from whence.ui.terminal.commands import Command
from whence.ui.terminal.completion import completer
from whence.ui.terminal.info_command import info_lines
from whence.ui.terminal.listing import (
    calls_of,
    find_function,
    listing_lines,
    outline_lines,
    suspect_lines,
)
from whence.ui.terminal.outcome_view import OutcomeView
from whence.ui.terminal.paging import say_in_pages
from whence.ui.terminal.rerun_commands import RerunCommands
from whence.ui.terminal.save_command import save
from whence.ui.terminal.screen import Screen, wrap
from whence.ui.terminal.show_command import whole_lines
from whence.ui.terminal.switches import (
    find_oracle,
    find_switch,
    oracle_lines,
    strategy_lines,
    switch_lines,
)
from whence.ui.terminal.trust_command import find_trust

LEFT = "left with quit"
RAN_OUT = "the answers ran out"
STOPPED = "stopped with Ctrl-C"
_SCROLLS = 6
"""After more lines than this the question is shown again."""


def converse(session: DrivenSession, screen: Screen, outcome: Outcome) -> tuple[Outcome, str]:
    """Hold the session from an outcome on; its last outcome, and why it was left early."""
    return _Conversation(session, screen, outcome).run()


class _Left(Exception):
    """The person leaves, or the script has no more answers."""


class _Conversation:
    """Reads commands and carries them out until the person leaves."""

    def __init__(self, session: DrivenSession, screen: Screen, outcome: Outcome) -> None:
        self.session = session
        self.screen = screen
        self.outcome = outcome
        self._view = OutcomeView(session, screen)
        self._reruns = RerunCommands(session, screen)
        self._fresh = True
        """Whether the outcome has to be shown before the next line is read."""
        self._has_asked_expected = False
        self._heard = False
        """Whether anything was typed, or read from a script."""

    def run(self) -> tuple[Outcome, str]:
        if isinstance(self.outcome, events.Ask):
            self._view.open(self.outcome.question)
        try:
            while True:
                self._turn()
        except _Left as left:
            reason = str(left)
        if isinstance(self.outcome, events.Found | events.Exhausted):
            return self.outcome, ""
        self.screen.note(messages.left_early(self.session, reason))
        return self.outcome, reason

    # --- one turn ------------------------------------------------------------------------------

    def _turn(self) -> None:
        if self._fresh:
            self._view.show(self.outcome)
            self._fresh = False
        try:
            self._obey(self._next_command())
        except WhenceError as problem:
            self.screen.warn(str(problem))

    def _next_command(self) -> Command:
        outcome = self.outcome
        ended = isinstance(outcome, events.Found | events.Exhausted)
        quietly = ended and not self.screen.interactive
        question = self._question()
        call = question.call if question else None
        complete = completer(self.session.state.tree, call)
        if quietly and not self._heard:
            # Nothing was read so far, so there is no script: its input may stay silent forever.
            raise _Left(RAN_OUT)
        line = self.screen.read(None if quietly else self._view.prompt(outcome), complete)
        self._heard = True
        if line is None:
            raise _Left(LEFT if self.screen.interactive else RAN_OUT)
        if not quietly:
            return commands.parse(line, hint=self._view.hint(outcome))
        # A script that has nothing to say about the diagnosis is done; the rest is for others.
        try:
            command = commands.parse(line)
        except UsageError as problem:
            raise _Left(RAN_OUT) from problem
        if isinstance(command, commands.Accept | commands.Judge | commands.Keep):
            raise _Left(RAN_OUT)
        self.screen.say(self._view.prompt(outcome) + line)
        return command

    def _question(self) -> Question | None:
        return self.outcome.question if isinstance(self.outcome, events.Ask) else None

    def _node(self) -> int:
        """The call that commands are about when they name none."""
        outcome = self.outcome
        if isinstance(outcome, events.Ask):
            return outcome.question.node
        if isinstance(outcome, events.Revise) and isinstance(outcome.later, Answer):
            return outcome.later.node
        state = self.session.state
        if isinstance(outcome, events.Found | events.Exhausted):
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
                self._need(
                    events.Revise, "1 and 2 are for when two statements contradict each other"
                )
                self._send(events.Resolved(keep_earlier=earlier))
            case commands.TrustCode():
                self._trust(command)
            case commands.Do("strategy", name) if name:
                self._send(events.StrategyChosen(name))
                self.screen.note(f"From now on: {self.session.state.facts.strategy}.")
            case commands.TurnSwitch(name, on) if name:
                turned = find_switch(name, on)
                self._send(turned)
                self.screen.note(f"{turned.name} is {'on' if on else 'off'} now.")
            case commands.TurnOracle(name, on) if name:
                oracle = find_oracle(self.session, name)
                self._send(events.OracleTurned(oracle, on))
                self.screen.note(f"{oracle} is {'on' if on else 'off'} now.")
            case commands.StepThrough(at_end):
                self._reruns.step_through(self._node(), at_end=at_end)
                self._fresh = True
            case commands.Do("quit"):
                raise _Left(LEFT)
            case commands.Do("full" | "ran" as what):
                is_long = self._reruns.run(what, self._node())
                self._fresh = is_long and isinstance(self.outcome, events.Ask)
            case commands.Do("zoom"):
                self._zoom()
            case commands.Do("reject"):
                self._need(events.Found, "reject is for when a diagnosis stands")
                self._send(events.Rejected())
                self.screen.note("Asked again from the start; Enter repeats an earlier answer.")
            case commands.Do("report"):
                if not isinstance(self.outcome, events.Found | events.Exhausted):
                    raise UsageError("report is for when a diagnosis stands")
                lines = self._view.report(self.outcome)
                say_in_pages(self.screen, lines, len(lines))
            case commands.Do("rest"):
                if not (isinstance(self.outcome, events.Exhausted) and self.outcome.rest):
                    raise UsageError("rest is for when the top of the tree was judged right")
                self._send(events.RestSearched())
            case commands.Do("undo" | "redo" as what):
                before = self.session.state.facts
                self._send(events.Undone() if what == "undo" else events.Redone())
                verb = "Taken back" if what == "undo" else "Said again"
                change = messages.difference(self.session.state, before)
                self.screen.note(f"{verb}: {change}.")
            case _:
                self._look(command)

    def _need(self, kind: type[Outcome], otherwise: str) -> None:
        if not isinstance(self.outcome, kind):
            raise UsageError(otherwise)

    def _judge(self, command: commands.Judge) -> None:
        if isinstance(self.outcome, events.Revise):
            raise UsageError("first say which of the two holds: 1 or 2, or undo")
        if command.nodes and not command.part:
            answers = tuple(
                Answer(node, command.verdict, expected=command.expected) for node in command.nodes
            )
            self._send(events.Answered(answers))
            if not isinstance(self.outcome, events.Revise):
                self.screen.note(messages.answers_noted(answers))
                self._tell_expected(answers[0])
            return
        question = self._question()
        if isinstance(self.outcome, events.Found) and command.verdict is Verdict.RIGHT:
            raise _Left(LEFT)
        if command.nodes:
            (node,), tree = command.nodes, self.session.state.tree
            call = tree.call(tree.position(node))
        elif question is None:
            raise UsageError("no question is open; name the calls that you mean, as in: n 14 18")
        else:
            node, call = question.node, question.call
        mark = None
        if command.part:
            part = check_mark(call, command.part, command.verdict)
            mark = part.mark
            self._reruns.allow_tracing(node, part)
        answer = Answer(node, command.verdict, mark, expected=command.expected)
        self._send(events.Answered((answer,)))
        if mark is not None and not isinstance(self.outcome, events.Revise):
            self._tell_origin(self.session, answer)
        self._tell_expected(answer)
        if isinstance(self.outcome, events.Ask) and messages.skipped_twice(self.session.state):
            self.screen.say("", *outline_lines(self.session.state, self.screen.width))
            self.screen.say(*messages.other_ways(self.session.state, self.screen.width))

    def _tell_origin(self, session: DrivenSession, answer: Answer) -> None:
        note, *more = messages.origin_lines(session.state, answer, session.sources)
        self.screen.note(note)
        self.screen.say(*more)

    def _tell_expected(self, answer: Answer) -> None:
        if answer.expected is not None and not isinstance(self.outcome, events.Revise):
            self.screen.note(messages.expectation_noted(self.session.state, answer))
            if not messages.is_what_it_returned(self.session.state, answer):
                self._reruns.try_expected(answer)

    def _accept(self) -> None:
        if isinstance(self.outcome, events.Found | events.Exhausted):
            raise _Left(LEFT)
        question = self._question()
        if question is None or question.default is None:
            self._fresh = True
            return
        repeated = replace(question.default, node=question.node, by=PERSON, reason="")
        self._send(events.Answered((repeated,)))

    def _trust(self, command: commands.TrustCode) -> None:
        if isinstance(self.outcome, events.Revise):
            raise UsageError("first say which of the two holds: 1 or 2, or undo")
        trust = find_trust(self.session.state, command, self._node())
        self._send(events.TrustWithdrawn(trust) if command.withdraw else events.TrustGiven(trust))
        if not isinstance(self.outcome, events.Revise):
            self.screen.note(messages.trust_noted(trust, withdrawn=command.withdraw))

    def _send(self, event: Event) -> None:
        before = self.session.state
        try:
            self.outcome = self.session.send(event)
        except KeyboardInterrupt:
            if isinstance(self.outcome, events.Found | events.Exhausted):
                raise  # this diagnosis may no longer stand
            raise _Left(STOPPED) from None
        except WhenceError:
            taken_in = self.session.outcome_since(before)
            if taken_in is not None:
                self.outcome = taken_in
                self._fresh = True
            raise
        self._fresh = True

    # --- what only shows something -------------------------------------------------------------

    def _look(self, command: Command) -> None:
        state, width = self.session.state, self.screen.width
        match command:
            case commands.Do("browse", path):
                self._browse(path)
                return
            case commands.Do("list", name):
                out = self._listing(name)
            case commands.ShowCall(node):
                wanted = self._node() if node is None else node
                out = whole_lines(state, wanted, width)
                if self.session.reruns is not None and any("…" in line for line in out):
                    out.append("(… was not recorded; full runs the program again for it)")
            case commands.Do("strategy"):
                out = strategy_lines(state.facts.strategy, width)
            case commands.TurnSwitch():
                out = switch_lines(state.facts.switches)
            case commands.Do("test", file):
                out = self._test(file)
            case commands.TurnOracle():
                out = oracle_lines(self.session)
            case commands.Do("save", file):
                out = wrap(save(self.session, file), width)
            case commands.Do("help", topic):
                asked = isinstance(self.outcome, events.Ask)
                out = commands.help_text(topic, at_question=asked).splitlines()
                if topic:
                    out = [line for paragraph in out for line in wrap(paragraph, width)]
            case commands.Do("suspects"):
                out = suspect_lines(state, width)
            case commands.Do("source"):
                call = state.tree.call(state.tree.position(self._node()))
                out = source_lines(call, self.session.sources)
            case _:
                out = info_lines(self.session, self._node(), self._question())
        self.screen.say(*out)
        # Do not repeat the question: it would push the output off a small screen.
        is_list = isinstance(command, commands.Do) and command.what in ("help", "list", "suspects")
        reading = is_list or isinstance(command, commands.ShowCall)
        going_on = isinstance(self.outcome, events.Ask | events.Revise)
        self._fresh = len(out) > _SCROLLS and going_on and not reading

    def _zoom(self) -> None:
        """Search inside the call at fault: the same conversation, about its steps."""
        outcome, reruns = self.outcome, self.session.reruns
        node = outcome.diagnosis.node if isinstance(outcome, events.Found) else None
        if node is None:
            raise UsageError("zoom is for when a call was found to be at fault")
        if not isinstance(reruns, Zooming):
            raise UsageError("zoom works only for calls of recorded Python programs")
        if self.screen.interactive and not self._reruns.may_run(reruns):
            self.screen.note("Not run.")
            return
        try:
            inner, first = self.session.zoom(node)
        except KeyboardInterrupt:
            self.screen.note("Stopped.")
            return
        for answer in inner.state.facts.answers:
            if answer.mark is not None and answer.node == node:
                self._tell_origin(inner, answer)
        converse(inner, self.screen, first)
        self.screen.note(f"Back at the diagnosis: call {node} is at fault.")

    def _test(self, file: str) -> list[str]:
        outcome = self.outcome
        if not isinstance(outcome, events.Found):
            raise UsageError("test is for when a call was found to be at fault")
        try:
            path = Path(file).expanduser() if file else None
        except RuntimeError as problem:  # this user has no home folder
            raise UsageError(f"{file}: {problem}") from None
        self._ask_expected(outcome.diagnosis)
        outcome = self.outcome
        if not isinstance(outcome, events.Found):
            return []  # what was expected contradicts an earlier answer
        test = self.session.regression_test(outcome.diagnosis, path)
        if file:
            return wrap(write_test(test), self.screen.width)
        note = f" (It is a test {test.note}.)" if test.note else ""
        hint = wrap(f"test {test.path} writes it.{note}", self.screen.width)
        return [*(f"  {line}".rstrip() for line in test.text.splitlines()), *hint]

    def _ask_expected(self, diagnosis: Diagnosis) -> None:
        """Ask once what the call at fault should have given, unless that is known."""
        node, state = diagnosis.node, self.session.state
        if node is None or self._has_asked_expected or not self.screen.interactive:
            return
        self._has_asked_expected = True
        wrong = wrong_answer(state, node)
        if wrong is not None and wrong.expected is not None:
            return
        reply = self.screen.read("What should it have been? (a value or exception; Enter: no) ")
        if reply is None or not reply.strip():
            return
        mark = None if wrong is None else wrong.mark
        answer = Answer(node, Verdict.WRONG, mark, expected=reply.strip())
        self._send(events.Answered((answer,)))
        self._tell_expected(answer)

    def _listing(self, name: str) -> list[str]:
        state = self.session.state
        here = state.tree.position(self._node())
        own = int(state.tree.columns.function[here])
        function = find_function(state.tree, name) if name else own
        others = function == own
        listing = calls_of(state, function, here if others else None)
        out = listing_lines(state, listing, self.screen.width, others=others)
        if listing.suspects > 1 and isinstance(self.outcome, events.Ask):
            nodes = [str(state.tree.id(int(p))) for p in listing.positions[:2]]
            out.append(f"Several can be judged at once: y {' '.join(nodes)}")
        return out

    def _browse(self, path: str) -> None:
        tree = self.session.state.tree
        question = self._question()
        call = question.call if question else tree.call(tree.position(self._node()))
        judged = browse(self.screen, call, path, can_mark=question is not None)
        self._fresh = isinstance(self.outcome, events.Ask | events.Revise)
        if judged is not None:
            self._judge(judged)
