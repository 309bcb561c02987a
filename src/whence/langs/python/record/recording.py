"""Writes a trace file: opens it, writes its header, lets a backend fill it, and closes it.

Invariant: a file that is not a trace is never overwritten, and the descriptors that the program
opens have the same numbers as without whence.
"""

from __future__ import annotations

import _thread
import contextlib
import errno
import fcntl
import itertools
import os
import resource
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from types import FrameType
from typing import Any

from whence.errors import WhenceError
from whence.langs.python.record.backend import Backend, CodeReader
from whence.langs.python.record.backend_choice import choose_backend, make
from whence.langs.python.record.children import Children, ChildSettings, Family, new_family
from whence.langs.python.record.code_reader import PythonCodeReader
from whence.langs.python.record.high_descriptors import to_high_number
from whence.langs.python.record.one_test import OneTest
from whence.langs.python.record.options import WHOLE_BOUND, Detail, RecordOptions
from whence.langs.python.record.repeatable import (
    AsideReader,
    AsideSummaries,
    make_repeatable,
)
from whence.langs.python.record.summaries import SUMMARIES, Summary
from whence.langs.python.record.tail import new_tail
from whence.langs.python.record.user_code import UserCode, UserCodeRules
from whence.langs.python.recording_signature import sign
from whence.langs.python.trace.trace_format import HEADER, MAGIC, MAIN, STOPPED
from whence.langs.python.trace.trace_writer import header_bytes
from whence.secret_values import Secrets, secrets_for
from whence.user_folders import make_private, open_private_file

MAX_BYTES = 2 * 2**30
"""The default size limit of a trace: a program that runs for hours must not fill the disk."""
MAX_KEPT_CALLS = 100_000
"""The default number of calls of the functions of a filter that are kept."""
_GREENLETS = (
    "the program loaded greenlet: a call that switched to another greenlet counts as not ended, "
    "and what it called later as called by nobody"
)
PROCESSES = (
    "the program started other processes, and what they did was not recorded (Pythons are "
    "recorded, except with --journal or --no-children)"
)
EARLIER_THREADS = (
    "other threads were running user code when the recording began; what they had begun was not "
    "seen"
)
_LONG_COMMAND = 80
"""The most characters of a child's command in the name of its node."""
_PIECE = 2**20


# Bound here: the program may replace them.
_getpid, _stat, _fstat, _close, _unlink = os.getpid, os.stat, os.fstat, os.close, os.unlink
_isdir = os.path.isdir
_waitid = getattr(os, "waitid", None)  # which not every system has
_used = resource.getrusage


class OutputInUse(WhenceError):
    """Another process records into the same file."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What to record, how, and where to."""

    output: str
    options: RecordOptions = RecordOptions()
    rules: UserCodeRules = UserCodeRules()
    backend: str | None = None
    repeatable: str | None = None
    """Who chose the hash seed (`repeatable.PINNED` or `OWN`); None if the program is not to be run
    again."""
    children: Children = Children.NONE
    """Which processes that the program starts are recorded too."""
    keeps_tail: bool = True
    """Whether a killed process leaves all that it recorded."""
    key_folder: str = ""
    """Where the key is that signs the recording; empty: it is not signed."""
    may_rename: bool = False
    """Whether another file is taken if a process is recording into this one."""


def usual_settings(
    output: str,
    detail: Detail = Detail.FULL,
    max_calls: int | None = None,
    max_bytes: int | None = None,
    depth: int | None = None,
    *,
    rules: UserCodeRules = UserCodeRules(),
    backend: str | None = None,
    whole_values: bool = False,
    keep_secrets: bool = False,
    secret_names: tuple[str, ...] = (),
) -> Settings:
    """The settings of `whence record`, with its defaults."""
    if rules.kept and max_calls is None:
        max_calls = MAX_KEPT_CALLS
    options = RecordOptions(
        detail=detail,
        max_calls=max_calls,
        max_bytes=MAX_BYTES if max_bytes is None else max_bytes,
        depth=depth,
        keep_secrets=keep_secrets,
        secret_names=secret_names,
    )
    if whole_values:
        options = replace(
            options, bound=WHOLE_BOUND, first_bound=WHOLE_BOUND, global_bound=WHOLE_BOUND
        )
    return Settings(output, options, rules, backend)


@dataclass(frozen=True, slots=True)
class WrittenRecording:
    """The result of a recording."""

    output: str
    calls: int
    size: int
    problem: str | None


_under_way: list[Recording] = []
"""The recordings that were started in this process and not stopped."""


