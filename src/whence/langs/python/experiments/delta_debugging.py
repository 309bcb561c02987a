"""Delta debugging: the smallest set of changes with which a test still succeeds.

Andreas Zeller, Ralf Hildebrandt: Simplifying and isolating failure-inducing input, IEEE
Transactions on Software Engineering 28(2), 2002: the algorithm ddmin. Here a test *succeeds* if the
program is repaired; anything else, an unresolved test included, does not count.

Invariant: the result succeeds, and is 1-minimal: without any single change it does not. The cost is
at most quadratic in the number of changes, and logarithmic if one of them is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

ChangeSet = frozenset[int]
Batch = Callable[[Sequence[ChangeSet]], Sequence[bool]]
"""Tries some sets, perhaps several at once; says of each whether it succeeds."""


def minimal_set(
    changes: Sequence[int],
    succeed: Batch,
    closed: Callable[[Iterable[int]], ChangeSet] = frozenset,
    at_once: int = 2,
) -> ChangeSet:
    """A 1-minimal set among changes that succeed together, those that are likely first.

    `closed` adds to a set what it needs in order to be tried. That is tried without, too, at the
    end.
    """
    tried: dict[ChangeSet, bool] = {}

    def first_success(candidates: Sequence[ChangeSet]) -> ChangeSet | None:
        """The first that succeeds; so many are tried at once that no more than one is in vain."""
        distinct = list(dict.fromkeys(candidates))
        for start in range(0, len(distinct), at_once):
            part = distinct[start : start + at_once]
            unknown = [candidate for candidate in part if candidate not in tried]
            tried.update(zip(unknown, succeed(unknown), strict=True))
            for candidate in part:
                if tried[candidate]:
                    return candidate
        return None

    def order(chosen: ChangeSet) -> list[int]:
        return [change for change in changes if change in chosen] + sorted(
            chosen - frozenset(changes)
        )

    current = closed(changes)
    pieces = 2
    while len(current) > 1:
        parts = _split(order(current), pieces)
        subsets = [closed(part) for part in parts]
        rests = [closed(change for change in current if change not in part) for part in parts]
        smaller = [part for part in (*subsets, *reversed(rests)) if part < current]
        success = first_success(smaller)
        if success is not None:
            pieces = 2 if success in subsets else max(pieces - 1, 2)
            current = success
        elif pieces >= len(current):
            break
        else:
            pieces = min(len(current), 2 * pieces)
    while len(current) > 1:
        without = [current - {change} for change in reversed(order(current))]
        smallest = first_success(without)
        if smallest is None:
            break
        current = smallest
    return current


def _split(items: Sequence[int], pieces: int) -> list[frozenset[int]]:
    """Parts of equal size, in order; the first of them are the smaller ones."""
    count = min(pieces, len(items))
    bounds = [round(len(items) * number / count) for number in range(count + 1)]
    return [frozenset(items[first:last]) for first, last in pairwise(bounds)]
