"""Runs the program again up to a call, and has both versions go on from there.

The call begins with all that it really had: open files, iterators, closures, the state of every
module. There the process forks. One child goes on with the program's own code, another one first
has the reference's code put in the place of its own, in every function that there is. What each
leaves behind is told as digests (`reach.py`), and by a recording of the own call, which shows
whether it is the one that was recorded.

Invariant: nothing that the program does here reaches beyond its process.
"""

from __future__ import annotations

import contextlib
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
from types import CodeType, FrameType, FunctionType
from typing import Any

from whence.langs.python.oracles.worker import calling
from whence.langs.python.oracles.worker.contents import Contents
from whence.langs.python.oracles.worker.exchange import Exchange
from whence.langs.python.oracles.worker.making import CannotMake
from whence.langs.python.oracles.worker.reach import Reach
from whence.langs.python.record import frame_values
from whence.langs.python.record.choose import free_tool_id
from whence.langs.python.record.launch import Kind, Target, launch
from whence.langs.python.record.options import RecordOptions
from whence.langs.python.record.recording import Recording, Settings
from whence.langs.python.record.repeatable import make_repeatable
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.trace import format as f

OWN, REFERENCE = "own", "reference"
PRINTED, ERRORS = "what it printed", "what it wrote to standard error"
VARIABLE = "the variable "
_MOST_FILES = 1024
BEFORE = "before the program, run again, comes to this call"
"""Then it was stopped."""

_exchanges: list[Exchange] = []
"""That of the one program that this process is for, made before the first fork."""


def prepare(order: dict[str, Any]) -> None:
    """Do once what all calls need. Nothing of the program is run."""
    if not _exchanges:
        with contextlib.suppress(ImportError):
            importlib.import_module("whence.langs.python.record.native_backend")
        # What is wrong about the files is said when the first call is made.
        with contextlib.suppress(CannotMake):
            _exchanges.append(Exchange(order["files"]))


def perform(order: dict[str, Any], say: calling.Say, rules: UserCodeRules) -> None:
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

    calling.stay_inside(say_before)
    try:
        launch(Target(Kind(kind), name, tuple(arguments)), watch.start, lambda how, value: None)
    except SystemExit:
        why = watch.problem or "it went another way and did not come to this call"
        say({"said": "cannot", "why": f"when the program was run again, {why}"})


# --- waiting for the call ------------------------------------------------------------------------


class _Watch:
    """Notices that a call begins: the how manieth one of some code."""

    def __init__(self, wanted: list[Any], reached: Callable[[FrameType], None]) -> None:
        self._file, self._line, self._name, table, self._count = wanted
        self._table = bytes.fromhex(table)
        self._reached = reached
        self._seen = 0
        self._tool: int | None = None
        self.problem = ""

    def start(self) -> None:
        """Watch from here on."""
        if sys.version_info < (3, 12):
            threading.setprofile(self._profiled)
            sys.setprofile(self._profiled)
            return
        self._tool = free_tool_id()
        if self._tool is None:
            self.problem = "the tool ids of sys.monitoring were taken"
            return
        monitoring = sys.monitoring
        monitoring.use_tool_id(self._tool, "whence")
        monitoring.register_callback(self._tool, monitoring.events.PY_START, self._started)
        monitoring.set_events(self._tool, monitoring.events.PY_START)

    def stop(self) -> None:
        """Watch no further."""
        if sys.version_info < (3, 12):
            sys.setprofile(None)
            threading.setprofile(None)
        elif self._tool is not None:
            sys.monitoring.set_events(self._tool, 0)
            sys.monitoring.free_tool_id(self._tool)

    def _is_wanted(self, code: CodeType) -> bool:
        return bool(
            code.co_firstlineno == self._line
            and code.co_qualname == self._name
            and code.co_linetable == self._table
            and os.path.abspath(code.co_filename) == self._file
        )

    def _started(self, code: CodeType, offset: int) -> Any:
        if not self._is_wanted(code):
            return sys.monitoring.DISABLE  # type: ignore[attr-defined,unused-ignore]
        self._count_one(sys._getframe(1))
        return None

    def _profiled(self, frame: FrameType, event: str, argument: object) -> None:
        # A generator that goes on is told as a call, too; but it does not resume at 0.
        if (
            event == "call"
            and self._is_wanted(frame.f_code)
            and frame.f_code.co_code[frame.f_lasti + 1] == 0
        ):
            self._count_one(frame)

    def _count_one(self, frame: FrameType) -> None:
        self._seen += 1
        if self._seen == self._count:
            self.stop()
            # Inside a callback nothing is told; the call that is made is to be recorded.
            sys.call_tracing(self._reached, (frame,))