def is_recorded() -> bool:
    """Whether this process is being recorded: only one recording can observe it."""
    return bool(_under_way)


class Recording:
    """One trace file and the backend that fills it.

    With children, a process that is forked off goes on with a trace of its own.
    """

    def __init__(
        self,
        settings: Settings,
        command: Sequence[str],
        test: OneTest | None = None,
        block: str = "",
    ) -> None:
        """`block`: the name of a part of a running program that is recorded. There is no command
        then, since nothing could run that part alone again."""
        self._descriptor = -1
        self.instead_of = ""
        """The file that was in use, if another one had to be taken."""
        try:
            self._descriptor = _opened(settings.output)
        except OutputInUse:
            if not settings.may_rename:
                raise
            self.instead_of = settings.output
            self._descriptor, output = _opened_beside(settings.output)
            settings = replace(settings, output=output)
        self._settings = settings
        self._command = tuple(command)
        self._block = block
        self._test = test
        self._shown = settings.output
        self._output = os.path.abspath(settings.output)
        self._family: Family | None = None
        self._backend_name = choose_backend(settings.backend).name
        self._reader: CodeReader = _reader(settings)
        self._summaries: Mapping[type, Summary] = SUMMARIES
        self._repeatable: dict[str, Any] = {}
        if settings.repeatable is not None:
            self._repeatable = make_repeatable(settings.repeatable)
        if self._repeatable.get("identity"):
            self._reader = AsideReader(self._reader)
            self._summaries = AsideSummaries(SUMMARIES)
        self._run = os.urandom(8).hex()
        if settings.children is not Children.NONE:
            self._family = self._new_family()
        self._prepare()

    @classmethod
    def of_child(cls, family: Family, settings: ChildSettings, command: Sequence[str]) -> Recording:
        """The recording of a Python that a recorded process has started."""
        self = cls.__new__(cls)
        self._settings = Settings(
            "", settings.options, settings.rules, settings.backend, children=settings.children
        )
        self._command = tuple(command)
        self._backend_name = choose_backend(self._settings.backend).name
        self._reader = _reader(self._settings)
        self._summaries = SUMMARIES
        self._repeatable = {}
        self._run = family.run
        self._open_child(family, None)
        return self

    def _new_family(self) -> Family | None:
        try:
            return new_family(self._settings.output, self._run)
        except WhenceError:
            if self._settings.children is Children.ALL:
                raise
            return None  # nobody asked for it; a note says if it matters

    def _open_child(self, family: Family, call: int | None) -> None:
        self._family, low = family.new_child(call)
        try:
            self._output = self._shown = os.path.join(family.folder, self._family.name)
            self._descriptor = to_high_number(low)
        finally:
            os.close(low)
        self._prepare()

    def _prepare(self) -> None:
        """Make the backend, and write the header."""
        self._process = os.getpid()
        self._identity = file_identity(self._descriptor)
        self._check: int
        try:
            self._backend: Backend = make(
                self._backend_name,
                self._descriptor,
                self._settings.options,
                self._reader,
                self._summaries,
            )
            header = header_bytes(self._header())
            _write(self._descriptor, header)
            self._check = HEADER.unpack_from(header)[-1]
        except OSError as problem:
            raise WhenceError(f"{self._shown}: cannot be written ({problem.strerror})") from None

    def _keep_tail(self) -> None:
        """Give the backend a file for the tail, which survives if the process is killed."""
        if not self._settings.keeps_tail or not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            return
        made = new_tail(self._output)
        if made is not None:
            path, low = made
            try:
                self._backend.tail(path, to_high_number(low), self._check)
            finally:
                os.close(low)

    def _header(self) -> dict[str, object]:
        header: dict[str, object] = {
            "command": list(self._command),
            "cwd": _working_folder(),
            "python": ".".join(map(str, sys.version_info[:3])),
            "backend": self._backend.name,
            "started": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
            "pid": self._process,
            "options": {**_quote(self._settings), "threads": len(sys._current_frames())},
            "root": self._root(),
            "run": self._run,
            "clock": time.time_ns(),
        }
        if self._test is not None:
            header["test"] = asdict(self._test)
        if self._repeatable:
            header["repeatable"] = self._repeatable
        family = self._family
        if family is not None and family.is_child:
            how = "" if family.call is None else ", forked"
            command = " ".join((self._block or " ".join(self._command)).split())
            if len(command) > _LONG_COMMAND:
                command = command[:_LONG_COMMAND] + "…"
            header["root"] = f"process {self._process}: {command}{how}"
            header["parent"] = {
                "pid": os.getppid(),
                "file": family.parent,
                "call": family.call,
            }
        return header

    def _root(self) -> str:
        """What the node at the top is called."""
        if self._test is not None:
            return self._test.name
        return self._block or " ".join(self._command)

    @property
    def is_here(self) -> bool:
        """Whether this is the recorded process, and not one that it forked."""
        return _getpid() == self._process

    @property
    def output(self) -> str:
        """The trace file, as it was named."""
        return self._settings.output

    @property
    def descriptor(self) -> int:
        """The descriptor of the trace file."""
        return self._descriptor

    @property
    def secrets(self) -> Secrets:
        """What is a secret in this recording."""
        options = self._settings.options
        return secrets_for(options.keep_secrets, options.secret_names)

    @property
    def run(self) -> str:
        """An identifier of this recording that no other one has."""
        return self._run

    @property
    def backend(self) -> Backend:
        """The backend of this recording."""
        return self._backend

    @property
    def is_of_child(self) -> bool:
        """Whether this process was started by the program."""
        return self._family is not None and self._family.is_child

    def start(self) -> None:
        """Record from here on."""
        self.own_processes()
        self._has_earlier_threads = _run_user_code(UserCode(self._settings.rules))
        self._begin()
        _under_way.append(self)
        if self._family is not None:
            os.register_at_fork(after_in_child=self._forked)

    def _begin(self) -> None:
        family = self._family
        if family is not None:
            announcement = family.announcement(_child_settings(self._settings))
            self._backend.family(family.starts, family.name or MAIN, family.is_child, announcement)
        self._keep_tail()
        self._backend.start()
        if self._settings.key_folder and not self.is_of_child:
            self._backend.on_hard_exit(self._sign_at_hard_exit)

    def _forked(self) -> None:
        """In a forked child: go on in a file of its own, or without recording if that fails."""
        family = self._family
        if family is None or self._ended:
            return
        with contextlib.suppress(Exception):  # a failure must not reach the program
            call = self._backend.here()
            self._backend.stop()
            self._open_child(family, call)
            self._begin()

    def moved(self, output: str, length: int) -> None:
        """In a fork: go on in a copy of the file's first `length` bytes."""
        low = open_private_file(output, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND)
        for place in range(0, length, _PIECE):
            _write(low, os.pread(self._descriptor, min(_PIECE, length - place), place))
        os.dup2(low, self._descriptor, inheritable=False)
        os.close(low)
        self._identity = file_identity(self._descriptor)
        self._output = self._shown = output
        self._process = os.getpid()
        self.own_processes()
        self._keep_tail()

    def own_processes(self) -> None:
        """Count the child processes so far as whence's own."""
        self._processes = _processes()

    def stop(self) -> None:
        """Record no further; `finish` closes the file."""
        if not self._ended:
            self._ended = True
            self._backend.stop()
            if self in _under_way:
                _under_way.remove(self)

    def finish(self, how: int, value: object) -> WrittenRecording:
        """Record no further, and close the file."""
        self.stop()
        if "greenlet" in sys.modules:
            self._backend.note(_GREENLETS)
        if self._has_earlier_threads:
            self._backend.note(EARLIER_THREADS)
        if self._family is not None and not self.is_of_child:
            self._family.remove_unused()
        is_alone = self._family is None or not _isdir(self._family.folder)
        if is_alone and _processes() != self._processes:
            self._backend.note(PROCESSES)
        self._backend.end(how, value)
        size = 0
        with contextlib.suppress(OSError):
            size = _stat(self._output).st_size
        close_own(self._descriptor, self._identity)
        if self._settings.key_folder and not self.is_of_child:
            sign(self._output, self._settings.key_folder)
        return WrittenRecording(self._shown, self._backend.calls, size, self._backend.problem)

    def _sign_at_hard_exit(self) -> None:
        """The program is about to call `os._exit`, and the recording is complete."""
        if self.is_here and not self.is_of_child:
            self.before_hard_exit()
            sign(self._output, self._settings.key_folder)

    def cut_off(self, reason: str) -> int:
        """End it as the recording of a run that did not end; returns its number of calls."""
        return self.finish(STOPPED, reason).calls

    def discard(self) -> None:
        """End the recording and remove its file."""
        self.finish(0, None)
        with contextlib.suppress(OSError):
            _unlink(self._output)

    before_hard_exit: Callable[[], object] = staticmethod(lambda: None)
    """What has to end before a recording is signed that ends by `os._exit`."""
    _ended = False
    _block = ""
    _test: OneTest | None = None
    _has_earlier_threads = False
    _processes: tuple[object, bool] = (None, False)


