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
import inspect
import json
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
from typing import Any

from whence.langs.python.debuggee.launch import Kind, Target, launch
from whence.langs.python.objects.object_description import ObjectDescriber
from whence.langs.python.objects.object_digest import Digest, ObjectDigests
from whence.langs.python.oracles.worker import rebuilt_call
from whence.langs.python.oracles.worker.call_start_monitor import CallStartMonitor
from whence.langs.python.oracles.worker.program_names import CannotBuild
from whence.langs.python.oracles.worker.swap_code import CodeSwap
from whence.langs.python.record import frame_values
from whence.langs.python.record.options import RecordOptions
from whence.langs.python.record.recording import Recording, Settings
from whence.langs.python.record.repeatable import make_repeatable
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.trace import trace_format as f

OWN, REFERENCE = "own", "reference"
PRINTED, ERRORS = "what it printed", "what it wrote to standard error"
VARIABLE = "the variable "
_MOST_FILES = 1024
_MOST_BYTES = 16 * 2**20
"""Of a temporary file."""
BEFORE = "before the program, run again, comes to this call"
"""Then it was stopped."""

_FRAMES = {
    GeneratorType: "gi_frame",
    CoroutineType: "cr_frame",
    AsyncGeneratorType: "ag_frame",
}

_exchanges: list[CodeSwap] = []
"""That of the one program that this process is for, made before the first fork."""


def prepare(order: dict[str, Any]) -> None:
    """Do once what all calls need. Nothing of the program is run."""
    if not _exchanges:
        with contextlib.suppress(ImportError):
            importlib.import_module("whence.langs.python.record.native_backend")
        # What is wrong about the files is said when the first call is made.
        with contextlib.suppress(CannotBuild):
            _exchanges.append(CodeSwap(order["files"]))


def perform(order: dict[str, Any], say: rebuilt_call.Say, rules: UserCodeRules) -> None:
    """Say what becomes of the call in both versions, or why that cannot be known."""
    stdin = os.open(order["stdin"] or os.devnull, os.O_RDONLY)
    os.dup2(stdin, 0)
    os.close(stdin)
    kind, name, arguments = order["target"]
    if order["repeatable"]:
        make_repeatable(order["repeatable"])
    watch = _Watch(order["wanted"], lambda frame: _reached(frame, order, say, rules))

    def say_before(answer: dict[str, Any]) -> None:
        say({**answer, "why": f"{BEFORE}, {answer['why']}"})

    tempfile.gettempdir()  # which tries to write there, the first time
    rebuilt_call.stay_inside(say_before)
    try:
        target = Target(Kind(kind), name, tuple(arguments))
        launch(target, watch.beginnings.start, lambda how, value: None)
    except SystemExit:
        why = watch.beginnings.problem or "it went another way and did not come to this call"
        say({"said": "cannot", "why": f"when the program was run again, {why}"})


# --- waiting for the call ------------------------------------------------------------------------


class _Watch:
    """Notices that a call begins: the how manieth one of some code."""

    def __init__(self, wanted: list[Any], reached: Callable[[FrameType], None]) -> None:
        self._file, self._line, self._name, table, self._count = wanted
        self._table = bytes.fromhex(table)
        self._digestsed = reached
        self._seen = 0
        self.beginnings = CallStartMonitor(self._is_wanted, self._count_one)

    def _is_wanted(self, code: CodeType) -> bool:
        return bool(
            code.co_firstlineno == self._line
            and code.co_qualname == self._name
            and code.co_linetable == self._table
            and os.path.abspath(code.co_filename) == self._file
        )

    def _count_one(self, frame: FrameType) -> None:
        self._seen += 1
        if self._seen == self._count:
            self.beginnings.stop()
            # Inside a callback nothing is told; the call that is made is to be recorded.
            sys.call_tracing(self._digestsed, (frame,))


# --- both versions of the call -------------------------------------------------------------------


def _reached(
    frame: FrameType, order: dict[str, Any], say: rebuilt_call.Say, rules: UserCodeRules
) -> None:
    """Have the call made by both versions, each in a process of its own; does not come back."""
    rebuilt_call.Inside.over = True
    try:
        if threading.active_count() > 1:
            raise CannotBuild("other threads are running")
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        sides: list[dict[str, Any]] = []
        files = _open_files()
        # Twice, since what is by chance must not be called different.
        for number, version in enumerate((OWN, REFERENCE, OWN, REFERENCE)):
            if number == 2 and sides[0] == sides[1]:
                break
            _put_back(files)
            sides.append(_in_child(_Side(frame, order, version, number, rules), order["limit"]))
        say({"said": "done", OWN: sides[::2], REFERENCE: sides[1::2]})
    except CannotBuild as problem:
        say({"said": "cannot", "why": str(problem)})
    finally:
        os._exit(0)


