"""Shows what the session needs: a question, a contradiction or a diagnosis, and the prompt for it.

It reads nothing and sends nothing: that is the loop's part.
"""

from __future__ import annotations

import shutil

from whence.errors import WhenceError
from whence.model.call import Call
from whence.model.diagnosis import Diagnosis
from whence.model.question import Question
from whence.model.symptom import SYMPTOM
from whence.model.verdict import PERSON, Verdict
from whence.ports import Zooming
from whence.report.explanation import explain
from whence.report.question_content import last_judged
from whence.report.raising import own_primitive
from whence.report.text import fitting_lines
from whence.report.text import lines as report_lines
from whence.session.events import Ask, Exhausted, Found, Outcome, Revise
from whence.tree.readable_call import functions_that_ran, readable_call
from whence.ui import DrivenSession
from whence.ui.terminal import commands, messages
from whence.ui.terminal.listing import MOST, choice_lines, instance_lines, suspects
from whence.ui.terminal.question_text import (
    LEFT_OUT,
    QuestionContext,
    opening,
    prompt,
    question_lines,
    shown_call,
)
from whence.ui.terminal.screen import Line, Screen, Tone, hanging

_TRIAL = 5.0
"""How many seconds a person waits to be offered a regression test."""
_SMALLEST, _BESIDES = 24, 2
"""A diagnosis is made to fit on a terminal with at least so many rows, of which so many are for the
empty line before it and for the prompt."""
_PATIENT, _FEW = 3, 3
"""`suspects` is recommended after this many questions, unless only this few calls are left."""
_ALIKE = 2
"""`trust` is recommended for a function of which so many calls were right."""


