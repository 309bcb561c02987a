"""The tree that is searched inside a call: its segments as steps, with the calls that they made.

The root is the call itself. Below it are its segments, and below segments without children the
recorded calls that they made. Recorded calls keep their ids, so that answers about them hold here
too; steps have ids after all of them.

Invariant: callees of a recorded call are not in this tree. A recorded call that made calls is
implicit here, so it is never blamed for what lies below it.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from whence.langs.python.zoom.function_body import FunctionBody
from whence.langs.python.zoom.segments import Segment, SegmentEnding, SegmentKind
from whence.langs.python.zoom.step_log import StepLog
from whence.langs.python.zoom.step_provenance import StepPlaces, StepProvenance
from whence.langs.python.zoom.step_source import StepSource
from whence.model.call import Function, OutcomeKind, Rule
from whence.tree.build import Rows, link
from whence.tree.column_tree import ColumnTree, all_ids, assemble_tree
from whence.tree.readable_call import function_at

_EFFORT = 12


@dataclass(frozen=True)
class ZoomedCall:
    """A call whose steps are searched: its log, its text and its recording."""

    log: StepLog
    body: FunctionBody
    whole: Segment
    recorded: ColumnTree
    node: int
    file: str

    def tree(self) -> ColumnTree:
        """The tree of its steps."""
        return _TreeBuilder(self).tree()

    def searched(self) -> tuple[ColumnTree, StepProvenance]:
        """The tree of its steps with their provenance."""
        building = _TreeBuilder(self)
        tree = building.tree()
        return tree, StepProvenance(
            self.log, self.body, self.whole, building.source, building.places()
        )


class _TreeBuilder:
    def __init__(self, zoomed: ZoomedCall):
        self._zoomed = zoomed
        self.source = StepSource(zoomed.log, zoomed.body, zoomed.recorded, zoomed.node, zoomed.file)
        self._rows = Rows()
        self._functions: dict[Function, int] = {}
        self._rules: dict[Rule, int] = {}
        self._first = self._next = int(all_ids(zoomed.recorded).max()) + 1
        self._made_by: dict[int, list[int]] = {}
        self._others: list[int] = []
        self._calls = self._callees()

    def _callees(self) -> list[int]:
        """The callees of the call, in the order in which they began."""
        recorded = self._zoomed.recorded
        position = recorded.position(self._zoomed.node)
        parent, end = recorded.columns.parent, int(recorded.columns.end[position])
        below = range(position + 1, end)
        return sorted(recorded.id(callee) for callee in below if int(parent[callee]) == position)

    def tree(self) -> ColumnTree:
        whole = self._zoomed.whole
        self._recorded_row(self._zoomed.node, None, implicit=False)
        log, taken = self._zoomed.log, set[int]()
        pending = [(child, self._zoomed.node) for child in reversed(whole.children)]
        while pending:
            segment, above = pending.pop()
            number = self._row(segment, above)
            pending += [(child, number) for child in reversed(segment.children)]
            if segment.kind is not SegmentKind.STRETCH:
                # Calls between its children are its own.
                inside = [
                    (log.calls[child.first], log.calls[child.end]) for child in segment.children
                ]
                for call in self._between(log.calls[segment.first], log.calls[segment.end]):
                    if call not in taken and not any(low < call <= high for low, high in inside):
                        taken.add(call)
                        self._recorded_row(call, number)
                        self._made_by.setdefault(number, []).append(call)
        # A generator that it created may begin after the call ended. If the log was cut, later
        # calls belong to the unknown rest.
        last = log.calls[-1] if log.is_cut else max(self._calls, default=0)
        for call in self._calls:
            if call not in taken and call <= last:
                self._recorded_row(call, self._zoomed.node)
                self._others.append(call)
        if log.is_cut and not log.is_waiting:
            self._rest()
        return assemble_tree(
            link(self._rows), list(self._functions), list(self._rules), self.source
        )

    def places(self) -> StepPlaces:
        """Which node of the tree each segment is."""
        others = frozenset(self._others)
        return StepPlaces(
            self._zoomed.node, self.source.segments, self._first, self._made_by, others
        )

    def _between(self, low: int, high: int) -> list[int]:
        return self._calls[bisect_right(self._calls, low) : bisect_right(self._calls, high)]

    def _row(self, segment: Segment, above: int) -> int:
        function, rule = self.source.labels.rule(segment)
        detail = len(self.source.segments)
        self.source.segments.append(segment)
        number, self._next = self._next, self._next + 1
        self._add(number, above, function, rule, self.source.outcome_kind(segment))
        self._rows.equations.append(self.source.equation(segment))
        self._rows.efforts.append(_EFFORT * (1 + len(self.source.before(segment))))
        self._rows.implicit.append(0)
        self._rows.details.append(detail)
        return number

    def _rest(self) -> None:
        """A row for everything after the last logged event."""
        log = self._zoomed.log
        last = len(log.events) - 1
        rest = Segment(SegmentKind.REST, 0, last, last, ending=SegmentEnding.CUT)
        self._row(rest, self._zoomed.node)
        self._rows.implicit[-1] = 1

    def _recorded_row(self, node: int, above: int | None, *, implicit: bool | None = None) -> None:
        recorded = self._zoomed.recorded
        position = recorded.position(node)
        columns = recorded.columns
        function = function_at(recorded, position)
        rule = recorded.rules[int(columns.rule[position])]
        self._add(node, above, function, rule, OutcomeKind(int(columns.outcome[position])))
        self._rows.equations.append(int(columns.equation[position]))
        self._rows.efforts.append(int(columns.effort[position]))
        if implicit is None:
            implicit = int(columns.end[position]) > position + 1 or bool(columns.implicit[position])
        self._rows.implicit.append(implicit)
        self._rows.details.append(-1 - node)

    def _add(
        self, node: int, above: int | None, function: Function, rule: Rule, kind: OutcomeKind
    ) -> None:
        rows = self._rows
        rows.ids.append(node)
        rows.parents.append(-1 if above is None else above)
        rows.functions.append(self._functions.setdefault(function, len(self._functions)))
        rows.rules.append(self._rules.setdefault(rule, len(self._rules)))
        rows.outcomes.append(kind)
        rows.own.append(1.0)
