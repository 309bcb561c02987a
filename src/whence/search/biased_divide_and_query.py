"""Biased weighting divide & query (MacLarty 2005): calls count by a weight of their own.

The paper leaves the weight open; it is a parameter here. Any function from the suspects to an own
weight for each call will do; the one given counts the calls that a call makes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from whence.ports import Floats, Suspects
from whence.search.divide_and_query import DivideAndQuery

OwnWeight = Callable[[Suspects], Floats]


def calls_made(suspects: Suspects) -> Floats:
    """One for the call itself and one for each call that it makes."""
    parents = suspects.columns.parent[1:]
    counts = np.bincount(parents, minlength=len(suspects.columns))
    return 1.0 + counts.astype(np.float64)


@dataclass(frozen=True)
class BiasedDivideAndQuery(DivideAndQuery):
    """Hirunkitti's division by a pluggable weight."""

    name: str = "biased-divide-and-query"
    own_weight: OwnWeight = calls_made

    def weighting(self, suspects: Suspects) -> Floats:
        """The suspects' sums of the given weight."""
        return suspects.sums(self.own_weight(suspects))
