"""Divide by YES & query (Silva 2006): Hirunkitti's division with 1/YES(rule) for each call."""

from __future__ import annotations

from dataclasses import dataclass

from whence.ports import Floats, Suspects
from whence.search.divide_and_query import DivideAndQuery
from whence.search.less_yes_first import yes_weights


@dataclass(frozen=True)
class DivideByYesAndQuery(DivideAndQuery):
    """Halves the suspicion rather than the number of suspects."""

    name: str = "divide-by-yes-and-query"

    def weighting(self, suspects: Suspects) -> Floats:
        """Sums of 1/YES(rule)."""
        return yes_weights(suspects)
