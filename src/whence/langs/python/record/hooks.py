"""Receives the events of the interpreter: by `sys.monitoring`, or on 3.11 by `sys.setprofile`.

Passes them to the methods of `Activations` and knows nothing of calls. The profile function of 3.11
does not see exceptions; there a trace function observes them, unless something else (a debugger,
coverage) is tracing.
"""

from __future__ import annotations

import dis
import opcode
import os
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType, MethodType, TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from whence.langs.python.record.backend_choice import free_tool_id
from whence.langs.python.record.call_stream import START, Resumption
from whence.langs.python.record.frame_values import UNKNOWN, sent_value, variable

if TYPE_CHECKING:
    from whence.langs.python.record.python_backend import PythonBackend

_SUSPENDABLE = 0x20 | 0x80 | 0x200  # generator, coroutine, asynchronous generator
_AWAITS = 3
"""The argument of a RESUME after `await` or `yield from`: what is sent is not for this frame."""
_getframe = sys._getframe
_function_code = FunctionType.__dict__["__code__"].__get__
_method_function = MethodType.__dict__["__func__"].__get__
_traceback = BaseException.__dict__["__traceback__"].__get__
_thread_start = threading.Thread.start.__code__
_hard_exit = os._exit


class Hooks(Protocol):
    """A way to receive events."""

    name: str

    def install(self) -> None:
        """Receive events from here on."""

    def remove(self) -> str:
        """Receive no more; returns a note if the program had replaced the hook."""


if sys.version_info >= (3, 12):
    _CALL = opcode.opmap["CALL"]
    _monitoring = sys.monitoring
    _events = _monitoring.events
    _DISABLE = _monitoring.DISABLE

    class MonitoringHooks:
        """Global events; those of library code are switched off one by one as they come."""

        name = "monitoring"

        def __init__(self, backend: PythonBackend) -> None:
            self._backend = backend
            self._guarded, self._activations = backend.guarded, backend.activations
            self._tool = -1
            self._watched: set[int] = set()
            self._operations: dict[int, bytes] = {}

        def install(self) -> None:
            tool = free_tool_id()
            assert tool is not None, "backend_choice.py looked for one"
            self._tool = tool
            _monitoring.use_tool_id(tool, "whence")
            callbacks: dict[int, Callable[..., object]] = {
                _events.PY_START: self._start,
                _events.PY_RESUME: self._resume,
                _events.PY_THROW: self._throw,
                _events.PY_RETURN: self._return,
                _events.PY_YIELD: self._yield,
                _events.PY_UNWIND: self._unwind,
            }
            for event, callback in callbacks.items():
                _monitoring.register_callback(tool, event, callback)
            _monitoring.register_callback(tool, _events.CALL, self._call)
            _monitoring.set_events(tool, sum(callbacks))
            # What an earlier user of this tool id switched off would stay so.
            _monitoring.restart_events()

        def remove(self) -> str:
            if self._tool >= 0:
                tool, self._tool = self._tool, -1
                _monitoring.set_events(tool, 0)
                for code, _ in list(self._backend.activations.codes.values()):
                    if id(code) in self._watched:
                        _monitoring.set_local_events(tool, code, 0)
                _monitoring.free_tool_id(tool)
            return ""

        def _no_user_code(self) -> object:
            """Switches off an event of code that is certainly not user code."""
            return None if self._backend.is_busy_here() else _DISABLE

        def _start(self, code: CodeType, offset: int) -> Any:
            frame = _getframe(1)
            backend = self._backend
            entry = backend.entry(frame)
            if entry is None:
                if code is _thread_start:
                    backend.guarded(backend.activations.thread_starts, frame)
                    return None
                return self._no_user_code()
            backend.check_depth(frame)
            if id(code) not in self._watched and self._tool >= 0:
                self._watched.add(id(code))
                _monitoring.set_local_events(self._tool, code, _events.CALL)
            backend.guarded(backend.activations.started, frame, entry)
            return None

        def _resume(self, code: CodeType, offset: int) -> Any:
            frame = _getframe(1)
            entry = self._backend.entry(frame)
            if entry is None:
                return self._no_user_code()
            backend = self._backend
            backend.guarded(
                backend.activations.resumed, frame, entry, self._resumption(frame, offset)
            )
            return None

        def _resumption(self, frame: FrameType, offset: int) -> Resumption:
            code = frame.f_code
            text = self._operations.get(id(code))
            if text is None:
                text = self._operations[id(code)] = code.co_code
            return START if text[offset + 1] & _AWAITS == _AWAITS else Resumption(sent_value(frame))

        def _throw(self, code: CodeType, offset: int, exception: BaseException) -> None:
            frame = _getframe(1)
            entry = self._backend.entry(frame)
            if entry is not None:
                how = Resumption(exception, thrown=True)
                self._guarded(self._activations.resumed, frame, entry, how)

        def _return(self, code: CodeType, offset: int, value: Any) -> Any:
            frame = _getframe(1)
            if self._backend.entry(frame) is None:
                return self._no_user_code()
            self._guarded(self._activations.returned, frame, value)
            return None

        def _yield(self, code: CodeType, offset: int, value: Any) -> Any:
            frame = _getframe(1)
            if self._backend.entry(frame) is None:
                return self._no_user_code()
            self._guarded(self._activations.yielded, frame, value)
            return None

        def _unwind(self, code: CodeType, offset: int, exception: BaseException) -> None:
            frame = _getframe(1)
            if self._backend.entry(frame) is not None:
                # It came up elsewhere if a handler that did not want it or a `finally` followed.
                newest = _traceback(exception)
                if newest is not None and newest.tb_frame is frame:
                    offset = newest.tb_lasti
                    _hide_own_frames(newest)
                place = offset // 2 + 1
                self._guarded(self._activations.unwound, frame, place, exception)

        def _call(self, code: CodeType, offset: int, callable_: Any, argument: Any) -> None:
            called = _code_of(callable_)
            if called is not None and called.co_flags & _SUSPENDABLE:
                self._guarded(self._activations.creates, _getframe(1), called)
            elif callable_ is _hard_exit:
                only = code.co_code[offset] == _CALL and code.co_code[offset + 1] == 1
                self._backend.exits(argument if only else None)

    def hooks_for(backend: PythonBackend) -> Hooks:
        """What this Python offers."""
        return MonitoringHooks(backend)

