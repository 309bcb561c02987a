"""In a re-run: what is done where the call begins that it was run for.

Either its lines are followed, or a step debugger is opened in its frame (`stepping`), or something
else comes of it; what the call does is recorded meanwhile in any case, if it is recorded at all.
All that is done here is whence's own work: nothing of it is looked up in the journal.
"""

from __future__ import annotations

import argparse
import dis
import inspect
import json
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from whence.langs.python.debuggee.executed_lines import LineWatch, Wanted

START, END = "start", "end"
BREAKPOINT = "PYTHONBREAKPOINT"
"""Names a debugger, in the environment of the person."""
ARRIVED = "arrived"
"""A file that is there once the call has begun."""
TRIED = "tried"
"""A file that is there once something else came of the call; what is in it says why nothing did."""
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
        _recorder.tell_window(_debugger(options), None)
    elif options.trial:
        trial = _Trial(options.trial, options.sandbox, _recorder.next_window, _recorder.here)
        _recorder.tell_window(trial.take_place, None)
    elif watch is not None:
        _recorder.tell_window(lambda: watch.follow(sys._getframe(1)), over)
    else:
        _recorder.tell_window(None, over)


def _debugger(options: argparse.Namespace) -> Callable[[], Any]:
    """What opens a step debugger. Until then nothing is loaded that the program did not load."""

    def arrive() -> Any:
        from whence.langs.python.record.journal import _interposition

        before = _interposition.inside(True)
        try:
            from whence.langs.python.debuggee.step_debugger import Stepping

            wanted = Wanted.from_text(options.lines_of)
            stepping = Stepping(options.debugger, wanted, options.sandbox)
        finally:
            _interposition.inside(before)
        return stepping.arrive(sys._getframe(1))

    return arrive


class _Trial:
    """Something else comes of calls than does: what a person says that they should have given.

    Each is made once more for its effects, so that all calls after it have other numbers.
    """

    def __init__(
        self, order: str, folder: str, next_window: Callable[[int], None], here: Callable[[], int]
    ):
        self._left = [tuple(each) for each in json.loads(order)]
        """Which of all calls, its code, and what is to come of it, in the order of time."""
        self._made: list[int] = []
        """The calls that began, as they are numbered in the recording of this run."""
        self._next_window, self._here = next_window, here
        self._tried = os.path.join(folder, TRIED)

    def take_place(self) -> tuple[object, tuple[Any, ...], dict[str, Any]] | None:
        """In its frame: what is to come of it, and what it was given."""
        from whence.langs.python.record.journal import _interposition

        frame = sys._getframe(1)
        _, code, text = self._left.pop(0)
        if Wanted.of(frame.f_code) != Wanted.from_text(code):
            os._exit(0)  # it has not arrived
        self._made.append(self._here())
        problem, value = "", None
        try:
            value = eval(text, frame.f_globals, {})  # what the person typed, in a sandbox
        except BaseException as error:
            problem = f"{text} raises {type(error).__name__}: {error}"
        if isinstance(value, BaseException):
            problem = "an exception is raised, and not given back"
        if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            problem = "it is not the call of a function"
        elif not _can_give_anything(frame.f_code):
            problem = "its code ends in no other way than by an exception"
        before = _interposition.inside(True)
        try:
            with open(self._tried, "w", encoding="utf-8") as file:
                json.dump([problem, self._made], file)
        finally:
            _interposition.inside(before)
        if problem:
            os._exit(0)
        if self._left:
            self._next_window(self._left[0][0] + len(self._made))
        return value, *_arguments(frame)


def _can_give_anything(code: CodeType) -> bool:
    """Whether there is a way out of the code on which any value can be taken along."""
    return sys.version_info < (3, 12) or any(
        each.opname in ("RETURN_VALUE", "RETURN_CONST") for each in dis.get_instructions(code)
    )


def _arguments(frame: FrameType) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What the call that begins was given, in order and by name."""
    code, given = frame.f_code, frame.f_locals
    names = code.co_varnames
    ordered, named = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    places = [given[name] for name in names[:ordered]]
    by_name = {name: given[name] for name in names[ordered:named]}
    if code.co_flags & inspect.CO_VARARGS:
        places += given[names[named]]
        named += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        by_name |= given[names[named]]
    return tuple(places), by_name
