"""Runs a goal, and builds the tree that explains a symptom of it.

The symptom is a wrong answer, a missing answer, an exception, or that the goal did not end. Each
has its own root in the evaluation tree.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from pathlib import Path

from whence.errors import UsageError, WhenceError
from whence.langs.prolog.evaluation_tree import EvaluationTree
from whence.langs.prolog.port_events import Predicate, Run, RunLimits, run_goal
from whence.langs.prolog.skipped_calls import Preparation, Program, SkippedCalls
from whence.langs.prolog.swipl_process import (
    Engine,
    EngineProblem,
    Engines,
    TookTooLong,
    plain,
    quoted,
)
from whence.langs.prolog.term_provenance import PrologProvenance
from whence.langs.prolog.trace_tree import TraceTree
from whence.langs.prolog.traced_call import Port, PortEvent, TracedCall, stopped_in
from whence.model.call import MarkedPart, find_mark
from whence.tree.column_tree import ColumnTree

LIMITS = RunLimits(events=1_000_000, depth=100_000, seconds=120)
SOLUTIONS = 20
_LOOKED_AT = 2000
_PATIENCE = 10
_LIMITS: dict[str, Callable[[RunLimits], str]] = {
    "events": lambda limits: f"{limits.events:,} events",
    "depth": lambda limits: f"a depth of {limits.depth:,} calls",
    "seconds": lambda limits: f"{limits.seconds:g} s",
}


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Turns the garbage collector off: a trace is many lasting objects, and a third of the time
    would go into looking for cycles among them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextlib.contextmanager
def _stoppable(engine: Engine, goal: str, seconds: float) -> Iterator[None]:
    """Ends a program that does not reach the next call, where it would stop by itself."""
    if not seconds:
        yield
        return
    try:
        with engine.within(seconds + _PATIENCE):
            yield
    except TookTooLong:
        raise WhenceError(
            f"{goal}: it could not be stopped after {seconds:g} s, as a single call in it takes "
            "longer; all that was recorded is lost"
        ) from None


class GoalExecution:
    """A goal that was run. The engine has to stay open as long as its trees are looked at.

    `goal` is its text, `source` that of the last tree that was asked for.
    """

    def __init__(
        self,
        engine: Engine,
        file: Path,
        goal: str,
        *,
        solutions: int = SOLUTIONS,
        limits: RunLimits = LIMITS,
        preparation: Preparation | None = None,
    ) -> None:
        """With a `preparation` the goal is the one that it makes."""
        engine.load(file)
        self._engine = engine
        self._engines = Engines(engine)
        self._preparation = preparation
        self.goal = self._goal = goal
        if preparation is not None:
            module, self.goal = preparation.set_up(engine)
            self._goal = f"{quoted(module)}:({self.goal})"
        self._file = file
        self._solutions = solutions
        self._limits = limits
        self._names = {str(file.resolve()): str(file)}
        self.run = Run()
        self.trace = self._traced(self._goal, self.run)
        self.source = self._new_source(self.trace, self._goal)
        if self.run.stopped:
            mark_repeats(self.trace, self.source)

    @property
    def answers(self) -> list[str]:
        """The answers, as a toplevel shows them."""
        return self.run.answers

    @property
    def has_all_answers(self) -> bool:
        """Whether the goal has no further answer."""
        return self.run.exhausted

    @property
    def raised(self) -> str | None:
        """The exception that ended the goal, if one did."""
        return None if self.run.raised is None else self.source.error(self.run.raised)

    @property
    def stopped(self) -> str | None:
        """The limit at which the goal was stopped, if it was."""
        return _LIMITS[self.run.stopped](self._limits) if self.run.stopped else None

    def wrong(self, number: int) -> ColumnTree:
        """The tree of an answer (from 1) that should not be there."""
        count = len(self.trace.root.answers)
        if not 1 <= number <= count:
            known = "it has none" if not count else f"its answers are 1 to {count}"
            raise UsageError(f"the goal has no answer {number}; {known}")
        return self._tree(PortEvent(Port.EXIT, self.trace.root, number - 1))

    def missing(self) -> ColumnTree:
        """The tree of the failure that ended the goal, so that an answer is missing."""
        if not self.has_all_answers:
            why = "there are more answers than were asked for; --solutions N asks for more"
            if self.run.raised is not None:
                why = "an exception ended it"
            elif self.run.stopped:
                why = f"it did not end within {self.stopped}"
            raise UsageError(f"whether an answer is missing cannot be told: {why}")
        return self._tree(PortEvent(Port.FAIL, self.trace.root))

    def missing_answer(self, text: str) -> ColumnTree | None:
        """The tree of why an answer is missing: its failure, when it is asked for alone.

        None where it is found then, so that only the whole goal shows what is wrong.
        """
        request = f"instance({quoted(self._goal)}, {quoted(text)})"
        goal = plain(self._engine.do(request)[0][1])
        run = Run()
        trace = self._traced(goal, run)
        if run.answers:
            return None
        if not run.exhausted:
            raise UsageError(f"whether {text} is missing cannot be told: {goal} did not end")
        self.source = self._new_source(trace, goal)
        return self.source.tree(PortEvent(Port.FAIL, trace.root))

    def missed(self, text: str, note: Callable[[str], None]) -> ColumnTree:
        """The tree of a missing answer (or of any), asked for alone where that fails as well."""
        tree = self.missing_answer(text) if text else None
        if tree is None and text:
            note(f"Asked for alone, {text} is found; so the whole goal is looked at.")
        return tree or self.missing()

    def raising(self) -> ColumnTree:
        """The tree of the exception."""
        if self.run.raised is None:
            raise UsageError("the goal raised nothing")
        root = self.trace.root
        if root.raised is None and root.failed is not None:
            # Of a predicate that is declared det the failure is told, then who called it raises.
            return self._tree(PortEvent(Port.FAIL, root))
        if root.raised is None:
            raise WhenceError("the exception was raised outside of what was recorded")
        return self._tree(PortEvent(Port.RAISE, self.trace.root))

    def provenance(self, tree: ColumnTree) -> PrologProvenance:
        """Where the terms of the last tree that was asked for came from."""
        return PrologProvenance(self.source, tree)

    def close(self) -> None:
        """Run the test's cleanup, and end the processes of re-runs."""
        if self._preparation is not None:
            for engine in self._engines:
                with contextlib.suppress(EngineProblem):
                    self._preparation.clean_up(engine)
        self._engines.close()

    def endless(self) -> ColumnTree:
        """The tree of the calls that had not ended when the goal was stopped."""
        if not self.run.stopped:
            raise UsageError("the goal ended; nothing had to be stopped")
        return self._tree(PortEvent(Port.STOPPED, self.trace.root))

    def _traced(self, goal: str, run: Run) -> TraceTree:
        lines = run_goal(self._engine, goal, solutions=self._solutions, limits=self._limits)
        with without_collector(), _stoppable(self._engine, goal, self._limits.seconds):
            trace = TraceTree(lines, run)
        if not trace.calls:
            raise WhenceError(f"{goal}: nothing of the program was called")
        if len(trace.root.answers) != len(run.answers) and not run.stopped:
            raise WhenceError(
                f"{goal}: not all of the run was recorded; does the program turn the tracer off "
                "(notrace, nodebug)?"
            )
        return trace

    def _new_source(self, trace: TraceTree, goal: str) -> EvaluationTree:
        program = Program(self._file, goal, self._solutions, self._limits, self._preparation)
        reruns = SkippedCalls(self._engines, program, trace) if self._limits.skip_below else None
        shown = self.goal if goal == self._goal else goal
        return EvaluationTree(self._engines, trace, self._names, shown, reruns)

    def part(self, tree: ColumnTree, text: str) -> MarkedPart:
        """A part of the goal, of an argument (`2[1]`) or a variable (`X[1]`) of it."""
        event = self.source.event(tree.id(0))
        return find_mark(tree.call(0), self.source.part_of_goal(event, text), input_side=False)

    def _tree(self, root: PortEvent) -> ColumnTree:
        """Each tree has a source of its own, which numbers its nodes."""
        self.source = self._new_source(self.trace, self._goal)
        return self.source.tree(root)


def mark_repeats(trace: TraceTree, source: EvaluationTree) -> None:
    """Find the call that a stopped run came to again, below one with the same arguments.

    Only the beginning and the end of a long way down are looked at: a cycle shows in either.
    """
    chain = [trace.root]
    while (inner := stopped_in(chain[-1])) is not None:
        chain.append(inner)
    for part in (chain[:_LOOKED_AT], chain[_LOOKED_AT:][-_LOOKED_AT:]):
        users = [each for each in part if each.predicate.is_user]
        digests = source.digests([each.term for each in users])
        seen: dict[tuple[Predicate, str], TracedCall] = {}
        for call, digest in zip(users, digests, strict=True):
            earlier = seen.setdefault((call.predicate, digest), call)
            if earlier is not call:
                call.repeats = earlier
                return
