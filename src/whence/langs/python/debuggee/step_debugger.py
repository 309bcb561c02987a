"""In a re-run: opens a step debugger in the frame of the target call.

It is pdb, or what the user's PYTHONBREAKPOINT names, called from the frame as `breakpoint()` would
call it. While the debugger runs, its standard streams are the terminal, and the journal does not
see what it does. Leaving it ends the re-run.

A debugger that is not a `bdb.Bdb` is called once, and then the re-run ends.
"""

from __future__ import annotations

import bdb
import importlib
import os
import pdb
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, TextIO

from whence.langs.python.debuggee.on_target_call import ARRIVED, BREAKPOINT
from whence.langs.python.debuggee.order import StepDebugger, TargetCall
from whence.langs.python.record.journal import _interposition

_NONE = "0"
_HOMES = ("HOME", "IPYTHONDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
"""Where debuggers keep their settings. A re-run cannot write there."""


class Stepping:
    """A debugger that uses descriptors of its own, not the program's streams."""

    def __init__(self, order: StepDebugger, folder: str):
        self._order = order
        self._input = os.fdopen(order.stdin, "r", closefd=False)
        self._output = os.fdopen(order.stdout, "w", closefd=False)
        self._arrived = os.path.join(folder, ARRIVED)
        self._home = os.path.join(os.path.abspath(folder), "debugger")

    def arrive(self, frame: FrameType) -> tuple[Callable[[], object], Callable[[], object]]:
        """The target frame begins: the function that it calls first, and one to call after that."""
        at_terminal = self._at_terminal()
        at_terminal.__enter__()
        if TargetCall.of(frame.f_code) != self._order.call:
            os._exit(0)  # another call was made instead
        with open(self._arrived, "w", encoding="ascii"):
            pass
        self._watch(frame)
        os.makedirs(self._home, exist_ok=True)
        before = {name: os.environ.get(name) for name in _HOMES}
        os.environ.update(dict.fromkeys(_HOMES, self._home))

        def opened() -> None:
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value
            tracing = sys.gettrace()
            if tracing is None:
                os._exit(0)
            debugger = getattr(tracing, "__self__", None)
            if self._order.at_end and isinstance(debugger, bdb.Bdb):
                debugger.set_return(frame)
            at_terminal.__exit__(None, None, None)

        return find_debugger(self._order.name, self._output) or self._pdb(frame), opened

    def _watch(self, begun: FrameType) -> None:
        """Give every debugger the terminal, and end the process when it is left."""
        original = bdb.Bdb.trace_dispatch

        def trace_dispatch(debugger: bdb.Bdb, frame: FrameType, event: str, argument: Any) -> Any:
            if event == "call" and frame is begun:  # the debugger has entered it already
                return debugger.trace_dispatch
            with self._at_terminal():
                try:
                    dispatch = original(debugger, frame, event, argument)
                except bdb.BdbQuit:
                    os._exit(0)
                if sys.gettrace() is None:  # nothing is left to stop at
                    os._exit(0)
                return dispatch

        bdb.Bdb.trace_dispatch = trace_dispatch  # type: ignore[method-assign,assignment]

    @contextmanager
    def _at_terminal(self) -> Iterator[None]:
        before = sys.stdin, sys.stdout, sys.stderr
        was_inside = _interposition.inside(True)
        _interposition.all_inside(True)  # some debuggers print from a thread of their own
        sys.stdin, sys.stdout, sys.stderr = self._input, self._output, self._output
        try:
            yield
        finally:
            self._output.flush()
            sys.stdin, sys.stdout, sys.stderr = before
            _interposition.all_inside(False)
            _interposition.inside(was_inside)

    def _pdb(self, frame: FrameType) -> Callable[[], object]:
        debugger = pdb.Pdb(stdin=self._input, stdout=self._output, nosigint=True, readrc=False)
        debugger.prompt = "(pdb) "
        return partial(debugger.set_trace, frame)


def find_debugger(name: str, output: TextIO) -> Callable[[], object] | None:
    """The function that PYTHONBREAKPOINT names; None and a message if it cannot be imported."""
    if name == _NONE:
        print(f"{BREAKPOINT}=0 is about breakpoint(); this is pdb.", file=output)
    if name in ("", _NONE):
        return None
    module, _, function = name.rpartition(".")
    try:
        debugger: Callable[[], object] = getattr(
            importlib.import_module(module or "builtins"), function
        )
    except Exception as problem:
        why = f"{type(problem).__name__}: {problem}"
        print(
            f"{BREAKPOINT} names {name}, which cannot be imported ({why}); this is pdb.",
            file=output,
        )
        return None
    return debugger
