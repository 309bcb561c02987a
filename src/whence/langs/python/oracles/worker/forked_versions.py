"""Runs the program again up to a call, forks there, and makes the call with both versions' code.

The call starts with its real state: open files, iterators, closures, every module. One child keeps
the code that the program runs with; the other first gets the other version's code in every function
that exists (`version_call.py`). The first child also records its call, so that the debugger can
compare it with the recording.

If functions besides the one at fault differ, this is done a second time in a run of the reference:
where it makes the call with the same inputs, its state is as it should be. A difference there is no
consequence of wrong inputs or of wrong state.

Invariant: nothing that the program does here reaches beyond its process.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
import select
import signal
import stat
import sys
import tempfile
import threading
from collections.abc import Callable
from types import CodeType, FrameType

from whence.langs.python.debuggee.interpreter_start import InterpreterStart
from whence.langs.python.debuggee.run_as_python import (
    Target,
    TargetKind,
    compile_plainly,
    launch,
)
from whence.langs.python.oracles.worker.call_start_monitor import CallStartMonitor
from whence.langs.python.oracles.worker.process_sandbox import Sandbox
from whence.langs.python.oracles.worker.program_names import CannotBuild
from whence.langs.python.oracles.worker.swap_code import CodeSwap
from whence.langs.python.oracles.worker.version_call import (
    CallPlace,
    VersionCall,
    has_same_outcome,
)
from whence.langs.python.oracles.worker.worker_protocol import (
    CannotAnswer,
    Digests,
    ForkDone,
    ForkRequest,
    Respond,
    Response,
    VersionDone,
    decode_message,
    encode_message,
)
from whence.langs.python.record.repeatable import make_repeatable
from whence.langs.python.record.user_code import UserCodeRules

_MAX_DESCRIPTORS = 1024
_MAX_TEMPORARY_BYTES = 16 * 2**20
BEFORE = "before the program, run again, comes to this call"
"""How the reason begins if the sandbox ended the re-run before it reached the call."""
_MAX_STARTS = 1000
"""So many calls of the reference are looked at."""
_MAX_ATTEMPTS = 8
"""So many calls of the reference with the same inputs are made."""
_swaps: list[CodeSwap] = []
"""That of the one program that this process is for, made before the first fork."""


def prepare(request: ForkRequest) -> None:
    """Do once what all requests need. Nothing of the program runs."""
    if not _swaps:
        with contextlib.suppress(ImportError):
            importlib.import_module("whence.langs.python.record.native_backend")
        # A file that does not compile is reported with the first call.
        with contextlib.suppress(CannotBuild):
            _swaps.append(CodeSwap(request.files))


def run_to_call(
    request: ForkRequest, respond: Respond, rules: UserCodeRules, interpreter: InterpreterStart
) -> None:
    """Answer what both versions of the call leave behind, or why that cannot be known."""
    stdin = os.open(request.stdin or os.devnull, os.O_RDONLY)
    os.dup2(stdin, 0)
    os.close(stdin)
    if request.hash_seed_by:
        make_repeatable(request.hash_seed_by)
    swap = _swaps[0] if _swaps else CodeSwap(request.files)
    forks = _Forks(request, swap, respond, rules)
    watch = _ReferenceWatch(forks) if request.runs_reference else _TargetWatch(forks)

    def respond_before(response: Response) -> None:
        if isinstance(response, CannotAnswer):
            response = CannotAnswer(f"{watch.before}, {response.reason}")
        respond(response)

    def compile_version(source: bytes | str, file: str) -> CodeType:
        return swap.counterpart(compile_plainly(source, file), request.runs_reference)

    tempfile.gettempdir()  # which tries to write there, the first time
    Sandbox.enter(respond_before)
    if request.runs_reference:
        swap.swap_on_load(reference=True)
    try:
        target = Target(TargetKind(request.kind), request.program, tuple(request.arguments))
        start = watch.monitor.start
        launch(target, interpreter, start, lambda how, value: None, compile_version)
    except SystemExit:
        respond(CannotAnswer(watch.monitor.problem or watch.not_reached))


# --- waiting for the call ------------------------------------------------------------------------


class _TargetWatch:
    """Notices that the target call begins, by counting the calls of its code."""

    before = BEFORE
    not_reached = "when the program was run again, it diverged and did not reach this call"

    def __init__(self, forks: _Forks) -> None:
        self._forks = forks
        self._request = forks.request
        self._line_table = bytes.fromhex(forks.request.line_table)
        self._count = 0
        self.monitor = CallStartMonitor(self._is_code, self._call_starts)

    def _is_code(self, code: CodeType) -> bool:
        request = self._request
        return bool(
            code.co_firstlineno == request.first_line
            and code.co_qualname == request.qualname
            and code.co_linetable == self._line_table
            and os.path.abspath(code.co_filename) == request.file
        )

    def _call_starts(self, frame: FrameType) -> None:
        self._count += 1
        if self._count == self._request.count:
            self.monitor.stop()
            # Inside a callback nothing is monitored; the call that is made shall be recorded.
            sys.call_tracing(self._forks.answer, (frame,))


class _ReferenceWatch:
    """Notices that a run of the reference makes the call with the same inputs."""

    before = "before the reference comes to this call"

    def __init__(self, forks: _Forks) -> None:
        self._forks = forks
        request = forks.request
        line_table = bytes.fromhex(request.line_table)
        self._code = forks.swap.theirs_of(
            request.file, request.qualname, request.first_line, line_table
        )
        self._starts = 0
        self._attempts = 0
        self.monitor = CallStartMonitor(self._is_code, self._call_starts)

    @property
    def not_reached(self) -> str:
        """Why there is no answer if the reference comes to its end."""
        if self._attempts:
            return "the reference has another outcome for these inputs, which depends on its state"
        return "the reference never gives it these inputs"

    def _is_code(self, code: CodeType) -> bool:
        # Code that is the same in both versions may be in a file that does not differ.
        return code is self._code if self._code is not None else self._is_own_code(code)

    def _is_own_code(self, code: CodeType) -> bool:
        request = self._forks.request
        place = code.co_firstlineno, code.co_qualname, os.path.abspath(code.co_filename)
        return place == (request.first_line, request.qualname, request.file)

    def _call_starts(self, frame: FrameType) -> None:
        self._starts += 1
        if self._starts > _MAX_STARTS or self._attempts >= _MAX_ATTEMPTS:
            return
        sys.call_tracing(self._compare, (frame,))

    def _compare(self, frame: FrameType) -> None:
        Sandbox.leave()
        has_same_inputs = self._forks.has_wanted_inputs(frame)
        self._attempts += has_same_inputs
        if has_same_inputs:
            self._forks.answer_if_same_outcome(frame, self.monitor)
        Sandbox.is_active = True


# --- both versions of the call -------------------------------------------------------------------


class _Forks:
    """Makes a call with each version, each in a process of its own."""

    def __init__(
        self, request: ForkRequest, swap: CodeSwap, respond: Respond, rules: UserCodeRules
    ) -> None:
        self.request = request
        self.swap = swap
        self._respond = respond
        self._rules = rules

    def answer(self, frame: FrameType) -> None:
        """Answer what both versions leave behind; does not return."""
        Sandbox.leave()
        try:
            place = CallPlace(frame, self.request, self.swap)
            inputs = self._in_child(lambda _: place.inputs()) if self.request.wants_inputs else {}
            digests = self._both_versions(place)
            self._respond(ForkDone(digests[::2], digests[1::2], inputs))
        except CannotBuild as problem:
            self._respond(CannotAnswer(str(problem)))
        finally:
            os._exit(0)

    def has_wanted_inputs(self, frame: FrameType) -> bool:
        """Whether a call has the inputs that the request names."""
        place = CallPlace(frame, self.request, self.swap)
        try:
            inputs = self._in_child(lambda _: place.inputs())
        except CannotBuild:
            return False
        wanted = self.request.inputs
        return inputs.keys() == wanted.keys() and all(
            tuple(inputs[name]) == tuple(wanted[name]) for name in wanted
        )

    def answer_if_same_outcome(self, frame: FrameType, monitor: CallStartMonitor) -> None:
        """Answer and end if each version has the outcome here that the request names."""
        place = CallPlace(frame, self.request, self.swap)
        try:
            digests = self._both_versions(place, monitor.stop)
        except CannotBuild:
            return
        if not all(map(has_same_outcome, digests, self.request.outcomes)):
            return
        self._respond(ForkDone(digests[::2], digests[1::2], {}))
        os._exit(0)

    def _both_versions(
        self, place: CallPlace, prepare: Callable[[], None] = lambda: None
    ) -> list[Digests]:
        """What the versions leave behind, in turn: the program's own first."""
        if threading.active_count() > 1:
            raise CannotBuild("other threads are running")
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        calls = [VersionCall(place, number, self._rules) for number in range(4)]
        digests = self._in_children(calls[:2], prepare)
        if digests[0] != digests[1]:
            # Twice, since chance must not count as a difference.
            digests += self._in_children(calls[2:], prepare)
        return digests

    def _in_children(self, calls: list[VersionCall], prepare: Callable[[], None]) -> list[Digests]:
        """What calls leave behind, each in a process that finds open files as they are now."""
        files = _open_files()
        digests = []
        for call in calls:

            def run(respond: Respond, call: VersionCall = call) -> Digests:
                prepare()
                return call.run(respond)

            try:
                digests.append(self._in_child(run))
            finally:
                _restore_files(files)
        return digests

    def _in_child(self, task: Callable[[Respond], Digests]) -> Digests:
        return _run_in_child(task, self.request.limit)


