"""The activations of user code in each thread, for the recorder in Python.

Follows frames by a stack of activations for each thread and one table of suspended generators and
coroutines. Each method of `Activations` handles one event of the interpreter and passes what it
means to a `CallStream`. `python_backend` calls them one at a time, under its lock.

Invariant: a frame is known by its `id` only, which is unique while the frame runs or is suspended.
No frame or value is kept between two events.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass
from functools import partial
from types import CodeType, FrameType
from typing import Any

from whence.langs.python.record.backend import CodeReader
from whence.langs.python.record.call_stream import (
    START,
    CallStream,
    CodeEntry,
    OpenCall,
    Resumption,
)
from whence.langs.python.record.code_reader import rebound_names
from whence.langs.python.record.frame_values import is_borrowed, variable
from whence.langs.python.record.new_generators import Creations, unwrapped
from whence.langs.python.trace import trace_format as f

_THREAD_BOOTSTRAP = threading.Thread._bootstrap.__code__  # type: ignore[attr-defined]


@dataclass(slots=True, eq=False)
class Activation:
    """A frame of user code that runs or is suspended."""

    frame: int
    owner: OpenCall
    """The caller of what it calls: its own call, or that of its function if it has none."""
    call: OpenCall | None
    code: CodeEntry
    started: bool = True
    watch: object = None
    """A weak reference to the generator, if its creation was observed."""
    exceptions: int = 0
    """How many exceptions were raised in this step (3.11 only)."""
    exception: bytes = b""
    """The snapshot of the last of them, and where it was raised."""
    exception_place: int = 0

    def exception_leaving_at(self, place: int) -> bytes:
        """The exception that leaves at a place; empty if another one may have been re-raised."""
        certain = self.exceptions == 1 or self.exception_place == place
        return self.exception if certain else b""


class _Thread(threading.local):
    """The state of the running thread."""

    def __init__(self) -> None:
        self.number = -1
        self.stack: list[Activation] = []
        self.base: OpenCall | None = None
        self.created: Creations | None = None


class Activations:
    """Turns events of frames into events of calls."""

    def __init__(self, stream: CallStream, code_reader: CodeReader) -> None:
        self._stream = stream
        self._reader = code_reader
        self.codes: dict[int, tuple[CodeType, CodeEntry | None]] = {}
        """By `id`, with the code object itself: the `id` is unique only while that lives."""
        self.is_child = False
        """Whether another process waits for what this one computes, and may then end it."""
        self._threads = 0
        self._thread = _Thread()
        self._starters: dict[int, OpenCall] = {}
        self._suspended: dict[int, Activation] = {}
        self._dying: list[Activation] = []

    def current_call(self) -> OpenCall:
        """The call that runs in this thread."""
        return self._owner(self._thread)

    def describe(self, frame: FrameType) -> CodeEntry | None:
        """The entry of a frame's code, which is read when it first runs; None for library code."""
        code = frame.f_code
        known = self.codes.get(id(code))
        if known is None:
            description = self._reader.describe(code, frame.f_globals)
            entry = None
            if description is not None:
                inputs = (*description.parameters, *description.free_variables)
                first_free = len(description.parameters)
                entry = CodeEntry(description, inputs, first_free, rebound_names(code))
            known = self.codes[id(code)] = (code, entry)
        return known[1]

    # --- events ---

    def started(self, frame: FrameType, code: CodeEntry) -> None:
        """A frame of user code runs its first line."""
        thread = self._enter(frame)
        activation = self._suspended.get(id(frame))
        if activation is not None and not activation.started and activation.code is code:
            activation.started = True
            self._run_on(thread, activation, frame, START)
            return
        activation = self._new(thread, frame, code, self._unwind_to(thread, frame.f_back))
        if code.description.flags & f.STEPPED:
            # Its creation was not observed: what makes it run first counts as its caller.
            self._suspended[id(frame)] = activation
            self._run_on(thread, activation, frame, START)
        else:
            thread.stack.append(activation)

    def resumed(self, frame: FrameType, code: CodeEntry, with_: Resumption) -> None:
        """A suspended frame runs on."""
        thread = self._enter(frame)
        activation = self._suspended.get(id(frame))
        if activation is None or activation.code is not code:
            # It is older than the recording: its calls count as calls of what resumes it.
            activation = Activation(id(frame), self._owner(thread), None, code)
            self._suspended[id(frame)] = activation
        activation.started = True
        self._run_on(thread, activation, frame, with_)

    def returned(self, frame: FrameType, value: Any) -> None:
        """A frame ends with a result."""
        activation = self._leave(frame)
        if activation is not None and activation.call is not None:
            inputs = _inputs(frame, activation.code)
            self._stream.returned(activation.call, value, inputs, frame.f_globals)
        self._forget(activation)

    def yielded(self, frame: FrameType, value: Any) -> None:
        """A frame is suspended."""
        activation = self._leave(frame)
        if activation is None or activation.call is None:
            return
        flags = activation.code.description.flags
        bare = bool(flags & f.COROUTINE)
        if flags & f.ASYNC_GENERATOR:
            # What it awaits passes through it too; the values that it yields come wrapped.
            value, is_own = unwrapped(value)
            bare = not is_own
        inputs = _inputs(frame, activation.code)
        self._stream.yielded(activation.call, value, inputs, frame.f_globals, bare)

    def unwound(self, frame: FrameType, place: int, exception: Any, known: bool = True) -> None:
        """A frame ends with an exception; if that is not `known`, `raised` may have seen it."""
        activation = self._leave(frame)
        if activation is not None and activation.call is not None:
            inputs = _inputs(frame, activation.code)
            encoding = b"" if known else activation.exception_leaving_at(place)
            if not known and activation.exceptions == 1:
                place = activation.exception_place
            self._stream.raised(
                activation.call, place, exception, inputs, frame.f_globals, known, encoding
            )
        self._forget(activation)

    def raised(self, frame: FrameType, exception: Any, kind: Any) -> None:
        """An exception was raised in a frame, which may or may not leave it (3.11 only)."""
        thread = self._enter(frame)
        activation = thread.stack[-1] if thread.stack else None
        if activation is None or activation.frame != id(frame) or activation.call is None:
            return
        activation.exceptions += 1
        activation.exception_place = frame.f_lasti // 2 + 1
        activation.exception = b""
        # It may come as its class and arguments only, before there is an object.
        if type(exception) is kind:
            inputs = _inputs(frame, activation.code)
            activation.exception = self._stream.exception(activation.call, exception, inputs)

    def creates(self, frame: FrameType, code: CodeType) -> None:
        """A frame of user code is about to call a function that gives a generator or coroutine."""
        thread = self._enter(frame)
        thread.created = Creations(code, frame, self._suspended)

    def thread_starts(self, frame: FrameType) -> None:
        """The running thread is about to start another, in this frame of `Thread.start`."""
        self._starters[id(variable(frame, "self"))] = self.current_call()

    def printed(self, frame: FrameType, descriptor: int, text: str) -> None:
        """A text was written to a standard stream, below a frame."""
        thread = self._enter(frame)
        self._unwind_to(thread, frame)
        self._stream.printed(self._owner(thread), descriptor, text)

    # --- stacks ---

    def _enter(self, frame: FrameType) -> _Thread:
        """The running thread, once all that happened since the last event is recorded."""
        thread = self._thread
        if thread.number < 0:
            thread.number = self._threads
            self._threads += 1
            thread.base = self._starter(frame) if thread.number else self._stream.root
        self._stream.thread(thread.number)
        if self._dying:
            self._close_dead_generators(frame)
        if thread.created is not None:
            created, thread.created = thread.created, None
            self._register(thread, created)
        return thread

    def _starter(self, frame: FrameType) -> OpenCall:
        """The call that started the thread that a frame runs in."""
        while frame.f_back is not None:
            frame = frame.f_back
        if frame.f_code is not _THREAD_BOOTSTRAP:
            return self._stream.root
        return self._starters.pop(id(variable(frame, "self")), self._stream.root)

    def _register(self, thread: _Thread, created: Creations) -> None:
        """Record a generator or coroutine that has been created since the last event."""
        generator = created.new_generator()
        if generator is None:
            return
        frame = created.frame_of(generator)
        code = None if frame is None else self.describe(frame)
        if frame is None or code is None:
            return
        activation = self._new(thread, frame, code, created.site)
        activation.started = False

        def gone(_: object) -> None:
            self._dying.append(activation)

        activation.watch = weakref.ref(generator, gone)
        self._suspended[id(frame)] = activation

    def _new(self, thread: _Thread, frame: FrameType, code: CodeEntry, site: int) -> Activation:
        """The activation of a frame, with a CALL record where it is a call that is recorded."""
        parent = self._owner(thread)
        if code.description.transparent:
            parent.skipped += code.description.counted
            return Activation(id(frame), parent, None, code)
        call = self._stream.begin(
            code, parent, site, _inputs(frame, code), frame.f_globals, partial(is_borrowed, frame)
        )
        return Activation(id(frame), call or parent, call, code)

    def _unwind_to(self, thread: _Thread, caller: FrameType | None) -> int:
        """Drop activations whose end was not reported; returns the place of the calling one."""
        running = {activation.frame: index for index, activation in enumerate(thread.stack)}
        while caller is not None and id(caller) not in running:
            caller = caller.f_back
        if caller is None:
            thread.stack.clear()
            return 0
        del thread.stack[running[id(caller)] + 1 :]
        owner = thread.stack[-1].owner
        # For a comprehension, the place in the function that contains it counts.
        while caller is not None:
            index = running.get(id(caller))
            if index is not None and thread.stack[index].call is owner:
                return caller.f_lasti // 2 + 1
            caller = caller.f_back
        return 0

    def _owner(self, thread: _Thread) -> OpenCall:
        if thread.stack:
            return thread.stack[-1].owner
        return thread.base or self._stream.root

    def _run_on(
        self, thread: _Thread, activation: Activation, frame: FrameType, with_: Resumption
    ) -> None:
        self._unwind_to(thread, frame.f_back)
        activation.exceptions = 0
        if activation.call is not None:
            inputs = _inputs(frame, activation.code)
            self._stream.resume(
                activation.call, self._owner(thread), with_, inputs, frame.f_globals
            )
        thread.stack.append(activation)

    def _leave(self, frame: FrameType) -> Activation | None:
        """Take the frame's activation off the stack, with all that are above it."""
        stack = self._enter(frame).stack
        for index in range(len(stack) - 1, -1, -1):
            if stack[index].frame == id(frame):
                activation = stack[index]
                del stack[index:]
                return activation
        return None

    def _forget(self, activation: Activation | None) -> None:
        if self.is_child and len(self._thread.stack) <= 1:
            self._stream.flush()
        if activation is not None:
            activation.watch = None
            if self._suspended.get(activation.frame) is activation:
                del self._suspended[activation.frame]

    def _close_dead_generators(self, frame: FrameType) -> None:
        """Record that generators were closed, except one that runs its last lines right now."""
        dying, self._dying = self._dying, []
        for activation in dying:
            has_ended = self._suspended.get(activation.frame) is not activation
            if has_ended or activation.frame == id(frame):
                continue
            del self._suspended[activation.frame]
            if activation.call is not None:
                self._stream.closed(activation.call)


def _inputs(frame: FrameType, code: CodeEntry) -> list[Any]:
    return [variable(frame, name) for name in code.inputs]
