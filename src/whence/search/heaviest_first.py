"""Heaviest first (Binks 1995): the callee with the most suspects below it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from whence.ports import Choice, Floats, Int64s, OpenCalls, Suspects
from whence.search.top_down import TopDown, some
from whence.search.weight_scan import slack


def heaviest(positions: Int64s, weights: Floats) -> int:
    """The left-most of the heaviest: sums that differ by rounding only count as equal."""
    most = float(weights.max())
    return int(positions[np.argmax(weights >= most - slack(most))])


@dataclass(frozen=True)
class HeaviestFirst(TopDown):
    """Prefers the callee whose remaining subtree weighs most."""

    name: str = "heaviest-first"

    def prefer(self, suspects: Suspects, callees: OpenCalls) -> Choice:
        """The heaviest."""
        chosen = some(callees.heaviest_up_to(suspects.weight, inf))
        return Choice(chosen, "it has the most suspects below it")
