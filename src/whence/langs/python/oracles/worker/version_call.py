"""Makes one call with the code of one version, and digests all that can be reached afterwards.

Runs in a process that `forked_versions.py` forks where the call begins. If the program runs with
the code of the other version there, every function gets the code of this version first.

Invariant: a call that runs code of the other version is not digested but refused.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import (
    AsyncGeneratorType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
)

from whence.langs.python.objects.object_description import ObjectDescriber
from whence.langs.python.objects.object_digest import Digest, ObjectDigests
from whence.langs.python.objects.object_kinds import ProgramObject
from whence.langs.python.oracles.worker.call_start_monitor import CallStartMonitor
from whence.langs.python.oracles.worker.function_defaults import takes_same_arguments
from whence.langs.python.oracles.worker.process_sandbox import Sandbox
from whence.langs.python.oracles.worker.program_loader import parameters_of
from whence.langs.python.oracles.worker.program_names import CannotBuild
from whence.langs.python.oracles.worker.rebuilt_call import (
    disturb_memory,
    recorded,
    split_arguments,
)
from whence.langs.python.oracles.worker.swap_code import CodeSwap
from whence.langs.python.oracles.worker.worker_protocol import Digests, ForkRequest, Respond
from whence.langs.python.record import frame_values
from whence.langs.python.record.options import RecordOptions
from whence.langs.python.record.recording import Settings
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.trace import trace_format as f

PRINTED, ERRORS = "what it printed", "what it wrote to standard error"
VARIABLE = "the variable "
PROCESS_STATE = "the state of its process"
STREAM = "what is in sys."
_GIVEN = "what it was given as "
_STATE = (ERRORS, VARIABLE, PROCESS_STATE, STREAM)
"""How the names of digests begin that are about state beyond the inputs and the outcome."""
_FRAMES = {GeneratorType: "gi_frame", CoroutineType: "cr_frame", AsyncGeneratorType: "ag_frame"}
"""The attribute that holds the frame."""


@dataclass(frozen=True, slots=True)
class CallPlace:
    """Where a call begins: its frame, in a program that runs with the code of one version."""

    frame: FrameType
    request: ForkRequest
    swap: CodeSwap

    def function(self) -> FunctionType:
        """The function that is called."""
        function = frame_values.function(self.frame)
        if function is None:
            raise CannotBuild("which function it is a call of cannot be seen")
        return function

    def arguments(self) -> dict[str, ProgramObject]:
        """The arguments, by parameter."""
        names = parameters_of(self.frame.f_code)
        return {name: frame_values.variable(self.frame, name) for name in names}

    def new_digests(self) -> ObjectDigests:
        """Digests of objects as both versions see them."""
        return ObjectDigests(ObjectDescriber(self.request.modules, self.swap))

    def inputs(self) -> Digests:
        """Digests of what the call receives: arguments, and what both versions capture."""
        digests = self.new_digests()
        captured = self.swap.captured(self.function())
        values = [*self.arguments().values(), captured]
        return {
            f"input {number}": digests.digest(f"{number}", value)
            for number, value in enumerate(values)
        }


def has_same_outcome(one: Digests, other: Digests) -> bool:
    """Whether two calls with the same inputs had the same outcome, whatever the other state is."""
    names = {name for digests in (one, other) for name in digests if not name.startswith(_STATE)}
    # Loose digests: these processes have other addresses.
    return all(name in one and name in other and one[name][1] == other[name][1] for name in names)


class VersionCall:
    """The call as one version makes it, in this process."""

    def __init__(self, place: CallPlace, number: int, rules: UserCodeRules) -> None:
        """Odd numbers are the reference's; `number` also varies what depends on chance."""
        self._place = place
        self._frame = place.frame
        self._request = place.request
        self._is_reference = bool(number % 2)
        self._number = number
        self._rules = rules
        self._random_state = random.getstate()
        self._yielded: list[ProgramObject] = []

    def run(self, respond: Respond) -> Digests:
        """Make the call; digests of all that can be reached after it, by name."""
        random.setstate(self._random_state)  # a forked process has another one
        request, swap = self._request, self._place.swap
        function, arguments = self._place.function(), self._place.arguments()
        if self._is_reference is not request.runs_reference:
            swap.swap_everywhere(self._is_reference)
        function = swap.copy_function(function, self._is_reference)
        if not takes_same_arguments(function.__code__, self._frame.f_code):
            raise CannotBuild("it has other parameters there")
        positional, named = split_arguments(function.__code__, arguments)
        self._digests = self._place.new_digests()
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
            with output, self._code_of_version_only(swap, before):
                digests = self._outcome(function, positional, named)
            Sandbox.leave()
            self._check_ended(before)
            for name, file in ((PRINTED, printed), (ERRORS, errors)):
                file.seek(0)
                digests[name] = self._digest(name, file.read())
            for name, stream in (("stdout", sys.stdout), ("stderr", sys.stderr)):
                digests[f"{STREAM}{name}"] = self._digest(f"sys.{name}", _content_of(stream))
        captured = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        for name, value in (*arguments.items(), *captured.items()):
            digests[f"{_GIVEN}{name}"] = self._digest(name, value)
        process_state = [dict(os.environ), os.getcwd(), sys.path, random.getstate()]
        digests[PROCESS_STATE] = self._digest("process", process_state)
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
    def _code_of_version_only(self, swap: CodeSwap, before: list[ProgramObject]) -> Iterator[None]:
        """Check that no code runs that this version lacks.

        Except in generators that existed before: what they do belongs to calls of their own.
        """
        if not (self._is_reference or self._request.runs_reference):
            yield
            return
        frames = [_frame_of(generator) for generator in before]
        foreign: list[str] = []

        def call_starts(frame: FrameType) -> None:
            if not any(frame is other for other in frames):
                foreign.append(frame.f_code.co_qualname)

        version = self._is_reference
        monitor = CallStartMonitor(lambda code: swap.is_foreign(code, version), call_starts)
        monitor.start()
        try:
            yield
        finally:
            monitor.stop()
        if foreign or monitor.problem:
            lacking = "the reference" if version else "the program"
            reason = monitor.problem or f"it runs code that {lacking} lacks: {foreign[0]}"
            raise CannotBuild(reason)

    @contextlib.contextmanager
    def _recorded(self, function: FunctionType) -> Iterator[None]:
        """Record the first call of the own version, without its callees."""
        if self._number or self._request.runs_reference:
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
