"""The backend in C: a thin class over the extension `_recorder`.

While the program runs, all is done in C (`native/`); this class translates options and errors. A
process has one recording at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple
from typing import Any

from whence.errors import WhenceError
from whence.langs.python.record import _recorder
from whence.langs.python.record.backend import CodeReader
from whence.langs.python.record.children import STARTUP
from whence.langs.python.record.options import (
    SHALLOW_BOUND,
    WHOLE_BOUND,
    Detail,
    RecordOptions,
)
from whence.langs.python.trace.trace_format import ending_error
from whence.secret_values import secrets_for

_NO_LIMIT = 2**64 - 1
_DETAILS = {Detail.IDS: 0, Detail.SHALLOW: 1, Detail.FULL: 2}


class NativeBackend:
    """Records into a file descriptor, on `sys.monitoring` (3.12+) or evaluating frames (3.11)."""

    def __init__(
        self,
        descriptor: int,
        options: RecordOptions,
        code_reader: CodeReader,
        summaries: Mapping[type, Callable[[Any], tuple[str, bool]]],
    ):
        self._descriptor = descriptor
        self._options = options
        self._code_reader = code_reader
        self._summaries = summaries
        self._started = False
        self._family = "", "", False, "", ""
        self._tail = "", -1, 0

    @property
    def name(self) -> str:
        """The name that the header and `whence doctor` give it."""
        return f"native ({_recorder.HOOK})"

    @property
    def calls(self) -> int:
        """How many calls have been recorded so far, without those that were only counted."""
        return _recorder.state()["calls"] if self._started else 0

    @property
    def problem(self) -> str | None:
        """Why it stopped recording before `stop` was called (the disk is full); None if not."""
        error = _recorder.state()["problem"] if self._started else 0
        return ending_error(error) if error else None

    def here(self) -> int:
        """The number of the call that runs in this thread."""
        return _recorder.here() if self._started else 0

    def family(self, starts: str, name: str, is_child: bool, announcement: str) -> None:
        """Note in a file which call starts which process, and announce the recording to Pythons."""
        self._family = starts, name, is_child, announcement, STARTUP

    def tail(self, path: str, descriptor: int, check: int) -> None:
        """Keep the page in this file while it is filled."""
        self._tail = path, descriptor, check

    def start(self) -> None:
        """Record from here on, in all threads."""
        options = self._options
        shallow = options.detail is not Detail.FULL
        secrets = secrets_for(options.keep_secrets, options.secret_names)
        _recorder.processes(*self._family)
        try:
            _recorder.start(
                descriptor=self._descriptor,
                detail=_DETAILS[options.detail],
                bound=astuple(SHALLOW_BOUND if shallow else options.bound),
                first_bound=astuple(SHALLOW_BOUND if shallow else options.first_bound),
                global_bound=astuple(options.global_bound),
                first_calls=options.first_calls,
                early_calls=options.early_calls,
                whole_bound=astuple(WHOLE_BOUND),
                whole_calls=options.whole_calls or (_NO_LIMIT, 0),
                max_calls=_limit(options.max_calls),
                max_bytes=_limit(options.max_bytes),
                max_depth=_limit(options.depth),
                window=options.window or (0, 0),
                describe=self._code_reader.describe,
                summaries=self._summaries,
                tail=self._tail,
                secrets=(secrets.salt or b"", secrets.raw_patterns),
            )
        except (RuntimeError, ValueError) as problem:
            raise WhenceError(f"the C recorder cannot record here: {problem}") from None
        self._started = True

    def on_hard_exit(self, function: Callable[[], object]) -> None:
        """Call this before the program ends by `os._exit`, if it has one thread."""
        _recorder.on_hard_exit(function)

    def go_on(self, window: tuple[int, int], whole_calls: tuple[int, int] | None) -> None:
        """In a fork with a file of its own: record only this window."""
        try:
            _recorder.go_on(window, whole_calls or (_NO_LIMIT, 0), self._tail)
        except RuntimeError as problem:
            raise WhenceError(f"the C recorder cannot go on here: {problem}") from None

    def stop(self) -> None:
        """Record no further, and write what is left in memory. Calls that are open stay open."""
        if self._started:
            _recorder.stop()

    def end(self, how: int, value: object) -> None:
        """After `stop`: the END record, as the last thing in the file."""
        if self._started:
            _recorder.end(how, value)

    def note(self, text: str) -> None:
        """A NOTE record."""
        if self._started:
            _recorder.note(text)


def _limit(limit: int | None) -> int:
    return _NO_LIMIT if limit is None else limit
