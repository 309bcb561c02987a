"""Sums of likelihoods that are kept from question to question, although answers change them.

An answer removes a few subtrees, so that a few sums become smaller; computing all of them again
would take a second in a tree of ten million calls. It is apart from `space.py`, which says what is
removed, because it must not know why.

Invariant: what is kept equals what summing up afresh would give, bit for bit, after any number of
answers. For that the weights are rounded up to multiples of one power of two, small enough to be
without effect and so large that all of them together are fewer than 2**53: of such numbers neither
a sum nor a difference is ever rounded. When little is left, smaller multiples are taken.
"""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from whence.ports import Floats, Int32s
from whence.search.weight_scan import BlockMaxima

_BITS = 52
_LITTLE = 2.0**-20
"""When less than this share of the weight is left, it is summed up again in smaller multiples."""


class KeptSums:
    """The sums of an own weight over the suspects of each subtree below some call."""

    def __init__(self, key: Hashable, own: Floats, end: Int32s) -> None:
        self.key = key
        """Says which weight it is."""
        self.own = own
        self._end = end
        self.weight: Floats = np.zeros(len(own))
        self.maxima = BlockMaxima(self.weight)
        self._least = 0.0

    def sum_up(self, top: int, is_suspect: npt.NDArray[np.bool_]) -> None:
        """Compute the sums at and below a call afresh; `is_suspect` is about these calls."""
        area = slice(top, top + len(is_suspect))
        own = np.where(is_suspect, self.own[area], 0.0)
        self._unit = _unit(float(own.sum()))
        prefix = np.zeros(len(own) + 1)
        np.cumsum(self._rounded(own), out=prefix[1:])
        np.subtract(prefix[self._end[area] - top], prefix[:-1], out=self.weight[area])
        self.maxima = BlockMaxima(self.weight)
        self._least = float(self.weight[top]) * _LITTLE

    def little_is_left(self, top: int) -> bool:
        """Whether so little is left at and below a call that smaller multiples tell more."""
        return float(self.weight[top]) < self._least

    def remove_own(self, position: int) -> None:
        """A call is no suspect any more. Those below it still are."""
        self.weight[position] -= self._rounded(self.own[position : position + 1])[0]

    def _rounded(self, own: Floats) -> Floats:
        rounded: Floats = np.ceil(own / self._unit) * self._unit
        return rounded


def _unit(total: float) -> float:
    """A power of two, at most 2**52 of which make up the total."""
    return math.ldexp(1.0, max(math.frexp(total)[1] - _BITS, -1000))
