"""What pictures and lists of one state of a session share, computed when it is first needed.

A state never changes, so this is kept until there is another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whence.errors import UsageError
from whence.ports import Int32s, Int64s
from whence.session.call_states import CallStates
from whence.session.state import State
from whence.tree.icicle import Icicle
from whence.tree.merged_paths import MergedPaths, merge_paths

Parameters = Mapping[str, object]
WIDTHS = ("calls", "suspicion")


@dataclass(frozen=True, slots=True)
class MergedLayout:
    """A tree with equal calls merged, its icicle, and the suspects in each entry's subtree."""

    paths: MergedPaths
    icicle: Icicle
    suspects: Int64s


class Layouts:
    """The layouts and states of one state of a session."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.states = CallStates(state)
        self.suspects: npt.NDArray[np.bool_] = self.states.suspects
        self._by_width: dict[str, Icicle] = {}
        self._suspects_before: Int32s | None = None
        self._merged: MergedLayout | None = None

    def icicle(self, width: str) -> Icicle:
        """The layout with a choice of widths."""
        if width not in WIDTHS:
            raise UsageError(f"a picture is as wide as one of {', '.join(WIDTHS)}, not {width}")
        columns = self.state.tree.columns
        if width not in self._by_width:
            own = self.states.suspicion() if width == "suspicion" else columns.own
            # When nothing is suspected any more, there is still a tree to be seen.
            self._by_width[width] = Icicle(columns, own if own.any() else columns.own)
        return self._by_width[width]

    def merged(self) -> MergedLayout:
        """The layout of the tree with equal calls merged."""
        if self._merged is None:
            paths = merge_paths(self.state.tree.columns)
            count = len(paths.columns)
            own = np.bincount(paths.entry_of[self.suspects], minlength=count)
            before = np.concatenate(([0], np.cumsum(own)))
            suspects = before[paths.columns.end] - before[:count]
            self._merged = MergedLayout(paths, Icicle(paths.columns, paths.columns.own), suspects)
        return self._merged

    def suspects_within(self, first: Int64s, stop: Int64s) -> Int64s:
        """How many suspects there are in some ranges of positions."""
        if self._suspects_before is None:
            counts = np.zeros(len(self.suspects) + 1, dtype=np.int32)
            np.cumsum(self.suspects, out=counts[1:])
            self._suspects_before = counts
        within: Int64s = (self._suspects_before[stop] - self._suspects_before[first]).astype(int)
        return within

    def named(self, text: str) -> Int64s:
        """The calls of functions whose name contains a text, in preorder."""
        tree = self.state.tree
        named = [n for n, function in enumerate(tree.functions) if text in function.name]
        return np.flatnonzero(np.isin(tree.columns.function, named))

    def position(self, parameters: Parameters, name: str, default: int) -> int:
        """The position of a call that is named by its id."""
        node = parameters.get(name)
        if node is None:
            return default
        if not isinstance(node, int) or isinstance(node, bool):
            raise UsageError(f"{name} is the number of a call")
        return self.state.tree.position(node)


def number(parameters: Parameters, name: str, default: float) -> float:
    """A number among parameters."""
    value = parameters.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e18:
        raise UsageError(f"{name} is a number")
    return float(value)


def bounded(parameters: Parameters, name: str, default: int, most: int, least: int = 1) -> int:
    """A number of pixels, rows or calls; what is too large is made smaller."""
    return int(max(least, min(number(parameters, name, default), most)))