else:
    _RESUME, _YIELD, _RETURN = (
        opcode.opmap[name] for name in ("RESUME", "YIELD_VALUE", "RETURN_VALUE")
    )

    _PRECALL, _LOAD_CONST, _LOAD_FAST, _EXTENDED_ARG = (
        opcode.opmap[name] for name in ("PRECALL", "LOAD_CONST", "LOAD_FAST", "EXTENDED_ARG")
    )
    _settrace, _setprofile = sys.settrace, sys.setprofile

    class ProfileHooks:
        """The profile function, and where it is free the trace function for exceptions."""

        name = "setprofile"

        def __init__(self, backend: PythonBackend) -> None:
            self._backend = backend
            self._hook = self._profile
            self._tracer = self._trace
            self._operations: dict[int, bytes] = {}
            self._thrown: dict[int, int] = {}
            self._replaced = False
            """Whether the program set a profile function of its own."""

        def install(self) -> None:
            if sys.gettrace() is None:
                threading.settrace(self._tracer)
                sys.settrace(self._tracer)
            threading.setprofile(self._hook)
            sys.setprofile(self._hook)

        def remove(self) -> str:
            replaced = sys.getprofile() is not self._hook
            if not replaced:
                sys.setprofile(None)
            if sys.gettrace() is self._tracer:
                sys.settrace(None)
            # Their stubs do not know that None switches them off.
            off: Any = None
            if threading.getprofile() is self._hook:
                threading.setprofile(off)
            if threading.gettrace() is self._tracer:
                threading.settrace(off)
            if replaced:
                return "the program replaced the profile function: later calls were not recorded"
            return ""

        def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
            if event == "call" and self._backend.entry(frame) is not None:
                frame.f_trace_lines = False
                return self._tracer
            if event == "exception":
                backend = self._backend
                if not self._replaced and sys.getprofile() is None:
                    sys.setprofile(self._hook)  # the interpreter removed it: it had raised
                _hide_own_frames(argument[2])
                backend.guarded(backend.activations.raised, frame, argument[1], argument[0])
                return self._tracer
            return None

        def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
            if event not in {"call", "return"}:
                if event == "c_call" and argument is _settrace:
                    self._give_back_lines(frame)
                elif event == "c_call" and argument is _setprofile:
                    self._replaced = True
                elif event == "c_call" and argument is _hard_exit:
                    self._backend.exits(self._only_argument(frame))
                return
            backend = self._backend
            entry = backend.entry(frame)
            if entry is None:
                if event == "call" and frame.f_code is _thread_start:
                    backend.guarded(backend.activations.thread_starts, frame)
                return
            operation, part = self._operation(frame)
            if event == "call":
                if operation == _RESUME and part == 0:
                    backend.check_depth(frame)
                    backend.guarded(backend.activations.started, frame, entry)
                elif operation == _RESUME:
                    how = START if part == _AWAITS else Resumption(sent_value(frame))
                    backend.guarded(backend.activations.resumed, frame, entry, how)
                else:
                    self._thrown[id(frame)] = frame.f_lasti
                    how = Resumption(UNKNOWN, thrown=True)
                    backend.guarded(backend.activations.resumed, frame, entry, how)
            elif operation == _RETURN:
                backend.guarded(backend.activations.returned, frame, argument)
            elif operation == _YIELD and (argument is not None or not self._left_at_once(frame)):
                backend.guarded(backend.activations.yielded, frame, argument)
            else:
                place = frame.f_lasti // 2 + 1
                backend.guarded(backend.activations.unwound, frame, place, None, False)
            if event == "return":
                self._thrown.pop(id(frame), None)

        def _give_back_lines(self, running: FrameType | None) -> None:
            """Report lines again, which we had switched off: a debugger sets its function."""
            while running is not None:
                if self._backend.entry(running) is not None:
                    running.f_trace_lines = True
                running = running.f_back

        def _operation(self, frame: FrameType) -> tuple[int, int]:
            code = frame.f_code
            text = self._operations.get(id(code))
            if text is None:
                text = self._operations[id(code)] = code.co_code
            return text[frame.f_lasti], text[frame.f_lasti + 1]

        def _only_argument(self, frame: FrameType) -> Any:
            """The argument of the running call, if it is the only one and a constant or variable.

            The three instructions that end with the call tell it; None if they are others.
            """
            text, place = frame.f_code.co_code, frame.f_lasti
            if place < 8 or text[place - 8] == _EXTENDED_ARG or text[place - 4] != _PRECALL:
                return None
            load, which, count = text[place - 6], text[place - 5], text[place - 3]
            if count == 1 and load == _LOAD_CONST:
                return frame.f_code.co_consts[which]
            if count == 1 and load == _LOAD_FAST:
                return variable(frame, frame.f_code.co_varnames[which])
            return None

        def _left_at_once(self, frame: FrameType) -> bool:
            """Whether an exception that was thrown into a generator went right through it.

            The event is the same as for a yield of None: the frame is at its yield. But if no
            handler covers the yield, the generator cannot have reached it again.
            """
            place = self._thrown.pop(id(frame), None)
            if place is None or place != frame.f_lasti:
                return False
            handlers = dis._parse_exception_table(frame.f_code)  # type: ignore[attr-defined]
            return not any(entry.start <= place < entry.end for entry in handlers)

    def hooks_for(backend: PythonBackend) -> Hooks:
        """What this Python offers."""
        return ProfileHooks(backend)


def _code_of(callable_: Any) -> CodeType | None:
    if type(callable_) is MethodType:
        callable_ = _method_function(callable_)
    return _function_code(callable_) if type(callable_) is FunctionType else None


def _hide_own_frames(innermost: TracebackType | None) -> None:
    """Remove our own frames from the traceback of what a hook raised into the program."""
    below = innermost and innermost.tb_next
    if innermost is not None and below and below.tb_frame.f_code.co_filename == __file__:
        innermost.tb_next = None
