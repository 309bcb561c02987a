"""Where to look first: functions and calls in order of suspicion.

A ranking is evidence put in order. It is no diagnosis: nobody judged a call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RankedFunction:
    """A function, or a class that lacks something."""

    qualname: str
    file: str
    line: int | None
    score: float
    """Higher is more suspicious; scores of two rankings cannot be compared."""
    reasons: tuple[str, ...]
    terms: Mapping[str, float] = field(default_factory=dict)
    """What each kind of evidence adds to the score."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """What was found, before it was weighed: numbers, texts, None for what is not known."""


@dataclass(frozen=True, slots=True)
class RankedCall:
    """A call of one of the functions, by its id in the tree."""

    node: int
    function: str
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The order, and what it rests on."""

    test: str
    functions: tuple[RankedFunction, ...]
    calls: tuple[RankedCall, ...] = ()
    witnesses: int = 0
    """How many passing tests were run for it."""
    seconds: float = 0.0
    """How long they took."""
    notes: tuple[str, ...] = ()
    """What was not known."""
