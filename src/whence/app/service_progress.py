"""What a session in a server is busy with, for whoever asks meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Activity:
    """One long operation, and how many of how many calls of it are done."""

    what: str
    done: int = 0
    of: int = 0


class ServiceProgress:
    """Keeps the current activity; reading it needs no lock of the session."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._activities: list[Activity] = []

    @property
    def activity(self) -> Activity | None:
        """What is being done now."""
        with self._lock:
            return self._activities[-1] if self._activities else None

    @contextmanager
    def __call__(self, activity: str) -> Iterator[None]:
        """Tell of an activity while the block runs."""
        with self._lock:
            self._activities.append(Activity(activity))
        try:
            yield
        finally:
            with self._lock:
                self._activities.pop()

    @contextmanager
    def with_progress(self, activity: str) -> Iterator[Callable[[int, int], None]]:
        """The same for an operation that can report how many of how many calls are done."""
        with self(activity):
            yield lambda done, of: self.show(activity, done, of)

    def show(self, what: str, done: int, of: int) -> None:
        """Set the purpose and the progress of the current activity."""
        with self._lock:
            if self._activities:
                self._activities[-1] = Activity(what, done, of)
