"""`auto`, the default: the most information for the least effort.

Let each suspect hold the fault with a probability proportional to its weight (the tree's weights
are the prior; it is multiplied by the square root of the length of the call's equation, since a
call that does more can do more wrong, and divided by how often its rule was judged right; what was
learned from tests multiplies it, marks multiply it as the sets of dynamic weighting do, what ran
after a call that got inadmissible input is unlikely to have passed it, and in a loop what ran
before a call that is right is less likely). A question about call n
then gives H(q) bits, where q is the probability that the fault lies in n's subtree, the top's own
share counted among the rest. With equal weights that is optimal divide & query. But questions
differ in effort (`effort.py`): long values take time to read, a new function takes time to
understand, and a call that only passes on what another made tells nothing. So whence asks about the
call with the largest H(q)/effort among those that split nearly as well as the best.

Invariant: the effort only chooses among calls whose H(q) is at least `TOLERANCE` of the best, so
it never costs more than a small share of a question. Cost: sums over the suspects, two scans over
their weights, then arithmetic on at most `CANDIDATES` of them, of which a few are read. In a tree
of more than `WEIGHED` calls the sums are kept from question to question, and equations and earlier
answers do not count: they would change all of them.
The figures behind the constants are those of `whence bench questions` (docs/questions.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whence.model.verdict import Verdict
from whence.ports import Choice, Floats, Int64s, Judged, Suspects
from whence.search.dynamic_weighting import node_weights
from whence.search.effort import quick_effort, telling_effort
from whence.search.subterm_tracking import (
    MADE_IT,
    MAY_HAVE_MADE_IT,
    MET_IN_EXCEPTION,
    ChainSearch,
    following_chain,
    last_mark,
    operands_of_exception,
    origin_of_mark,
    possible_origins,
)
from whence.search.weight_scan import ROUNDING

CANDIDATES = 512
TOLERANCE = 0.9
WEIGHED = 300_000
_READ = 16
"""How many calls are read before one of them is asked about."""
_MOST_EFFORT = 2000
_RAN_LATER = 0.05
_RAN_BEFORE = 0.3
_FLAT = 8
"""Of so many calls of a function that tell equally much, the one in the middle is asked about: if
they work on one state, what is said of it tells of those before and after it."""
_LOOP = 32
"""If a call made so many calls of one function, those before one that is right are less likely."""
_REMEMBERED = 12
"""How many answers are looked at for that."""
_SMALL = 3
"""A call with no more calls than this is asked at once, if it made what was marked."""


def entropy(share: Floats) -> Floats:
    """The bits in the answer to a yes-or-no question."""
    q = np.clip(share, 1e-300, 1 - 1e-16)
    bits: Floats = -(q * np.log2(q) + (1 - q) * np.log2(1 - q))
    return bits


def likelihood(suspects: Suspects) -> Floats:
    """How likely each call is to be at fault, by the length of its equation and earlier answers."""
    columns = suspects.columns
    judged_right = suspects.yes.astype(np.float64)
    size = np.sqrt(np.clip(columns.effort, 1, _MOST_EFFORT))
    likely: Floats = size / (1.0 + judged_right)[columns.rule]
    return likely


def _own_weights(suspects: Suspects, likely: Floats | float, inadmissible: list[int]) -> Floats:
    """How likely each call is to be at fault, with what tests taught, the marks, and the calls
    below the top that got inadmissible input."""
    prior: Floats = suspects.columns.own * (1.0 if suspects.prior is None else suspects.prior)
    prior *= likely
    if any(judged.origin is not None for judged in suspects.history):
        prior *= np.maximum(node_weights(suspects), ROUNDING)
    for position in inadmissible[-1:]:
        # Bad input comes from a caller or from what ran before: what ran later is unlikely.
        prior[int(suspects.columns.end[position]) :] *= _RAN_LATER
    return prior


def _is_a_part(suspects: Suspects, position: int) -> bool:
    """Whether a call is not most of what is left."""
    return bool(suspects.weight[position] <= suspects.weight[suspects.top] / 2)


def _is_small(suspects: Suspects, position: int) -> bool:
    return bool(suspects.columns.end[position] - position <= _SMALL)


def _leads_on(suspects: Suspects, marked: Judged, origin: int) -> bool:
    """Whether the call that made a part is asked at once.

    A container was made before it got its items: an item that it lacks is the fault of others. For
    input that should never have been given, whoever marks a part wants to know who made it.
    """
    if marked.verdict is Verdict.INADMISSIBLE:
        return True
    led = _is_small(suspects, origin) or _is_a_part(suspects, origin)
    return led and not marked.holds_others


def _like_before(suspects: Suspects, position: int) -> Int64s:
    """The calls of the same function that the same call made earlier, if it made many."""
    columns = suspects.columns
    caller = int(columns.parent[position])
    inside = slice(caller + 1, int(columns.end[caller]))
    like = columns.function[inside] == columns.function[position]
    calls: Int64s = caller + 1 + np.flatnonzero(like & (columns.parent[inside] == caller))
    return calls[calls < position] if len(calls) >= _LOOP else calls[:0]


def _middle(calls: Int64s, most: int) -> Int64s:
    """The first one and those in the middle."""
    start = (len(calls) - most) // 2 + 1
    return np.concatenate([calls[:1], calls[start : start + most - 1]])


def _cheapest(cost: Floats, most: int) -> Int64s:
    """The indices of the smallest values, in order; of many equal ones those in the middle."""
    smallest = np.flatnonzero(cost <= cost.min() + ROUNDING)
    if len(smallest) > most:
        return _middle(smallest, most)
    return np.sort(np.argsort(cost, kind="stable")[:most])


def _nearly_as_good(distance: float) -> tuple[float, float]:
    """The shares whose entropy is at least `TOLERANCE` of that at a distance from one half."""
    least = float(entropy(np.array([0.5 - distance]))[0]) * TOLERANCE
    outer, inner = 0.0, max(0.0, 0.5 - distance)
    for _ in range(60):
        middle = (outer + inner) / 2
        if float(entropy(np.array([middle]))[0]) < least:
            outer = middle
        else:
            inner = middle
    return inner, 1.0 - inner


@dataclass(frozen=True)
class Auto:
    """Divides by probability and by effort; the origin of what was marked comes first."""

    name: str = "auto"
    asks_top: bool = False
    halves: bool = True

    def choose(self, suspects: Suspects) -> Choice | None:
        """The question that tells most for its effort."""
        marked = last_mark(suspects)
        origin = origin_of_mark(suspects)
        if marked is not None and marked.influence is None:
            # Nothing is known of it but the way that it came.
            followed = following_chain(suspects, ChainSearch.BISECT)
            if followed is not None and (origin is None or _is_a_part(suspects, origin)):
                return followed
        if origin is not None and marked is not None and _leads_on(suspects, marked, origin):
            return Choice(origin, MADE_IT)
        if origin is None and marked is not None:
            for position in operands_of_exception(suspects, marked):
                if _is_small(suspects, position) or _is_a_part(suspects, position):
                    return Choice(position, MET_IN_EXCEPTION)
        for position in possible_origins(suspects):
            if _is_small(suspects, position):
                return Choice(position, MAY_HAVE_MADE_IT)
        weight, own_top = self._probabilities(suspects)
        total = float(weight[suspects.top]) + own_top
        if total <= 0:
            total = 1.0
        best = suspects.open_calls.closest(weight, total / 2)
        if best is None:
            return None
        low, high = _nearly_as_good(best[1] / total)
        good = suspects.open_calls.within(weight, low * total, high * total, CANDIDATES)
        if len(good) == CANDIDATES:
            every = suspects.open_calls.within(weight, low * total, high * total, len(weight))
            good = _middle(every, CANDIDATES)
        if len(good) == 0:
            good = np.array([best[0]], dtype=np.int64)
        cost = quick_effort(suspects, good)
        gain = entropy(weight[good] / total)
        if len(good) > 1:
            nearly = _cheapest(-gain / cost, _READ)
            good, gain, cost = good[nearly], gain[nearly], cost[nearly]
            cost = cost + telling_effort(suspects, good)
        gain /= cost
        best_ones = good[gain >= gain.max() - ROUNDING]
        functions = suspects.columns.function[best_ones]
        like = best_ones[functions == functions[0]]
        chosen = int(like[len(like) // 2 if len(like) >= _FLAT else 0])
        share = float(weight[chosen]) / total
        return Choice(
            chosen,
            f"the fault lies in it or below it with a probability of about {share:.0%}",
        )

    def _probabilities(self, suspects: Suspects) -> tuple[Floats, float]:
        """The weight of each subtree and the top's own, marks taken into account."""
        own_top = 0.0 if suspects.top_is_open else 1.0
        marks = sum(judged.origin is not None for judged in suspects.history)
        inadmissible = [j.position for j in suspects.history if j.verdict is Verdict.INADMISSIBLE]
        inside = [p for p in inadmissible if suspects.top < p < suspects.stop]
        if len(suspects.columns) > WEIGHED:
            if not marks and suspects.prior is None:
                return suspects.weight, own_top * float(suspects.columns.own[suspects.top])
            key = (marks, tuple(inside[-1:]))
            sums, own = suspects.kept_sums(key, lambda: _own_weights(suspects, 1.0, inside))
            return sums, own_top * float(own[suspects.top])
        prior = _own_weights(suspects, likelihood(suspects), inside)
        right = [j.position for j in suspects.history if j.verdict is Verdict.RIGHT]
        right = [p for p in right if suspects.top < p < suspects.stop]
        for position in right[-_REMEMBERED:]:
            prior[_like_before(suspects, position)] *= _RAN_BEFORE
        return suspects.sums(prior), own_top * float(prior[suspects.top])
