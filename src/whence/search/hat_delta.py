"""Hat-delta (Davie & Chitil 2005): ask about the rule that is most likely to be wrong.

Three heuristics rank rules by earlier answers: fewest YES, most NO, largest share of NO (1/2 for a
rule without answers). YES counts every call of a subtree judged right, NO the judged call alone.
Any suspect may be asked; ties go to preorder, so that it starts out as top-down search.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from whence.ports import Choice, Floats, Int64s, Suspects


class Heuristic(Enum):
    """How rules are ranked."""

    YES = "yes"
    NO = "no"
    PROPORTION = "proportion"


_WHY = {
    Heuristic.YES: "its rule was judged right least often",
    Heuristic.NO: "its rule was judged wrong most often",
    Heuristic.PROPORTION: "its rule has the largest share of wrong answers",
}


def suspicion(yes: Int64s, no: Int64s, heuristic: Heuristic) -> Floats:
    """How suspicious each rule is, given its YES and NO; larger is more."""
    if heuristic is Heuristic.YES:
        return -yes.astype(np.float64)
    if heuristic is Heuristic.NO:
        return no.astype(np.float64)
    answers = yes + no
    share: Floats = np.where(answers == 0, 0.5, no / np.maximum(answers, 1))
    return share


@dataclass(frozen=True)
class HatDelta:
    """Asks about a call of the most suspicious rule."""

    heuristic: Heuristic = Heuristic.YES
    name: str = "hat-delta-yes"
    asks_top: bool = True

    def choose(self, suspects: Suspects) -> Choice | None:
        """The first call of the most suspicious rule."""
        positions = suspects.open_calls.positions()
        if len(positions) == 0:
            return None
        per_rule = suspicion(suspects.yes, suspects.no, self.heuristic)
        scores = per_rule[suspects.columns.rule[positions]]
        return Choice(int(positions[np.argmax(scores)]), _WHY[self.heuristic])
