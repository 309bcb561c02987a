"""The slices of marked parts, taken one after the other from the narrowest to the widest.

A call outside the current slice is set aside. When nothing inside is left to ask, the search
space widens the slice; with the widest one used up, no call is set aside any more.
"""

from __future__ import annotations

from collections.abc import Sequence

from whence.ports import Judged


class MarkSlices:
    """The slices that all marks have in common, by width, and how many were too narrow."""

    def __init__(self) -> None:
        self._common: list[frozenset[int]] = []
        self._width = 0

    def restart(self, history: Sequence[Judged]) -> None:
        """Intersect the slices of all marks, for each width, and start with the narrowest.

        Whatever made several parts wrong is in all slices. If each part has a cause of its own,
        perhaps no call is: then the search finds nothing in them and widens them.
        """
        slices = [judged.influence.slices() for judged in history if judged.influence is not None]
        widths = range(max(map(len, slices), default=0))
        self._width = 0
        self._common = [
            frozenset.intersection(*(own[min(width, len(own) - 1)] for own in slices))
            for width in widths
        ]

    def current(self, explanation: frozenset[int] | None) -> frozenset[int] | None:
        """The ids of the calls in the slice that is in use; None if no slice is left.

        `explanation` is the slice that explains the top, which comes last.
        """
        if self._width < len(self._common):
            return self._common[self._width]
        return explanation if self._width == len(self._common) else None

    def widen(self) -> None:
        """Go on to the next wider slice."""
        self._width += 1


def explanation_of(top: int, history: Sequence[Judged]) -> frozenset[int] | None:
    """The slice of the last part that was marked on the top itself, if it misses nothing."""
    for judged in reversed(history):
        if judged.position == top and judged.influence is not None:
            return judged.influence.slices()[-1] if judged.influence.complete else None
    return None
