"""Makes a tree smaller: calls become implicit again, as if they had never been expanded.

What a re-run recorded can be recorded again, so it is held only while it may be needed.

Invariant: weights do not change, nor do the ids of the calls that remain.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from whence.ports import Tree
from whence.tree.column_tree import ColumnTree, all_ids

Mask = npt.NDArray[np.bool_]


@runtime_checkable
class Repeating(Protocol):
    """A source that may give the same calls more than once."""

    @property
    def gives_again(self) -> bool:
        """Whether the calls below its calls can be expanded any number of times."""


def shrink(tree: Tree, most: int, needed: Mask, mentioned: Sequence[int]) -> Tree:
    """A tree of at most `most` calls, if possible, without those that can be expanded again.

    What is needed stays. The rest goes by when its source was last mentioned: `mentioned` are the
    ids of calls that were talked about, the last one at the end. A tree that is not in columns
    cannot be shrunk and is returned as it is.
    """
    if not isinstance(tree, ColumnTree):
        return tree
    return with_at_most(tree, most, needed, _sources_by_use(tree, mentioned))


def _sources_by_use(tree: ColumnTree, mentioned: Sequence[int]) -> list[int]:
    """The numbers of the sources, the least recently mentioned first."""
    numbers = tree.source_of[tree.positions(mentioned)].tolist()
    last_use = {number: index for index, number in enumerate(numbers)}
    return sorted(range(len(tree.sources)), key=lambda number: last_use.get(number, -1))


def without(tree: ColumnTree, needed: Mask) -> ColumnTree:
    """The tree without what lies below calls that can be expanded again, unless it is needed."""
    ends = tree.columns.end
    before = np.concatenate([[0], np.cumsum(needed)])
    nothing_below = before[ends] == before[1:]
    repeatable = np.array(
        [isinstance(source, Repeating) and source.gives_again for source in tree.sources]
    )
    # A negative detail is no call, but the number of those that were not recorded.
    return collapse(tree, nothing_below & repeatable[tree.source_of] & (tree.details >= 0))


def with_at_most(tree: ColumnTree, most: int, needed: Mask, used: Sequence[int]) -> ColumnTree:
    """The tree with at most `most` calls, if possible, by dropping the least recently used sources.

    `used` are the numbers of the sources, the most recently used ones at the end.
    """
    rank = np.zeros(len(tree.sources), dtype=np.int64)
    rank[used] = np.arange(len(used))
    rank_of_call = rank[tree.source_of]

    def without_oldest(count: int) -> ColumnTree:
        return without(tree, needed | (rank_of_call >= count))

    # The more sources are dropped, the fewer calls are left.
    fewest = bisect_left(
        range(len(used)), True, key=lambda count: len(without_oldest(count).columns) <= most
    )
    return without_oldest(fewest)


def collapse(tree: ColumnTree, at: Mask) -> ColumnTree:
    """The tree in which those of these calls that have callees are implicit."""
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
    columns = replace(
        old.of(keep),
        parent=parent[keep].astype(np.int32),
        end=before[old.end][keep].astype(np.int32),
        own=np.where(hidden, old.weight, old.own)[keep],
        implicit=(old.implicit.astype(bool) | hidden)[keep].astype(np.uint8),
    )
    source_of = tree.source_of[keep]
    # The first source is the recording's, and others expect it there.
    used = np.union1d([0], source_of)
    return replace(
        tree,
        columns=columns,
        sources=tuple(tree.sources[number] for number in used.tolist()),
        details=tree.details[keep],
        source_of=np.searchsorted(used, source_of).astype(np.uint8),
        ids=all_ids(tree)[keep],
    )
