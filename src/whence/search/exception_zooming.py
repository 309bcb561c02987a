"""Exception zooming (MacLarty 2005): calls that raised first."""

from __future__ import annotations

from dataclasses import dataclass

from whence.model.call import OutcomeKind
from whence.ports import Choice, OpenCalls, Suspects
from whence.search.top_down import TopDown


@dataclass(frozen=True)
class ExceptionZooming(TopDown):
    """Prefers the callees that raised."""

    name: str = "exception-zooming"

    def prefer(self, suspects: Suspects, callees: OpenCalls) -> Choice:
        """The first callee that raised, else the first."""
        positions = callees.positions()
        raised = positions[suspects.columns.outcome[positions] == OutcomeKind.RAISED]
        if len(raised):
            return Choice(int(raised[0]), "it raised")
        return super().prefer(suspects, callees)
