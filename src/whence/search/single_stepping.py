"""Single stepping (Shapiro 1982): bottom-up, a call only after all that it called.

Invariant: the first call judged wrong is at fault, because its callees were all judged right.
Cost: up to n questions; finding the next one is a scan that stops at the first fit.
"""

from __future__ import annotations

from dataclasses import dataclass

from whence.ports import Choice, Suspects


@dataclass(frozen=True)
class SingleStepping:
    """Asks in post-order."""

    name: str = "single-stepping"
    asks_top: bool = False

    def choose(self, suspects: Suspects) -> Choice | None:
        """The first call in post-order: it has no other open call below it."""
        chosen = suspects.open_calls.lowest(suspects.columns.end)
        return None if chosen is None else Choice(chosen, "all that it called was judged right")
