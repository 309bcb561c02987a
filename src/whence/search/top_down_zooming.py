"""Top-down zooming (Maeji & Kanamori 1987): recursive calls first.

Staying with one function spares the person a change of mind from question to question.
"""

from __future__ import annotations

from dataclasses import dataclass

from whence.ports import Choice, OpenCalls, Suspects
from whence.search.top_down import TopDown


@dataclass(frozen=True)
class TopDownZooming(TopDown):
    """Prefers calls of the function that was judged wrong last."""

    name: str = "top-down-zooming"

    def prefer(self, suspects: Suspects, callees: OpenCalls) -> Choice:
        """The first recursive call, else the first."""
        functions = suspects.columns.function
        positions = callees.positions()
        recursive = positions[functions[positions] == functions[suspects.top]]
        if len(recursive):
            return Choice(int(recursive[0]), "it is the same function as the last wrong call")
        return super().prefer(suspects, callees)
