"""How the interpreter tells what happens: `sys.monitoring`, or on 3.11 `sys.setprofile`.

Passes its events to the methods of `PythonBackend` and knows nothing of calls. The profile function
of 3.11 does not see exceptions; there a trace function observes them, unless something else (a
debugger, coverage) is tracing.
"""

from __future__ import annotations

import dis
import opcode
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Protocol

from whence.langs.python.record.backend_choice import free_tool_id
from whence.langs.python.record.call_stream import START, Resumption
from whence.langs.python.record.frame_values import UNKNOWN, sent_value, variable

if TYPE_CHECKING:
    from whence.langs.python.record.python_backend import PythonBackend

_SUSPENDABLE = 0x20 | 0x80 | 0x200  # generator, coroutine, asynchronous generator
_AWAITS = 3
"""What is sent to who stands at a RESUME with this is for what it awaits."""
_getframe = sys._getframe
_function_code = FunctionType.__dict__["__code__"].__get__
_method_function = MethodType.__dict__["__func__"].__get__
_traceback = BaseException.__dict__["__traceback__"].__get__
_thread_start = threading.Thread.start.__code__


class Hooks(Protocol):
    """A way to be told."""

    name: str

    def install(self) -> None:
        """Be told from here on."""

    def remove(self) -> str:
        """Be told no more; a note if something else had taken the place meanwhile."""


if sys.version_info >= (3, 12):
    _monitoring = sys.monitoring
    _events = _monitoring.events
    _DISABLE = _monitoring.DISABLE

    class MonitoringHooks:
        """Global events; those of library code are switched off one by one as they come."""

        name = "monitoring"

        def __init__(self, backend: PythonBackend) -> None:
            self._backend = backend
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
                for code, _ in list(self._backend._codes.values()):
                    if id(code) in self._watched:
                        _monitoring.set_local_events(tool, code, 0)
                _monitoring.free_tool_id(tool)
            return ""

        def _no_user_code(self) -> object:
            """Switches off an event of code that is known not to be the user's."""
            return None if self._backend.is_busy_here() else _DISABLE

        def _start(self, code: CodeType, offset: int) -> Any:
            frame = _getframe(1)
            backend = self._backend
            entry = backend.entry(frame)
            if entry is None:
                if code is _thread_start:
                    backend.guarded(_tell_of_thread, backend, frame)
                    return None
                return self._no_user_code()
            if id(code) not in self._watched and self._tool >= 0:
                self._watched.add(id(code))
                _monitoring.set_local_events(self._tool, code, _events.CALL)
            backend.guarded(backend.started, frame, entry)
            return None

        def _resume(self, code: CodeType, offset: int) -> Any:
            frame = _getframe(1)
            entry = self._backend.entry(frame)
            if entry is None:
                return self._no_user_code()
            backend = self._backend
            backend.guarded(backend.resumed, frame, entry, self._resumption(frame, offset))
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
                self._backend.guarded(self._backend.resumed, frame, entry, how)

        def _return(self, code: CodeType, offset: int, value: Any) -> Any:
            frame = _getframe(1)
            if self._backend.entry(frame) is None:
                return self._no_user_code()
            self._backend.guarded(self._backend.returned, frame, value)
            return None

        def _yield(self, code: CodeType, offset: int, value: Any) -> Any:
            frame = _getframe(1)
            if self._backend.entry(frame) is None:
                return self._no_user_code()
            self._backend.guarded(self._backend.yielded, frame, value)
            return None

        def _unwind(self, code: CodeType, offset: int, exception: BaseException) -> None:
            frame = _getframe(1)
            if self._backend.entry(frame) is not None:
                # It came up elsewhere if a handler that did not want it or a `finally` followed.
                newest = _traceback(exception)
                if newest is not None and newest.tb_frame is frame:
                    offset = newest.tb_lasti
                place = offset // 2 + 1
                self._backend.guarded(self._backend.unwound, frame, place, exception)

        def _call(self, code: CodeType, offset: int, callable_: Any, argument: Any) -> None:
            made = _code_of(callable_)
            if made is not None and made.co_flags & _SUSPENDABLE:
                frame = _getframe(1)
                self._backend.guarded(self._backend.creates, frame, made)

    def hooks_for(backend: PythonBackend) -> Hooks:
        """What this Python offers."""
        return MonitoringHooks(backend)

else:
    _RESUME, _YIELD, _RETURN = (
        opcode.opmap[name] for name in ("RESUME", "YIELD_VALUE", "RETURN_VALUE")
    )

    _settrace = sys.settrace

    class ProfileHooks:
        """The profile function, and where it is free the trace function for exceptions."""

        name = "setprofile"

        def __init__(self, backend: PythonBackend) -> None:
            self._backend = backend
            self._hook = self._profile
            self._tracer = self._trace
            self._operations: dict[int, bytes] = {}
            self._thrown: dict[int, int] = {}

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
                backend.guarded(backend.raises, frame, argument[1], argument[0])
                return self._tracer
            return None

        def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
            if event not in {"call", "return"}:
                if event == "c_call" and argument is _settrace:
                    self._give_back_lines(frame)
                return
            backend = self._backend
            entry = backend.entry(frame)
            if entry is None:
                if event == "call" and frame.f_code is _thread_start:
                    backend.guarded(_tell_of_thread, backend, frame)
                return
            operation, part = self._operation(frame)
            if event == "call":
                if operation == _RESUME and part == 0:
                    backend.guarded(backend.started, frame, entry)
                elif operation == _RESUME:
                    how = START if part == _AWAITS else Resumption(sent_value(frame))
                    backend.guarded(backend.resumed, frame, entry, how)
                else:
                    self._thrown[id(frame)] = frame.f_lasti
                    how = Resumption(UNKNOWN, thrown=True)
                    backend.guarded(backend.resumed, frame, entry, how)
            elif operation == _RETURN:
                backend.guarded(backend.returned, frame, argument)
            elif operation == _YIELD and (argument is not None or not self._left_at_once(frame)):
                backend.guarded(backend.yielded, frame, argument)
            else:
                place = frame.f_lasti // 2 + 1
                backend.guarded(backend.unwound, frame, place, None, False)
            if event == "return":
                self._thrown.pop(id(frame), None)

        def _give_back_lines(self, running: FrameType | None) -> None:
            """A debugger sets its function: it must hear of the lines that we did without."""
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

        def _left_at_once(self, frame: FrameType) -> bool:
            """Whether an exception that was thrown into a generator went right through it.

            Nothing else tells this from a yield of None: the frame stands at its yield. But where
            no handler covers the yield it cannot have come by there again.
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


def _tell_of_thread(backend: PythonBackend, frame: FrameType) -> None:
    backend.thread_starts(variable(frame, "self"))
