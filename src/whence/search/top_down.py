"""Top-down search (Av-Ron 1984) and what its variants share.

The walk goes from the top, a call known to be wrong, to its callees; the first one that is wrong
becomes the top. Variants differ only in the order of the callees. Cost: up to b·d questions for
branching b and depth d; one pass over the area for the callees of the top.
"""

from __future__ import annotations

from dataclasses import dataclass

from whence.ports import Choice, OpenCalls, Suspects


@dataclass(frozen=True)
class TopDown:
    """Asks about the callees of the last wrong call in the order of their calls."""

    name: str = "top-down"
    asks_top: bool = True

    def choose(self, suspects: Suspects) -> Choice | None:
        """The preferred one of the top's callees."""
        callees = next(suspects.frontier(), None)
        return None if callees is None else self.prefer(suspects, callees)

    def prefer(self, suspects: Suspects, callees: OpenCalls) -> Choice:
        """The first."""
        why = "it is the first open call that the last wrong one made"
        return Choice(some(callees.first()), why)


def some(position: int | None) -> int:
    """A position that was found: a group of callees is never empty."""
    assert position is not None
    return position
