"""Less YES first (Silva 2006): the callee whose rules were judged right least often.

A branch weighs the sum of 1/YES(rule) over its suspects, where YES counts how often the rule
occurred in subtrees judged right, plus one. `most-rules-first` is the paper's first idea: the
number of different rules in the branch.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from whence.ports import Choice, Floats, OpenCalls, Suspects
from whence.search.heaviest_first import heaviest
from whence.search.top_down import TopDown, some


def yes_weights(suspects: Suspects) -> Floats:
    """For each call the sum of 1/YES(rule) over the suspects of its subtree."""
    per_rule = 1.0 / (1.0 + suspects.yes.astype(np.float64))
    return suspects.sums(per_rule[suspects.columns.rule])


@dataclass(frozen=True)
class LessYesFirst(TopDown):
    """Prefers the callee that is least likely to be right."""

    name: str = "less-yes-first"

    def prefer(self, suspects: Suspects, callees: OpenCalls) -> Choice:
        """The heaviest by 1/YES."""
        found = some(callees.heaviest_up_to(yes_weights(suspects), inf))
        return Choice(found, "what it does was judged right least often")


@dataclass(frozen=True)
class MostRulesFirst(TopDown):
    """Prefers the callee with the most different rules below it (Silva 2006, Example 2)."""

    name: str = "most-rules-first"

    def prefer(self, suspects: Suspects, callees: OpenCalls) -> Choice:
        """The one with the most rules."""
        columns = suspects.columns
        positions = callees.positions()
        rules = [len(np.unique(columns.rule[p : columns.end[p]])) for p in positions]
        found = heaviest(positions, np.array(rules, dtype=np.float64))
        return Choice(found, "it involves the most rules")
