"""In a re-run: what is done where the call begins that it was run for.

Either its lines are followed, or a step debugger is opened in its frame; what the call does is
recorded meanwhile in any case, if it is recorded at all. All that is done here is whence's own
work: nothing of it is looked up in the journal.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from whence.langs.python.record.executed_lines import LineWatch, Wanted

START, END = "start", "end"
ARRIVED = "arrived"
"""A file that is there once the call has begun."""
CALLS = "calls"
"""A file that says how many calls were made."""


def await_call(
    options: argparse.Namespace, over: Callable[[], object], watch: LineWatch | None
) -> None:
    """Say what is to be done as the call begins, and once it has ended."""
    from whence.langs.python.record import _recorder  # not where it was not compiled

    if options.sandbox:
        _recorder.tell_calls(os.path.join(options.sandbox, CALLS))
    if options.debugger:
        wanted = Wanted.from_text(options.lines_of)
        _recorder.tell_window(_Debugger(options.debugger, wanted, options.sandbox).open, None)
    elif watch is not None:
        _recorder.tell_window(lambda: watch.follow(sys._getframe(1)), over)
    else:
        _recorder.tell_window(None, over)


class _Debugger:
    """A step debugger that talks to a person through descriptors of its own."""

    def __init__(self, order: str, wanted: Wanted, folder: str):
        source, target, self._where = order.split(":")
        self._source, self._target = int(source), int(target)
        self._wanted = wanted
        self._arrived = os.path.join(folder, ARRIVED)

    def open(self) -> None:
        """In the frame of whoever runs now."""
        from whence.langs.python.record.journal import _passages

        frame = sys._getframe(1)
        before = _passages.inside(True)
        try:
            if Wanted.of(frame.f_code) != self._wanted:
                os._exit(0)  # it has not arrived
            with open(self._arrived, "w", encoding="ascii"):
                pass
            self._open(frame, _passages.inside)
        finally:
            _passages.inside(before)

    def _open(self, frame: FrameType, inside: Callable[[bool], bool]) -> None:
        import pdb

        class Debugger(pdb.Pdb):
            """Leaving it ends the re-run."""

            def trace_dispatch(self, frame: FrameType, event: str, arg: Any) -> Any:
                before = inside(True)
                try:
                    return super().trace_dispatch(frame, event, arg)
                finally:
                    inside(before)

            def user_call(self, called: FrameType, argument: Any) -> None:
                if called is not frame:  # which is entered already
                    super().user_call(called, argument)

            def do_quit(self, arg: str) -> bool | None:
                os._exit(0)

            do_q = do_exit = do_EOF = do_quit  # noqa: N815

            def do_continue(self, arg: str) -> bool | None:
                if not self.breaks:
                    os._exit(0)
                return super().do_continue(arg)

            do_c = do_cont = do_continue

        source = os.fdopen(self._source, "r", closefd=False)
        target = os.fdopen(self._target, "w", closefd=False)
        debugger = Debugger(stdin=source, stdout=target, nosigint=True, readrc=False)
        debugger.prompt = "(pdb) "
        debugger.set_trace(frame)
        if self._where == END:
            debugger.set_return(frame)