def _reader(settings: Settings) -> PythonCodeReader:
    with_reads = settings.options.detail is Detail.FULL
    return PythonCodeReader(UserCode(settings.rules), with_reads=with_reads)


def _run_user_code(user_code: UserCode) -> bool:
    """Whether another thread is running user code."""
    for thread, frame in sys._current_frames().items():
        caller: FrameType | None = None if thread == _thread.get_ident() else frame
        while caller is not None:
            if user_code.owns(caller.f_code, caller.f_globals):
                return True
            caller = caller.f_back
    return False


def _processes() -> tuple[object, bool]:
    """A value that changes once this process has started another. It reaps no child."""
    waited_for = _used(resource.RUSAGE_CHILDREN)
    try:
        if _waitid is not None:
            _waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            return waited_for, True
    except OSError:  # there are none
        pass
    return waited_for, False


def _quote(settings: Settings) -> dict[str, Any]:
    """The settings as a header quotes them."""
    options, rules = settings.options, settings.rules
    return {
        "detail": options.detail.value,
        "bound": astuple(options.bound),
        "first_bound": astuple(options.first_bound),
        "first_calls": options.first_calls,
        "early_calls": options.early_calls,
        "whole_calls": options.whole_calls,
        "global_bound": astuple(options.global_bound),
        "max_calls": options.max_calls,
        "max_bytes": options.max_bytes,
        "depth": options.depth,
        "keep_secrets": options.keep_secrets,
        "secret_names": list(options.secret_names),
        "salt": secrets_for(options.keep_secrets).identifier,
        "user_code": list(rules.added),
        "only": list(rules.only),
        "left_out": list(rules.left_out),
        "filter": list(rules.kept),
        "backend": settings.backend,
        "children": settings.children.value,
    }


