"""Finds a call in the recordings of one run: the first one, and the windows of partial replays.

A call is identified by its *ordinal*, its number among all calls of the run, recorded or only
counted. Ordinals agree in every run that does not diverge. A call that only a window recorded gets
an id made of its ordinal, so that it has the same id in every session.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from functools import cached_property
from weakref import ReferenceType, ref

import numpy as np

from whence.langs.python.replay.rerun_process import CannotReplay, trace_of
from whence.langs.python.trace.trace_format import mix
from whence.ports import Int64s
from whence.tree.column_tree import ColumnTree

_WINDOW = 0x77696E64


@dataclass
class RecordedWindow:
    """One recording of the run: the whole of it, or the window of a partial replay."""

    tree: ColumnTree
    before: int
    """The number of calls of the run before the first one recorded here."""
    node: int = 0
    """The id of the call that the window was recorded for."""

    @cached_property
    def ordinals(self) -> Int64s:
        """The ordinal of each recorded call, by its number in this recording."""
        return trace_of(self.tree).ordinals() + self.before

    @cached_property
    def equations(self) -> Int64s:
        """The digest of each call's equation, by position; no other recording has an equal one.

        Digests contain numbers of their recording's calls and tables, so that those of two
        recordings may be the same by chance. The whole recording keeps its own.
        """
        salt = np.uint64(mix(self.node, _WINDOW) if self.node else 0).astype(np.int64)
        digests: Int64s = self.tree.columns.equation ^ salt
        return digests

    def position(self, ordinal: int) -> int | None:
        """The position of a call, or None if it is not recorded here."""
        number = int(np.searchsorted(self.ordinals[1:], ordinal)) + 1
        if number >= len(self.ordinals) or self.ordinals[number] != ordinal:
            return None
        return self.tree.position(number)


@dataclass
class RecordedWindows:
    """All recordings of one run that are open."""

    tree: ColumnTree
    """The tree of the whole run as it was opened, before any expansion."""
    _windows: list[ReferenceType[RecordedWindow]] = field(default_factory=list)
    """A window lives as long as some tree has calls of it."""

    @cached_property
    def whole(self) -> RecordedWindow:
        """The recording of the whole run."""
        return RecordedWindow(self.tree, 0)

    @cached_property
    def first_id(self) -> int:
        """Added to an ordinal to make an id; larger than all ids of the recording."""
        return int(self.tree.columns.weight[0]) + len(self.tree.columns) + 1

    def ordinal(self, node: int) -> int:
        """The ordinal of a call, given its id."""
        if node >= self.first_id:
            return (node - self.first_id) % self.first_id
        return int(self.whole.ordinals[node])

    def locate(self, node: int) -> tuple[ColumnTree, int]:
        """The tree of an open recording that has the call, and the call's position in it."""
        ordinal = self.ordinal(node)
        for window in (self.whole, *(reference() for reference in self._windows)):
            position = None if window is None else window.position(ordinal)
            if window is not None and position is not None:
                return window.tree, position
        raise CannotReplay("this call is in no recording that is open")

    def add(self, tree: ColumnTree, node: int) -> RecordedWindow:
        """A new window, recorded for a call."""
        window = RecordedWindow(tree, self.ordinal(node) - 1, node)
        gc.collect()  # frees unused windows: a window and its tree refer to each other
        alive = [reference for reference in self._windows if reference() is not None]
        self._windows = [*alive, ref(window)]
        return window
