"""Optimal divide & query (Insa & Silva 2011): leave the asked call itself out of both halves.

After "wrong" only the calls strictly below n are still to be asked (Down), after "right" only
those outside n's subtree (Up); so the best n makes |Down - Up| = |2·w(n) - own(n) - w| least. It is
optimal as a single split, not always over the whole session (first at seven calls). Ties go left.

Cost: one scan over the suspects' weights.
"""

from __future__ import annotations

from dataclasses import dataclass

from whence.ports import Choice, Suspects


@dataclass(frozen=True)
class OptimalDivideAndQuery:
    """Asks about the call that splits the others most evenly."""

    name: str = "optimal-divide-and-query"
    asks_top: bool = False
    halves: bool = True

    def choose(self, suspects: Suspects) -> Choice | None:
        """The call with the least difference between what is below it and what is beside it."""
        total = float(suspects.weight[suspects.top])
        nearest = suspects.open_calls.closest(suspects.weight, total / 2, suspects.columns.own)
        if nearest is None:
            return None
        chosen = nearest[0]
        below = float(suspects.weight[chosen] - suspects.columns.own[chosen])
        return Choice(chosen, f"it splits the others best: {below:g} below it, of {total:g} in all")