def _child_settings(settings: Settings) -> ChildSettings:
    # Calls are numbered in each process: those that the options name are calls of the program.
    options = replace(settings.options, whole_calls=None, window=None)
    return ChildSettings(options, settings.rules, settings.backend, settings.children)


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


def _opened_beside(output: str) -> tuple[int, str]:
    """A new file with a number in its name, and that name."""
    stem, suffix = os.path.splitext(output)
    for number in itertools.count(2):
        name = f"{stem}-{number}{suffix}"
        if not os.path.lexists(name):
            with contextlib.suppress(OutputInUse):
                return _opened(name, os.O_EXCL), name
    raise AssertionError("there is always another number")


def _opened(output: str, flags: int = 0) -> int:
    """A descriptor of the emptied output file; `WhenceError` if it must not be overwritten."""
    try:
        low = open_private_file(output, flags | os.O_RDWR | os.O_CREAT | os.O_APPEND)
    except FileExistsError as problem:
        raise OutputInUse(f"{output}: {problem.strerror}") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise WhenceError(
            f"{output}: the trace cannot be written there ({reason}); name another place with -o"
        ) from None
    high = -1
    try:
        high = to_high_number(low)
    finally:
        os.close(low)
    try:
        if stat.S_ISREG(os.fstat(high).st_mode):
            start = os.pread(high, len(MAGIC), 0)
            if start and start != MAGIC:
                raise WhenceError(
                    f"{output}: is no trace, so it is not overwritten; name another place with -o"
                )
            _lock(high, output)
            make_private(high)
            os.ftruncate(high, 0)
    except BaseException:
        os.close(high)
        raise
    return high


@contextlib.contextmanager
def held_output(output: str) -> Iterator[None]:
    """Keep other processes from starting to record into a file; `OutputInUse` if one does."""
    try:
        descriptor = os.open(output, os.O_RDWR | os.O_CLOEXEC)
    except (OSError, ValueError):  # there is none, or `_opened` will say what is wrong
        yield
        return
    try:
        _lock(descriptor, output)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, output: str) -> None:
    """Lock the output until the process ends; `OutputInUse` if another one has done so.

    The lock is one of the process (`fcntl`, not `flock`): a child that the program forks and leaves
    behind does not have it. On a file system without locks there is none.
    """
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        if problem.errno in (errno.EACCES, errno.EAGAIN):
            raise OutputInUse(
                f"{output}: another process records into it; name another place with -o"
            ) from None


def file_identity(descriptor: int) -> tuple[int, int]:
    """What tells an open file from all others."""
    status = _fstat(descriptor)
    return status.st_dev, status.st_ino


def close_own(descriptor: int, identity: tuple[int, int]) -> None:
    """Close a file of whence, unless the program has done so and got the number for another."""
    with contextlib.suppress(OSError):
        if file_identity(descriptor) == identity:
            _close(descriptor)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
