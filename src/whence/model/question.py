"""A question to a person or an oracle."""

from __future__ import annotations

from dataclasses import dataclass

from whence.model.call import Call
from whence.model.verdict import Answer

_FORESEEN = 6
"""A search that would take more halvings than this is not foreseen."""


@dataclass(frozen=True, slots=True)
class Question:
    """Is this call's outcome right, given its inputs?

    `default` is an earlier answer to the same question, offered again after a diagnosis was
    rejected. `expected` is how many questions halving would take, this one included.
    """

    node: int
    call: Call
    strategy: str
    why: str
    suspects: int
    weight: float
    expected: int
    default: Answer | None = None
    function: int | None = None
    """The function whose calls are shown too, so that any of them can be judged."""
    may_widen: bool = False
    """Whether calls that a mark set aside may have to be searched after all."""
    problem: str = ""
    """Why the call cannot be read, so that nobody can judge it."""

    @property
    def to_come(self) -> tuple[int, int] | None:
        """At least and at most how many questions come after this one; None if nobody can tell.

        Measured by `bench/readability.py`, where it holds for nine questions in ten. A longer
        search takes as many questions as the program has like calls side by side, and one that a
        mark narrowed may have to be widened.
        """
        if self.expected > _FORESEEN or self.may_widen:
            return None
        most = 5 * (self.expected - 1) // 2 + 1
        return int(self.expected == _FORESEEN), min(most, self.suspects)