def _open_files() -> dict[int, tuple[int, bytes | None]]:
    """How far each open file was read, which processes that are forked off share.

    So they do what is in a file that they may write to: one without a name. Of that all is kept.
    """
    found: dict[int, tuple[int, bytes | None]] = {}
    for descriptor in range(_MOST_FILES):
        with contextlib.suppress(OSError):
            file = os.fstat(descriptor)
            if not stat.S_ISREG(file.st_mode):
                continue
            content = None
            reads_only = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
            if file.st_nlink == 0 and not reads_only:
                if file.st_size > _MOST_BYTES:
                    raise CannotBuild("it holds a large temporary file")
                content = os.pread(descriptor, file.st_size, 0)
            found[descriptor] = os.lseek(descriptor, 0, os.SEEK_CUR), content
    return found


def _put_back(files: dict[int, tuple[int, bytes | None]]) -> None:
    """Have open files as they were."""
    for descriptor, (offset, content) in files.items():
        if content is not None:
            os.ftruncate(descriptor, len(content))
            os.pwrite(descriptor, content, 0)
        os.lseek(descriptor, offset, os.SEEK_SET)


def _in_child(side: _Side, limit: float) -> dict[str, Any]:
    """What a version leaves behind, in a process that is forked off for it."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            _answer(side, writing)
        finally:
            os._exit(0)
    os.close(writing)
    try:
        said = _all_of(reading, limit)
    finally:
        os.close(reading)
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    found: dict[str, Any] = json.loads(said) if said else {"why": "its process ended early"}
    if "why" in found:
        raise CannotBuild(str(found["why"]))
    return found


def _answer(side: _Side, writing: int) -> None:
    def say(answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        while data:
            data = data[os.write(writing, data) :]

    try:
        answer: dict[str, Any] = side.made(say)
    except CannotBuild as problem:
        answer = {"why": str(problem)}
    except BaseException as problem:
        answer = {"why": f"{type(problem).__name__}: {problem}"[:500]}
    say(answer)


def _all_of(reading: int, limit: float) -> bytes:
    found = bytearray()
    while True:
        ready, _, _ = select.select([reading], [], [], limit)
        if not ready:
            raise CannotBuild(f"it did not end within {limit:g} seconds")
        data = os.read(reading, 1 << 16)
        if not data:
            return bytes(found)
        found += data


class _Side:
    """One version's call, in this process."""

    def __init__(
        self,
        frame: FrameType,
        order: dict[str, Any],
        version: str,
        number: int,
        rules: UserCodeRules,
    ) -> None:
        self._frame = frame
        self._order = order
        self._version = version
        self._number = number
        self._rules = rules
        self._chance = random.getstate()
        self._yielded: list[Any] = []

    def made(self, say: rebuilt_call.Say) -> dict[str, Any]:
        """Make the call; digests of all that can be reached after it, by name."""
        random.setstate(self._chance)  # a process that is forked off has another one
        order = self._order
        exchange = _exchanges[0] if _exchanges else CodeSwap(order["files"])
        function = frame_values.function(self._frame)
        if function is None:
            raise CannotBuild("which function it is a call of cannot be seen")
        arguments = _arguments(self._frame)
        if self._version == REFERENCE:
            exchange.everywhere()
        function = exchange.made(function, self._version == REFERENCE)
        positional, named = rebuilt_call.passed(function.__code__, arguments)
        self._digests = ObjectDigests(ObjectDescriber(order["modules"], exchange))
        before = list(self._unfinished())
        rebuilt_call.disturb_memory(self._number)
        with (
            tempfile.TemporaryFile() as printed,
            tempfile.TemporaryFile() as errors,
            self._recorded(function),
        ):
            rebuilt_call.Inside.say = say
            rebuilt_call.Inside.over = False
            with (
                _output_to(printed.fileno(), errors.fileno()),
                self._by_reference(exchange, before),
            ):
                outcome = self._outcome(function, positional, named)
            rebuilt_call.Inside.over = True
            self._check_ended(before)
            for name, file in ((PRINTED, printed), (ERRORS, errors)):
                file.seek(0)
                outcome[name] = self._digest(name, file.read())
            for name, stream in (("sys.stdout", sys.stdout), ("sys.stderr", sys.stderr)):
                outcome[f"what is in {name}"] = self._digest(name, _content_of(stream))
        captured = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        for name, value in (*arguments.items(), *captured.items()):
            outcome[f"what it was given as {name}"] = self._digest(name, value)
        around = [dict(os.environ), os.getcwd(), sys.path, random.getstate()]
        outcome["the state of its process"] = self._digest("process", around)
        for module in order["modules"]:
            for name, value in _variables(module):
                outcome[f"{VARIABLE}{module}.{name}"] = self._digest(f"{module}.{name}", value)
        return outcome

    def _unfinished(self) -> Iterator[Any]:
        """The generators and coroutines of the program that may still go on."""
        for each in gc.get_objects():
            frame = _frame_of(each)
            if frame is not None and frame.f_globals.get("__name__") in self._order["modules"]:
                yield each

    def _check_ended(self, before: list[Any]) -> None:
        """What the call made and others run later is part of it, and nobody knows of it yet."""
        if threading.active_count() > 1:
            raise CannotBuild("it leaves a thread running")
        known = set(map(id, before))
        for _ in range(2):
            left = [each for each in self._unfinished() if id(each) not in known]
            if not left:
                return
            gc.collect()
        raise CannotBuild(f"what it made goes on after it: {left[0].__qualname__}")

    @contextlib.contextmanager
    def _by_reference(self, exchange: CodeSwap, before: list[Any]) -> Iterator[None]:
        """See to it that the reference's call is made by the reference's code alone.

        But for generators that it was given: what they do is done by calls of their own.
        """
        if self._version == OWN:
            yield
            return
        given = [_frame_of(each) for each in before]
        ran: list[str] = []

        def began(frame: FrameType) -> None:
            if not any(frame is each for each in given):
                ran.append(frame.f_code.co_qualname)

        beginnings = CallStartMonitor(exchange.is_own, began)
        beginnings.start()
        try:
            yield
        finally:
            beginnings.stop()
        if ran or beginnings.problem:
            why = beginnings.problem or f"it runs code that the reference has not: {ran[0]}"
            raise CannotBuild(why)

    def _digest(self, name: str, value: Any) -> Digest:
        return self._digests.digest(name, value)

    @contextlib.contextmanager
    def _recorded(self, function: FunctionType) -> Iterator[None]:
        """The first call of the own version is recorded, with nothing of what it calls."""
        if self._number:
            yield
            return
        options = RecordOptions(whole_calls=(1, 1), depth=1)
        settings = Settings(self._order["trace"], options, self._rules, keeps_tail=False)
        recording = Recording(settings, (function.__name__,))
        recording.start()
        try:
            yield
        finally:
            recording.finish(0, 0)

    def _outcome(
        self, function: FunctionType, positional: list[Any], named: dict[str, Any]
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        try:
            if self._order["flags"] & f.CLASS_BODY:
                space, code = self._frame.f_locals, function.__code__
                exec(code, function.__globals__, space, closure=function.__closure__)
                return {"its names": self._digest("names", dict(space))}
            made = function(*positional, **named)
            if not self._order["flags"] & f.GENERATOR:
                return {"its result": self._digest("result", made)}
            for step in range(self._order["steps"]):
                try:
                    value = next(made)
                except StopIteration as stopped:
                    return {**found, "its end": self._digest("end", stopped.value)}
                # As it is now: the next step may change it.
                found[f"value {step + 1}"] = self._digests.digest_alone(value)
                self._yielded.append(value)
            return found
        except BaseException as raised:
            _forget_frames(raised)
            return {**found, "what it raised": self._digest("raised", raised)}


def _frame_of(value: Any) -> FrameType | None:
    """The frame in which a generator or coroutine goes on; None if it does not, or is none."""
    name = _FRAMES.get(type(value))
    frame: FrameType | None = getattr(value, name) if name else None
    return frame


def _forget_frames(raised: BaseException | None) -> None:
    """Let go of what was under way when an exception was raised, as who catches it will do."""
    while raised is not None and raised.__traceback__ is not None:
        raised.__traceback__ = None
        _forget_frames(raised.__cause__)
        raised = raised.__context__


def _content_of(stream: Any) -> Any:
    """All that was written to a stream that stands in for a standard one, as under pytest."""
    with contextlib.suppress(Exception):
        stream.flush()
        with contextlib.suppress(OSError):
            descriptor = stream.fileno()
            if descriptor in (1, 2):
                return None  # it is what was printed
            return os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        return getattr(stream, "buffer", stream).getvalue()
    return stream


def _arguments(frame: FrameType) -> dict[str, Any]:
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return {name: frame_values.variable(frame, name) for name in code.co_varnames[:count]}


def _variables(module: str) -> Iterator[tuple[str, Any]]:
    held = sys.modules.get(module)
    for name, value in sorted(vars(held).items()) if held is not None else ():
        if not (name.startswith("__") and name.endswith("__")):
            yield name, value


@contextlib.contextmanager
def _output_to(output: int, errors: int) -> Iterator[None]:
    """Have what is printed go to files."""
    os.dup2(output, 1)
    os.dup2(errors, 2)
    try:
        yield
    finally:
        for each in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                each.flush()
