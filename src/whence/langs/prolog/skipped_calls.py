"""Traces a skipped call by running it again; its outcome has to be the same.

A call whose answers depend on its arguments alone is made again by itself. Any other call depends
on earlier asserts, input or random numbers; so the goal is run from its start in another process,
and traced from the same call on. If the outcome differs, the call cannot be expanded, and the
message says why.

Each process numbers its terms from another start, so a number also identifies the process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from whence.errors import CannotExpand
from whence.langs.prolog.port_events import GOAL, Run, RunLimits
from whence.langs.prolog.swipl_process import Engine, EngineProblem, Engines, plain, quoted
from whence.langs.prolog.trace_tree import TraceTree
from whence.langs.prolog.traced_call import (
    Port,
    PortEvent,
    TracedCall,
    judged_terms,
    root_of,
    user_caller,
)

_ALL = 1 << 40
_SAME_DEPTH, _FEW = 4, 5_000
"""After so many re-runs the next ones are traced twice as deep, if the last one recorded fewer
calls than this."""
Digests = Callable[[Sequence[int]], list[str]]


@dataclass(frozen=True)
class Preparation:
    """Turns the body of a test into a goal: loads the test's file and runs its setup."""

    load: Callable[[Engine], None]
    test: str
    """The test's name in requests."""

    def set_up(self, engine: Engine) -> tuple[str, str]:
        """Prepare a process; returns the module and the goal, which is the test's body."""
        self.load(engine)
        [[_, module, text]] = engine.do(f"set_up_test({self.test})")
        return plain(module), plain(text)

    def clean_up(self, engine: Engine) -> None:
        """Run the test's cleanup."""
        engine.do(f"clean_up_test({self.test})")


@dataclass(frozen=True)
class Program:
    """The goal that was run, and how much of it was traced."""

    file: Path
    goal: str
    solutions: int
    limits: RunLimits
    preparation: Preparation | None = None


class SkippedCalls:
    """Runs skipped calls again, and finds their events in the new traces."""

    def __init__(self, engines: Engines, program: Program, trace: TraceTree) -> None:
        self._engines = engines
        self._program = program
        self._run = trace.run
        self._depth = program.limits.skip_below
        self._reruns = 0
        self._traces = {id(trace.root): trace}
        self._opened: dict[int, tuple[int, ...]] = {id(trace.root): ()}
        self._outside: dict[int, tuple[TracedCall, PortEvent]] = {}
        """By the root of a trace: its target call, and the skipped event that it expands."""

    def reopen(self, event: PortEvent, digests: Digests) -> PortEvent:
        """The same event with the calls below it; `CannotExpand` if the outcome differs."""
        try:
            why = self._depends(event.call)
            again, call = self._from_the_start(event.call) if why else self._by_itself(event)
        except EngineProblem as problem:
            raise CannotExpand(f"it could not be run again: {problem}") from problem
        reopened = replace(event, call=call)
        if call.is_skipped:
            raise CannotExpand(f"no call was traced below {call.predicate.indicator}")
        self._check(event, reopened, again, why, digests)
        self._outside[id(again.root)] = call, event
        return reopened

    @property
    def traces(self) -> list[TraceTree]:
        """The trace of the run, and those of re-runs."""
        return list(self._traces.values())

    def was_opened(self, call: TracedCall) -> bool:
        """Whether an event of a skipped call was expanded."""
        return any(event.call is call for _, event in self._outside.values())

    def trace_of(self, call: TracedCall) -> TraceTree:
        """The trace that a call is in."""
        return self._traces[id(root_of(call))]

    def outside(self, call: TracedCall, *, any_below: bool = False) -> PortEvent | None:
        """The skipped event for which a call was run again.

        `any_below`: also for the calls below it.
        """
        opened, event = self._outside.get(id(root_of(call)), (None, None))
        return event if any_below or opened is call else None

    def _depends(self, call: TracedCall) -> str:
        """What the answers of a call depend on besides its arguments; "" if nothing."""
        lines = self._engines.of(call.term).do(f"depends({self._item(call)})")
        return plain(lines[0][1]) if lines else ""

    def _by_itself(self, event: PortEvent) -> tuple[TraceTree, TracedCall]:
        call, limits = event.call, replace(self._program.limits, skip_below=self._depth)
        solutions = event.number + 1 if event.port in (Port.EXIT, Port.FIRST) else _ALL
        # A library predicate is called by a clause that is made for it.
        limits = replace(limits, opened=() if call.predicate.is_user else (2,))
        request = f"run_item({self._item(call)}, {solutions}, {limits})"
        trace = self._traced(self._engines.of(call.term), request, limits.opened)
        self._reruns += 1
        if self._reruns % _SAME_DEPTH == 0 and len(trace.calls) < _FEW:
            self._depth *= 2
        has_frame = trace.root.predicate.name == GOAL and len(trace.calls) > 1
        return trace, trace.calls[1] if has_frame else trace.root

    def _from_the_start(self, call: TracedCall) -> tuple[TraceTree, TracedCall]:
        opened = (*self._opened[id(root_of(call))], call.mark)
        program = self._program
        limits = replace(program.limits, opened=opened)
        request = f"run({quoted(program.goal)}, {program.solutions}, {limits})"
        engine = self._engines.start(program.file)
        if program.preparation is not None:
            program.preparation.set_up(engine)
        again = self._traced(engine, request, opened)
        if len(again.calls) < call.mark:
            raise CannotExpand("the program behaved differently when it was run again")
        return again, again.calls[call.mark - 1]

    def _traced(self, engine: Engine, request: str, opened: tuple[int, ...]) -> TraceTree:
        run = Run(predicates=self._run.predicates, clauses=self._run.clauses)
        trace = TraceTree(engine.stream(request), run)
        if not trace.calls:
            raise CannotExpand("nothing was called when it was run again")
        self._traces[id(trace.root)] = trace
        self._opened[id(trace.root)] = opened
        return trace

    def _item(self, call: TracedCall) -> str:
        [[_, _, text]] = self._engines.numbered("items", [call.term])
        if text == "handle":
            raise CannotExpand("one of its arguments is a stream or the like, which is gone")
        # A library predicate calls its argument in the module of its caller.
        owner = call if call.predicate.is_user else user_caller(call)
        module = "user" if owner is None else owner.predicate.module
        return f"{quoted(module)}, {quoted(plain(text))}"

    def _check(
        self, event: PortEvent, reopened: PortEvent, again: TraceTree, why: str, digests: Digests
    ) -> None:
        """The outcome must be a variant of the recorded one."""
        is_alike = _shape(event) == _shape(reopened)
        if is_alike and digests(_compared(event)) == digests(_compared(reopened)):
            return
        cause = why or "its answers depend on more than its arguments"
        if again.run.stopped:
            cause = f"it was stopped at a limit of {again.run.stopped}"
        name = event.call.predicate.indicator
        raise CannotExpand(f"when {name} was run again, its outcome differed: {cause}")


def _shape(event: PortEvent) -> tuple[bool, ...]:
    call = event.call
    match event.port:
        case Port.EXIT | Port.FIRST:
            return (len(call.answers) > event.number,)
        case Port.FAIL:
            # No port shows that there is no further answer if no choice point was left.
            return tuple(True for _ in call.answers)
        case Port.RAISE:
            return (call.raised is not None,)
        case _:
            return (call.is_open,)


def _compared(event: PortEvent) -> list[int]:
    """The terms that have to be variants. An error names its place as well, which may differ."""
    terms = judged_terms(event)
    return terms[:1] if event.port is Port.RAISE else terms
