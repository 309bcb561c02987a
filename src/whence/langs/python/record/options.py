"""What a recording records, and how much of it.

Apart from the backends because all of them obey it, and because the trace file's header quotes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Detail(Enum):
    """Which values are recorded."""

    IDS = "ids"
    """None: only which call made which, and how it ended."""
    SHALLOW = "shallow"
    """Arguments and outcomes, one level deep; nothing of what a call read besides, or changed."""
    FULL = "full"
    """Inputs, outcomes, what a call read, and what it changed."""


@dataclass(frozen=True, slots=True)
class Bound:
    """How much of one value is recorded; docs/trace-format.md, *The bound*, defines it exactly."""

    depth: int = 1
    width: int = 8
    attributes: int = 8
    text: int = 64
    budget: int = 12


# How much is chosen by what a person can read in a question and by what it costs, which is about in
# proportion to the values that are looked at, twice for those that can change. A question has a
# line or two for each argument: eight attributes of an object or eight items of a list, and how
# many more there are. One level is enough to tell calls apart; the first calls of a function, which
# are the likeliest to be looked at, have three. Shallow is for the shape of a long run: three of
# each.
SHALLOW_BOUND = Bound(depth=1, width=3, attributes=3, text=32, budget=7)
# Of module variables, as docs/trace-format.md has it for every recorder.
GLOBAL_BOUND = Bound(depth=1, width=8, attributes=8, text=40, budget=12)
FIRST_BOUND = Bound(depth=3, width=32, attributes=32, text=400, budget=80)

LARGE_ROOT = 4 * 2**20
"""In a root value that has taken so many bytes, texts are cut off at `SHORT_TEXT`."""
SHORT_TEXT = 48

WHOLE_BOUND = Bound(depth=60, width=100_000, attributes=10_000, text=1_000_000, budget=200_000)
"""For those who need values as they are and can wait. No backend goes deeper."""


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """All that a backend needs to know."""

    detail: Detail = Detail.FULL
    bound: Bound = Bound()
    first_bound: Bound = FIRST_BOUND
    """Used for the first calls of each function, which are the likeliest to be looked at. Of
    generators and coroutines, of which one call can have any number of steps to compare, only the
    first values that they yield and return have it."""
    first_calls: int = 10
    whole_calls: tuple[int, int] | None = None
    """The numbers of the first and the last call whose values are recorded whole."""
    global_bound: Bound = GLOBAL_BOUND
    """Of module variables."""
    max_calls: int | None = None
    max_bytes: int | None = None
    depth: int | None = None
    """Calls deeper than this (the first recorded call has depth 1) are counted, not recorded."""
    window: tuple[int, int] | None = None
    """Only one call and what is below it is recorded: which of all calls it is, from 1 on, and how
    many calls may be recorded. Only the recorder in C can."""
