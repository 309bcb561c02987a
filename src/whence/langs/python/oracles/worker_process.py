"""The debugger's side of a worker: starts the process, sends requests, limits their time.

Invariant: the debugger never waits longer than it said it would, and no process stays behind.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, TypeVar

from whence.langs.python.launching.own_python import WORKER, start_command
from whence.langs.python.oracles.worker.worker_protocol import (
    CannotAnswer,
    Ended,
    Loaded,
    Message,
    Request,
    Response,
    Started,
    WorkerConfig,
    decode_message,
    encode_message,
)
from whence.langs.python.record.one_test import OneTest
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.recording_signature import ForeignRecording, require_own

LOADING = 30.0
"""Seconds that a version may take to be loaded."""
CALLING = 5.0
"""Seconds that one call may take."""
_HASH_SEED = "1"
ResponseT = TypeVar("ResponseT", bound=Response)


@dataclass(frozen=True, slots=True)
class ProgramVersion:
    """What is needed to start a version of a program."""

    name: str
    """Its name in messages."""
    kind: str
    """`script`, `-m`, `-c`, or nothing if there is no program, only modules."""
    program: str
    arguments: tuple[str, ...]
    cwd: str
    folder: str
    """The first entry of `sys.path`."""
    paths: tuple[str, ...]
    """The next entries of `sys.path`."""
    modules: tuple[str, ...]
    recording: Path
    """What names all of this; it has to be the user's own."""
    rules: UserCodeRules = UserCodeRules()
    stdin: str = ""
    """The file that is its standard input."""
    test: OneTest | None = None
    """The only part of a run of pytest that is recorded."""

    def environment(self, seed: str = _HASH_SEED) -> dict[str, str]:
        """The environment of its processes."""
        own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        paths = [*self.paths, *filter(None, own)]
        path = os.pathsep.join(dict.fromkeys(paths))
        more = {"PYTHONPATH": path, "PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"}
        return {**os.environ, **more}


class WorkerFailed(Exception):
    """A call could not be made there; the text says why."""


@dataclass
class Worker:
    """A version of the program, started when it is first needed."""

    version: ProgramVersion
    loading: float = LOADING
    writable: str = ""
    """The only folder that it can change while it is loaded; empty: loading is not confined."""
    seed: str | None = None
    """The seed of hashes, if it has to be a certain one."""
    problems: tuple[str, ...] = ()
    """Why some of its modules could not be loaded."""
    _process: subprocess.Popen[bytes] | None = None
    _requests: int = -1
    _responses: int = -1
    _received: bytearray = field(default_factory=bytearray)
    _dead: str = ""

    def ask(self, request: Request, expected: type[ResponseT], limit: float = CALLING) -> ResponseT:
        """The response to a request; `WorkerFailed` if there is none, or none in time."""
        self._start()
        self._send(request)
        process = 0
        answer: Response = CannotAnswer("the process of the call ended early")
        deadline = time.monotonic() + limit
        late = False
        while True:
            try:
                response = self._receive(max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                if late or not process:
                    self._die("it does not end although it was told to")
                late = True
                deadline = time.monotonic() + limit
                for kill in (os.killpg, os.kill):
                    with contextlib.suppress(OSError):
                        kill(process, signal.SIGKILL)
                continue
            if isinstance(response, Ended):
                break
            if isinstance(response, Started):
                process = response.process
            else:
                answer = response
        if late:
            raise WorkerFailed(f"it did not end within {limit:g} seconds")
        if not isinstance(answer, expected):
            raise WorkerFailed(answer.reason if isinstance(answer, CannotAnswer) else "")
        return answer

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        for descriptor in (self._requests, self._responses):
            if descriptor >= 0:
                os.close(descriptor)
        self._requests = self._responses = -1
        if process is not None:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _die(self, why: str) -> NoReturn:
        self._dead = why
        self.close()
        raise WorkerFailed(why)

    def _start(self) -> None:
        if self._dead:
            raise WorkerFailed(self._dead)
        if self._process is not None:
            return
        version = self.version
        try:
            require_own(version.recording)
        except ForeignRecording as problem:
            raise WorkerFailed(str(problem)) from None
        requests_in, self._requests = os.pipe()
        self._responses, responses_out = os.pipe()
        rules = version.rules
        first = version.program if version.kind == "script" else version.kind or "-c"
        config = WorkerConfig(
            read=requests_in,
            write=responses_out,
            rules=[rules.added, rules.only, rules.left_out],
            argv=[first, *version.arguments],
            folder=version.folder,
            cwd=version.cwd,
            kind=version.kind,
            program=version.program,
            modules=version.modules,
            writable=self.writable,
        )
        try:
            self._process = subprocess.Popen(
                start_command(WORKER, encode_message(config)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=version.environment(self.seed or _HASH_SEED),
                pass_fds=(requests_in, responses_out),
                start_new_session=True,
            )
        finally:
            os.close(requests_in)
            os.close(responses_out)
        try:
            loaded = self._receive(self.loading)
        except TimeoutError:
            self._die(f"{version.name} was not loaded within {self.loading:g} seconds")
        if isinstance(loaded, Loaded):
            self.problems = tuple(loaded.problems)
        else:
            reason = loaded.reason if isinstance(loaded, CannotAnswer) else "something is wrong"
            self._die(f"while its module is loaded {reason}")

    def _send(self, request: Request) -> None:
        data = (encode_message(request) + "\n").encode("utf-8", "surrogatepass")
        try:
            with os.fdopen(os.dup(self._requests), "wb") as pipe:
                pipe.write(data)
        except OSError:
            self._die(f"the process with {self.version.name} has ended")

    def _receive(self, limit: float) -> Response:
        deadline = time.monotonic() + limit
        while b"\n" not in self._received:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._responses], [], [], max(0.0, left))
            if not ready:
                raise TimeoutError
            data = os.read(self._responses, 65536)
            if not data:
                self._die(f"the process with {self.version.name} has ended")
            self._received += data
        line, _, rest = bytes(self._received).partition(b"\n")
        message: Message | None
        self._received = bytearray(rest)
        try:
            message = decode_message(line)
        except ValueError:
            message = None
        if not isinstance(message, Response):
            self._die(f"the process with {self.version.name} sends a malformed answer")
        return message
