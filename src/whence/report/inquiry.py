"""Makes re-runs to find out what a diagnosis leaves open.

Nobody asked for them, so the whole program runs again only if that was allowed or is harmless
(`may_run`). For the lines that the call at fault ran, it is enough to make this one call again.
What cannot be found out is left out, or reported as unknown.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import dataclass, field

from whence.errors import WhenceError
from whence.model.call import Mark, MarkedPart, locate_mark
from whence.model.diagnosis import Diagnosis, FaultKind, Status
from whence.model.primitive import Primitive, WorkedOut
from whence.ports import Following, Reruns, Waiting, Zooming
from whence.report.findings import NOT_ASKED, Findings, Passed
from whence.report.raising import NOTHING, primitive, raiser
from whence.report.source import Executed, Sources
from whence.session.state import State
from whence.tree.readable_call import readable_call

STOPPED = "it was stopped"


@dataclass
class Inquiry:
    """Keeps what it found out: nothing runs twice for the same call."""

    reruns: Reruns | None
    sources: Sources
    waiting: Waiting = nullcontext
    notes: tuple[str, ...] = ()
    """What the recorder noted about the run."""
    _executed: dict[tuple[int, bool], Executed] = field(default_factory=dict)
    _worked_out: dict[int, WorkedOut] = field(default_factory=dict)

    def findings(
        self, state: State, diagnosis: Diagnosis, *, lines: bool, may_run: bool
    ) -> Findings:
        """All of it, the lines that the call ran only if they are wanted."""
        node = diagnosis.node
        if diagnosis.status is not Status.FOUND or node is None:
            return NOT_ASKED
        raised_by = self._raised_by(state, node, may_run)
        return Findings(
            self._lines(state, node, may_run) if lines else Executed(),
            raised_by,
            self._passed(state, diagnosis, raised_by, may_run),
            self.notes,
        )

    # --- the lines that ran ----------------------------------------------------------------------

    def _lines(self, state: State, node: int, may_run: bool) -> Executed:
        if self.reruns is None:
            return Executed()
        call, _ = readable_call(state.tree, state.tree.position(node))
        try:
            if not self.sources.block(call).has_choices:
                return Executed()
        except WhenceError:
            return Executed()
        if (node, may_run) not in self._executed:
            try:
                executed = self._ran(self.reruns, node, may_run)
            except KeyboardInterrupt:
                executed = Executed(unknown=STOPPED)
            self._executed[node, may_run] = executed
        return self._executed[node, may_run]

    def _ran(self, reruns: Reruns, node: int, may_run: bool) -> Executed:
        try:
            with self.waiting("finding out which lines ran"):
                return Executed(reruns.lines_alone(node))
        except WhenceError as problem:
            if not may_run:
                return Executed(unknown=f"{problem}; ran runs the program again for it")
        try:
            with self.waiting("running it again"):
                return Executed(reruns.lines(node))
        except WhenceError as problem:
            return Executed(unknown=str(problem))

    # --- what raised -----------------------------------------------------------------------------

    def _raised_by(self, state: State, node: int, may_run: bool) -> Primitive | None:
        """What raised the exception that left a call, here or in a call below it."""
        inner = raiser(state, node)
        if inner is None:
            return None
        operation = primitive(state, inner, self.sources)
        if operation is None or operation.is_whole or not may_run:
            return operation
        if inner not in self._worked_out and isinstance(self.reruns, Zooming):
            self._worked_out[inner] = NOTHING
            with suppress(WhenceError, KeyboardInterrupt), self.waiting("running it again"):
                self._worked_out[inner] = self.reruns.worked_out(inner)
        return primitive(state, inner, self.sources, self._worked_out.get(inner, NOTHING))

    # --- what was passed on ----------------------------------------------------------------------

    def _passed(
        self, state: State, diagnosis: Diagnosis, raised_by: Primitive | None, may_run: bool
    ) -> Passed | None:
        """The expression that created an inadmissible argument."""
        if diagnosis.kind is not FaultKind.BAD_INPUT_PASSED or state.provenance is None:
            return None
        node, reruns = diagnosis.bad_input[0], self.reruns
        part = _inadmissible_part(state, node, raised_by)
        if part is None:
            return None
        if isinstance(reruns, Following) and reruns.needs_run(node, part):
            if not may_run:
                return None
            try:
                reruns.follow(node, part)
            except KeyboardInterrupt:
                reruns.give_up(node, part, STOPPED)
        origin = state.provenance.origin(node, part)
        return None if origin.node is None else Passed(node, part, origin)


def _inadmissible_part(state: State, node: int, raised_by: Primitive | None) -> MarkedPart | None:
    """The inadmissible input of a call, if it is known: it was marked, or is the only argument, or
    the only operand of the operation that raised."""
    answers = state.facts.answers
    marks = [answer.mark for answer in answers if answer.node == node and answer.mark]
    call, _ = readable_call(state.tree, state.tree.position(node))
    names = [argument.name for argument in call.arguments if argument.name]
    if raised_by is not None and raised_by.node == node and len(names) > 1:
        operands = [operand.name for operand in raised_by.operands]
        names = operands if set(operands) <= set(names) else []
    marks = marks or [Mark(name) for name in names]
    if len(marks) != 1:
        return None
    try:
        return locate_mark(call, marks[0], input_side=True)
    except WhenceError:
        return None
