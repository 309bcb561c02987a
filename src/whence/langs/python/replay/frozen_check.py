"""Whether a run in which some calls were frozen is the recorded one in all other calls.

Numbers of types, names and code are each file's own, and those of the second run come in another
order where a frozen call was the first to need one: then calls are compared by what they say, and
not by digests. Calls are matched by which of all calls they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whence.langs.python.record.options import RecordOptions
from whence.langs.python.replay.alignment import (
    contradiction,
    numbered,
    other_effects,
    other_outcome,
)
from whence.langs.python.replay.rerun_process import RerunOutcome
from whence.langs.python.trace.call_reader import TraceSource
from whence.ports import Int64s
from whence.tree.column_tree import ColumnTree, all_ids
from whence.tree.readable_call import function_at

MOST_READ = 20_000
"""So many calls are read and compared value by value, if they cannot be compared by digests."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first call that is another one, and how."""

    ordinal: int
    how: str

    def __str__(self) -> str:
        return self.how


def difference(
    recorded: ColumnTree, again: ColumnTree, frozen: Mapping[int, int], played: RerunOutcome
) -> Difference | None:
    """The first difference, if there is any; `frozen` says how many calls each of these made.

    Of all calls the function and the caller are compared. Where digests do not tell, values are,
    first of those that follow a frozen call, then of others all over the run.
    """
    ours, theirs = _ordinals(recorded), _ordinals(again)
    inside = np.zeros(len(ours), dtype=bool)
    for ordinal, calls in frozen.items():
        inside |= (ours > ordinal) & (ours <= ordinal + calls)
    wanted = ours[~inside]
    pairs = _Pairs(recorded, again, ours, theirs, np.intersect1d(wanted, theirs))
    found = [_missing(np.setdiff1d(wanted, theirs), played), pairs.other_callers()]
    if not recorded.columns.implicit.any():
        found.append(_more(np.setdiff1d(theirs, ours)))
    known = [each for each in found if each is not None]
    if known:
        return min(known, key=lambda each: each.ordinal)
    return pairs.other_values(frozen)


def _missing(ordinals: Int64s, played: RerunOutcome) -> Difference | None:
    if not len(ordinals):
        return None
    why = played.problem or "it was not made"
    return Difference(int(ordinals[0]), f"call {ordinals[0]:,} of the run is missing: {why}")


def _more(ordinals: Int64s) -> Difference | None:
    if not len(ordinals):
        return None
    return Difference(int(ordinals[0]), f"call {ordinals[0]:,} of the run was not made before")


def _another(ordinal: int, how: str) -> Difference:
    return Difference(ordinal, f"call {ordinal:,} of the run is another one: {how}")


class _Pairs:
    """The calls that are in both runs."""

    def __init__(
        self, recorded: ColumnTree, again: ColumnTree, ours: Int64s, theirs: Int64s, wanted: Int64s
    ) -> None:
        self._trees = recorded, again
        self._ordinals = ours, theirs
        self._wanted = wanted
        numbers = (np.searchsorted(each, wanted) for each in (ours, theirs))
        self._positions = [
            np.array(tree.positions(each.tolist()), dtype=np.int64)
            for tree, each in zip(self._trees, numbers, strict=True)
        ]

    def other_callers(self) -> Difference | None:
        """The first call that another function made, or that another one called."""
        numbers = numbered(*(tree.functions for tree in self._trees))
        ours, theirs = (
            number[tree.columns.function[each]]
            for number, tree, each in zip(numbers, self._trees, self._positions, strict=True)
        )
        same = ours == theirs
        same &= self._callers(0) == self._callers(1)
        same[0] = True  # the run as a whole
        other = np.flatnonzero(~same)
        if not len(other):
            return None
        at = int(other[0])
        names = [
            function_at(tree, int(each[at])).short()
            for tree, each in zip(self._trees, self._positions, strict=True)
        ]
        how = f"{names[1]} was called instead of {names[0]}"
        return _another(int(self._wanted[at]), how)

    def _callers(self, which: int) -> Int64s:
        tree, positions = self._trees[which], self._positions[which]
        parents = tree.columns.parent[positions].astype(np.int64)
        found = self._ordinals[which][all_ids(tree)[np.maximum(parents, 0)]]
        return np.where(parents < 0, -1, found)

    def other_values(self, frozen: Mapping[int, int]) -> Difference | None:
        """The first call with another equation, of those that are looked at."""
        recorded, again = self._trees
        alike = self._seen_alike()
        for at in self._to_be_read(frozen).tolist():
            here, there = (int(each[at]) for each in self._positions)
            ours, theirs = recorded.call(here), again.call(there)
            how = contradiction(ours, theirs) or other_outcome(ours, theirs)
            if not how and alike[at]:
                how = other_effects(ours, theirs)
            if how:
                return _another(int(self._wanted[at]), how)
        return None

    def _seen_alike(self) -> npt.NDArray[np.bool_]:
        """Whether as much was recorded of a call in both runs: of the first calls of a function it
        is more, and of others a change may be out of sight."""
        first = [
            _which_of_function(tree)[each] < RecordOptions().first_calls
            for tree, each in zip(self._trees, self._positions, strict=True)
        ]
        found: npt.NDArray[np.bool_] = first[0] == first[1]
        return found

    def _to_be_read(self, frozen: Mapping[int, int]) -> Int64s:
        recorded, again = self._trees
        everything: Int64s = np.arange(len(self._wanted), dtype=np.int64)
        if _tables(recorded) == _tables(again):
            here, there = self._positions
            other = recorded.columns.equation[here] != again.columns.equation[there]
            other[0] = True
            found: Int64s = everything[other][:MOST_READ]
            return found
        # Up to the first frozen call nothing can differ, but for the run as a whole.
        everything = everything[(self._wanted >= min(frozen, default=0)) | (everything == 0)]
        if len(everything) <= MOST_READ:
            return everything
        each = max(1, MOST_READ // (2 * len(frozen)))
        starts = np.searchsorted(self._wanted, sorted(frozen))
        near = (starts[:, None] + np.arange(each)[None, :]).ravel()
        spread = everything[:: max(1, 2 * len(everything) // MOST_READ)]
        chosen: Int64s = np.union1d(near[near < len(self._wanted)], spread)
        return chosen


def _which_of_function(tree: ColumnTree) -> Int64s:
    """Of each call by its position, how many calls of its function began before it."""
    function, ids = tree.columns.function, all_ids(tree)
    order = np.lexsort((ids, function))
    starts = np.searchsorted(function[order], function[order])
    found = np.empty(len(ids), dtype=np.int64)
    found[order] = np.arange(len(ids)) - starts
    return found


def _tables(tree: ColumnTree) -> tuple[Sequence[object], ...]:
    return _source(tree).tables.entries()


def _source(tree: ColumnTree) -> TraceSource:
    source = tree.sources[0]
    assert isinstance(source, TraceSource)
    return source


def _ordinals(tree: ColumnTree) -> Int64s:
    """Of each call by its number, the run itself first."""
    return _source(tree).ordinals()
