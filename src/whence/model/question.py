"""A question to a person or an oracle."""

from __future__ import annotations

from dataclasses import dataclass

from whence.model.call import Call
from whence.model.verdict import Answer


@dataclass(frozen=True, slots=True)
class Question:
    """Is this call's outcome right, given its inputs?

    `default` is an earlier answer to the same question, offered again after a diagnosis was
    rejected. `expected` estimates how many questions are still to come, this one included.
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
    problem: str = ""
    """Why the call cannot be read, so that nobody can judge it."""
