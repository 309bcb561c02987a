"""A tree with less in it: calls that stand for all that is below them, as if nobody had looked.

What came to light in a re-run can come to light again, so it is held only while it may be needed.

Invariant: weights stay what they are, and so do the ids of all calls that are left.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from whence.ports import Columns
from whence.tree.column_tree import ColumnTree, all_ids

Mask = npt.NDArray[np.bool_]


@runtime_checkable
class Repeating(Protocol):
    """A source of details."""

    @property
    def gives_again(self) -> bool:
        """Whether what is below its calls can be had as often as it is asked for."""


def without(tree: ColumnTree, needed: Mask) -> ColumnTree:
    """The tree without what is below calls that can be expanded again, unless that is needed."""
    ends = tree.columns.end
    before = np.concatenate([[0], np.cumsum(needed)])
    nothing_below = before[ends] == before[1:]
    again = np.array([isinstance(each, Repeating) and each.gives_again for each in tree.sources])
    # A negative detail is no call, but the number of those that were not recorded.
    return collapsed(tree, nothing_below & again[tree.source_of] & (tree.details >= 0))


def with_at_most(tree: ColumnTree, most: int, needed: Mask, used: Sequence[int]) -> ColumnTree:
    """The tree with so many calls, if it can be, by giving up what was not used for the longest.

    `used` are the sources of its calls, those that were used last at the end; what is needed stays.
    """
    place = np.zeros(len(tree.sources), dtype=np.int64)
    place[used] = np.arange(len(used))
    last_used = place[tree.source_of]

    def given_up(count: int) -> ColumnTree:
        return without(tree, needed | (last_used >= count))

    # The more sources are given up, the less is left.
    fewest = bisect_left(range(len(used)), True, key=lambda n: len(given_up(n).columns) <= most)
    return given_up(fewest)


def collapsed(tree: ColumnTree, at: Mask) -> ColumnTree:
    """The tree in which these calls are implicit, those that called any."""
    old = tree.columns
    count = len(old)
    tops = np.flatnonzero(at & (old.end > np.arange(1, count + 1)))
    edges = np.zeros(count + 1, dtype=np.int64)
    np.add.at(edges, tops + 1, 1)
    np.add.at(edges, old.end[tops], -1)
    keep = np.cumsum(edges[:count]) == 0
    before = np.concatenate([[0], np.cumsum(keep)])
    hidden = np.zeros(count, dtype=bool)
    hidden[tops] = True
    parent = np.where(old.parent >= 0, before[old.parent], -1)
    columns = Columns(
        parent=parent[keep].astype(np.int32),
        end=before[old.end][keep].astype(np.int32),
        function=old.function[keep],
        rule=old.rule[keep],
        depth=old.depth[keep],
        outcome=old.outcome[keep],
        own=np.where(hidden, old.weight, old.own)[keep],
        weight=old.weight[keep],
        equation=old.equation[keep],
        effort=old.effort[keep],
        implicit=(old.implicit.astype(bool) | hidden)[keep].astype(np.uint8),
    )
    source_of = tree.source_of[keep]
    # The first is that of the recording, which others look for there.
    used = np.union1d([0], source_of)
    return replace(
        tree,
        columns=columns,
        sources=tuple(tree.sources[number] for number in used.tolist()),
        details=tree.details[keep],
        source_of=np.searchsorted(used, source_of).astype(np.uint8),
        ids=all_ids(tree)[keep],
    )
