"""Doubts a diagnosis if something out of sight could be at fault instead.

Threads, engines, CHR rules, foreign predicates and the like run code or keep state that no question
shows: whoever judges the calls around them cannot see it. So no call is blamed that contains one of
them, unless it is known that what is hidden had no influence. The diagnosis then says what was out
of sight, instead of a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whence.langs.prolog.evaluation_tree import EvaluationTree
from whence.langs.prolog.traced_call import HiddenPart, Port, PortEvent, TracedCall, user_caller
from whence.model.question import Question
from whence.model.verdict import Judgement

NAME = "recorder"
_FOREIGN = "foreign"
_INFERENCES = "inferences"
_CLAUSES = "clauses"
_WHAT = {
    "threads": "threads, of which only the main one is traced",
    "engines": "engines, which are not traced",
    "continuations": "delimited continuations, which are not traced",
    "chr": "CHR rules, which are not traced, and the constraint store",
    "tracer": "a goal that turns the tracer off or depends on it",
    "transactions": "a transaction",
    _CLAUSES: "clauses that were added or removed out of sight",
    _FOREIGN: "foreign predicates, which may keep a state",
    _INFERENCES: "call_with_inference_limit/3, below which nothing is traced",
}
_BELOW_DEPTH = "calls below --depth whose outcome depends on more than their arguments"


class HiddenParts:
    """An oracle that answers nothing, but knows when the blame may be on what was out of sight."""

    name = NAME

    def __init__(self, source: EvaluationTree) -> None:
        self._source = source
        self._depends: dict[int, bool] = {}

    def judge(self, question: Question) -> Judgement | None:
        """None: it knows of no call whether it is right."""
        return None

    def acquits(self, node: int) -> str | None:
        """None: a call is never known not to be at fault."""
        return None

    def limits(self, nodes: Sequence[int]) -> str | None:
        """None: of no calls is it known that one of them is at fault."""
        return None

    def doubts(self, node: int) -> str | None:
        """What was out of sight in a call, and could be at fault instead."""
        event = self._source.event(node)
        of_tables = self._source.tables.doubt(event)
        if of_tables is not None:
            return of_tables
        if self._source.state_of(event.call).was_there(event):
            return "the clause was added before the goal ran, and what added it may be at fault"
        looked_for = self._source.state_of(event.call).looked_for(event)
        if looked_for is not None:
            return (
                f"it found no clause of {looked_for.indicator}: if the program did not remove it, "
                "it may be missing in the file"
            )
        what = dict.fromkeys(self._hidden(event))
        return f"it contains {' and '.join(what)}: the fault may be there" if what else None

    def _hidden(self, event: PortEvent) -> Iterator[str]:
        parts = [part for trace in self._source.all_traces for part in trace.hidden_parts]
        states = sum(part.what != _INFERENCES for part in parts)
        for part in parts:
            if self._may_be_at_fault(event, part, states):
                yield _WHAT.get(part.what, part.what)
        unopened = [call for call in self._source.unopened if self._is_below(call, event)]
        if any(self._is_stateful(call) for call in unopened):
            yield _BELOW_DEPTH

    def _may_be_at_fault(self, event: PortEvent, part: HiddenPart, states: int) -> bool:
        """Whether what is hidden in a part can be the reason of an event.

        `states`: how many parts keep state. One foreign call alone has none to find, so its
        answer, which was judged, is all that it did.
        """
        if part.what == _CLAUSES:
            return self._source.state_of(event.call).is_touched(event.call)
        if not self._is_below(part.call, event) or not _is_before(part, event):
            return False
        if part.what == _INFERENCES:
            owner = part.call if part.call.predicate.is_user else user_caller(part.call)
            return owner is event.call
        return part.what != _FOREIGN or states > 1

    def _is_below(self, call: TracedCall | None, event: PortEvent) -> bool:
        while call is not None:
            if call is event.call:
                return True
            if call.caller is None:
                outside = self._source.outside(call, any_below=True)
                call = None if outside is None else outside.call
            else:
                call = call.caller
        return False

    def _is_stateful(self, call: TracedCall) -> bool:
        if call.mark not in self._depends:
            self._depends[call.mark] = bool(self._source.depends(call))
        return self._depends[call.mark]


def _is_before(part: HiddenPart, event: PortEvent) -> bool:
    if event.port not in (Port.EXIT, Port.FIRST):
        return True
    is_same_trace = part.call.mark >= event.call.mark
    return not is_same_trace or part.time <= event.call.answers[event.number].time