class OutcomeView:
    """The outcomes of one session on one screen."""

    def __init__(self, session: DrivenSession, screen: Screen) -> None:
        self._session = session
        self.screen = screen
        self._counted: Outcome | None = None
        """The question whose characters were counted last: one shown again is not counted."""
        self._has_recommended = False
        self._offered: set[int] = set()
        """The functions for which `trust` was recommended."""
        self._knows_show = False
        self._shown: list[tuple[int, int, Call]] = []
        """The ids and numbers of the questions so far, and what was shown of each call."""

    def open(self, question: Question) -> None:
        """Say what the session is about, before its first question."""
        state, width = self._session.state, self.screen.width
        space = state.space()
        call, _ = readable_call(state.tree, space.top)
        is_wrong = space.verdict(space.top) is Verdict.WRONG
        answers = sum(answer.by != SYMPTOM for answer in state.facts.answers)
        has_symptom = answers < len(state.facts.answers)
        top = None if has_symptom and not answers and not call.arguments else call
        inside = question.call.step is not None
        self.screen.say(
            *opening(top, is_wrong=is_wrong, answers=answers, width=width, inside=inside)
        )
        if has_symptom and not answers and self.screen.interactive:
            self.screen.say(*messages.followed_symptom(state, question, width))
            self.screen.say(*choice_lines(state, width))

    def show(self, outcome: Outcome) -> None:
        """Show what the session needs now."""
        session = self._session
        if isinstance(outcome, Ask):
            self._show_question(outcome)
        elif isinstance(outcome, Revise):
            self.screen.say("", *messages.contradiction(session.state, outcome))
        elif isinstance(outcome, Found | Exhausted):
            findings = session.findings(outcome.diagnosis)
            if self.screen.interactive:
                parts = explain(session.state, outcome.diagnosis, session.sources, findings)
                rows = max(_SMALLEST, shutil.get_terminal_size().lines) - _BESIDES
                lines = fitting_lines(parts, self.screen.width, rows, hanging)
            else:
                lines = report_lines(session.state, outcome.diagnosis, session.sources, findings)
            self.screen.say("", Line(lines[0], Tone.FAULT), *lines[1:])

    def report(self, outcome: Found | Exhausted) -> list[str]:
        """The whole diagnosis, in lines that fit on the screen."""
        session = self._session
        findings = session.findings(outcome.diagnosis)
        lines = report_lines(session.state, outcome.diagnosis, session.sources, findings)
        return [piece for line in lines for piece in hanging(line, self.screen.width)]

    def _show_question(self, outcome: Ask) -> None:
        session, question, width = self._session, outcome.question, self.screen.width
        number = self._number()
        context = self._context(question)
        lines = question_lines(question, number, width, context)
        self._shown = [entry for entry in self._shown if entry[0] != question.node]
        self._shown.append((question.node, number, shown_call(question, width, context)))
        if question.function is not None:
            table = instance_lines(session.state, question.function, width, session.sources)
            lines = [*(Line(row, Tone.QUIET) for row in table), Line(""), *lines]
        self._knows_show |= any(line.text.endswith(LEFT_OUT) for line in lines)
        if self._counted is not outcome:
            session.count_shown("\n".join(line.text for line in lines))
            self._counted = outcome
        self.screen.say("", *lines)
        if not self.screen.interactive:
            return
        offer = self._offer_of_trust(question)
        if offer:
            self.screen.note(offer)
        elif number > _PATIENT and not self._has_recommended:
            left = suspects(session.state).total
            if _FEW < left <= MOST:
                self._has_recommended = True
                self.screen.note(f"(suspects lists the {left} calls that are left)")

    def _offer_of_trust(self, question: Question) -> str:
        """How to be spared more questions about a function, said once for each function."""
        tree = self._session.state.tree
        functions = tree.columns.function
        number = int(functions[tree.position(question.node)])
        right = sum(
            answer.by == PERSON
            and answer.verdict is Verdict.RIGHT
            and int(functions[tree.position(answer.node)]) == number
            for answer in self._session.state.facts.answers
        )
        if right < _ALIKE or number in self._offered or question.call.step is not None:
            return ""
        self._offered.add(number)
        name = tree.functions[number].short()
        return f"({right} calls of {name} were right; trust asks no more about it)"

    def _number(self) -> int:
        """Which question it is."""
        return sum(answer.in_dialogue for answer in self._session.state.facts.answers) + 1

    def _context(self, question: Question) -> QuestionContext:
        """What a question is shown against: the call that the person judged last, and sources."""
        state, sources = self._session.state, self._session.sources
        tree = state.tree
        last = last_judged(state)
        raised = own_primitive(state, question.node, sources)
        by = "" if raised is None else raised.text
        ran = functions_that_ran(tree, tree.position(question.node))
        shown = [(number, call) for node, number, call in self._shown if node != question.node]
        return QuestionContext(
            sources, last, self.screen.emphasises, by, ran, shown, self._knows_show
        )

    def prompt(self, outcome: Outcome) -> str:
        """The prompt for the next line."""
        match outcome:
            case Ask(question):
                return prompt(question, self._number())
            case Revise():
                return "Which one holds? [1/2/undo] "
            case Exhausted(_, rest):
                also = "rest searches on, " if rest else ""
                return f"Enter ends; {also}undo, distrust, list, save, help > "
            case Found(diagnosis):
                reruns, node = self._session.reruns, diagnosis.node
                can_zoom = (
                    isinstance(reruns, Zooming) and node is not None and reruns.can_zoom(node)
                )
                also = "zoom, undo, source" if can_zoom else "undo, list, source"
                test = ", test" if self._has_test(diagnosis) else ""
                return f"Enter ends; reject if this is not it; {also}{test}, save, help > "
            case _:
                raise AssertionError("a person is not asked about it")

    def _has_test(self, diagnosis: Diagnosis) -> bool:
        """Whether a regression test can be had: it is run to find out."""
        try:
            self._session.regression_test(diagnosis, seconds=_TRIAL)
        except (WhenceError, KeyboardInterrupt):
            return False
        return True

    def hint(self, outcome: Outcome) -> str:
        """What could be typed, for a line that was not understood."""
        match outcome:
            case Ask():
                return commands.HINT
            case Revise():
                return "type 1, 2 or undo"
            case _:
                return "type help, or Enter to end"
