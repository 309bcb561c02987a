"""Dynamic weighting search (Silva 2006): marks change the weights, the heaviest call is asked.

Every call starts with weight 1. A mark divides the tree into four sets: 1, the origin of the part
and all below it; 2, the calls on the way from there to the marked call; 3, the others that could
have influenced it; 4, those that could not. They gain 3, 2, 1, and drop to 0, which takes them out
of the search; where it is not certain that they could not, they only gain nothing. Ties go to
preorder, or with `nearest` to the call nearest to the origin of the last marked part, which makes
it follow the chain as subterm tracking does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whence.ports import Choice, Floats, Int64s, Suspects
from whence.search.four_sets import four_sets

GAINS = np.array([0.0, 3.0, 2.0, 1.0, 0.0])
"""What a call gains, by the number of its set."""


def node_weights(suspects: Suspects) -> Floats:
    """Each call's weight after all marks so far."""
    weights = np.ones(len(suspects.columns))
    for judged in suspects.history:
        if judged.origin is None:
            continue
        marked = suspects.tree.id(judged.position)
        sets = four_sets(suspects.tree, judged.origin, judged.influence, marked)
        weights[weights > 0] += GAINS[sets.number][weights > 0]
        if sets.certain:
            weights[sets.number == 4] = 0.0
    return weights


@dataclass(frozen=True)
class DynamicWeighting:
    """Asks about the call with the most weight."""

    name: str = "dynamic-weighting"
    asks_top: bool = True
    nearest: bool = False

    def choose(self, suspects: Suspects) -> Choice | None:
        """The heaviest open call."""
        positions = suspects.open_calls.positions()
        if len(positions) == 0:
            return None
        weights = node_weights(suspects)[positions]
        best = positions[weights >= weights.max()]
        chosen = self._nearest(suspects, best) if self.nearest else int(best[0])
        return Choice(chosen, f"its weight of {weights.max():g} is the largest")

    def _nearest(self, suspects: Suspects, positions: Int64s) -> int:
        chain = next((j.origin.chain for j in reversed(suspects.history) if j.origin), ())
        steps = {suspects.tree.position(node): step for step, node in enumerate(chain)}
        return int(min(positions.tolist(), key=lambda p: (steps.get(p, len(steps)), p)))
