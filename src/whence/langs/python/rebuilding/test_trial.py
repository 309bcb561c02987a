"""Runs a test that whence wrote, to see that it fails now and for the reason that it is about.

The test executes the program's code, so it runs in a process of its own, which the kernel keeps
from changing files and sending messages. Where the kernel cannot, an audit hook ends the process at
the first attempt.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any, NamedTuple

from whence.langs.python.debuggee.interpreter_start import InterpreterStart, program_places
from whence.langs.python.launching.own_python import TEST_TRIAL, start_command
from whence.langs.python.oracles.worker.process_sandbox import Sandbox
from whence.langs.python.oracles.worker.worker_protocol import Response
from whence.langs.python.rebuilding.checked_source import CannotRebuild
from whence.langs.python.record.confinement import confine
from whence.langs.python.replay.scratch_folder import ScratchFolder
from whence.model.value import cut

SECONDS = 20.0
"""How long a test may take."""
_SHORTEST_ALARM = 2
"""Seconds after which a call that did not end is stopped here; a test leaves it more."""
_NEEDED = frozenset(("files", "sockets"))
_MOST_SHOWN = 80


@dataclass(frozen=True, slots=True)
class CalledCode:
    """The function that a test calls: the name of its file, its qualified name, its first line."""

    file: str
    qualname: str
    line: int


@dataclass(frozen=True, slots=True)
class Failure:
    """How a test fails: by its own assertion, or by an exception that leaves the tested function.

    `raised` is that exception's full name, empty if none is meant.
    """

    by_assertion: bool = True
    raised: str = ""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What came of a run of a test."""

    passed: bool = False
    problem: str = ""
    """Why there is nothing else to say: it did not end, or reached outside of its process."""
    raised: str = ""
    """The full name of the exception that ended the test."""
    text: str = ""
    by_assertion: bool = False
    """Whether a statement of the test itself failed."""
    in_tested: bool = False
    """Whether the exception left the tested function."""

    def why_unfit(self, meant: Failure) -> str:
        """Why the test is not worth having, in half a sentence; empty if it is."""
        if self.problem:
            return self.problem
        if self.passed:
            return "a test of it would pass although the fault is there"
        if meant.by_assertion and self.by_assertion:
            return ""
        if meant.raised and self.in_tested and self.raised == meant.raised:
            return ""
        name = self.raised.removeprefix("builtins.")
        text = f": {cut(' '.join(self.text.split()), _MOST_SHOWN)}" if self.text else ""
        return f"a test of it would fail for another reason ({name}{text})"


class TrialTooLong(CannotRebuild):
    """A test did not end in time."""


def try_tests(
    texts: Sequence[str], path: Path, tested: CalledCode, folder: Path, deadline: float
) -> list[TrialResult]:
    """Run some test files, all at once; `path` is where they are meant to be.

    `TrialTooLong` if they do not end by the deadline.
    """
    limit = min(SECONDS, deadline - time.monotonic())
    with ScratchFolder() as scratch:
        requests = [
            json.dumps({"text": text, "path": str(path), "scratch": scratch, **asdict(tested)})
            for text in texts
        ]
        with contextlib.ExitStack() as stack:
            processes = [stack.enter_context(_start(folder, scratch)) for _ in requests]
            try:
                return [
                    _result(process, request, limit)
                    for process, request in zip(processes, requests, strict=True)
                ]
            finally:
                for process in processes:
                    process.kill()


