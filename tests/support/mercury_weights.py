"""Weights of calls that produce several solutions, counted in events (MacLarty et al. 2005, 4.2).

A Mercury or Prolog call leaves and is entered again, so its events form *segments*: call … exit,
redo … exit, redo … fail. The weight of a solution is the events of its own and all earlier
segments; a call with several solutions is then counted several times over, and a parent can come
out lighter than its children. The repair adds what was counted twice to the parent and to every
ancestor. In whence the repair is one subtraction: a tree holds each call's *own* weight and sums
up, so once an expanded call's own events are set apart from its children's, all ancestors agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Segment = tuple[int, int]


def solution_weights(segments: Sequence[Segment]) -> list[int]:
    """The weight of each solution (exit or fail) of a call whose events are these segments."""
    weights, total = [], 0
    for first, last in segments:
        total += last - first + 1
        weights.append(total)
    return weights


def own_events(span: Segment, below: Iterable[Segment]) -> int:
    """How many events of a call's span lie outside the segments of the calls below it."""
    first, last = span
    covered, reached = 0, first - 1
    for begin, end in sorted(below):
        start, stop = max(begin, reached + 1, first), min(end, last)
        if stop >= start:
            covered += stop - start + 1
            reached = stop
    return last - first + 1 - covered


def double_counted(below: Iterable[Sequence[Segment]]) -> int:
    """How many events too many the solutions of the calls below a call count together."""
    surplus = 0
    for segments in below:
        events = sum(last - first + 1 for first, last in segments)
        surplus += sum(solution_weights(segments)) - events
    return surplus


def repaired_weight(span: Segment, below: Sequence[Sequence[Segment]]) -> int:
    """A call's weight once it is known that its children count some events more than once."""
    return span[1] - span[0] + 1 + double_counted(below)
