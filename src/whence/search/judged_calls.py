"""What the answers say of which calls: verdicts by equation, and the wrong call at the top.

It knows answers and the tree's shape, but neither flags nor weights of suspects: those are in
`space.py`, which is computed from it.
"""

from __future__ import annotations

import numpy as np

from whence.model.verdict import Verdict
from whence.ports import Columns, Int32s, Int64s, Judged

_BLOCK = 1 << 16
FINE = (Verdict.RIGHT, Verdict.INADMISSIBLE)
"""The verdicts that take a call's subtree out of the search."""


class JudgedCalls:
    """The answers so far. With `duplicates`, one holds for all calls with an equal equation."""

    def __init__(self, columns: Columns, *, duplicates: bool) -> None:
        self.history: list[Judged] = []
        self._columns = columns
        self._duplicates = duplicates
        self._verdicts: dict[int, Verdict] = {}

    def __bool__(self) -> bool:
        """Whether any call has a definite verdict."""
        return bool(self._verdicts)

    def add(self, judged: Judged) -> None:
        """Take in an answer."""
        self.history.append(judged)
        if judged.verdict is not Verdict.UNKNOWN:
            self._verdicts[self._key(judged.position)] = judged.verdict

    def verdict(self, position: int) -> Verdict | None:
        """The verdict on a call, or on one with an equal equation."""
        return self._verdicts.get(self._key(position))

    def are_equal(self, position: int, other: int) -> bool:
        """Whether an answer about one call holds for the other."""
        return self._key(position) == self._key(other)

    def equal_calls(self, position: int, among: range | None = None) -> Int64s:
        """The calls that an answer about this one holds for, in preorder.

        `among` bounds the positions that are looked at.
        """
        return self._positions(self._key(position), among)

    def with_verdict(self, *verdicts: Verdict) -> Int64s:
        """The calls that have one of these verdicts, in no particular order."""
        groups = [
            self._positions(key) for key, verdict in self._verdicts.items() if verdict in verdicts
        ]
        return np.concatenate(groups) if groups else np.empty(0, dtype=np.int64)

    def _key(self, position: int) -> int:
        return int(self._columns.equation[position]) if self._duplicates else position

    def _positions(self, key: int, among: range | None = None) -> Int64s:
        area = range(len(self._columns)) if among is None else among
        if not self._duplicates:
            return np.array([key] if key in area else [], dtype=np.int64)
        positions = [
            start
            + np.flatnonzero(self._columns.equation[start : min(start + _BLOCK, area.stop)] == key)
            for start in range(area.start, area.stop, _BLOCK)
        ]
        return np.concatenate(positions) if positions else np.empty(0, dtype=np.int64)

    def find_top(self) -> int:
        """The wrong call that the search has come down to; the root if no call is wrong.

        An answer moves the top into the subtree judged wrong, and on to a call inside with an
        equal equation, unless an earlier answer removed that. A wrong call elsewhere takes over
        only if it is lighter, because either holds a fault.
        """
        columns, top = self._columns, 0
        wrong = np.empty(0, dtype=np.int64)
        for number, judged in enumerate(self.history):
            asked = judged.position
            if judged.verdict is not Verdict.WRONG or self.verdict(asked) is not Verdict.WRONG:
                continue
            above = asked <= top < columns.end[asked]
            inside = top <= asked < columns.end[top]
            if inside or (not above and columns.weight[asked] < columns.weight[top]):
                top = asked
            wrong = np.union1d(wrong, self.equal_calls(asked))
            deeper = wrong[(wrong > top) & (wrong < columns.end[top])]
            if len(deeper):
                covers = coverage(columns, self._removed_before(number))
                deeper = deeper[covers[deeper] == covers[top]]
            if len(deeper):
                top = innermost(columns, deeper)
        return top

    def _removed_before(self, number: int) -> Int64s:
        """The calls that the first `number` answers removed."""
        fine = [
            self.equal_calls(judged.position)
            for judged in self.history[:number]
            if judged.verdict in FINE
        ]
        return np.concatenate(fine) if fine else np.empty(0, dtype=np.int64)


def outermost(columns: Columns, positions: Int64s) -> Int64s:
    """Those of some calls, given in preorder, that are not in the subtree of another."""
    ends = np.maximum.accumulate(columns.end[positions])
    first = np.ones(len(positions), dtype=bool)
    first[1:] = positions[1:] >= ends[:-1]
    return positions[first]


def innermost(columns: Columns, positions: Int64s) -> int:
    """The call with the smallest subtree: none of the others lies inside it."""
    return int(positions[np.argmin(columns.end[positions] - positions)])


def coverage(columns: Columns, positions: Int64s) -> Int32s:
    """For each call, how many of the subtrees of `positions` it lies in."""
    steps = np.zeros(len(columns) + 1, dtype=np.int32)
    np.add.at(steps, positions, 1)
    np.add.at(steps, columns.end[positions], -1)
    return np.cumsum(steps[:-1], dtype=np.int32)
