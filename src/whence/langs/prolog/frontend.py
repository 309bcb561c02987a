"""A goal and its answers: running it, and the tree that explains what is wrong with them.

What is wrong is one of: an answer that should not be there, an answer that is missing, an exception
that should not have been raised. Each has its own root in the evaluation tree.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from whence.errors import UsageError, WhenceError
from whence.langs.prolog.engine import Engine
from whence.langs.prolog.evaluation_tree import EvaluationTree
from whence.langs.prolog.events import Run, run_goal
from whence.langs.prolog.provenance import PrologProvenance
from whence.langs.prolog.trace_tree import TraceTree
from whence.langs.prolog.traced_call import Left, Port
from whence.model.call import MarkedPart, find_mark
from whence.tree.memory import ColumnTree

MOST_EVENTS = 2_000_000
SOLUTIONS = 20


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """A trace is many objects that stay; a third of the time would go into looking for cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Execution:
    """A goal that was run. The engine has to stay open as long as its trees are looked at.

    `source` is that of the last tree that was asked for.
    """

    def __init__(
        self,
        engine: Engine,
        file: Path,
        goal: str,
        *,
        solutions: int = SOLUTIONS,
        most_events: int = MOST_EVENTS,
    ) -> None:
        engine.load(file)
        self.run = Run()
        events = run_goal(engine, goal, self.run, solutions=solutions, most_events=most_events)
        with _without_collector():
            self.trace = TraceTree(events, self.run)
        if not self.trace.calls:
            raise WhenceError(f"{goal}: nothing of the program was called")
        if len(self.trace.root.answers) != len(self.run.answers):
            raise WhenceError(
                f"{goal}: not all of the run was recorded; does the program turn the tracer off "
                "(notrace, nodebug)?"
            )
        names = {str(file.resolve()): str(file)}
        self._new_source = partial(EvaluationTree, engine, self.trace, names, goal)
        self.source = self._new_source()

    @property
    def answers(self) -> list[str]:
        """The answers, as a toplevel shows them."""
        return self.run.answers

    @property
    def has_all_answers(self) -> bool:
        """Whether no further answer was to be had."""
        return self.run.exhausted

    @property
    def raised(self) -> str | None:
        """The exception that ended the goal, if one did."""
        return None if self.run.raised is None else self.source.texts([self.run.raised])[0]

    def wrong(self, number: int) -> ColumnTree:
        """The tree of an answer (from 1) that should not be there."""
        count = len(self.trace.root.answers)
        if not 1 <= number <= count:
            known = "it has none" if not count else f"its answers are 1 to {count}"
            raise UsageError(f"the goal has no answer {number}; {known}")
        return self._tree(Left(Port.EXIT, self.trace.root, number - 1))

    def missing(self) -> ColumnTree:
        """The tree of the failure that ended the goal, so that an answer is missing."""
        if not self.has_all_answers:
            why = (
                "an exception ended it"
                if self.run.raised is not None
                else ("there are more answers than were asked for; --solutions N asks for more")
            )
            raise UsageError(f"whether an answer is missing cannot be told: {why}")
        return self._tree(Left(Port.FAIL, self.trace.root))

    def raising(self) -> ColumnTree:
        """The tree of the exception."""
        if self.run.raised is None:
            raise UsageError("the goal raised nothing")
        if self.trace.root.raised is None:
            raise WhenceError("the exception was raised outside of what was recorded")
        return self._tree(Left(Port.RAISE, self.trace.root))

    def provenance(self, tree: ColumnTree) -> PrologProvenance:
        """Where the terms of the last tree that was asked for came from."""
        return PrologProvenance(self.source, tree)

    def part(self, tree: ColumnTree, text: str) -> MarkedPart:
        """A part of the goal, of an argument (`2[1]`) or a variable (`X[1]`) of it."""
        left = self.source.event(tree.id(0))
        return find_mark(tree.call(0), self.source.part_of_goal(left, text), input_side=False)

    def _tree(self, root: Left) -> ColumnTree:
        """Each tree has a source of its own, which numbers its nodes."""
        self.source = self._new_source()
        return self.source.tree(root)
