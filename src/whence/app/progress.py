"""Shows long operations on the terminal: one line on standard error, erased at the end.

It shows nothing if standard error is no terminal or one that cannot erase a line, and nothing in
the first half second.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol, TextIO

from whence.printable_text import printable, raw

_QUIET_SECONDS, _REFRESH_SECONDS = 0.5, 0.25
_ERASE = "\r\x1b[K"
_BAR = 20


@dataclass
class _Activity:
    """One long operation."""

    what: str
    since: float
    purpose: str = ""
    done: int = 0
    of: int = 0

    def reach(self, done: int, of: int) -> None:
        self.done, self.of = done, of

    def text(self) -> str:
        what = f"{self.what} for {self.purpose}" if self.purpose else self.what
        if not self.of:
            return what
        share = min(self.done / self.of, 1.0)
        bar = "#" * round(share * _BAR)
        return f"{what} [{bar:<{_BAR}}] {share:.0%} of {self.of:,} calls"


def _can_erase(stream: TextIO) -> bool:
    """Whether it is a terminal that erases a line when told to."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def percent_reporter(activity: str, least: int = 0) -> Callable[[int, int], None] | None:
    """Shows progress in percent if the total is at least `least`; None without a terminal."""
    if not _can_erase(sys.stderr):
        return None
    shown = -1

    def report(done: int, of: int) -> None:
        nonlocal shown
        percent = 100 * done // max(of, 1)
        if of < least or percent == shown:
            return
        shown = percent
        text = "" if done >= of else f"{activity}: {percent} %"
        print(f"{_ERASE}{printable(text)}", end="", file=raw(sys.stderr), flush=True)

    return report


class ProgressReporter(Protocol):
    """Tells whoever waits what is being waited for; `ProgressDisplay` does so on a terminal."""

    def __call__(self, activity: str) -> AbstractContextManager[object]:
        """Tell of an activity while the block runs."""

    def with_progress(self, activity: str) -> AbstractContextManager[Callable[[int, int], None]]:
        """The same for an operation that can report how many of how many calls are done."""

    def show(self, what: str, done: int, of: int) -> None:
        """Set the purpose and the progress of the current activity."""


class ProgressDisplay:
    """A display of what a person waits for: `with waiting("running it again"):`."""

    def __init__(self, stream: TextIO | None = None, quiet: float = _QUIET_SECONDS) -> None:
        self._stream = raw(sys.stderr if stream is None else stream)
        self._quiet = quiet
        self._is_terminal = self._stream is not None and _can_erase(self._stream)
        self._lock = threading.Lock()
        self._is_active = threading.Event()
        self._activities: list[_Activity] = []
        self._thread: threading.Thread | None = None
        self._has_line = False

    @contextmanager
    def with_progress(self, activity: str) -> Iterator[Callable[[int, int], None]]:
        """The same for an operation that can report how many of how many calls are done."""
        with self(activity):
            if self._activities:
                yield self._activities[-1].reach
            else:
                yield lambda done, of: None

    @contextmanager
    def __call__(self, activity: str) -> Iterator[None]:
        """Show an activity and its seconds while the block runs."""
        if not self._is_terminal:
            yield
            return
        with self._lock:
            self._activities.append(_Activity(activity, time.monotonic()))
            if self._thread is None:
                self._thread = threading.Thread(target=self._display, daemon=True)
                self._thread.start()
        self._is_active.set()
        try:
            yield
        finally:
            with self._lock:
                self._activities.pop()
                if not self._activities:
                    self._is_active.clear()
                    self._erase()

    def show(self, what: str, done: int, of: int) -> None:
        """Set the purpose and the progress of the current activity."""
        with self._lock:
            if self._activities:
                self._activities[-1].purpose = what
                self._activities[-1].reach(done, of)

    def _display(self) -> None:
        while True:
            self._is_active.wait()
            with self._lock:
                if self._activities:
                    current = self._activities[-1]
                    seconds = time.monotonic() - current.since
                    if seconds >= self._quiet:
                        self._has_line = True
                        line = printable(f"{current.text()}: {seconds:,.0f} s (Ctrl-C stops it)")
                        width = shutil.get_terminal_size().columns - 1
                        self._write(f"{_ERASE}{line[:width]}")
            time.sleep(min(_REFRESH_SECONDS, self._quiet))

    def _erase(self) -> None:
        if self._has_line:
            self._has_line = False
            self._write(_ERASE)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._is_terminal = False  # the terminal is gone
