"""Compares a run in which some calls were frozen with the recording, in all other calls.

Calls are matched by their ordinals. Function and caller of all calls are compared, and so are the
equations. If both recordings number their types, names and code alike, equal digests of equations
settle most calls, and the others are read. If a frozen call was the first to need such a number,
the second run numbers them differently and its digests mean something else: then one call of each
pair of equations is read, and of more than `MOST_READ` such pairs only that many.
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
from whence.langs.python.replay.rerun_process import RerunOutcome, trace_of
from whence.ports import Int64s
from whence.tree.column_tree import ColumnTree, all_ids
from whence.tree.readable_call import function_at

MOST_READ = 20_000
"""The most pairs of calls that are read if digests cannot be compared."""


@dataclass(frozen=True, slots=True)
class FrozenDifference:
    """The first call that differs, and how."""

    ordinal: int
    how: str

    def __str__(self) -> str:
        return self.how


def first_frozen_difference(
    recorded: ColumnTree, again: ColumnTree, frozen: Mapping[int, int], outcome: RerunOutcome
) -> FrozenDifference | None:
    """The first difference, or None; `frozen` has how many calls each frozen call made."""
    # The ordinal of each call, by its number; the run itself comes first.
    ours, theirs = (trace_of(tree).ordinals() for tree in (recorded, again))
    inside = np.zeros(len(ours), dtype=bool)
    for ordinal, calls in frozen.items():
        inside |= (ours > ordinal) & (ours <= ordinal + calls)
    expected = ours[~inside]
    pairs = _CallPairs(recorded, again, ours, theirs, np.intersect1d(expected, theirs))
    why_missing = f"is missing: {outcome.problem or 'it was not made'}"
    differences = [_first(np.setdiff1d(expected, theirs), why_missing), pairs.other_callers()]
    if not recorded.columns.implicit.any():
        differences.append(_first(np.setdiff1d(theirs, ours), "was not made before"))
    first = min(
        (difference for difference in differences if difference is not None),
        key=lambda difference: difference.ordinal,
        default=None,
    )
    return first or pairs.other_values(frozen)


def _first(ordinals: Int64s, how: str) -> FrozenDifference | None:
    if not len(ordinals):
        return None
    return FrozenDifference(int(ordinals[0]), f"call {ordinals[0]:,} of the run {how}")


def _differs(ordinal: int, how: str) -> FrozenDifference:
    return FrozenDifference(ordinal, f"call {ordinal:,} of the run is another one: {how}")


class _CallPairs:
    """The calls that are in both runs, other than those below frozen calls."""

    def __init__(
        self,
        recorded: ColumnTree,
        again: ColumnTree,
        ours: Int64s,
        theirs: Int64s,
        ordinals: Int64s,
    ) -> None:
        self._trees = recorded, again
        self._ordinals = ours, theirs
        self._paired = ordinals
        self._numbers = [np.searchsorted(recording, ordinals) for recording in (ours, theirs)]
        self._positions = [
            np.array(tree.positions(numbers.tolist()), dtype=np.int64)
            for tree, numbers in zip(self._trees, self._numbers, strict=True)
        ]

    def other_callers(self) -> FrozenDifference | None:
        """The first call of another function, or by another caller."""
        numbers = numbered(*(tree.functions for tree in self._trees))
        ours, theirs = (
            number[tree.columns.function[positions]]
            for number, tree, positions in zip(numbers, self._trees, self._positions, strict=True)
        )
        same = ours == theirs
        same &= self._callers(0) == self._callers(1)
        same[0] = True  # the run as a whole
        other = np.flatnonzero(~same)
        if not len(other):
            return None
        at = int(other[0])
        names = [
            function_at(tree, int(positions[at])).short()
            for tree, positions in zip(self._trees, self._positions, strict=True)
        ]
        how = f"{names[1]} was called instead of {names[0]}"
        return _differs(int(self._paired[at]), how)

    def _callers(self, which: int) -> Int64s:
        tree, positions = self._trees[which], self._positions[which]
        parents = tree.columns.parent[positions].astype(np.int64)
        callers = self._ordinals[which][all_ids(tree)[np.maximum(parents, 0)]]
        return np.where(parents < 0, -1, callers)

    def other_values(self, frozen: Mapping[int, int]) -> FrozenDifference | None:
        """The first call with another equation, of those that are read."""
        recorded, again = self._trees
        alike = self._equally_detailed()
        for at in self._to_be_read(frozen, alike).tolist():
            here, there = (int(positions[at]) for positions in self._positions)
            ours, theirs = recorded.call(here), again.call(there)
            how = contradiction(ours, theirs) or other_outcome(ours, theirs)
            if not how and alike[at]:
                how = other_effects(ours, theirs)
            if how:
                return _differs(int(self._paired[at]), how)
        return None

    def _equally_detailed(self) -> npt.NDArray[np.bool_]:
        """Whether both runs recorded a call in equal detail.

        The first calls of a run and of each function are recorded in more detail; of others an
        effect may be out of sight.
        """
        options = RecordOptions()
        ours, theirs = (
            (_count_in_function(tree)[positions] < options.first_calls)
            | (numbers <= options.early_calls)
            for tree, positions, numbers in zip(
                self._trees, self._positions, self._numbers, strict=True
            )
        )
        alike: npt.NDArray[np.bool_] = ours == theirs
        return alike

    def _to_be_read(self, frozen: Mapping[int, int], alike: npt.NDArray[np.bool_]) -> Int64s:
        """The pairs of calls whose equations can differ, as indices."""
        ours, theirs = (
            tree.columns.equation[positions]
            for tree, positions in zip(self._trees, self._positions, strict=True)
        )
        recorded, again = self._trees
        if _tables(recorded) == _tables(again):
            differs = ours != theirs
            differs[0] = True
            return np.flatnonzero(differs)
        # Up to the first frozen call nothing can differ, but for the run as a whole.
        possible = self._paired >= min(frozen, default=0)
        possible[0] = True
        indices = np.flatnonzero(possible)
        # Within one recording, calls with equal digests are equal: one of them is enough.
        pairs = np.stack([ours, theirs, alike.astype(np.int64)], axis=1)[indices]
        distinct: Int64s = np.sort(indices[np.unique(pairs, axis=0, return_index=True)[1]])
        if len(distinct) <= MOST_READ:
            return distinct
        near_frozen = max(1, MOST_READ // (2 * len(frozen)))
        starts = np.searchsorted(distinct, np.searchsorted(self._paired, sorted(frozen)))
        near = (starts[:, None] + np.arange(near_frozen)[None, :]).ravel()
        spread = distinct[:: max(1, 2 * len(distinct) // MOST_READ)]
        chosen: Int64s = np.union1d(distinct[near[near < len(distinct)]], spread)
        return chosen


def _count_in_function(tree: ColumnTree) -> Int64s:
    """For each call, by its position: how many calls of its function began before it."""
    function, ids = tree.columns.function, all_ids(tree)
    order = np.lexsort((ids, function))
    starts = np.searchsorted(function[order], function[order])
    counts = np.empty(len(ids), dtype=np.int64)
    counts[order] = np.arange(len(ids)) - starts
    return counts


def _tables(tree: ColumnTree) -> tuple[Sequence[object], ...]:
    return trace_of(tree).tables.entries()