def _start(folder: Path, scratch: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        start_command(TEST_TRIAL), cwd=folder, env={**os.environ, "TMPDIR": scratch},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip


def _result(process: subprocess.Popen[bytes], request: str, limit: float) -> TrialResult:
    try:
        answer, _ = process.communicate(request.encode("utf-8", "surrogatepass"), max(0, limit))
        return TrialResult(**json.loads(answer))
    except subprocess.TimeoutExpired:
        raise TrialTooLong(f"a test of it did not end within {max(0, limit):.0f} s") from None
    except (ValueError, TypeError):
        return TrialResult(problem="a test of it would end the process")


# --- in the process of the test ------------------------------------------------------------------


def main(interpreter: InterpreterStart) -> None:
    """Run the test that standard input holds, and write what came of it to standard output."""
    request = json.loads(sys.stdin.buffer.read().decode("utf-8", "surrogatepass"))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    leave, alarm = os._exit, signal.alarm  # the program may replace them
    signal.alarm = lambda seconds: alarm(min(seconds, _SHORTEST_ALARM))

    def respond(result: TrialResult) -> None:
        answers.write(json.dumps(asdict(result)))
        answers.flush()

    def refused(response: Response) -> None:
        reason = getattr(response, "reason", "it reaches outside of its process")
        respond(TrialResult(problem=f"a test of it cannot be tried: {reason}"))

    path = Path(request["path"])
    tested = CalledCode(request["file"], request["qualname"], request["line"])
    sys.dont_write_bytecode = True
    sys.argv[:] = ["pytest"]
    sys.path = [str(path.parent), *interpreter.path]
    interpreter.give_way(program_places(sys.path))
    if not set(confine(request["scratch"])) >= _NEEDED:
        Sandbox.enter(refused, allowed=("ctypes.",))
    respond(_run(compile(request["text"], str(path), "exec", dont_inherit=True), path, tested))
    leave(0)


def _run(code: CodeType, path: Path, tested: CalledCode) -> TrialResult:
    namespace: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    try:
        exec(code, namespace)
        test = next(namespace[name] for name in list(namespace) if name.startswith("test_"))
        with contextlib.ExitStack() as undo:
            makers = {"monkeypatch": _MonkeyPatch, "capsys": _Capture}
            names = inspect.signature(test).parameters
            test(**{name: makers[name](undo) for name in names})
    except BaseException as problem:
        return _failed(problem, str(path), tested)
    return TrialResult(passed=True)


def _failed(problem: BaseException, file: str, tested: CalledCode) -> TrialResult:
    kind = type(problem)
    frames = list(_frames(problem.__traceback__))
    own = [number for number, (code, _) in enumerate(frames) if code.co_filename == file]
    # `pytest.raises` reports from within pytest that nothing was raised.
    below = {module.partition(".")[0] for _, module in frames[own[-1] + 1 :]} if own else {""}
    asserts = issubclass(kind, AssertionError) or kind.__name__ == "Failed"
    try:
        text = str(problem)
    except BaseException:
        text = ""
    return TrialResult(
        raised=f"{kind.__module__}.{kind.__qualname__}",
        text=text,
        by_assertion=asserts and bool(own) and below <= {"_pytest", "pytest"},
        in_tested=any(_is_tested(code, tested) for code, _ in frames),
    )


def _frames(traceback: TracebackType | None) -> Any:
    while traceback is not None:
        frame = traceback.tb_frame
        yield frame.f_code, str(frame.f_globals.get("__name__"))
        traceback = traceback.tb_next


def _is_tested(code: CodeType, tested: CalledCode) -> bool:
    file = Path(code.co_filename).name
    return (file, code.co_qualname, code.co_firstlineno) == (
        tested.file,
        tested.qualname,
        tested.line,
    )


class _MonkeyPatch:
    """What generated tests use of pytest's fixture of this name."""

    def __init__(self, undo: contextlib.ExitStack) -> None:
        self._undo = undo

    def setattr(self, target: object, name: str, value: object) -> None:
        self._undo.callback(setattr, target, name, getattr(target, name))
        setattr(target, name, value)

    def setenv(self, name: str, value: str) -> None:
        os.environ[name] = value

    def delenv(self, name: str, raising: bool = True) -> None:
        os.environ.pop(name, None)


class _Captured(NamedTuple):
    out: str
    err: str


class _Capture:
    """What generated tests use of pytest's fixture `capsys`."""

    def __init__(self, undo: contextlib.ExitStack) -> None:
        self._out, self._err = io.StringIO(), io.StringIO()
        undo.enter_context(contextlib.redirect_stdout(self._out))
        undo.enter_context(contextlib.redirect_stderr(self._err))

    def readouterr(self) -> _Captured:
        return _Captured(self._out.getvalue(), self._err.getvalue())
