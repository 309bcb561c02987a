"""Whether a run in which some calls were frozen is the recorded one in all other calls.

Numbers of types, names and code are each file's own, and those of the second run come in another
order where a frozen call was the first to need one: so calls are compared by what they say. Calls
are matched by which of all calls they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from whence.langs.python.replay.alignment import contradiction, other_effects, other_outcome
from whence.langs.python.replay.process import Played
from whence.langs.python.trace.calls import TraceSource
from whence.ports import Int64s
from whence.tree.memory import ColumnTree
from whence.tree.reading import function_at

MOST_COMPARED = 300_000
"""With more calls to compare, nothing is frozen."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first call that is another one, and how."""

    ordinal: int
    how: str

    def __str__(self) -> str:
        return self.how


def difference(
    recorded: ColumnTree, again: ColumnTree, frozen: Mapping[int, int], played: Played
) -> Difference | None:
    """The first difference, if there is any; `frozen` says how many calls each of these made."""
    ours, theirs = _ordinals(recorded), _ordinals(again)
    first, last = min(frozen, default=0), int(ours[-1])
    inside = np.zeros(len(ours), dtype=bool)
    for ordinal, calls in frozen.items():
        inside |= (ours > ordinal) & (ours <= ordinal + calls)
    wanted = ours[~inside]
    missing = np.setdiff1d(wanted, theirs)
    if len(missing):
        why = played.problem or "it was not made"
        return Difference(int(missing[0]), f"call {missing[0]:,} of the run is missing: {why}")
    more = np.setdiff1d(theirs, ours)
    if len(more) and not recorded.columns.implicit.any():
        return Difference(int(more[0]), f"call {more[0]:,} of the run was not made before")
    if len(wanted) > MOST_COMPARED:
        return Difference(last, "too many calls would have to be compared")
    numbers = [np.searchsorted(each, wanted) for each in (ours, theirs)]
    for ordinal, one, two in zip(wanted.tolist(), *(each.tolist() for each in numbers), strict=True):
        how = _other(recorded, again, one, two) if ordinal >= first or not one else None
        if how:
            return Difference(ordinal, f"call {ordinal:,} of the run is another one: {how}")
    return None


def _other(recorded: ColumnTree, again: ColumnTree, one: int, two: int) -> str | None:
    """How two calls differ, by their numbers."""
    here, there = recorded.position(one), again.position(two)
    names = function_at(recorded, here), function_at(again, there)
    if names[0].short() != names[1].short() or names[0].location != names[1].location:
        return f"{names[1].short()} was called instead of {names[0].short()}"
    ours, theirs = recorded.call(here), again.call(there)
    return contradiction(ours, theirs) or other_outcome(ours, theirs) or other_effects(ours, theirs)


def _ordinals(tree: ColumnTree) -> Int64s:
    """Of each call by its number, the run itself first."""
    source = tree.sources[0]
    assert isinstance(source, TraceSource)
    return source.ordinals()
