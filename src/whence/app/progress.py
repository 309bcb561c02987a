"""Says on the terminal what takes long: one line on standard error, wiped out when it is done.

Nothing where nobody looks, nothing of what is quickly done, and nothing while a program that is run
has the terminal: its output is its own.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

_QUIET_AT_FIRST, _TURN = 1.0, 0.5
_WIPE = "\r\x1b[K"
_BAR = 20


@dataclass
class _Doing:
    """Something that is being done."""

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


def told_in_percent(doing: str, least: int = 0) -> Callable[[int, int], None] | None:
    """Tells how much of so much is done, if that is not less than `least`; None if nobody looks."""
    if not sys.stderr.isatty():
        return None
    shown = -1

    def report(done: int, of: int) -> None:
        nonlocal shown
        percent = 100 * done // max(of, 1)
        if of < least or percent == shown:
            return
        shown = percent
        text = "" if done >= of else f"{doing}: {percent} %"
        print(f"{_WIPE}{text}", end="", file=sys.stderr, flush=True)

    return report


class Waiting:
    """`with waiting("running it again"):` around what a person may have to wait for."""

    def __init__(self, stream: TextIO | None = None, quiet: float = _QUIET_AT_FIRST) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._seen = self._stream is not None and self._stream.isatty()
        self._lock = threading.Lock()
        self._begun = threading.Event()
        self._doing: list[_Doing] = []
        self._thread: threading.Thread | None = None
        self._shown = False

    @contextmanager
    def with_progress(self, doing: str) -> Iterator[Callable[[int, int], None]]:
        """The same of what can say how far it is: so many of so many."""
        with self(doing):
            if self._doing:
                told = self._doing[-1]
                yield told.reach
            else:
                yield lambda done, of: None

    @contextmanager
    def __call__(self, doing: str) -> Iterator[None]:
        """Tell what is done, and for how long, until it is done."""
        if not self._seen:
            yield
            return
        with self._lock:
            self._doing.append(_Doing(doing, time.monotonic()))
            if self._thread is None:
                self._thread = threading.Thread(target=self._tell, daemon=True)
                self._thread.start()
        self._begun.set()
        try:
            yield
        finally:
            with self._lock:
                self._doing.pop()
                if not self._doing:
                    self._begun.clear()
                    self._wipe()

    def show(self, what: str, done: int, of: int) -> None:
        """Tell for what it is done and how far it is; what is done was told before."""
        with self._lock:
            if self._doing:
                self._doing[-1].purpose = what
                self._doing[-1].reach(done, of)

    def _tell(self) -> None:
        while True:
            self._begun.wait()
            with self._lock:
                if self._doing:
                    doing = self._doing[-1]
                    seconds = time.monotonic() - doing.since
                    if seconds >= self._quiet:
                        self._shown = True
                        line = f"{doing.text()}: {seconds:,.0f} s (Ctrl-C stops it)"
                        width = shutil.get_terminal_size().columns - 1
                        self._write(f"{_WIPE}{line[:width]}")
            time.sleep(min(_TURN, self._quiet))

    def _wipe(self) -> None:
        if self._shown:
            self._shown = False
            self._write(_WIPE)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._seen = False  # the terminal is gone
