"""Observes what the program prints, for the recorder in Python.

The recorder in C interposes `TextIOWrapper.write`, which a program cannot see (native/output.c).
Python code cannot: a C function that calls back into Python through ctypes loses the exceptions of
a write that fails. So while the recording runs, each standard stream has a `write` in its
`__dict__`, where `print`, `writelines` and the interpreter find it.

Limits: a program that looks sees a bound method in `vars(sys.stdout)`. The traceback of a write
that fails has one frame more, unless nothing catches it. `TextIOWrapper.write(sys.stdout, text)` is
not seen, nor is what is written as bytes to the layers below (as in C).

Invariant: a stream writes, returns and raises what it would without this.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import TextIOWrapper
from types import MethodType
from typing import Any

Report = Callable[[int, str], None]
"""Receives the descriptor of a standard stream and a text that was written to it."""

FILE_NAME = "<whence>"
"""The file name of the code of this `write`; there is no such file, so tracers ignore it."""
_NAMES = {1: "__stdout__", 2: "__stderr__"}
_write = TextIOWrapper.write
_stream, _length = sys.__dict__.get, str.__len__
_get_trace, _set_trace = sys.gettrace, sys.settrace


class PrintedText:
    """Reports what is written to the standard streams, from `watch` to `unwatch`."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._watched: list[tuple[TextIOWrapper, MethodType]] = []

    def watch(self) -> None:
        """Give the standard streams that the interpreter made a `write` that reports."""
        for descriptor, name in _NAMES.items():
            stream = sys.__dict__.get(name)
            if type(stream) is TextIOWrapper and "write" not in stream.__dict__:
                method = MethodType(_reporting_write(descriptor, self._report), stream)
                stream.__dict__["write"] = method
                self._watched.append((stream, method))

    def unwatch(self) -> None:
        """Remove it, unless the program has put something else there."""
        while self._watched:
            stream, method = self._watched.pop()
            if stream.__dict__.get("write") is method:
                del stream.__dict__["write"]


def _reporting_write(descriptor: int, report: Report) -> Callable[..., int]:
    def write(self: TextIOWrapper, text: Any, /) -> int:
        count = _write(self, text)
        if _stream(_NAMES[descriptor]) is self and _length(text):
            trace = _get_trace()
            if trace is None:
                report(descriptor, text)
            else:  # a tracer of the program, such as coverage, must not see the recorder
                _set_trace(None)
                try:
                    report(descriptor, text)
                finally:
                    _set_trace(trace)
        return count

    write.__qualname__, write.__doc__ = _write.__qualname__, _write.__doc__
    write.__code__ = write.__code__.replace(co_filename=FILE_NAME)
    return write
