"""Finds out what is wrong about a recorded run: from the command line, a file, or a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.python.recordings import read_symptom, write_symptom
from whence.langs.python.symptoms import assertion_symptom
from whence.langs.python.symptoms.run_symptom import first_answers, is_test, summarize_run
from whence.langs.python.trace.trace_provenance import program_of
from whence.model.diagnosis import Diagnosis, Status
from whence.model.symptom import Symptom, SymptomKind
from whence.ports import Tree
from whence.session.events import Answered, Event
from whence.tree.column_tree import ColumnTree
from whence.ui.terminal import symptom_prompt as dialogue
from whence.ui.terminal.assertion_prompt import Quit, ask_operand
from whence.ui.terminal.loop import LEFT
from whence.ui.terminal.screen import Screen


class FirstAnswers:
    """Finds out what is wrong, and gives the first answers of the session."""

    def __init__(
        self,
        tree: Tree,
        recording: Path,
        wrong: Symptom | None,
        *,
        asks: bool,
        fresh: bool = False,
    ) -> None:
        """`wrong`: what the command line says; `asks`: a person is asked if nobody says it;
        `fresh`: which operand of an assertion is wrong is asked again."""
        self._fresh = fresh
        self._tree = tree
        self._recording = recording
        self._asks = asks
        self._given = wrong

    def __call__(self, screen: Screen) -> Sequence[Event] | Diagnosis:
        """What is said at the start of the session, or why there is nothing to find."""
        tree = self._tree
        if program_of(tree) is None:
            if self._given is not None:
                raise WhenceError("--wrong is about recordings, and this is a tree")
            return ()
        symptom = self._given or read_symptom(self._recording)
        if len(tree.columns) == 1 and not tree.columns.implicit[0] and self._asks:
            return Diagnosis(Status.UNDETERMINED, reason=self._nothing(screen))
        if symptom is None and self._asks:
            seen = summarize_run(tree)
            ending = f"{seen.ending}\n{seen.cycle}"
            try:
                symptom = dialogue.ask(screen, ending, seen.lines, seen.default, self._check)
            except dialogue.NobodySaid:
                if not seen.failed:
                    reason = "nobody said what is wrong (--wrong does)"
                    return Diagnosis(Status.UNDETERMINED, reason=reason)
                symptom = seen.default
            if symptom is None:
                return Diagnosis(Status.NONE, reason="nothing is wrong")
        if symptom is None:
            return ()
        if symptom.kind is SymptomKind.ASSERTION and isinstance(tree, ColumnTree):
            return self._of_assertion(tree, symptom, screen)
        answers = first_answers(tree, symptom)
        if symptom.kind is SymptomKind.EXCEPTION and is_test(tree):
            screen.say("", summarize_run(tree).ending)
        self._keep(symptom)
        return [Answered(answers)]

    def _of_assertion(
        self, tree: ColumnTree, symptom: Symptom, screen: Screen
    ) -> Sequence[Event] | Diagnosis:
        """Which operand is wrong is asked, unless it was asked before."""
        failed = symptom.assertion
        unsaid = failed is not None and all(each.wrong is None for each in failed.operands)
        if failed is not None and (unsaid or self._fresh):
            try:
                asked = ask_operand(screen, failed, *assertion_symptom.shown(tree, symptom))
            except Quit:
                return Diagnosis(Status.UNDETERMINED, reason=LEFT)
            symptom = replace(symptom, assertion=asked or failed)
            self._keep(symptom)
        answers, notes = assertion_symptom.first_answers(tree, symptom)
        for note in notes:
            screen.note(note)
        return [Answered(tuple(answers))]

    def _check(self, symptom: Symptom) -> None:
        first_answers(self._tree, symptom)

    def _nothing(self, screen: Screen) -> str:
        seen = summarize_run(self._tree)
        screen.say("", seen.ending)
        if seen.default is not None and seen.default.kind is SymptomKind.NOT_ENDED:
            return "nothing that it did had been recorded by then"
        return (
            "no call of the program's own code was recorded (--user-code makes an installed "
            "package part of it)"
        )

    def _keep(self, symptom: Symptom) -> None:
        if read_symptom(self._recording) != symptom:
            write_symptom(self._recording, symptom)
