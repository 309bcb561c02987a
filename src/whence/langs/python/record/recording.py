"""A trace file while it is written: opened, given its header, filled by a backend, and closed.

Apart from the launcher, which runs programs and knows nothing of files, and from the backends,
which are handed a file that is ready.

Invariant: a file that is not a trace is never overwritten, and no number of a file that the program
opens is another than without us.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from whence.errors import WhenceError
from whence.langs.python.record.backend import Backend
from whence.langs.python.record.choose import chosen, make
from whence.langs.python.record.code_reader import PythonCodeReader
from whence.langs.python.record.options import Bound, RecordOptions
from whence.langs.python.record.summaries import SUMMARIES
from whence.langs.python.record.user_code import UserCode, UserCodeRules
from whence.langs.python.trace.format import MAGIC
from whence.langs.python.trace.writing import header_bytes

_HIGHEST_DESCRIPTOR = 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user decides about a recording."""

    output: str
    options: RecordOptions = RecordOptions()
    rules: UserCodeRules = UserCodeRules()
    backend: str | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """What came of a recording."""

    output: str
    calls: int
    size: int
    problem: str | None


class Recording:
    """One trace file and the backend that fills it."""

    def __init__(self, settings: Settings, command: Sequence[str]):
        self._output = os.path.abspath(settings.output)
        self._shown = settings.output
        candidate = chosen(settings.backend)
        reader = PythonCodeReader(UserCode(settings.rules))
        self._descriptor = _opened(settings.output)
        try:
            self._backend: Backend = make(
                candidate.name, self._descriptor, settings.options, reader, SUMMARIES
            )
            _write(self._descriptor, header_bytes(self._header(settings, command)))
        except OSError as problem:
            raise WhenceError(
                f"{settings.output}: cannot be written ({problem.strerror})"
            ) from None

    def _header(self, settings: Settings, command: Sequence[str]) -> dict[str, object]:
        options = settings.options
        return {
            "command": list(command),
            "cwd": os.getcwd(),
            "python": ".".join(map(str, sys.version_info[:3])),
            "backend": self._backend.name,
            "started": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
            "pid": os.getpid(),
            "options": {
                "detail": options.detail.value,
                "bound": _bound(options.bound),
                "first_bound": _bound(options.first_bound),
                "first_calls": options.first_calls,
                "max_calls": options.max_calls,
                "max_bytes": options.max_bytes,
                "depth": options.depth,
                "user_code": list(settings.rules.added),
                "only": list(settings.rules.only),
                "left_out": list(settings.rules.left_out),
            },
            "root": " ".join(command),
        }

    def start(self) -> None:
        """Record from here on."""
        self._backend.start()

    def finish(self, how: int, value: object) -> Written:
        """Record no further, and close the file."""
        self._backend.stop()
        self._backend.end(how, value)
        size = 0
        with contextlib.suppress(OSError):
            size = os.stat(self._output).st_size
        with contextlib.suppress(OSError):
            os.close(self._descriptor)
        return Written(self._shown, self._backend.calls, size, self._backend.problem)


def _bound(bound: Bound) -> list[int]:
    return [bound.depth, bound.width, bound.attributes, bound.text, bound.budget]


def _opened(output: str) -> int:
    """A descriptor of the emptied output file; `WhenceError` if it may or can not be written."""
    try:
        low = os.open(output, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise WhenceError(
            f"{output}: the trace cannot be written there ({reason}); name another place with -o"
        ) from None
    try:
        if stat.S_ISREG(os.fstat(low).st_mode):
            start = os.pread(low, len(MAGIC), 0)
            if start and start != MAGIC:
                raise WhenceError(
                    f"{output}: is no trace, so it is not overwritten; name another place with -o"
                )
            os.ftruncate(low, 0)
        return _moved_up(low)
    finally:
        os.close(low)


def _moved_up(low: int) -> int:
    """The same file under a high number: the low ones go to the program, as without us."""
    import resource

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most == resource.RLIM_INFINITY or most > _HIGHEST_DESCRIPTOR:
        most = _HIGHEST_DESCRIPTOR
    return fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, max(most - 8, 3))


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
