"""Divide & query (Shapiro 1982; Hirunkitti & Hogger 1993): halve the suspects with each question.

With w the weight of the suspects, Shapiro takes the heaviest call of at most w/2 (if there is
none, the lightest); Hirunkitti the closer to w/2 of that and the lightest of at least w/2, the
former when both are equally close. A call counts while nobody has judged it. Ties go left.

Cost: two scans over the suspects' weights.
"""

from __future__ import annotations

from dataclasses import dataclass

from whence.ports import Choice, Floats, Suspects
from whence.search.weight_scan import ROUNDING, slack


def nearest_to_half(suspects: Suspects, weight: Floats) -> int | None:
    """Hirunkitti's choice for any weight."""
    half = float(weight[suspects.top]) / 2
    below = suspects.open_calls.heaviest_up_to(weight, half)
    above = suspects.open_calls.lightest_from(weight, half)
    if below is None or above is None:
        return above if below is None else below
    nearer = weight[above] - half < half - weight[below] - slack(half)
    return above if nearer else below


@dataclass(frozen=True)
class DivideAndQuery:
    """Hirunkitti's version: the call whose subtree holds nearly half of the suspects."""

    name: str = "divide-and-query"
    asks_top: bool = False
    halves: bool = True

    def choose(self, suspects: Suspects) -> Choice | None:
        """The call that splits best."""
        weight = self.weighting(suspects)
        chosen = nearest_to_half(suspects, weight)
        if chosen is None:
            return None
        share = float(weight[chosen]) / max(float(weight[suspects.top]), ROUNDING)
        return Choice(chosen, f"{share:.0%} of the suspects lie in it and below it")

    def weighting(self, suspects: Suspects) -> Floats:
        """What is halved."""
        return suspects.weight


@dataclass(frozen=True)
class DivideAndQueryShapiro(DivideAndQuery):
    """Shapiro's version: the heaviest call that holds at most half of the suspects."""

    name: str = "divide-and-query-shapiro"

    def choose(self, suspects: Suspects) -> Choice | None:
        """The heaviest of at most half, else the lightest."""
        weight = self.weighting(suspects)
        chosen = suspects.open_calls.heaviest_up_to(weight, float(weight[suspects.top]) / 2)
        if chosen is None:
            chosen = suspects.open_calls.lightest_from(weight, 0.0)
        if chosen is None:
            return None
        return Choice(chosen, "it holds the most suspects that are not more than half")
