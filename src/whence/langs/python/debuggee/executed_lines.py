"""In the process of the program: which lines one of its calls runs.

The call is named by its code and by how many calls of this code start before it, which is the same
when the program is run again. Generators and coroutines are not followed: they start at their first
step, not when they are called.

Invariant: a program that traces itself is left alone, and then the lines are not known.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

# The program may put something else in its place.
_open = open


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call: its code, and the how manieth call of that it is, counted from 1."""

    file: str
    first_line: int
    name: str
    count: int

    def text(self) -> str:
        """As a word of a command line."""
        return json.dumps([self.file, self.first_line, self.name, self.count])

    @classmethod
    def of(cls, code: CodeType) -> Wanted:
        """The next call of a code."""
        return cls(code.co_filename, code.co_firstlineno, code.co_qualname, 1)

    @classmethod
    def from_text(cls, text: str) -> Wanted:
        """What `text` made."""
        file, first_line, name, count = json.loads(text)
        return cls(str(file), int(first_line), str(name), int(count))


class LineWatch:
    """Follows the one call, by the interpreter's own tracing."""

    def __init__(self, wanted: Wanted, output: str = ""):
        self._wanted = wanted
        self._output = os.path.abspath(output)
        self._seen = 0
        self._lines: set[int] = set()

    def start(self) -> None:
        """Watch from here on, in all threads."""
        threading.settrace(self._called)
        sys.settrace(self._called)

    def follow(self, frame: FrameType) -> None:
        """Watch this very call, which begins."""
        self._seen = self._wanted.count
        frame.f_trace = self._ran
        sys.settrace(self._called)

    def stop(self) -> list[int] | None:
        """What was seen; None if the program took the tracing for itself, or the call did not
        come."""
        ours = sys.gettrace() == self._called
        sys.settrace(None)
        threading.settrace(None)
        return sorted(self._lines) if ours and self._seen >= self._wanted.count else None

    def finish(self) -> None:
        """Write what was seen, if anything is known."""
        lines = self.stop()
        if lines is not None:
            with _open(self._output, "w", encoding="utf-8") as file:
                file.write(str(lines))

    def _called(self, frame: FrameType, event: str, argument: object) -> Any:
        code, wanted = frame.f_code, self._wanted
        if (
            event != "call"
            or code.co_firstlineno != wanted.first_line
            or code.co_qualname != wanted.name
            or code.co_filename != wanted.file
        ):
            return None
        self._seen += 1
        return self._ran if self._seen == wanted.count else None

    def _ran(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            self._lines.add(frame.f_lineno)
        return self._ran
