"""The backend in pure Python: right, not fast. For where there is no C compiler, and as a check.

`hooks` passes the events of the interpreter to `PythonBackend.guarded`, which lets `Activations`
handle them one at a time.

Invariant: no failure of whence reaches the program. It ends the recording with a note.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Any

from whence.langs.python.record.activations import Activations
from whence.langs.python.record.backend import CodeReader
from whence.langs.python.record.call_stream import CallStream, CodeEntry
from whence.langs.python.record.hidden_ctypes import ctypes
from whence.langs.python.record.options import Detail, RecordOptions
from whence.langs.python.record.printed_text import PrintedText
from whence.langs.python.record.summaries import Summary
from whence.langs.python.record.user_code import whence_folders

_ROOM = 500
"""How many frames the recorder may need to handle an event."""
_ROOM_FOR_HOOKS = 20
"""How many it may need until `guarded` makes room for more."""
_INTERRUPTED = (
    "the recorder was interrupted in the middle of an event ({}): calls from here on were not "
    "recorded"
)
_OWN_FILES = (*whence_folders(), os.path.dirname(ctypes.__file__))
_FAULTS = {"SIGKILL", "SIGSTOP", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGABRT"}
_SIGNALS = tuple(
    int(number) for number in signal.valid_signals() if getattr(number, "name", "") not in _FAULTS
)
_BLOCK, _SET = int(signal.SIG_BLOCK), int(signal.SIG_SETMASK)
# Bound here: the program may replace them.
_getframe, _ident, _current_frames = sys._getframe, threading.get_ident, sys._current_frames
_mask_signals = sys.modules["_signal"].pthread_sigmask  # without the enum of `signal`
_get_limit, _set_limit = sys.getrecursionlimit, sys.setrecursionlimit
# Unlike `sys.setrecursionlimit`, this one accepts a limit that is exceeded already.
_force_limit = ctypes.pythonapi.Py_SetRecursionLimit
# Without `argtypes`: checking the argument's type would need room below the limit, too.
_force_limit.restype = None


class PythonBackend:
    """Records by callbacks in Python."""

    def __init__(
        self,
        descriptor: int,
        options: RecordOptions,
        code_reader: CodeReader,
        summaries: Mapping[type, Summary],
    ) -> None:
        from whence.langs.python.record import hooks

        self._stream = CallStream(descriptor, options, summaries)
        self.activations = Activations(self._stream, code_reader)
        self._hooks = hooks.hooks_for(self)
        self._lock = threading.Lock()
        self._active = False
        self._main_thread = threading.main_thread().ident
        self._limit: int | None = None
        self._on_hard_exit: Callable[[], object] | None = None
        """The program's recursion limit, while a higher one is in force."""
        self._raised_limit = 0
        self._holder = 0
        """The thread that handles an event."""
        self._printed_text = PrintedText(self._printed)
        self._records_output = options.detail is Detail.FULL

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
        """Why it stopped before `stop` was called."""
        return self._stream.problem

    def here(self) -> int:
        """The number of the call that runs in this thread."""
        return self.activations.current_call().number

    def family(self, starts: str, name: str, is_child: bool, announcement: str) -> None:
        """Which call starts a process cannot be observed here, unless it forks."""
        self.activations.is_child = is_child

    def tail(self, path: str, descriptor: int, check: int) -> None:
        """Keep in this file what is in no page yet."""
        self._stream.keep_tail(path, descriptor, check)

    def start(self) -> None:
        """Record from here on, in all threads."""
        self._active = True
        os.register_at_fork(after_in_child=self._forked)
        self._hooks.install()
        if self._records_output:
            self._printed_text.watch()

    def stop(self) -> None:
        """Record no further."""
        if self._active:
            self._active = False
            if self._limit is not None:
                _force_limit(self._limit)
            replaced = self._hooks.remove()
            self._printed_text.unwatch()
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

    # --- called by the hooks ---

    def is_busy_here(self) -> bool:
        """Whether this thread handles an event, so that the code that runs is whence's own."""
        return self._holder == _ident()

    def entry(self, frame: FrameType) -> CodeEntry | None:
        """The entry of a frame's code; None if it is not user code."""
        known = self.activations.codes.get(id(frame.f_code))
        if known is None and not self.is_busy_here():
            self.guarded(self.activations.describe, frame)
            known = self.activations.codes.get(id(frame.f_code))
        return None if known is None else known[1]

    def check_depth(self, frame: FrameType) -> None:
        """Raise `RecursionError` where the program would without the room that was made for us."""
        if self._limit is not None:
            depth, caller = 0, frame.f_back
            while caller is not None:
                depth, caller = depth + 1, caller.f_back
            if depth >= self._limit:
                raise RecursionError("maximum recursion depth exceeded")

    def on_hard_exit(self, function: Callable[[], object]) -> None:
        """Call this before the program ends by `os._exit`, if it has one thread."""
        self._on_hard_exit = function

    def exits(self, status: object) -> None:
        """The program is about to call `os._exit`, which runs nothing at the end.

        With a status that is known, the recording ends here.
        """
        if type(status) is int and -(2**31) <= status < 2**31:
            self.guarded(self._exit, status)
        else:
            self.guarded(self._stream.flush)

    def _exit(self, status: int) -> None:
        self._stream.exit(status)
        if self._on_hard_exit is not None and len(_current_frames()) == 1:
            self._on_hard_exit()

    def guarded(self, handle: Callable[..., object], *arguments: Any) -> None:
        """Handle an event. An exception of whence never reaches the program.

        Signals are kept waiting: an exception that a handler raises comes after the event.
        """
        if not self._active:
            return
        is_main = self._main_thread == _ident()  # no other thread runs signal handlers
        mask = _mask_signals(_BLOCK, ()) if is_main else ()
        try:
            if is_main:
                _mask_signals(_BLOCK, _SIGNALS)
            self._make_room_for_hooks()
            with self._lock:
                self._holder = _ident()
                limit = _get_limit()
                _force_limit(limit + _ROOM)
                try:
                    handle(*arguments)
                    if self._stream.problem is not None:
                        self._give_up("")
                except BaseException as problem:
                    self._give_up(_INTERRUPTED.format(type(problem).__name__))
                    if not _is_own(problem):
                        raise
                finally:
                    _force_limit(limit if self._active else self._limit or limit)
                    self._holder = 0
        finally:
            if is_main:
                _mask_signals(_SET, mask)

    def _give_up(self, why: str) -> None:
        self._active = False
        self._hooks.remove()
        self._printed_text.unwatch()
        self._stream.abandon(why)

    def _make_room_for_hooks(self) -> None:
        """Near the recursion limit, raise it so that the next event reaches `guarded`.

        `check_depth` keeps the program within its own limit.
        """
        if self._limit is not None:
            if _get_limit() != self._raised_limit:
                self._limit = None  # the program has set another
            else:
                try:
                    _set_limit(max(self._limit - 2 * _ROOM_FOR_HOOKS, 1))
                    _set_limit(self._limit)
                    self._limit = None
                except RecursionError:
                    return  # the program is still too deep for that limit
        try:
            _descend(_ROOM_FOR_HOOKS)
        except RecursionError:
            self._limit = _get_limit()
            self._raised_limit = self._limit + 2 * _ROOM_FOR_HOOKS
            _force_limit(self._raised_limit)

    def _printed(self, descriptor: int, text: str) -> None:
        """A text was written to a standard stream, by the frame that called its `write`."""
        if not self.is_busy_here():  # else a summary or a signal handler did, in our own code
            self.guarded(self.activations.printed, _getframe(), descriptor, text)


def _descend(levels: int) -> None:
    if levels:
        _descend(levels - 1)


def _is_own(problem: BaseException) -> bool:
    """Whether it was raised in whence, and not by a signal handler of the program."""
    return isinstance(problem, Exception) and all(
        file.startswith(_OWN_FILES) for file in _files_of(problem)
    )


def _files_of(problem: BaseException) -> Iterable[str]:
    traceback = problem.__traceback__
    while traceback is not None:
        yield traceback.tb_frame.f_code.co_filename
        traceback = traceback.tb_next
