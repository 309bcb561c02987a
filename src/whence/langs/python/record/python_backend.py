"""The backend in pure Python: right, not fast. For where there is no C compiler, and as a check.

It follows frames: a stack of activations for each thread, and one table of the generators and
coroutines that are suspended. `hooks` turns what the interpreter tells into its methods; what they
find out goes to a `CallStream`.

Invariants: a frame is known by its number only, which is its own while it runs or is suspended,
and no frame or value is kept between two events. An event that whence's own failure interrupts ends
the recording with a note, and never reaches the program.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
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
from whence.langs.python.record.options import Detail, RecordOptions
from whence.langs.python.record.printed_text import PrintedText
from whence.langs.python.record.summaries import Summary
from whence.langs.python.trace import trace_format as f

_ROOM = 40
_getframe, _ident = sys._getframe, threading.get_ident
_THREAD_START = threading.Thread.start.__code__
_THREAD_BOOTSTRAP = threading.Thread._bootstrap.__code__  # type: ignore[attr-defined]


@dataclass(slots=True, eq=False)
class Activation:
    """A frame of user code that runs or is suspended."""

    frame: int
    owner: OpenCall
    """The call whose calls it makes: its own one, or if it has none that of its function."""
    call: OpenCall | None
    code: CodeEntry
    started: bool = True
    watch: object = None
    """Tells when a generator that was seen at its creation is gone."""
    exceptions: int = 0
    """How many exceptions came up in this step, where they are told one by one."""
    exception: bytes = b""
    """The last one, as it was then, and where it came up."""
    exception_place: int = 0

    def told(self, place: int) -> bytes:
        """The exception that leaves at a place; nothing if another one may have been re-raised."""
        certain = self.exceptions == 1 or self.exception_place == place
        return self.exception if certain else b""


class _Thread(threading.local):
    """What is known of the running thread."""

    def __init__(self) -> None:
        self.number = -1
        self.stack: list[Activation] = []
        self.base: OpenCall | None = None
        self.created: Creations | None = None


class PythonBackend:
    """Records by callbacks in Python.

    It has many methods because it is one state machine: each event of the interpreter is one.
    """

    def __init__(
        self,
        descriptor: int,
        options: RecordOptions,
        code_reader: CodeReader,
        summaries: Mapping[type, Summary],
    ) -> None:
        from whence.langs.python.record import hooks

        self._stream = CallStream(descriptor, options, summaries)
        self._reader = code_reader
        self._hooks = hooks.hooks_for(self)
        self._codes: dict[int, tuple[CodeType, CodeEntry | None]] = {}
        self._threads = 0
        self._thread = _Thread()
        self._starters: dict[int, OpenCall] = {}
        self._suspended: dict[int, Activation] = {}
        self._dying: list[Activation] = []
        self._lock = threading.Lock()
        self._active = False
        self._limit: int | None = None
        self._is_child = False
        self._holder = 0
        self._printed_text = PrintedText(self._printed)
        self._knows_output = options.detail is Detail.FULL

    @property
    def name(self) -> str:
        """The name that the header gives it."""
        return f"pure ({self._hooks.name})"

    @property
    def calls(self) -> int:
        """How many calls have been recorded."""
        return self._stream.calls

    @property
    def problem(self) -> str | None:
        """Why it stopped before it was told to."""
        return self._stream.problem

    def here(self) -> int:
        """The number of the call that runs in this thread."""
        return self._owner(self._thread).number

    def family(self, starts: str, name: str, is_child: bool) -> None:
        """Which call starts a process cannot be seen from here, unless it forks."""
        self._is_child = is_child

    def tail(self, path: str, descriptor: int, check: int) -> None:
        """Keep in this file what is in no page yet."""
        self._stream.keep_tail(path, descriptor, check)

    def start(self) -> None:
        """Record from here on, in all threads."""
        self._active = True
        os.register_at_fork(after_in_child=self._forked)
        self._hooks.install()
        if self._knows_output:
            self._printed_text.watch()

    def stop(self) -> None:
        """Record no further."""
        if self._active:
            replaced = self._hooks.remove()
            self._printed_text.unwatch()
            self._active = False
            if replaced:
                self._stream.note(replaced)
            self._stream.flush()

    def end(self, how: int, value: object) -> None:
        """The last record."""
        self._stream.end(how, value)

    def note(self, text: str) -> None:
        """A NOTE record."""
        with self._lock:
            self._stream.note(text)

    def _forked(self) -> None:
        if self._active:
            self._active = False
            self._stream.drop()
            self._hooks.remove()
            self._printed_text.unwatch()

    # --- which code ---

    def is_busy_here(self) -> bool:
        """Whether this thread handles a printed text: our own code, outside of a callback."""
        return self._holder == _ident()

    def entry(self, frame: FrameType) -> CodeEntry | None:
        """What is known of a frame's code; None if it is not user code."""
        known = self._codes.get(id(frame.f_code))
        if known is not None:
            return known[1]
        if self.is_busy_here():
            return None
        found: list[CodeEntry | None] = [None]
        self.guarded(self._meet, frame, found)
        return found[0]

    def _meet(self, frame: FrameType, found: list[CodeEntry | None]) -> None:
        """A code object comes up for the first time."""
        code = frame.f_code
        known = self._codes.get(id(code))
        if known is None:
            description = self._reader.describe(code, frame.f_globals)
            entry = None
            if description is not None:
                inputs = (*description.parameters, *description.free_variables)
                first_free = len(description.parameters)
                entry = CodeEntry(description, inputs, first_free, rebound_names(code))
            # With the code object, whose number is its own only while it lives.
            known = self._codes[id(code)] = (code, entry)
        found[0] = known[1]

    def _entry_while_locked(self, frame: FrameType) -> CodeEntry | None:
        found: list[CodeEntry | None] = [None]
        self._meet(frame, found)
        return found[0]

    def guarded(self, handle: Callable[..., None], *arguments: Any) -> None:
        """Handle an event; whatever goes wrong in whence stays in whence."""
        if not self._active:
            return
        try:
            self._make_room()
            with self._lock:
                self._holder = _ident()
                try:
                    handle(*arguments)
                finally:
                    self._holder = 0
            if self._stream.problem is not None:
                self._give_up("")
        except BaseException as problem:
            self._give_up(
                "the recorder was interrupted in the middle of an event "
                f"({type(problem).__name__}): calls from here on were not recorded"
            )
            if not _is_ours(problem):
                raise

    def _give_up(self, why: str) -> None:
        self._active = False
        self._hooks.remove()
        self._printed_text.unwatch()
        self._stream.abandon(why)

    def _make_room(self) -> None:
        """Let the recorder's own frames not count against the limit of the program."""
        if self._limit is not None:
            try:
                sys.setrecursionlimit(self._limit)
                self._limit = None
            except RecursionError:
                return  # still as deep
        try:
            _descend(_ROOM)
        except RecursionError:
            self._limit = sys.getrecursionlimit()
            sys.setrecursionlimit(self._limit + 2 * _ROOM)

    # --- events ---

    def started(self, frame: FrameType, code: CodeEntry) -> None:
        """A frame of user code runs its first line."""
        thread = self._enter(frame)
        known = self._suspended.get(id(frame))
        if known is not None and not known.started and known.code is code:
            known.started = True
            self._run_on(thread, known, frame, START)
            return
        if code.description.flags & f.STEPPED:
            # Who created it is not known: whoever makes it run counts as its caller.
            known = self._new(thread, frame, code, frame)
            self._suspended[id(frame)] = known
            self._run_on(thread, known, frame, START)
        else:
            activation = self._new(thread, frame, code, frame)
            thread.stack.append(activation)

    def resumed(self, frame: FrameType, code: CodeEntry, with_: Resumption) -> None:
        """A suspended frame runs on."""
        thread = self._enter(frame)
        known = self._suspended.get(id(frame))
        if known is None or known.code is not code:
            # It ran before the recording did: its calls count as calls of who made it run on.
            known = Activation(id(frame), self._owner(thread), None, code)
            self._suspended[id(frame)] = known
        known.started = True
        self._run_on(thread, known, frame, with_)

    def returned(self, frame: FrameType, value: Any) -> None:
        """A frame ends with a result."""
        activation = self._leave(frame)
        if activation is not None and activation.call is not None:
            inputs = self._inputs(frame, activation.code)
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
            # What it awaits passes through it too; its own values come wrapped.
            value, is_its_own = unwrapped(value)
            bare = not is_its_own
        inputs = self._inputs(frame, activation.code)
        self._stream.yielded(activation.call, value, inputs, frame.f_globals, bare)

    def unwound(self, frame: FrameType, place: int, exception: Any, known: bool = True) -> None:
        """A frame ends with an exception."""
        activation = self._leave(frame)
        if activation is not None and activation.call is not None:
            inputs = self._inputs(frame, activation.code)
            encoding = b"" if known else activation.told(place)
            if not known and activation.exceptions == 1:
                place = activation.exception_place
            self._stream.raised(
                activation.call, place, exception, inputs, frame.f_globals, known, encoding
            )
        self._forget(activation)

    def raises(self, frame: FrameType, exception: Any, kind: Any) -> None:
        """An exception came up in a frame, which may or may not leave it (3.11 only)."""
        thread = self._enter(frame)
        activation = thread.stack[-1] if thread.stack else None
        if activation is None or activation.frame != id(frame) or activation.call is None:
            return
        activation.exceptions += 1
        activation.exception_place = frame.f_lasti // 2 + 1
        activation.exception = b""
        # It may come as its class and arguments only, before there is an object.
        if type(exception) is kind:
            inputs = self._inputs(frame, activation.code)
            activation.exception = self._stream.exception(activation.call, exception, inputs)

    def creates(self, frame: FrameType, code: CodeType) -> None:
        """A frame of user code is about to call a function that gives a generator or coroutine."""
        thread = self._enter(frame)
        thread.created = Creations(code, frame, self._suspended)

    def thread_starts(self, thread_object: object) -> None:
        """A thread is about to be started by the running one."""
        thread = self._thread
        self._starters[id(thread_object)] = self._owner(thread)

    def _printed(self, descriptor: int, text: str) -> None:
        """A text was written to a standard stream, by the frame that called its `write`."""
        if not self.is_busy_here():  # else a summary or a signal handler did, in our own code
            self.guarded(self._record_text, _getframe(), descriptor, text)

    def _record_text(self, frame: FrameType, descriptor: int, text: str) -> None:
        thread = self._enter(frame)
        self._unwind_to(thread, frame)
        self._stream.printed(self._owner(thread), descriptor, text)

    # --- activations ---

    def _enter(self, frame: FrameType) -> _Thread:
        """The running thread, with a stack of those activations that still run."""
        thread = self._thread
        if thread.number < 0:
            thread.number = self._threads
            self._threads += 1
            thread.base = self._starter(frame) if thread.number else self._stream.root
        self._stream.thread(thread.number)
        if self._dying:
            self._bury(frame)
        if thread.created is not None:
            created, thread.created = thread.created, None
            self._register(thread, created)
        return thread

    def _starter(self, frame: FrameType) -> OpenCall:
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
        code = None if frame is None else self._entry_while_locked(frame)
        if frame is None or code is None:
            return
        activation = self._new(thread, frame, code, None, created.site)
        activation.started = False

        def gone(_: object) -> None:
            self._dying.append(activation)

        activation.watch = weakref.ref(generator, gone)
        self._suspended[id(frame)] = activation

    def _new(
        self,
        thread: _Thread,
        frame: FrameType,
        code: CodeEntry,
        caller: FrameType | None,
        site: int = 0,
    ) -> Activation:
        """The activation of a frame, with a CALL record where it is a call that is recorded."""
        if caller is not None:
            site = self._unwind_to_caller(thread, caller)
        parent = self._owner(thread)
        if code.description.transparent:
            parent.skipped += code.description.counted
            return Activation(id(frame), parent, None, code)
        inputs = self._inputs(frame, code)
        call = self._stream.begin(
            code, parent, site, inputs, frame.f_globals, partial(is_borrowed, frame)
        )
        return Activation(id(frame), call or parent, call, code)

    def _unwind_to_caller(self, thread: _Thread, frame: FrameType) -> int:
        """Drop activations that ended without telling; the place where the calling one stands."""
        return self._unwind_to(thread, frame.f_back)

    def _unwind_to(self, thread: _Thread, caller: FrameType | None) -> int:
        running = {activation.frame: index for index, activation in enumerate(thread.stack)}
        while caller is not None and id(caller) not in running:
            caller = caller.f_back
        if caller is None:
            thread.stack.clear()
            return 0
        del thread.stack[running[id(caller)] + 1 :]
        owner = thread.stack[-1].owner
        # A comprehension stands in its function: that one's place is what counts.
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
        self._unwind_to_caller(thread, frame)
        activation.exceptions = 0
        if activation.call is not None:
            resumer = self._owner(thread)
            inputs = self._inputs(frame, activation.code)
            self._stream.resume(activation.call, resumer, with_, inputs, frame.f_globals)
        thread.stack.append(activation)

    def _leave(self, frame: FrameType) -> Activation | None:
        """Take the frame's activation off the stack, and with it all that stands above."""
        thread = self._enter(frame)
        stack = thread.stack
        for index in range(len(stack) - 1, -1, -1):
            if stack[index].frame == id(frame):
                activation = stack[index]
                del stack[index:]
                return activation
        return None

    def _forget(self, activation: Activation | None) -> None:
        if self._is_child and len(self._thread.stack) <= 1:
            # Its parent may hear of the result now, and end it.
            self._stream.flush()
        if activation is not None:
            activation.watch = None
            if self._suspended.get(activation.frame) is activation:
                del self._suspended[activation.frame]

    def _bury(self, frame: FrameType) -> None:
        """Close generators that are gone, unless they run their last lines right now."""
        dying, self._dying = self._dying, []
        for activation in dying:
            if self._suspended.get(activation.frame) is not activation:
                continue  # it ended in the ordinary way
            if activation.frame == id(frame):
                continue
            del self._suspended[activation.frame]
            if activation.call is not None:
                self._stream.closed(activation.call)

    def _inputs(self, frame: FrameType, code: CodeEntry) -> list[Any]:
        return [variable(frame, name) for name in code.inputs]


def _descend(levels: int) -> None:
    if levels:
        _descend(levels - 1)


def _is_ours(problem: BaseException) -> bool:
    """Whether it was raised in whence, and not by a signal handler of the program."""
    traceback = problem.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None or not isinstance(problem, Exception):
        return False
    return "whence" in traceback.tb_frame.f_code.co_filename
