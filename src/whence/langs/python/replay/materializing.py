"""The calls below one that was only counted, by running the program again and recording deeper.

A recording that was bounded (`--depth`, `--max-calls`) knows of some calls only how many calls they
made in all. When a search has to look into one, the program is run again with a higher bound, and
the subtree is cut out of that recording: as many levels as stay within a budget of calls. What is
cut off there can be had later from the same recording, or from a deeper one.

A call is found in the other recording by its path: which callee of which callee of the top it is.
It is believed only if on the whole way functions, callees, the number of all calls below and what
was recorded of the inputs agree (Naish's and Mercury's *implicit subtree*, checked).

Only recordings with a journal are run again unasked: nothing else is without effect.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from whence.errors import CannotExpand, WhenceError
from whence.langs.python.replay.alignment import contradiction
from whence.langs.python.replay.process import TIME_LIMIT, Conditions, journal_beside, run_again
from whence.langs.python.replay.rerun import header_of, time_allowed
from whence.langs.python.trace.calls import TraceSource
from whence.langs.python.trace.opening import open_trace
from whence.ports import Columns, Int64s
from whence.tree.build import subtree_sums
from whence.tree.memory import ColumnTree, all_ids

NODE_BUDGET = 100_000
"""So many calls at most come to light at once."""
MOST_RECORDED = 2_000_000
"""So many calls at most are recorded in a re-run: the recorder cannot leave out other subtrees."""
_UNBOUNDED = 1
"""Stands for no bound. A bound is always larger: the top and what it called have been recorded."""


def materializable(recording: Path, tree: ColumnTree, budget: int = NODE_BUDGET) -> ColumnTree:
    """The same tree, whose implicit calls can be expanded if that needs no permission."""
    source = tree.sources[0]
    if not isinstance(source, TraceSource) or len(tree.sources) != 1:
        return tree
    if journal_beside(recording, source.file.header) is not None:
        whole = _Recordings(recording, tree, budget)
        source.deeper = _Level(whole, tree, _bound_of(tree), 0).below
    return tree


@dataclass(frozen=True)
class _Level:
    """A recording with a bound on depth, and what is known below the calls at that bound."""

    recordings: _Recordings
    tree: ColumnTree
    bound: int
    first_id: int

    def below(self, number: int, levels: int) -> ColumnTree:
        """The tree whose top is a call of this recording."""
        position = self.tree.position(number)
        columns = self.tree.columns
        if int(columns.end[position]) > position + 1:
            return self._cut(position, self._id(number))
        bound = int(columns.depth[position]) + max(1, levels)
        deeper = self.recordings.deeper(max(bound, self.bound + 1, 2), int(columns.weight[0]))
        found = _counterpart(self.tree, position, deeper.tree)
        return deeper._cut(found, self._id(number))

    def _id(self, number: int) -> int:
        return number + self.first_id

    def _cut(self, position: int, top: int) -> ColumnTree:
        """The subtree, as many levels as the budget allows, at least one."""
        tree, old = self.tree, self.tree.columns
        area = slice(position, int(old.end[position]))
        depth = old.depth[area] - old.depth[position]
        counts = np.cumsum(np.bincount(depth))
        deepest = max(1, int(np.searchsorted(counts, self.recordings.budget, "right")) - 1)
        keep = depth <= deepest
        place = np.cumsum(keep)
        ends = old.end[area] - position
        cut = keep & (depth == deepest) & (ends > np.arange(1, len(ends) + 1))
        own = np.where(cut, old.weight[area], old.own[area])[keep]
        parent = old.parent[area] - position
        parent = np.where(parent < 0, -1, place[np.maximum(parent, 0)] - 1)[keep]
        parent[0] = -1
        end = place[ends - 1][keep].astype(np.int32)
        ids = all_ids(tree)[area][keep] + self.first_id
        ids[0] = top
        columns = Columns(
            parent=parent.astype(np.int32),
            end=end,
            function=old.function[area][keep],
            rule=old.rule[area][keep],
            depth=depth[keep].astype(np.int32),
            outcome=old.outcome[area][keep],
            own=own,
            weight=subtree_sums(own, end),
            equation=old.equation[area][keep],
            effort=old.effort[area][keep],
            implicit=(old.implicit[area].astype(bool) | cut)[keep].astype(np.uint8),
        )
        return replace(
            tree,
            columns=columns,
            details=tree.details[area][keep],
            source_of=tree.source_of[area][keep],
            ids=ids,
        )


class _Recordings:
    """The deeper recordings of one program, made when they are needed and kept."""

    def __init__(self, recording: Path, tree: ColumnTree, budget: int):
        self._recording = recording
        self._tree = tree
        self.budget = budget
        # A call that comes to light has an id that depends on the bound and on its number alone,
        # so that it is the same in every session.
        self._stride = 2 * (int(tree.columns.weight[0]) + 2)
        self._made: dict[int, _Level] = {}

    def deeper(self, bound: int, calls: int) -> _Level:
        """A recording that goes to this depth; all of it if that is not much."""
        if calls <= self.budget:
            bound = _UNBOUNDED
        if bound not in self._made:
            self._made[bound] = self._record(bound)
        return self._made[bound]

    def _record(self, bound: int) -> _Level:
        header = header_of(self._tree)
        try:
            conditions = Conditions.of(self._recording, header)
            options = {**conditions.options, "depth": None if bound == _UNBOUNDED else bound}
            options |= {"max_calls": MOST_RECORDED, "max_bytes": None}
            with tempfile.TemporaryDirectory(prefix="whence-") as folder:
                limit = time_allowed(self._recording, self._tree, TIME_LIMIT)
                deeper = replace(conditions, options=options)
                output, played = run_again(deeper, Path(folder), [], limit)
                # The file stays open, and so readable, when the folder is gone.
                tree = open_trace(output)
        except WhenceError as problem:
            raise CannotExpand(str(problem)) from problem
        if played.problem:
            raise CannotExpand(f"the program went another way when run again: {played.problem}")
        level = _Level(self, tree, bound, bound * self._stride)
        source = tree.sources[0]
        assert isinstance(source, TraceSource)
        source.deeper = level.below
        return level


def _bound_of(tree: ColumnTree) -> int:
    depth = header_of(tree).options.get("depth")
    return int(tree.columns.depth.max()) if depth is None else int(depth)


# --- the same call in another recording ----------------------------------------------------------


def _counterpart(ours: ColumnTree, position: int, theirs: ColumnTree) -> int:
    """Where a call stands in a deeper recording; `CannotExpand` if what is known disagrees."""
    path = []
    while position > 0:
        path.append(position)
        position = int(ours.columns.parent[position])
    here = there = 0
    for step in reversed(path):
        ours_below, theirs_below = _callees(ours, here), _callees(theirs, there)
        place = int(np.searchsorted(ours_below, step))
        _agree(_names(ours, ours_below), _names(theirs, theirs_below)[: len(ours_below)], step)
        here, there = step, int(theirs_below[place])
        _check(ours, here, theirs, there)
    if int(theirs.columns.end[there]) == there + 1:
        raise CannotExpand(
            f"more than {MOST_RECORDED:,} calls would have to be recorded to come to it"
        )
    return there


def _check(ours: ColumnTree, here: int, theirs: ColumnTree, there: int) -> None:
    _agree(ours.columns.weight[here], theirs.columns.weight[there], here)
    _agree(None, contradiction(ours.call(here), theirs.call(there)), here)


def _agree(ours: object, theirs: object, position: int) -> None:
    if ours != theirs:
        raise CannotExpand(
            f"the program went another way when it was run again: at call {position} {theirs} "
            f"was {ours}"
        )


def _callees(tree: ColumnTree, position: int) -> Int64s:
    columns = tree.columns
    area = slice(position + 1, int(columns.end[position]))
    found = np.flatnonzero(columns.parent[area] == position) + position + 1
    # What stands for calls that were skipped is none, and stands last.
    return found[tree.details[found] >= 0]


def _names(tree: ColumnTree, positions: Int64s) -> Sequence[str]:
    return [tree.functions[int(tree.columns.function[each])].short() for each in positions]
