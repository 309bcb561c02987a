"""Less YES first (Silva 2006): the callee whose rules were judged right least often.

A branch weighs the sum of 1/YES(rule) over its suspects, where YES counts how often the rule
occurred in subtrees judged right, plus one. `most-rules-first` is the paper's first idea: the
number of different rules in the branch.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from whence.ports import Choice, Columns, Floats, Int64s, OpenCalls, Suspects
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
        chosen = some(callees.heaviest_up_to(yes_weights(suspects), inf))
        return Choice(chosen, "what it does was judged right least often")


@dataclass(frozen=True)
class MostRulesFirst(TopDown):
    """Prefers the callee with the most different rules below it (Silva 2006, Example 2)."""

    name: str = "most-rules-first"

    def prefer(self, suspects: Suspects, callees: OpenCalls) -> Choice:
        """The one with the most rules."""
        positions = callees.positions()
        chosen = heaviest(positions, _rules_below(suspects.columns, positions))
        return Choice(chosen, "it involves the most rules")


def _rules_below(columns: Columns, positions: Int64s) -> Floats:
    """How many different rules there are in each of these subtrees, none of which holds another."""
    ends = columns.end[positions].astype(np.int64)
    counts = np.ones(len(positions))
    larger = np.flatnonzero(ends > positions + 1)
    if len(larger) == 0:
        return counts
    sizes = ends[larger] - positions[larger]
    starts = np.cumsum(sizes) - sizes
    branch = np.repeat(np.arange(len(larger)), sizes)
    inside = np.arange(len(branch)) - starts[branch] + positions[larger][branch]
    most = int(columns.rule.max()) + 1
    different = np.unique(branch * most + columns.rule[inside])
    counts[larger] = np.bincount(different // most, minlength=len(larger))
    return counts
