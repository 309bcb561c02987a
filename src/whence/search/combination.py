"""The combination of strategies by addends (Silva 2006, section 4).

Each component gives every call a weight from 0 to 1. Read literally, an addend given to every call
changes nothing, so `lexicographic` takes what the text says that addends achieve: components are
compared in the order of decreasing addends, each breaking the ties of the one before; components
with equal addends are added up. `plain_sum` is the literal reading.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from whence.ports import Choice, Floats, Int64s, Suspects
from whence.search.dynamic_weighting import node_weights
from whence.search.less_yes_first import yes_weights
from whence.search.weight_scan import ROUNDING

Component = Callable[[Suspects, Int64s], Floats]


def optimizations(suspects: Suspects, positions: Int64s) -> Floats:
    """Neutral: what the switches exclude is no longer open when a strategy is asked."""
    return np.full(len(positions), 0.5)


def weights_from_subterms(suspects: Suspects, positions: Int64s) -> Floats:
    """The weights that marks gave."""
    weights = node_weights(suspects)
    share: Floats = weights[positions] / max(float(weights.max()), ROUNDING)
    return share


def _near_half(weight: Floats, suspects: Suspects, positions: Int64s) -> Floats:
    half = max(float(weight[suspects.top]) / 2, ROUNDING)
    nearness: Floats = 1.0 - np.abs(weight[positions] - half) / half
    return nearness


def _share(weight: Floats, suspects: Suspects, positions: Int64s) -> Floats:
    share: Floats = weight[positions] / max(float(weight[suspects.top]), ROUNDING)
    return share


def divide_by_yes(suspects: Suspects, positions: Int64s) -> Floats:
    """Nearness to half of the suspicion."""
    return _near_half(yes_weights(suspects), suspects, positions)


def less_yes(suspects: Suspects, positions: Int64s) -> Floats:
    """Share of the suspicion."""
    return _share(yes_weights(suspects), suspects, positions)


def hirunkitti(suspects: Suspects, positions: Int64s) -> Floats:
    """Nearness to half of the suspects."""
    return _near_half(suspects.weight, suspects, positions)


def heaviest_share(suspects: Suspects, positions: Int64s) -> Floats:
    """Share of the suspects."""
    return _share(suspects.weight, suspects, positions)


PAPERS_COMPONENTS: tuple[tuple[float, Component], ...] = (
    (47.0, optimizations),
    (23.0, weights_from_subterms),
    (11.0, divide_by_yes),
    (5.0, less_yes),
    (2.0, hirunkitti),
    (0.0, heaviest_share),
)


@dataclass(frozen=True)
class Combination:
    """Asks about the call that the components together prefer."""

    components: tuple[tuple[float, Component], ...] = PAPERS_COMPONENTS
    plain_sum: bool = False
    name: str = "combination"
    asks_top: bool = False

    def choose(self, suspects: Suspects) -> Choice | None:
        """The call that is best by the first component, of those by the second, and so on."""
        positions = suspects.open_calls.positions()
        if len(positions) == 0:
            return None
        addends = sorted({addend for addend, _ in self.components}, reverse=True)
        groups = [
            [component for addend, component in self.components if addend == own] for own in addends
        ]
        if self.plain_sum:
            groups = [[component for _, component in self.components]]
        for group in groups:
            total = sum(
                (component(suspects, positions) for component in group),
                start=np.zeros(len(positions)),
            )
            positions = positions[total >= total.max() - ROUNDING]
            if len(positions) == 1:
                break
        return Choice(int(positions[0]), "the combined strategies prefer it")