def _open_files() -> dict[int, tuple[int, bytes | None]]:
    """The position of each open file, and the content of each writable file without a name.

    Forked processes share both.
    """
    files: dict[int, tuple[int, bytes | None]] = {}
    for descriptor in range(_MAX_DESCRIPTORS):
        with contextlib.suppress(OSError):
            file = os.fstat(descriptor)
            if not stat.S_ISREG(file.st_mode):
                continue
            content = None
            reads_only = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
            if file.st_nlink == 0 and not reads_only:
                if file.st_size > _MAX_TEMPORARY_BYTES:
                    raise CannotBuild("it holds a large temporary file")
                content = os.pread(descriptor, file.st_size, 0)
            files[descriptor] = os.lseek(descriptor, 0, os.SEEK_CUR), content
    return files


def _restore_files(files: dict[int, tuple[int, bytes | None]]) -> None:
    """Restore positions and contents."""
    for descriptor, (offset, content) in files.items():
        if content is not None:
            os.ftruncate(descriptor, len(content))
            os.pwrite(descriptor, content, 0)
        os.lseek(descriptor, offset, os.SEEK_SET)


def _run_in_child(task: Callable[[Respond], Digests], limit: float) -> Digests:
    """What a task returns, in a process that is forked for it."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            _answer(task, writing)
        finally:
            os._exit(0)
    os.close(writing)
    try:
        line = _read_all(reading, limit)
    finally:
        os.close(reading)
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    response = decode_message(line) if line else CannotAnswer("its process ended early")
    if isinstance(response, VersionDone):
        return response.digests
    raise CannotBuild(response.reason if isinstance(response, CannotAnswer) else "")


def _answer(task: Callable[[Respond], Digests], writing: int) -> None:
    def respond(response: Response) -> None:
        data = encode_message(response).encode("utf-8", "surrogatepass")
        while data:
            data = data[os.write(writing, data) :]

    response: Response
    try:
        response = VersionDone(task(respond))
    except CannotBuild as problem:
        response = CannotAnswer(str(problem))
    except BaseException as problem:
        response = CannotAnswer(f"{type(problem).__name__}: {problem}"[:500])
    respond(response)


def _read_all(reading: int, limit: float) -> bytes:
    received = bytearray()
    while True:
        ready, _, _ = select.select([reading], [], [], limit)
        if not ready:
            raise CannotBuild(f"it did not end within {limit:g} seconds")
        data = os.read(reading, 1 << 16)
        if not data:
            return bytes(received)
        received += data
