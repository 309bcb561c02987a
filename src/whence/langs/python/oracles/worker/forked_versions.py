"""Runs the program again up to a call, forks there, and makes the call with both versions' code.

The call starts with its real state: open files, iterators, closures, every module. One child keeps
the program's own code; the other first gets the reference's code in every function that exists.
Each child reports digests of all that can be reached afterwards (`objects/object_digest.py`). The
first child also records its call, so that the debugger can compare it with the recording.

Invariant: nothing that the program does here reaches beyond its process.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import os
import random
import select
import signal
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from types import (
    AsyncGeneratorType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
)

from whence.langs.python.debuggee.interpreter_start import InterpreterStart
from whence.langs.python.debuggee.run_as_python import Target, TargetKind, launch
from whence.langs.python.objects.object_description import ObjectDescriber
from whence.langs.python.objects.object_digest import Digest, ObjectDigests
from whence.langs.python.objects.object_kinds import ProgramObject
from whence.langs.python.oracles.worker.call_start_monitor import CallStartMonitor
from whence.langs.python.oracles.worker.process_sandbox import Sandbox
from whence.langs.python.oracles.worker.program_loader import parameters_of
from whence.langs.python.oracles.worker.program_names import CannotBuild
from whence.langs.python.oracles.worker.rebuilt_call import (
    disturb_memory,
    recorded,
    split_arguments,
)
from whence.langs.python.oracles.worker.swap_code import CodeSwap
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
from whence.langs.python.record import frame_values
from whence.langs.python.record.options import RecordOptions
from whence.langs.python.record.recording import Settings
from whence.langs.python.record.repeatable import make_repeatable
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.trace import trace_format as f

PRINTED, ERRORS = "what it printed", "what it wrote to standard error"
VARIABLE = "the variable "
_MAX_DESCRIPTORS = 1024
_MAX_TEMPORARY_BYTES = 16 * 2**20
BEFORE = "before the program, run again, comes to this call"
"""How the reason begins if the sandbox ended the re-run before it reached the call."""

_FRAMES = {GeneratorType: "gi_frame", CoroutineType: "cr_frame", AsyncGeneratorType: "ag_frame"}
"""The attribute that holds the frame."""
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
    watch = _TargetWatch(request, lambda frame: _fork_versions(frame, request, respond, rules))

    def respond_before(response: Response) -> None:
        if isinstance(response, CannotAnswer):
            response = CannotAnswer(f"{BEFORE}, {response.reason}")
        respond(response)

    tempfile.gettempdir()  # which tries to write there, the first time
    Sandbox.enter(respond_before)
    try:
        target = Target(TargetKind(request.kind), request.program, tuple(request.arguments))
        launch(target, interpreter, watch.monitor.start, lambda how, value: None)
    except SystemExit:
        reason = watch.monitor.problem or "it diverged and did not reach this call"
        respond(CannotAnswer(f"when the program was run again, {reason}"))


# --- waiting for the call ------------------------------------------------------------------------


class _TargetWatch:
    """Notices that the target call begins, by counting the calls of its code."""

    def __init__(self, request: ForkRequest, on_target: Callable[[FrameType], None]) -> None:
        self._request = request
        self._line_table = bytes.fromhex(request.line_table)
        self._on_target = on_target
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
            sys.call_tracing(self._on_target, (frame,))


# --- both versions of the call -------------------------------------------------------------------


def _fork_versions(
    frame: FrameType, request: ForkRequest, respond: Respond, rules: UserCodeRules
) -> None:
    """Make the call with each version in a process of its own; does not return."""
    Sandbox.leave()
    try:
        if threading.active_count() > 1:
            raise CannotBuild("other threads are running")
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        digests: list[Digests] = []
        files = _open_files()
        # Twice, since chance must not count as a difference.
        for number in range(4):
            if number == 2 and digests[0] == digests[1]:
                break
            _restore_files(files)
            version = _VersionCall(frame, request, number, rules)
            digests.append(_run_in_child(version, request.limit))
        respond(ForkDone(digests[::2], digests[1::2]))
    except CannotBuild as problem:
        respond(CannotAnswer(str(problem)))
    finally:
        os._exit(0)


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


def _run_in_child(version: _VersionCall, limit: float) -> Digests:
    """What a version leaves behind, in a process that is forked for it."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            _answer(version, writing)
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


def _answer(version: _VersionCall, writing: int) -> None:
    def respond(response: Response) -> None:
        data = encode_message(response).encode("utf-8", "surrogatepass")
        while data:
            data = data[os.write(writing, data) :]

    response: Response
    try:
        response = VersionDone(version.run(respond))
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


