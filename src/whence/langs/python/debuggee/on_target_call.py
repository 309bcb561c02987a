"""In a re-run: what happens when the target call begins.

Its executed lines are followed, or a step debugger opens in its frame (`step_debugger`), or it is
made to return another value. It is recorded in any case. All of this is whence's own work: the
journal does not see it.
"""

from __future__ import annotations

import dis
import inspect
import json
import os
import sys
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING

from whence.langs.python.debuggee.order import StepDebugger, TargetCall, Task, TrialCall

if TYPE_CHECKING:
    from whence.langs.python.debuggee.executed_lines import LineWatch

BREAKPOINT = "PYTHONBREAKPOINT"
"""The environment variable by which the user names a debugger."""
ARRIVED = "arrived"
"""A file that exists once the call has begun."""
TRIED = "tried"
"""A file that exists once a call was made to return another value; it may hold why that failed."""
CALLS = "calls"
"""A file that holds how many calls were made."""


def await_call(
    task: Task, folder: str, over: Callable[[], object], lines: LineWatch | None
) -> None:
    """Set what happens when the target call begins and when it has ended."""
    from whence.langs.python.record import _recorder  # not where it was not compiled

    if folder:
        _recorder.report_calls(os.path.join(folder, CALLS))
    if task.debugger is not None:
        _recorder.set_window_hooks(_debugger_opener(task.debugger, folder), None)
    elif task.trial:
        trial = _Trial(task.trial, folder, _recorder.next_window, _recorder.here)
        _recorder.set_window_hooks(trial.force_return, None)
    elif lines is not None:
        _recorder.set_window_hooks(lambda: lines.follow(sys._getframe(1)), over)
    else:
        _recorder.set_window_hooks(None, over)


def _debugger_opener(order: StepDebugger, folder: str) -> Callable[[], object]:
    """A function that opens a step debugger. It imports the debugger only when it is called."""

    def arrive() -> object:
        from whence.langs.python.record.journal import _interposition

        before = _interposition.inside(True)
        try:
            from whence.langs.python.debuggee.step_debugger import Stepping

            stepping = Stepping(order, folder)
        finally:
            _interposition.inside(before)
        return stepping.arrive(sys._getframe(1))

    return arrive


class _Trial:
    """Calls that return what the user says they should have returned.

    Each is also made once more for its effects, so all calls after it have other numbers.
    """

    def __init__(
        self,
        calls: Sequence[TrialCall],
        folder: str,
        next_window: Callable[[int], None],
        here: Callable[[], int],
    ):
        self._left = list(calls)
        """In order of time."""
        self._begun: list[int] = []
        """The calls that began, as they are numbered in the recording of this run."""
        self._next_window, self._here = next_window, here
        self._report = os.path.join(folder, TRIED)

    def force_return(self) -> tuple[object, tuple[object, ...], dict[str, object]]:
        """In the frame of the call: the value to return, and the arguments of the call."""
        from whence.langs.python.record.journal import _interposition

        frame = sys._getframe(1)
        trial = self._left.pop(0)
        if TargetCall.of(frame.f_code) != trial.call:
            os._exit(0)  # another call was made instead
        self._begun.append(self._here())
        text = trial.expression
        problem, value = "", None
        try:
            value = eval(text, frame.f_globals, {})  # what the person typed, in a sandbox
        except BaseException as error:
            problem = f"{text} raises {type(error).__name__}: {error}"
        if isinstance(value, BaseException):
            problem = "an exception is raised, not returned"
        if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            problem = "it is not the call of a function"
        elif not _can_return_any_value(frame.f_code):
            problem = "its code has no return, it only ends by an exception"
        before = _interposition.inside(True)
        try:
            with open(self._report, "w", encoding="utf-8") as file:
                json.dump([problem, self._begun], file)
        finally:
            _interposition.inside(before)
        if problem:
            os._exit(0)
        if self._left:
            self._next_window(self._left[0].ordinal + len(self._begun))
        return value, *_arguments(frame)


def _can_return_any_value(code: CodeType) -> bool:
    """Whether the code has a return instruction, so that a value can be forced on it."""
    return sys.version_info < (3, 12) or any(
        instruction.opname in ("RETURN_VALUE", "RETURN_CONST")
        for instruction in dis.get_instructions(code)
    )


def _arguments(frame: FrameType) -> tuple[tuple[object, ...], dict[str, object]]:
    """The arguments of a call that begins: positional, and by name."""
    code, variables = frame.f_code, frame.f_locals
    names = code.co_varnames
    positional_end, named_end = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    positional = [variables[name] for name in names[:positional_end]]
    named = {name: variables[name] for name in names[positional_end:named_end]}
    if code.co_flags & inspect.CO_VARARGS:
        positional += variables[names[named_end]]
        named_end += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        named |= variables[names[named_end]]
    return tuple(positional), named
