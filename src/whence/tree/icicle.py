"""An icicle of a tree, cut down to what fits on a screen.

A row for each depth, and in it a box for each call, as wide as the calls of its subtree are
together. The picture of a view has at most `pixels` boxes in a row, whatever the size of the tree:
only calls that cover the middle of a pixel are looked at, and neighbouring siblings that are too
narrow for a box of their own are merged into one.

In preorder a subtree is an interval, so the left edge of a call is the sum of the widths of all
calls before it. That makes a view `pixels` binary searches, then one climb towards the root. The
calls of merged siblings are counted in one pass over them; no call is counted twice, so a view
costs at most one pass over the visible part of the tree.

It knows nothing of verdicts: what the widths are is the caller's choice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whence.ports import Columns, Floats, Int32s, Int64s

NARROWEST = 2.5
"""Siblings with fewer pixels than this are merged."""
MIXED = -1
"""The function of merged siblings that are calls of several functions."""
_CLIMB = 512
"""From calls at most so many rows too deep one climbs; from deeper ones a scan is faster."""
_COUNTED = 20_000_000
"""Of merged siblings with more calls than this in their subtrees, no exact number is told."""


@dataclass(frozen=True, slots=True)
class View:
    """Which part of the picture is wanted: a range of widths, from one row on, in pixels."""

    left: float
    right: float
    row: int
    rows: int
    pixels: int


@dataclass(frozen=True, slots=True)
class Boxes:
    """The boxes of a view, row by row from the top, and in each row from the left.

    A box stands for the calls `first … stop - 1`: one call with its subtree, or several siblings
    with theirs. `siblings` says how many (0: too many to count), `last` which one is the last;
    `function` is theirs, or `MIXED`.
    """

    row: Int32s
    first: Int64s
    last: Int64s
    stop: Int64s
    siblings: Int64s
    function: Int32s
    left: Floats
    right: Floats

    def __len__(self) -> int:
        return len(self.first)


class Icicle:
    """The layout of one tree under one choice of widths."""

    def __init__(self, columns: Columns, own: Floats | None = None) -> None:
        """`own` are the widths of the calls themselves; without it, each is 1 wide."""
        self._columns = columns
        self._edges: Floats | None = None
        if own is not None and not (own.strides == (0,) and len(own) and own[0] == 1.0):
            self._edges = np.zeros(len(own) + 1)
            np.cumsum(own, out=self._edges[1:])

    @property
    def width(self) -> float:
        """The width of the whole tree."""
        return float(len(self._columns) if self._edges is None else self._edges[-1])

    def edges(self, positions: Int64s) -> Floats:
        """The left edges of calls; that of `len(columns)` is the right edge of the last one."""
        if self._edges is None:
            return positions.astype(np.float64)
        left: Floats = self._edges[positions]
        return left

    def boxes(self, view: View) -> Boxes:
        """The boxes that are visible in a view."""
        pixel = (view.right - view.left) / max(view.pixels, 1)
        calls = self._calls_under(view, pixel)
        levels: list[Boxes] = []
        wide: Int64s = np.empty(0, dtype=np.int64)
        for row in range(view.row, view.row + view.rows):
            here = calls.get(row)
            if here is None:
                break
            if row > view.row:
                here = here[np.isin(self._columns.parent[here], wide)]
            stops = self._columns.end[here].astype(np.int64)
            is_wide = self.edges(stops) - self.edges(here) >= NARROWEST * pixel
            if row == view.row and len(here) == 1:
                is_wide[:] = True
            wide = here[is_wide]
            if len(here) == 0:
                break
            levels.append(self._level(row, wide, here[~is_wide], view))
        return _joined(levels)

    def _calls_under(self, view: View, pixel: float) -> dict[int, Int64s]:
        """For each row, the calls that cover the middle of a pixel, from the left."""
        columns = self._columns
        middles = view.left + (np.arange(view.pixels) + 0.5) * pixel
        middles = middles[(middles >= 0) & (middles < self.width)]
        innermost = (
            middles.astype(np.int64)
            if self._edges is None
            else np.searchsorted(self._edges, middles, side="right") - 1
        )
        calls = self._lifted(np.unique(innermost), view.row + view.rows - 1)
        depths = columns.depth[calls]
        if len(calls) == 0:
            return {}
        levels: dict[int, Int64s] = {}
        row = int(depths.max())
        while row >= view.row:
            here = calls[depths == row]
            levels[row] = here
            callers = np.unique(columns.parent[here].astype(np.int64))
            # Both parts are sorted and disjoint.
            calls = np.union1d(calls[depths < row], callers[callers >= 0])
            depths = columns.depth[calls]
            row -= 1
        return levels

    def _lifted(self, calls: Int64s, row: int) -> Int64s:
        """The calls, and instead of those that are below a row, their callers in that row."""
        depth, parent = self._columns.depth, self._columns.parent
        too_deep = depth[calls] > row
        if not too_deep.any():
            return calls
        deep, rest = calls[too_deep], calls[~too_deep]
        if int(depth[deep].max()) - row <= _CLIMB:
            while len(deep):
                deep = np.unique(parent[deep].astype(np.int64))
                arrived = depth[deep] <= row
                rest, deep = np.union1d(rest, deep[arrived]), deep[~arrived]
            return rest
        # In preorder, the caller in a row is the last call of that row before.
        start = int(deep[0])
        while int(depth[start]) > row:  # the caller of the first one stands before it
            start = int(parent[start])
        in_row = start + np.flatnonzero(depth[start : int(deep[-1]) + 1] == row)
        callers = in_row[np.searchsorted(in_row, deep, side="right") - 1]
        return np.union1d(rest, callers)

    def _level(self, row: int, wide: Int64s, narrow: Int64s, view: View) -> Boxes:
        """The boxes of one row: calls of their own, and runs of merged ones between them."""
        columns = self._columns
        first, stop = self._runs(wide, narrow, view)
        counts = [self._siblings(int(a), int(b), row) for a, b in zip(first, stop, strict=True)]
        siblings = np.array([count for count, _, _ in counts], dtype=np.int64)
        last = np.array([last for _, last, _ in counts], dtype=np.int64)
        function = np.array([function for _, _, function in counts], dtype=np.int32)
        firsts = np.concatenate((wide, first))
        stops = np.concatenate((columns.end[wide].astype(np.int64), stop))
        order = np.argsort(firsts, kind="stable")
        return Boxes(
            np.full(len(firsts), row, dtype=np.int32),
            firsts[order],
            np.concatenate((wide, last))[order],
            stops[order],
            np.concatenate((np.ones(len(wide), dtype=np.int64), siblings))[order],
            np.concatenate((columns.function[wide], function))[order],
            self.edges(firsts[order]),
            self.edges(stops[order]),
        )

    def _runs(self, wide: Int64s, narrow: Int64s, view: View) -> tuple[Int64s, Int64s]:
        """For each run of narrow siblings, the first call and the end of its last one.

        A run reaches to the wide siblings beside it, or to the ends of its caller. At the edges of
        the view, where siblings are out of sight, it reaches to the narrow ones that are visible.
        """
        columns = self._columns
        if len(narrow) == 0:
            return narrow, narrow
        caller = columns.parent[narrow].astype(np.int64)
        begin, end = caller + 1, columns.end[np.maximum(caller, 0)].astype(np.int64)
        end[caller < 0] = len(columns)
        place = np.searchsorted(wide, narrow)
        padded = np.concatenate((np.array([-1]), wide, np.array([len(columns)])))
        before, after = padded[place], padded[place + 1]
        has_before, has_after = before >= begin, after < end
        first = np.where(has_before, columns.end[np.maximum(before, 0)].astype(np.int64), begin)
        stop = np.where(has_after, after, end)
        cut_left = ~has_before & (self.edges(begin) < view.left)
        cut_right = ~has_after & (self.edges(end) > view.right)
        begins = (place[1:] != place[:-1]) | (caller[1:] != caller[:-1])
        group = np.concatenate((np.array([True]), begins))
        starts = np.flatnonzero(group)
        ends = np.append(starts[1:], len(narrow)) - 1
        first = np.where(cut_left[starts], narrow[starts], first[starts])
        stop = np.where(cut_right[ends], columns.end[narrow[ends]].astype(np.int64), stop[ends])
        return first, stop

    def _siblings(self, first: int, stop: int, row: int) -> tuple[int, int, int]:
        """How many calls of a row are in a range, the last one, and the function of all."""
        columns = self._columns
        if int(columns.end[first]) == stop:
            return 1, first, int(columns.function[first])
        counted = min(stop, first + _COUNTED)
        here = first + np.flatnonzero(columns.depth[first:counted] == row)
        functions = columns.function[here]
        same = int(functions[0]) if (functions == functions[0]).all() else MIXED
        if counted == stop:
            return len(here), int(here[-1]), same
        return 0, self._caller_in_row(stop - 1, row), MIXED

    def _caller_in_row(self, call: int, row: int) -> int:
        while int(self._columns.depth[call]) > row:
            call = int(self._columns.parent[call])
        return call


def _joined(levels: list[Boxes]) -> Boxes:
    """The boxes of several rows."""
    if not levels:
        none = np.empty(0, dtype=np.int64)
        few = none.astype(np.int32)
        return Boxes(few, none, none, none, none, few, none.astype(float), none.astype(float))
    return Boxes(
        np.concatenate([level.row for level in levels]),
        np.concatenate([level.first for level in levels]),
        np.concatenate([level.last for level in levels]),
        np.concatenate([level.stop for level in levels]),
        np.concatenate([level.siblings for level in levels]),
        np.concatenate([level.function for level in levels]),
        np.concatenate([level.left for level in levels]),
        np.concatenate([level.right for level in levels]),
    )