class _VersionCall:
    """The call as one version makes it, in this process. Odd numbers are the reference's."""

    def __init__(
        self, frame: FrameType, request: ForkRequest, number: int, rules: UserCodeRules
    ) -> None:
        self._frame = frame
        self._request = request
        self._is_reference = bool(number % 2)
        self._number = number
        self._rules = rules
        self._random_state = random.getstate()
        self._yielded: list[ProgramObject] = []

    def run(self, respond: Respond) -> Digests:
        """Make the call; digests of all that can be reached after it, by name."""
        random.setstate(self._random_state)  # a forked process has another one
        request = self._request
        swap = _swaps[0] if _swaps else CodeSwap(request.files)
        function = frame_values.function(self._frame)
        if function is None:
            raise CannotBuild("which function it is a call of cannot be seen")
        names = parameters_of(self._frame.f_code)
        arguments = {name: frame_values.variable(self._frame, name) for name in names}
        if self._is_reference:
            swap.swap_everywhere()
        function = swap.copy_function(function, self._is_reference)
        positional, named = split_arguments(function.__code__, arguments)
        self._digests = ObjectDigests(ObjectDescriber(request.modules, swap))
        self._digest = self._digests.digest
        before = list(self._unfinished())
        disturb_memory(self._number)
        with (
            tempfile.TemporaryFile() as printed,
            tempfile.TemporaryFile() as errors,
            self._recorded(function),
        ):
            Sandbox.respond = respond
            Sandbox.is_active = True
            output = _output_to(printed.fileno(), errors.fileno())
            with output, self._reference_code_only(swap, before):
                digests = self._outcome(function, positional, named)
            Sandbox.leave()
            self._check_ended(before)
            for name, file in ((PRINTED, printed), (ERRORS, errors)):
                file.seek(0)
                digests[name] = self._digest(name, file.read())
            for name, stream in (("sys.stdout", sys.stdout), ("sys.stderr", sys.stderr)):
                digests[f"what is in {name}"] = self._digest(name, _content_of(stream))
        captured = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        for name, value in (*arguments.items(), *captured.items()):
            digests[f"what it was given as {name}"] = self._digest(name, value)
        process_state = [dict(os.environ), os.getcwd(), sys.path, random.getstate()]
        digests["the state of its process"] = self._digest("process", process_state)
        for module in request.modules:
            for name, value in _variables(module):
                digests[f"{VARIABLE}{module}.{name}"] = self._digest(f"{module}.{name}", value)
        return digests

    def _unfinished(self) -> Iterator[ProgramObject]:
        """The generators and coroutines of the program that did not end yet."""
        for value in gc.get_objects():
            frame = _frame_of(value)
            if frame is not None and frame.f_globals.get("__name__") in self._request.modules:
                yield value

    def _check_ended(self, before: list[ProgramObject]) -> None:
        """Refuse a call that leaves a generator for others to resume: that is part of the call."""
        if threading.active_count() > 1:
            raise CannotBuild("it leaves a thread running")
        existing = set(map(id, before))
        for _ in range(2):
            left = [value for value in self._unfinished() if id(value) not in existing]
            if not left:
                return
            gc.collect()
        raise CannotBuild(f"a generator or coroutine of it is unfinished: {left[0].__qualname__}")

    @contextlib.contextmanager
    def _reference_code_only(self, swap: CodeSwap, before: list[ProgramObject]) -> Iterator[None]:
        """Check that the reference's call runs no code of the program that the reference lacks.

        Except in generators that existed before: what they do belongs to calls of their own.
        """
        if not self._is_reference:
            yield
            return
        frames = [_frame_of(generator) for generator in before]
        foreign: list[str] = []

        def call_starts(frame: FrameType) -> None:
            if not any(frame is other for other in frames):
                foreign.append(frame.f_code.co_qualname)

        monitor = CallStartMonitor(swap.is_own, call_starts)
        monitor.start()
        try:
            yield
        finally:
            monitor.stop()
        if foreign or monitor.problem:
            reason = monitor.problem or f"it runs code that the reference lacks: {foreign[0]}"
            raise CannotBuild(reason)

    @contextlib.contextmanager
    def _recorded(self, function: FunctionType) -> Iterator[None]:
        """Record the first call of the own version, without its callees."""
        if self._number:
            yield
            return
        options = RecordOptions(whole_calls=(1, 1), depth=1)
        settings = Settings(self._request.trace, options, self._rules, keeps_tail=False)
        with recorded(settings, function.__name__):
            yield

    def _outcome(
        self,
        function: FunctionType,
        positional: list[ProgramObject],
        named: dict[str, ProgramObject],
    ) -> dict[str, Digest]:
        digests: dict[str, Digest] = {}
        try:
            if self._request.flags & f.CLASS_BODY:
                space, code = self._frame.f_locals, function.__code__
                exec(code, function.__globals__, space, closure=function.__closure__)
                return {"its names": self._digest("names", dict(space))}
            result = function(*positional, **named)
            if not self._request.flags & f.GENERATOR:
                return {"its result": self._digest("result", result)}
            for step in range(self._request.steps):
                try:
                    value = next(result)
                except StopIteration as stopped:
                    return {**digests, "its end": self._digest("end", stopped.value)}
                # As it is now: the next step may change it.
                digests[f"value {step + 1}"] = self._digests.digest_alone(value)
                self._yielded.append(value)
            return digests
        except BaseException as raised:
            _forget_frames(raised)
            return {**digests, "what it raised": self._digest("raised", raised)}


def _frame_of(value: ProgramObject) -> FrameType | None:
    """The frame of an unfinished generator or coroutine; None for anything else."""
    name = _FRAMES.get(type(value))
    return getattr(value, name) if name else None


def _forget_frames(raised: BaseException | None) -> None:
    """Drop the tracebacks of an exception, as the code that catches it will do."""
    while raised is not None and raised.__traceback__ is not None:
        raised.__traceback__ = None
        _forget_frames(raised.__cause__)
        raised = raised.__context__


def _content_of(stream: ProgramObject) -> ProgramObject:
    """What was written to a stream that replaces a standard one, as under pytest."""
    with contextlib.suppress(Exception):
        stream.flush()
        with contextlib.suppress(OSError):
            descriptor = stream.fileno()
            if descriptor in (1, 2):
                return None  # it is what was printed
            return os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        buffer: ProgramObject = getattr(stream, "buffer", stream)
        return buffer.getvalue()
    return stream


def _variables(module: str) -> Iterator[tuple[str, ProgramObject]]:
    held = sys.modules.get(module)
    for name, value in sorted(vars(held).items()) if held is not None else ():
        if not (name.startswith("__") and name.endswith("__")):
            yield name, value


@contextlib.contextmanager
def _output_to(output: int, errors: int) -> Iterator[None]:
    """Send what is printed to files."""
    os.dup2(output, 1)
    os.dup2(errors, 2)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
