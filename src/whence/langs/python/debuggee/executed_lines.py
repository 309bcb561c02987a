"""Which lines one call of the program executes.

Generators and coroutines are not followed: they start at their first step, not when they are
called.

Invariant: a program that sets its own trace function keeps it, and then the lines are not known.
"""

from __future__ import annotations

import os
import sys
import threading
from types import FrameType
from typing import Any

from whence.langs.python.debuggee.order import TargetCall

# Bound here, because a program may replace it.
_open = open


class LineWatch:
    """Follows one call with `sys.settrace`."""

    def __init__(self, call: TargetCall, output: str = ""):
        self._target = call
        self._output = os.path.abspath(output)
        self._started = 0
        self._lines: set[int] = set()

    def start(self) -> None:
        """Watch from here on, in all threads."""
        threading.settrace(self._called)
        sys.settrace(self._called)

    def follow(self, frame: FrameType) -> None:
        """Watch this very call, which begins."""
        self._started = self._target.count
        frame.f_trace = self._ran
        sys.settrace(self._called)

    def stop(self) -> list[int] | None:
        """The lines that ran; None if the program set its own trace function, or if the call was
        not made."""
        ours = sys.gettrace() == self._called
        sys.settrace(None)
        threading.settrace(None)
        return sorted(self._lines) if ours and self._started >= self._target.count else None

    def finish(self) -> None:
        """Write the lines that ran, if they are known."""
        lines = self.stop()
        if lines is not None:
            with _open(self._output, "w", encoding="utf-8") as file:
                file.write(str(lines))

    def _called(self, frame: FrameType, event: str, argument: object) -> Any:
        code, target = frame.f_code, self._target
        if (
            event != "call"
            or code.co_firstlineno != target.first_line
            or code.co_qualname != target.name
            or code.co_filename != target.file
        ):
            return None
        self._started += 1
        return self._ran if self._started == target.count else None

    def _ran(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            self._lines.add(frame.f_lineno)
        return self._ran