# --- both versions of the call -------------------------------------------------------------------


def _reached(
    frame: FrameType, order: dict[str, Any], say: calling.Say, rules: UserCodeRules
) -> None:
    """Have the call made by both versions, each in a process of its own; does not come back."""
    calling.Inside.over = True
    try:
        if threading.active_count() > 1:
            raise CannotMake("other threads are running")
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        sides: list[dict[str, Any]] = []
        places = _offsets()
        # Twice, since what is by chance must not be called different.
        for number, version in enumerate((OWN, REFERENCE, OWN, REFERENCE)):
            if number == 2 and sides[0] == sides[1]:
                break
            for descriptor, offset in places.items():
                os.lseek(descriptor, offset, os.SEEK_SET)
            sides.append(_in_child(_Side(frame, order, version, number, rules), order["limit"]))
        say({"said": "done", OWN: sides[::2], REFERENCE: sides[1::2]})
    except CannotMake as problem:
        say({"said": "cannot", "why": str(problem)})
    finally:
        os._exit(0)


def _offsets() -> dict[int, int]:
    """How far each open file was read: processes that are forked off share that."""
    found = {}
    for descriptor in range(_MOST_FILES):
        with contextlib.suppress(OSError):
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                found[descriptor] = os.lseek(descriptor, 0, os.SEEK_CUR)
    return found


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
        raise CannotMake(str(found["why"]))
    return found


def _answer(side: _Side, writing: int) -> None:
    def say(answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        while data:
            data = data[os.write(writing, data) :]

    try:
        answer: dict[str, Any] = side.made(say)
    except CannotMake as problem:
        answer = {"why": str(problem)}
    except BaseException as problem:
        answer = {"why": f"{type(problem).__name__}: {problem}"[:500]}
    say(answer)


def _all_of(reading: int, limit: float) -> bytes:
    found = bytearray()
    while True:
        ready, _, _ = select.select([reading], [], [], limit)
        if not ready:
            raise CannotMake(f"it did not end within {limit:g} seconds")
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

    def made(self, say: calling.Say) -> dict[str, Any]:
        """Make the call; digests of all that can be reached after it, by name."""
        random.setstate(self._chance)  # a process that is forked off has another one
        order = self._order
        exchange = _exchanges[0] if _exchanges else Exchange(order["files"])
        function = frame_values.function(self._frame)
        if function is None:
            raise CannotMake("which function it is a call of cannot be seen")
        arguments = _arguments(self._frame)
        if self._version == REFERENCE:
            exchange.everywhere()
        function = exchange.made(function, self._version == REFERENCE)
        positional, named = calling.passed(function.__code__, arguments)
        self._reach = Reach(Contents(order["modules"], exchange))
        calling.disturb_memory(self._number)
        with (
            tempfile.TemporaryFile() as printed,
            tempfile.TemporaryFile() as errors,
            self._recorded(function),
        ):
            calling.Inside.say = say
            calling.Inside.over = False
            with _output_to(printed.fileno(), errors.fileno()):
                outcome = self._outcome(function, positional, named)
            calling.Inside.over = True
            for name, file in ((PRINTED, printed), (ERRORS, errors)):
                file.seek(0)
                outcome[name] = self._digest(name, file.read())
        captured = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        for name, value in (*arguments.items(), *captured.items()):
            outcome[f"what it was given as {name}"] = self._digest(name, value)
        around = [dict(os.environ), os.getcwd(), sys.path, random.getstate()]
        outcome["the state of its process"] = self._digest("process", around)
        for module in order["modules"]:
            for name, value in _variables(module):
                outcome[f"{VARIABLE}{module}.{name}"] = self._digest(f"{module}.{name}", value)
        return outcome

    def _digest(self, name: str, value: Any) -> tuple[str, str, str]:
        return self._reach.digest(name, value)

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
                found[f"value {step + 1}"] = self._reach.alone(value)
            return found
        except BaseException as raised:
            return {**found, "what it raised": self._digest("raised", raised)}


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
