"""The order in which the calls of a recording began.

A trace is in order of time, all threads together, and a call's number counts the calls before it.
A generator or coroutine has its number since it was created, so it counts as begun although it may
run later. The processes of a program share no clock: of a child's calls it is only known that they
began after the call that started it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from whence.langs.python.trace.joined_processes import own_details
from whence.langs.python.trace.trace_source import TraceSource
from whence.ports import Int64s, Tree
from whence.tree.column_tree import ColumnTree


class TraceChronology:
    """When the calls of a recording began; implements `ports.Chronology`."""

    def began_later(self, tree: Tree, last_begun: int) -> npt.NDArray[np.bool_]:
        """For each position, whether the call began after a call of the main process had."""
        if not isinstance(tree, ColumnTree):
            return np.zeros(len(tree.columns), dtype=bool)
        member, number = own_details(tree)
        # A stand-in for calls that were not recorded has no number, nor have calls of a re-run:
        # they began later if a caller did.
        later = np.flatnonzero((tree.source_of == 0) & (member == 0) & (number > last_begun))
        steps = np.zeros(len(tree.columns) + 1, dtype=np.int32)
        steps[later] += 1
        np.subtract.at(steps, tree.columns.end[later], 1)
        is_below_later: npt.NDArray[np.bool_] = np.cumsum(steps[:-1]) > 0
        return is_below_later


def last_begun_at(source: TraceSource, position: int) -> int:
    """The number of the last call that had begun at a position of a trace."""
    begun: Int64s = source.call_at[1:]
    return int(np.searchsorted(begun, position))
