"""Mercury's divide & query (MacLarty, Somogyi & Brown 2005, Fig. 2): greedy and on demand.

From the last wrong call go to the heaviest callee until one weighs less than half; take that one
or, if it is strictly closer to half, the one before. Only the calls on this path need be known, so
implicit calls are expanded `step` levels at a time when the path reaches them, and most of a huge
tree is never materialized. Weights include the wrong call's own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whence.ports import Choice, Expansion, Suspects
from whence.search.heaviest_first import heaviest


@dataclass(frozen=True)
class Middleweight:
    """Greedy descent to half of the weight."""

    step: int = 3
    name: str = "middleweight"
    asks_top: bool = False

    def choose(self, suspects: Suspects) -> Choice | Expansion | None:
        """The call nearest to half of the weight on the path of heaviest callees."""
        own = 0.0 if suspects.top_is_open else float(suspects.columns.own[suspects.top])
        target = (float(suspects.weight[suspects.top]) + own) / 2
        previous, current = suspects.top, suspects.top
        while current == suspects.top or suspects.weight[current] >= target:
            if suspects.columns.implicit[current]:
                return Expansion(current, self.step)
            callees = suspects.callees(current)
            if len(callees) == 0:
                break
            previous, current = current, heaviest(callees, suspects.weight[callees])
        if previous != suspects.top:
            weight = suspects.weight
            if abs(weight[previous] - target) < abs(weight[current] - target):
                current = previous
        return self._askable(suspects, current)

    def _askable(self, suspects: Suspects, position: int) -> Choice | None:
        """The chosen call, or where it was skipped the heaviest open one."""
        here = np.array([position])
        if position == suspects.top or len(suspects.askable(here)) == 0:
            other = suspects.open_calls.heaviest_up_to(suspects.weight, np.inf)
            if other is None:
                return None
            position = other
        return Choice(position, "it is nearest to half of the weight on the heaviest path")
