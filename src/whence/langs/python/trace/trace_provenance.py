"""Origins that a recording alone can tell: of printed lines and of exceptions.

It does not follow values through the program. It knows which call wrote each line of the output,
and which call an exception left first. All other origins are reported as unknown.

Two calls are taken to have been left by the same exception if the inner one was left while the
outer one ran, both recorded exceptions look alike, and the inner one is the last call that any
exception left, or a callee of the outer one. For a callee, the same type is enough if it was called
at the very location where the exception left the outer call. A call that catches an exception and
then raises an equal one cannot be distinguished from one that lets it pass.
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
    """The trace of the main process, in which the number of a call is its id in the tree.

    None if the tree was not recorded from a Python program.
    """
    source = tree.sources[0] if isinstance(tree, ColumnTree) else None
    if isinstance(source, JoinedProcessSource):
        source = source.members[0]
    return source if isinstance(source, TraceSource) else None


@dataclass(frozen=True)
class TraceProvenance:
    """Origins of output and exceptions; of other parts they are unknown."""

    tree: ColumnTree

    def origin(self, node: int, part: MarkedPart) -> Origin:
        """The call that wrote a line, or that an exception left first."""
        process = _process_of(self.tree, node)
        if process is None:
            return Origin(None, unknown="a recording does not show where values were made")
        if part.mark.root == PRINTED and not part.is_input:
            return self._of_output(process, node, part)
        if part.mark.root in (RESULT, "raised") and not part.is_input:
            path = self._path(process, node)
            if path is not None:
                return path
        return Origin(None, unknown="a recording does not show where values were made")

    def influence(self, node: int, part: MarkedPart) -> Influence | None:
        """Never known from a recording."""
        return None

    def with_tree(self, tree: Tree) -> TraceProvenance:
        """A recording does not grow."""
        return replace(self, tree=tree) if isinstance(tree, ColumnTree) else self

    # --- output ----------------------------------------------------------------------------------

    def _of_output(self, process: _Process, node: int, part: MarkedPart) -> Origin:
        if node != process.first_id:
            return Origin(node, location=self.tree.call(self.tree.position(node)).where())
        if not part.mark.steps:
            return Origin(None, unknown="several calls may have printed it: mark a line of it")
        number = int(part.mark.steps[0].strip("[]"))
        lines = process.source.standard_output.lines
        if not 0 <= number < len(lines) or not lines[number].calls:
            return Origin(None, unknown="there is no such line")
        first = lines[number].calls[0]
        if first == 0:
            return Origin(None, unknown="no call that was recorded printed it")
        first += process.first_id
        return Origin(first, self._upwards(first, node))

    def _upwards(self, node: int, top: int) -> tuple[int, ...]:
        """A call and its ancestors below the run itself, `top`."""
        chain, position, end = [], self.tree.position(node), self.tree.position(top)
        while position > end:
            chain.append(self.tree.id(position))
            position = int(self.tree.columns.parent[position])
        return tuple(chain)

    # --- exceptions ------------------------------------------------------------------------------

    def _path(self, process: _Process, node: int) -> Origin | None:
        """The calls that the exception passed through; None if no exception left the call."""
        raised = self._raised(process)
        if node == process.first_id:
            start = self._left_the_run(process, raised)
            if start is None:
                return None
        elif process.raised(node) is not None:
            start = node
        else:
            return None
        path = [start]
        while (below := self._before(process, raised, path[-1])) is not None:
            path.append(below)
        chain = tuple(call for call in reversed(path) if call != node)
        where = self.tree.call(self.tree.position(path[-1])).outcome.location
        return Origin(path[-1], chain, location=where)

    def _raised(self, process: _Process) -> Int64s:
        """The ids of the calls of a process that an exception left, in order of time."""
        positions = np.flatnonzero(self.tree.columns.outcome == OutcomeKind.RAISED)
        all_ids = self.tree.ids
        ids = positions + self.tree.first_id if all_ids is None else all_ids[positions]
        own = ids[(ids > process.first_id) & (ids < process.first_id + process.source.calls)]
        ordered: Int64s = own[np.argsort(process.exits(own))]
        return ordered

    def _left_the_run(self, process: _Process, raised: Int64s) -> int | None:
        """The last call that was left by the exception that ended the run."""
        if not len(raised):
            return None
        last = int(raised[-1])
        value, ending = process.raised(last), process.source.ending()
        if value is None:
            return None
        if ending == f.BY_EXIT:
            return last if value.text == _EXIT else None
        outcome = process.source.run_outcome().value
        same = ending == f.BY_EXCEPTION and outcome is not None and _alike(outcome, value)
        return last if same else None

    def _before(self, process: _Process, raised: Int64s, node: int) -> int | None:
        """The call that the exception left right before it left this one."""
        value = process.raised(node)
        if value is None:
            return None
        own = np.array([node])
        index = int(np.searchsorted(process.exits(raised), process.exits(own)[0])) - 1
        if index < 0:
            return None
        last = int(raised[index])
        began_before = int(process.exits(raised[[index]])[0]) > process.began(node)
        if began_before and _alike(process.raised(last), value):
            return last
        return self._from_callee(process, node, value)

    def _from_callee(self, process: _Process, node: int, value: Value) -> int | None:
        """The last callee that the exception left.

        A handler may have raised and caught others before it raised the first one again.
        """
        position, columns = self.tree.position(node), self.tree.columns
        where = self.tree.call(position).outcome.location
        area = slice(position + 1, int(columns.end[position]))
        is_callee, is_raised = (
            columns.parent[area] == position,
            columns.outcome[area] == OutcomeKind.RAISED,
        )
        callees = position + 1 + np.flatnonzero(is_callee & is_raised)
        for callee in callees[::-1].tolist():
            number = self.tree.id(callee)
            left = process.raised(number) if process.has(number) else None
            if left is None or left.text != value.text:
                continue
            left_here = where is not None and self.tree.call(callee).site == where
            if left_here or _alike(left, value):
                return number
        return None


@dataclass(frozen=True)
class _Process:
    """The calls of one process of a tree, by their ids in it."""

    source: TraceSource
    first_id: int

    def has(self, node: int) -> bool:
        """Whether a call is one of its calls."""
        return self.first_id <= node < self.first_id + self.source.calls

    def raised(self, node: int) -> Value | None:
        """The exception that left a call."""
        return self.source.raised(node - self.first_id)

    def began(self, node: int) -> int:
        """The position of the first record of a call."""
        return int(self.source.call_at[node - self.first_id])

    def exits(self, nodes: Int64s) -> Int64s:
        """The positions of the last records of calls."""
        return self.source.exit_at[nodes - self.first_id]


def _process_of(tree: ColumnTree, node: int) -> _Process | None:
    """The process that made a call; None if it is no recorded call of a Python program."""
    source = tree.sources[0]
    if isinstance(source, JoinedProcessSource):
        member, number = source.number_of(node)
        process = _Process(member, node - number)
    elif isinstance(source, TraceSource):
        process = _Process(source, 0)
    else:
        return None
    return process if process.has(node) else None


def _alike(one: Value | None, other: Value, depth: int = 0) -> bool:
    """Whether two recorded exceptions do not differ.

    Shared parts are not compared: an input of one call need not be an input of the other.
    """
    if one is None:
        return False
    if Kind.SHARED in (one.kind, other.kind) or depth > _DEEPEST:
        return True
    if one.kind is not other.kind or one.text != other.text:
        return False
    if len(one.parts) + one.omitted != len(other.parts) + other.omitted:
        return False
    return all(
        step == other_step and _alike(part, other_part, depth + 1)
        for (step, part), (other_step, other_part) in zip(one.parts, other.parts, strict=False)
    )
