"""Switching by depth (Silva 2006, section 5): heaviest first in shallow trees, else divide & query.

Heaviest first needs about b·d questions, divide & query b·log2(n); with d the depth and n the
number of the suspects, the former is used while d < log2(n). Both are measured again each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from whence.ports import Choice, Suspects
from whence.search.divide_and_query import DivideAndQuery
from whence.search.heaviest_first import HeaviestFirst


@dataclass(frozen=True)
class Switching:
    """Heaviest first while the suspects are shallower than the logarithm of their number."""

    name: str = "switching"
    asks_top: bool = False

    def choose(self, suspects: Suspects) -> Choice | None:
        """The choice of the strategy that fits the shape."""
        positions = suspects.open_calls.positions()
        if len(positions) == 0:
            return None
        depth = suspects.columns.depth
        levels = int(depth[positions].max()) - int(depth[suspects.top]) + 1
        shallow = levels < log2(len(positions) + 1)
        return (HeaviestFirst() if shallow else DivideAndQuery()).choose(suspects)
