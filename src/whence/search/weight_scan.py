"""Scans over the weights of open calls, in blocks, so that ten million calls take milliseconds.

A block whose heaviest call cannot beat what was found so far is passed over after one reduction;
in an execution tree that is nearly every block, because heavy calls are few. Sums that differ by
rounding only count as equal, and the left-most of equals wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whence.ports import Bytes, Floats, Int32s, Int64s

ROUNDING = 1e-9
_BLOCK = 1 << 16


def slack(weight: float) -> float:
    """How much two sums of about this size may differ by rounding."""
    return ROUNDING * max(1.0, abs(weight)) if np.isfinite(weight) else 0.0


class BlockMaxima:
    """For each block of a column of weights a number that none of its weights exceeds.

    Computed once for each block. It stays true as long as weights only become smaller, as they do
    when calls are removed; a column that is computed anew needs new maxima.
    """

    def __init__(self, weight: Floats) -> None:
        self.weight = weight
        self._maxima: dict[int, float] = {}

    def now_in(self, weight: Floats) -> None:
        """The same weights are in another array now."""
        self.weight = weight

    def over(self, start: int) -> float:
        """The number for the block that a position lies in."""
        first = start - start % _BLOCK
        if first not in self._maxima:
            self._maxima[first] = float(self.weight[first : first + _BLOCK].max())
        return self._maxima[first]


@dataclass(frozen=True, slots=True)
class CallScan:
    """The positions from `start` to `stop` whose flags are not among the blocked ones.

    With `callers`, only those that the call at `start - 1` leads to directly. Blocks of
    light calls are passed over without being read if `maxima` are those of the weights.
    """

    flags: Bytes
    blocked: np.uint8
    start: int
    stop: int
    callers: Int32s | None = None
    maxima: tuple[BlockMaxima, ...] = ()

    def heaviest_up_to(self, weight: Floats, limit: float) -> int | None:
        """The left-most of the heaviest that weigh at most `limit`."""
        limit += slack(limit)
        best, position = -np.inf, None
        for start, block in self._blocks():
            if self._maximum(weight, block) <= best + slack(best):
                continue
            here = weight[block]
            fitting = np.where(self._is_open(block) & (here <= limit), here, -np.inf)
            most = float(fitting.max())
            if most > best + slack(best):
                best = most
                position = start + int(np.argmax(fitting >= most - slack(most)))
        return None if best == -np.inf else position

    def lightest_from(self, weight: Floats, limit: float) -> int | None:
        """The left-most of the lightest that weigh at least `limit`."""
        limit -= slack(limit)
        best, position = np.inf, None
        for start, block in self._blocks():
            if self._maximum(weight, block) < limit:
                continue
            here = weight[block]
            fitting = np.where(self._is_open(block) & (here >= limit), here, np.inf)
            least = float(fitting.min())
            if least < best - slack(least):
                best = least
                position = start + int(np.argmax(fitting <= least + slack(least)))
        return None if best == np.inf else position

    def closest(
        self, weight: Floats, goal: float, own: Floats | None = None
    ) -> tuple[int, float] | None:
        """The left-most call whose weight, less half its own, is closest to `goal`; how close."""
        best, position = np.inf, 0
        rounding = slack(goal)
        for start, block in self._blocks():
            most = self._maximum(weight, block)
            if most <= goal and goal - most >= best - rounding:
                continue
            here = weight[block]
            distance = np.abs((here if own is None else here - own[block] / 2) - goal)
            distance[~self._is_open(block)] = np.inf
            least = float(distance.min())
            if least < best - rounding:
                best = least
                position = start + int(np.argmax(distance <= least + rounding))
        return None if best == np.inf else (position, best)

    def within(self, weight: Floats, low: float, high: float, most: int) -> Int64s:
        """The first `most` positions that weigh from `low` to `high`."""
        low, high = low - slack(low), high + slack(high)
        positions: list[Int64s] = []
        room = most
        for start, block in self._blocks():
            if self._maximum(weight, block) < low:
                continue
            here = weight[block]
            fitting = np.flatnonzero(self._is_open(block) & (here >= low) & (here <= high))
            positions.append(start + fitting[:room])
            room -= len(positions[-1])
            if room <= 0:
                break
        return np.concatenate(positions) if positions else np.empty(0, dtype=np.int64)

    def positions(self, most: int | None = None) -> Int64s:
        """All of them, or the first `most`."""
        positions: list[Int64s] = []
        room = self.stop - self.start if most is None else most
        for start, block in self._blocks():
            if room <= 0:
                break
            positions.append(start + np.flatnonzero(self._is_open(block))[:room])
            room -= len(positions[-1])
        return np.concatenate(positions) if positions else np.empty(0, dtype=np.int64)

    def count(self) -> int:
        """How many there are."""
        return sum(int(np.count_nonzero(self._is_open(block))) for _, block in self._blocks())

    def first(self) -> int | None:
        """The left-most."""
        for start, block in self._blocks():
            is_open = self._is_open(block)
            offset = int(is_open.argmax())
            if is_open[offset]:
                return start + offset
        return None

    def lowest(self, end: Int32s) -> int | None:
        """The first one that has no other one below it."""
        waiting: int | None = None
        for start, block in self._blocks():
            here = start + np.flatnonzero(self._is_open(block))
            if waiting is not None:
                here = np.concatenate([[waiting], here])
            if len(here) == 0:
                continue
            alone = np.flatnonzero(here[1:] >= end[here[:-1]])
            if len(alone):
                return int(here[alone[0]])
            waiting = int(here[-1])
        return waiting

    def any(self) -> bool:
        """Whether there is one."""
        return self.first() is not None

    def _blocks(self) -> Iterator[tuple[int, slice]]:
        start = self.start
        while start < self.stop:
            stop = min(start - start % _BLOCK + _BLOCK, self.stop)
            yield start, slice(start, stop)
            start = stop

    def _maximum(self, weight: Floats, block: slice) -> float:
        """A number that no weight in a block exceeds."""
        for maxima in self.maxima:
            if maxima.weight is weight:
                return maxima.over(block.start)
        return float(weight[block].max())

    def _is_open(self, block: slice) -> npt.NDArray[np.bool_]:
        is_open: npt.NDArray[np.bool_] = self.flags[block] & self.blocked == 0
        if self.callers is not None:
            is_open &= self.callers[block] == self.start - 1
        return is_open
