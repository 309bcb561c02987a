"""Traces a skipped call by running it again; its outcome has to be the same.

A call whose answers depend on its arguments alone is made again as it was recorded. Any other
depends on what was asserted, read or drawn before it; so the goal is run from its start, in another
process with the program as it was loaded, and traced when it reaches the same call. If the outcome
differs, the call cannot be expanded, and the message says what differs.

Terms of several processes are told apart by their numbers: each process numbers from its own start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from whence.errors import CannotExpand
from whence.langs.prolog.port_events import GOAL, Run, RunLimits
from whence.langs.prolog.swipl_process import Engine, EngineProblem, Engines, plain, quoted
from whence.langs.prolog.trace_tree import TraceTree
from whence.langs.prolog.traced_call import Port, PortEvent, TracedCall, judged_terms, root_of

_ALL = 1 << 40
Digests = Callable[[Sequence[int]], list[str]]


@dataclass(frozen=True)
class Preparation:
    """What makes a goal of a test in a process: its file is loaded, and its setup done."""

    load: Callable[[Engine], None]
    test: str
    """How requests name it."""

    def set_up(self, engine: Engine) -> tuple[str, str]:
        """Do it; the module and the goal, which is the test's body."""
        self.load(engine)
        [[_, module, text]] = engine.do(f"set_up_test({self.test})")
        return plain(module), plain(text)

    def clean_up(self, engine: Engine) -> None:
        """Do what the test does in the end."""
        engine.do(f"clean_up_test({self.test})")


@dataclass(frozen=True)
class Program:
    """What was run, and how much of it was looked at."""

    file: Path
    goal: str
    solutions: int
    limits: RunLimits
    preparation: Preparation | None = None


class SkippedCalls:
    """Finds an event of a skipped call again, in a trace that looked into the call."""

    def __init__(self, engines: Engines, program: Program, trace: TraceTree) -> None:
        self._engines = engines
        self._program = program
        self._run = trace.run
        self._traces = {id(trace.root): trace}
        self._opened: dict[int, tuple[int, ...]] = {id(trace.root): ()}
        self._outside: dict[int, tuple[TracedCall, PortEvent]] = {}
        """By the root of a trace: the call that it was made for, and the event that was skipped."""

    def reopened(self, event: PortEvent, digests: Digests) -> PortEvent:
        """The event with the calls that led to it; `CannotExpand` if its outcome differs."""
        try:
            why = self._depends(event.call)
            again, call = self._from_the_start(event.call) if why else self._by_itself(event)
        except EngineProblem as problem:
            raise CannotExpand(f"it could not be run again: {problem}") from problem
        found = replace(event, call=call)
        if call.is_skipped:
            raise CannotExpand(f"nothing came to light below {call.predicate.indicator}")
        self._check(event, found, again, why, digests)
        self._outside[id(again.root)] = call, event
        return found

    def trace_of(self, call: TracedCall) -> TraceTree:
        """The trace that a call is in."""
        return self._traces[id(root_of(call))]

    def outside(self, call: TracedCall, *, any_below: bool = False) -> PortEvent | None:
        """The event that was skipped, of a call that was run again to look into it.

        `any_below`: also of the calls that came to light below it.
        """
        opened, event = self._outside.get(id(root_of(call)), (None, None))
        return event if any_below or opened is call else None

    def _depends(self, call: TracedCall) -> str:
        """What the answers of a call depend on besides its arguments; empty if on nothing."""
        lines = self._engines.of(call.term).do(f"depends({self._item(call)})")
        return plain(lines[0][1]) if lines else ""

    def _by_itself(self, event: PortEvent) -> tuple[TraceTree, TracedCall]:
        call, limits = event.call, self._program.limits
        solutions = event.number + 1 if event.port in (Port.EXIT, Port.FIRST) else _ALL
        # A library predicate is called by a clause that is made for it.
        limits = replace(limits, opened=() if call.predicate.is_user else (2,))
        request = f"run_item({self._item(call)}, {solutions}, {limits})"
        trace = self._traced(self._engines.of(call.term), request, limits.opened)
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
            raise CannotExpand("the program went another way when it was run again")
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
            raise CannotExpand("a stream, or the like, was given to it, which is there no more")
        owner: TracedCall | None = call
        while owner is not None and not owner.predicate.is_user:
            owner = (
                owner.caller
            )  # a library predicate calls what it is given in its caller's module
        module = "user" if owner is None else owner.predicate.module
        return f"{quoted(module)}, {quoted(plain(text))}"

    def _check(
        self, event: PortEvent, found: PortEvent, again: TraceTree, why: str, digests: Digests
    ) -> None:
        """It must be a variant of what was recorded."""
        if _shape(event) == _shape(found):
            ours, theirs = digests(_compared(event)), digests(_compared(found))
            if ours == theirs:
                return
        cause = why or "its answers depend on more than its arguments"
        if again.run.stopped:
            cause = f"it was stopped at a limit of {again.run.stopped}"
        name = event.call.predicate.indicator
        raise CannotExpand(f"when {name} was run again, it came to something else: {cause}")


def _shape(event: PortEvent) -> tuple[bool, ...]:
    """What has to be there of an event."""
    call = event.call
    match event.port:
        case Port.EXIT | Port.FIRST:
            return (len(call.answers) > event.number,)
        case Port.FAIL:
            # That there is no further answer is not told where nothing was left to be tried.
            return tuple(True for _ in call.answers)
        case Port.RAISE:
            return (call.raised is not None,)
        case _:
            return (call.is_open,)


def _compared(event: PortEvent) -> list[int]:
    """The terms that have to be variants; errors tell of their place as well, which may differ."""
    terms = judged_terms(event)
    return terms[:1] if event.port is Port.RAISE else terms
