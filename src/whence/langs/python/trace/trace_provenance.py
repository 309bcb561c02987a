"""Where what a recording shows came from, as far as a recording can tell.

It does not follow values through the program. It knows which call wrote each line of the output,
and which call an exception left first. Everything else is unknown, and said to be.

An exception that left a call is taken for the one that left another call before, while this one
ran, if both are told in the same way, and the other is the last that was left at all or a callee of
this one; or if both are of one type, and the callee was called in the very place where this one was
left. A call that catches an exception and then raises an equal one of its own is not told from one
that lets it pass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.joined_processes import JoinedProcessSource
from whence.langs.python.trace.trace_source import TraceSource
from whence.model.call import PRINTED, RESULT, MarkedPart, OutcomeKind
from whence.model.origin import Influence, Origin
from whence.model.value import Kind, Value
from whence.ports import Int64s, Tree
from whence.tree.column_tree import ColumnTree

_DEEPEST = 50
_EXIT = "SystemExit"


def program_of(tree: Tree) -> TraceSource | None:
    """The trace of the program itself, whose calls have their numbers for ids in the tree.

    None if the tree was not recorded from a Python program.
    """
    source = tree.sources[0] if isinstance(tree, ColumnTree) else None
    if isinstance(source, JoinedProcessSource):
        source = source.members[0]
    return source if isinstance(source, TraceSource) else None


@dataclass(frozen=True)
class TraceProvenance:
    """Origins of output and exceptions; of other parts none."""

    tree: ColumnTree

    def origin(self, node: int, part: MarkedPart) -> Origin:
        """The call that wrote a line, or that an exception left first."""
        source = program_of(self.tree)
        if source is None or node >= source.calls:
            return Origin(None, unknown="it lies in a process that the program started")
        if part.mark.root == PRINTED and not part.is_input:
            return self._of_output(source, node, part)
        if part.mark.root in (RESULT, "raised") and not part.is_input:
            path = self._path(source, node)
            if path is not None:
                return path
        return Origin(None, unknown="a recording does not tell where values were made")

    def influence(self, node: int, part: MarkedPart) -> Influence | None:
        """Not known."""
        return None

    def with_tree(self, tree: Tree) -> TraceProvenance:
        """A recording does not grow."""
        return replace(self, tree=tree) if isinstance(tree, ColumnTree) else self

    # --- output ----------------------------------------------------------------------------------

    def _of_output(self, source: TraceSource, node: int, part: MarkedPart) -> Origin:
        if node != 0:
            return Origin(node, location=self.tree.call(self.tree.position(node)).where())
        if not part.mark.steps:
            return Origin(None, unknown="several calls may have printed it: mark a line of it")
        number = int(part.mark.steps[0].strip("[]"))
        lines = source.standard_output.lines
        if not 0 <= number < len(lines) or not lines[number].calls:
            return Origin(None, unknown="there is no such line")
        first = lines[number].calls[0]
        if first == 0:
            return Origin(None, unknown="no call that was recorded printed it")
        return Origin(first, self._upwards(first))

    def _upwards(self, node: int) -> tuple[int, ...]:
        """A call and those that led to it, without the run itself."""
        chain, position = [], self.tree.position(node)
        while position > 0:
            chain.append(self.tree.id(position))
            position = int(self.tree.columns.parent[position])
        return tuple(chain)

    # --- exceptions ------------------------------------------------------------------------------

    def _path(self, source: TraceSource, node: int) -> Origin | None:
        """From where it was raised to the call that it left; None if no exception left that."""
        raised = self._raised(source)
        if node == 0:
            start = self._left_the_run(source, raised)
            if start is None:
                return None
        elif source.raised(node) is not None:
            start = node
        else:
            return None
        path = [start]
        while (below := self._before(source, raised, path[-1])) is not None:
            path.append(below)
        chain = tuple(each for each in reversed(path) if each != node)
        where = self.tree.call(self.tree.position(path[-1])).outcome.location
        return Origin(path[-1], chain, location=where)

    def _raised(self, source: TraceSource) -> Int64s:
        """The calls that an exception left, in the order in which it did."""
        columns = self.tree.columns
        positions = np.flatnonzero(columns.outcome == OutcomeKind.RAISED)
        known = self.tree.ids
        ids = positions + self.tree.first_id if known is None else known[positions]
        own = ids[(ids > 0) & (ids < source.calls)]
        ordered: Int64s = own[np.argsort(source.exit_at[own])]
        return ordered

    def _left_the_run(self, source: TraceSource, raised: Int64s) -> int | None:
        """The last call that the exception left which ended the run."""
        if not len(raised):
            return None
        last = int(raised[-1])
        value, ending = source.raised(last), source.ending()
        if value is None:
            return None
        if ending == f.BY_EXIT:
            return last if value.text == _EXIT else None
        outcome = source.run_outcome().value
        same = ending == f.BY_EXCEPTION and outcome is not None and _alike(outcome, value)
        return last if same else None

    def _before(self, source: TraceSource, raised: Int64s, node: int) -> int | None:
        """The call that the exception left right before it left this one."""
        value = source.raised(node)
        if value is None:
            return None
        exits = source.exit_at
        place = int(np.searchsorted(exits[raised], exits[node])) - 1
        if place < 0:
            return None
        last = int(raised[place])
        if int(exits[last]) > int(source.call_at[node]) and _alike(source.raised(last), value):
            return last
        return self._from_callee(source, node, value)

    def _from_callee(self, source: TraceSource, node: int, value: Value) -> int | None:
        """The last callee that the exception left.

        Another exception may have come and gone since, as in a handler that raises the first again.
        """
        position, columns = self.tree.position(node), self.tree.columns
        where = self.tree.call(position).outcome.location
        area = slice(position + 1, int(columns.end[position]))
        callees = (
            position
            + 1
            + np.flatnonzero(
                (columns.parent[area] == position) & (columns.outcome[area] == OutcomeKind.RAISED)
            )
        )
        for callee in callees[::-1].tolist():
            number = self.tree.id(callee)
            left = source.raised(number)
            if left is None or left.text != value.text:
                continue
            is_place = where is not None and self.tree.call(callee).site == where
            if is_place or _alike(left, value):
                return number
        return None


def _alike(one: Value | None, other: Value, depth: int = 0) -> bool:
    """Whether nothing that is known of two exceptions differs. What is an input of the one call
    need not be one of the other, and is not compared."""
    if one is None:
        return False
    if Kind.SHARED in (one.kind, other.kind) or depth > _DEEPEST:
        return True
    if one.kind is not other.kind or one.text != other.text:
        return False
    if len(one.parts) + one.omitted != len(other.parts) + other.omitted:
        return False
    return all(
        step == others and _alike(part, of_other, depth + 1)
        for (step, part), (others, of_other) in zip(one.parts, other.parts, strict=False)
    )
