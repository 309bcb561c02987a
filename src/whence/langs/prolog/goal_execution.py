"""Runs a goal, and builds the tree that explains a symptom of it.

The symptom is a wrong answer, a missing answer, an exception, or that the goal did not end. Each
has its own root in the evaluation tree.
"""

from __future__ import annotations

import contextlib
import gc
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from whence.errors import UsageError, WhenceError
from whence.langs.prolog.evaluation_tree import EvaluationTree
from whence.langs.prolog.port_events import Predicate, Run, RunLimits, run_goal
from whence.langs.prolog.program_state import read_output
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
    """Turns the garbage collector off: a trace is many long-lived objects, and the search for
    cycles among them would take a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextlib.contextmanager
def _stoppable(engine: Engine, goal: str, seconds: float) -> Iterator[None]:
    """Kills a program that does not reach the next call, at which the tracer would stop it."""
    if not seconds:
        yield
        return
    try:
        with engine.within(seconds + _PATIENCE):
            yield
    except TookTooLong:
        raise WhenceError(
            f"{goal}: it could not be stopped after {seconds:g} s, as a single call in it takes "
            "longer; the recording is lost"
        ) from None


class GoalExecution:
    """A goal that was run. The engine has to stay open as long as its trees are used.

    `goal` is its text; `source` belongs to the tree that was built last.
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
        """With a `preparation`, its goal replaces `goal`."""
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
        """The answers as the Prolog prompt shows them."""
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
            answers = "it has none" if not count else f"its answers are 1 to {count}"
            raise UsageError(f"the goal has no answer {number}; {answers}")
        return self._tree(PortEvent(Port.EXIT, self.trace.root, number - 1))

    def missing(self) -> ColumnTree:
        """The tree of the failure that ended the goal: an answer is missing."""
        if not self.has_all_answers:
            why = "there are more answers than were asked for; --solutions N asks for more"
            if self.run.raised is not None:
                why = "an exception ended it"
            elif self.run.stopped:
                why = f"it did not end within {self.stopped}"
            raise UsageError(f"it is unknown whether an answer is missing: {why}")
        return self._tree(PortEvent(Port.FAIL, self.trace.root))

    def missing_answer(self, text: str) -> ColumnTree | None:
        """The tree of a missing answer: the failure of the goal when it is asked for this answer.

        None if the answer is found then, so only the whole goal shows the fault.
        """
        request = f"instance({quoted(self._goal)}, {quoted(text)})"
        goal = plain(self._engine.do(request)[0][1])
        run = Run()
        trace = self._traced(goal, run)
        if run.answers:
            return None
        if not run.exhausted:
            raise UsageError(f"it is unknown whether {text} is missing: {goal} did not end")
        self.source = self._new_source(trace, goal)
        return self.source.tree(PortEvent(Port.FAIL, trace.root))

    def missed(self, text: str, note: Callable[[str], None]) -> ColumnTree:
        """The tree of a missing answer; of the whole goal if `text` is empty or is found alone."""
        tree = self.missing_answer(text) if text else None
        if tree is None and text:
            note(f"Asked for alone, {text} is found, so the whole goal is searched.")
        return tree or self.missing()

    def raising(self) -> ColumnTree:
        """The tree of the exception."""
        if self.run.raised is None:
            raise UsageError("the goal raised nothing")
        root = self.trace.root
        if root.raised is None and root.failed is not None:
            # A predicate that is declared det failed, so Prolog raised an error in its caller.
            return self._tree(PortEvent(Port.FAIL, root))
        if root.raised is None:
            raise WhenceError("the exception was raised outside of what was recorded")
        return self._tree(PortEvent(Port.RAISE, self.trace.root))

    def provenance(self, tree: ColumnTree) -> PrologProvenance:
        """The provenance of the terms of the tree that was built last."""
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
        with (
            tempfile.TemporaryDirectory(prefix="whence-") as folder,
            without_collector(),
            _stoppable(self._engine, goal, self._limits.seconds),
        ):
            copy = Path(folder) / "output"
            self._engine.do(f"copy_output({quoted(str(copy))})")
            trace = TraceTree(lines, run)
            self._engine.do("end_copy")
            self._output = read_output(copy)
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
        skipped = SkippedCalls(self._engines, program, trace) if self._limits.skip_below else None
        shown = self.goal if goal == self._goal else goal
        return EvaluationTree(self._engines, trace, self._names, shown, skipped, self._output)

    def part(self, tree: ColumnTree, text: str) -> MarkedPart:
        """A part of the goal, named by an argument (`2[1]`) or a variable (`X[1]`)."""
        event = self.source.event(tree.id(0))
        return find_mark(tree.call(0), self.source.part_of_goal(event, text), input_side=False)

    def _tree(self, root: PortEvent) -> ColumnTree:
        """Each tree has its own source, which numbers its nodes."""
        self.source = self._new_source(self.trace, self._goal)
        return self.source.tree(root)


def mark_repeats(trace: TraceTree, source: EvaluationTree) -> None:
    """Find a call in a stopped run that repeats one of its callers with the same arguments.

    Only the first and the last calls of a deep recursion are compared: a cycle shows in either.
    """
    chain = [trace.root]
    while (inner := stopped_in(chain[-1])) is not None:
        chain.append(inner)
    for part in (chain[:_LOOKED_AT], chain[_LOOKED_AT:][-_LOOKED_AT:]):
        calls = [call for call in part if call.predicate.is_user]
        digests = source.digests([call.term for call in calls])
        callers: dict[tuple[Predicate, str], TracedCall] = {}
        for call, digest in zip(calls, digests, strict=True):
            earlier = callers.setdefault((call.predicate, digest), call)
            if earlier is not call:
                call.repeats = earlier
                return
