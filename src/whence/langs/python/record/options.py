"""What a recording records, and how much of it.

Separate from the backends because all of them follow it, and the trace file's header quotes it.
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


# The bounds follow from what a person can read in a question and from the cost, which is about
# proportional to the number of values, twice that for values that can change. A question has a line
# or two for each argument: eight attributes of an object or eight items of a list, and how many
# more there are. One level is enough to distinguish calls; the first calls of a function, which are
# the most likely to be shown, have five. Shallow is for the shape of a long run: three of each.
SHALLOW_BOUND = Bound(depth=1, width=3, attributes=3, text=32, budget=7)
# For module variables.
GLOBAL_BOUND = Bound(depth=1, width=8, attributes=8, text=40, budget=12)
FIRST_BOUND = Bound(depth=5, width=32, attributes=32, text=400, budget=200)

LARGE_ROOT = 4 * 2**20
"""Once a root value has taken this many bytes, texts in it are cut off at `SHORT_TEXT`."""
SHORT_TEXT = 48

WHOLE_BOUND = Bound(depth=60, width=100_000, attributes=10_000, text=1_000_000, budget=200_000)
"""For values as complete as possible, however long that takes. No backend goes deeper."""


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """The options of a backend."""

    detail: Detail = Detail.FULL
    bound: Bound = Bound()
    first_bound: Bound = FIRST_BOUND
    """For the first calls of each function, which are the most likely to be shown. For generators
    and coroutines, of which one call can have many steps to compare, only for the first values that
    they yield and return."""
    first_calls: int = 10
    early_calls: int = 2_000
    """So many calls at the beginning of a run, and as many outcomes of generators, have this bound
    too (unless `first_calls` is 0): small runs are recorded nearly in full."""
    whole_calls: tuple[int, int] | None = None
    """The numbers of the first and the last call whose values are recorded whole."""
    global_bound: Bound = GLOBAL_BOUND
    max_calls: int | None = None
    max_bytes: int | None = None
    keep_secrets: bool = False
    """Whether passwords, tokens and keys are recorded like other values: `secret_values.py`."""
    secret_names: tuple[str, ...] = ()
    """Patterns of more names whose values are secrets."""
    depth: int | None = None
    """Calls deeper than this (the first recorded call has depth 1) are counted, not recorded."""
    window: tuple[int, int] | None = None
    """Record only one call and what is below it: its ordinal (from 1 on), and how many calls may be
    recorded. Only the recorder in C can do that."""
