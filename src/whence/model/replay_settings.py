"""What a caller decides about running a recorded program again.

The settings are one value, so that all parts of a replay obey the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import Enum

NODE_BUDGET = 100_000
"""At most this many calls are materialized at once, unless a single call made more."""

Progress = Callable[[int, int], None]
"""Receives how many calls were made so far, and of how many."""
WithProgress = Callable[[str], AbstractContextManager[Progress]]
"""Opens a display for a long operation, given what it does."""


class ReplayMode(Enum):
    """How a program runs again; the values are those of `--replay`."""

    OFF = "off"
    RERUN = "rerun"
    CHECKPOINTS = "checkpoints"


@contextmanager
def no_progress(doing: str) -> Iterator[Progress]:
    """A display that shows nothing."""
    yield lambda done, total: None


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """How the program of one recording may run again, and who hears of it."""

    mode: ReplayMode = ReplayMode.RERUN
    node_budget: int = NODE_BUDGET
    on_progress: Callable[[str, int, int], object] = lambda purpose, done, total: None
    """Receives the purpose of a partial replay, and how many of how many calls it has made."""
    judged_right: Callable[[], Iterable[int]] = tuple
    """Returns the calls judged right so far: candidates for freezing."""
    with_progress: WithProgress = no_progress
    """Shows the progress of shadow runs."""


DEFAULT_SETTINGS = ReplaySettings()
