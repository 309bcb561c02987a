"""Ctrl-C once the program's main code has ended, and until its recording is closed.

Threads that are still joined, functions of `atexit` and an exception hook are the program's: they
are interrupted as ever. What whence does in between is not: an interrupt there would be reported as
a failure of whence, and could cut the recording off.

Invariant: while the program's main code runs, its own handler is in place, and nobody can see this
one. From the moment it has ended, no instruction of whence can be interrupted: this handler looks
at what was interrupted, so there is no moment between two handlers. It is the recorder in C that
puts it in place; the Python version of that has a gap of a microsecond.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # without the enums of `signal`
import os
from collections.abc import Callable
from types import FrameType

_WHENCE = os.path.join(os.path.abspath(os.path.join(__file__, *[os.pardir] * 4)), "")
_LIBRARY = os.path.join(os.path.dirname(os.__file__), "")
_PACKAGES = tuple(os.path.join(_LIBRARY, name, "") for name in ("site-packages", "dist-packages"))


class LateInterrupts:
    """A handler of SIGINT that drops what would interrupt whence, and passes the rest on."""

    def __init__(self) -> None:
        self.program_handler: object = None
        self.is_closing = False
        """Whether the program is over, its threads and `atexit` functions included."""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        handler = self.handler_of(frame)
        if handler is not None:
            handler(number, frame)

    def handler_of(self, frame: FrameType | None) -> Callable[..., object] | None:
        """The program's handler, unless whence was interrupted."""
        if self.is_closing or _is_ours(frame) or not callable(self.program_handler):
            return None
        return self.program_handler

    def take_over(self) -> None:
        """Handle interrupts from here on, unless the program has no handler written in Python."""
        for _ in range(3):
            try:
                handler = _signal.getsignal(_signal.SIGINT)
                if callable(handler) and handler is not self:
                    self.program_handler = handler
                    _signal.signal(_signal.SIGINT, self)
            except BaseException:  # of the handler, for an interrupt that came just now
                continue
            return


def run(late: LateInterrupts, function: Callable[..., object], *arguments: object) -> None:
    """Call a function of the program; from its end on interrupts are late. As in C."""
    try:
        function(*arguments)
    finally:
        late.take_over()


def _is_ours(frame: FrameType | None) -> bool:
    """Whether whence was interrupted: it is on the stack, and no code of the program is."""
    found = False
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_WHENCE):
            found = True
        elif not file.startswith("<frozen ") and (
            not file.startswith(_LIBRARY) or file.startswith(_PACKAGES)
        ):
            return False
        frame = frame.f_back
    return found
