"""A process with one version of the program, as the debugger holds it: asked for calls, limited.

Invariant: the debugger never waits longer than it said it would, and no process stays behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from whence.langs.python.record.user_code import UserCodeRules

LOADING = 30.0
"""Seconds that a version may take to be loaded."""
CALLING = 5.0
"""Seconds that one call may take."""
_HASH_SEED = "1"
_WORKER = Path(__file__).with_name("worker")


@dataclass(frozen=True, slots=True)
class ProgramVersion:
    """All that is needed to start a version of a program."""

    name: str
    """How it is called when something is said about it."""
    kind: str
    """`script`, `-m`, `-c`, or nothing if there is no program, only modules."""
    program: str
    arguments: tuple[str, ...]
    cwd: str
    folder: str
    """What stands first in the path."""
    paths: tuple[str, ...]
    """What stands next."""
    modules: tuple[str, ...]
    rules: UserCodeRules = UserCodeRules()
    stdin: str = ""
    """A file with what it is given to read."""

    def environment(self, seed: str = _HASH_SEED) -> dict[str, str]:
        """The environment of its processes."""
        own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        paths = [*self.paths, *filter(None, own), str(_WORKER.parents[4])]
        found = {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
        return {**found, "PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"}


class WorkerFailed(Exception):
    """A call could not be made there; the text says why."""


@dataclass
class Worker:
    """A version of the program, started when it is first needed."""

    version: ProgramVersion
    loading: float = LOADING
    guarded: bool = False
    """Whether it is ended if it would reach beyond its process while it is loaded, too."""
    seed: str | None = None
    """The seed of hashes, if it has to be a certain one."""
    problems: tuple[str, ...] = ()
    """What could not be loaded of it."""
    _process: subprocess.Popen[bytes] | None = None
    _orders: int = -1
    _answers: int = -1
    _kept: bytearray = field(default_factory=bytearray)
    _dead: str = ""

    def call(self, order: dict[str, Any], limit: float = CALLING) -> dict[str, Any]:
        """Make a call; `WorkerFailed` if it cannot be made, or takes too long."""
        self._start()
        self._send(order)
        process = 0
        said: dict[str, Any] = {"said": "cannot", "why": "the process of the call ended early"}
        deadline = time.monotonic() + limit
        late = False
        while True:
            try:
                answer = self._answer(max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                if late or not process:
                    self._die("it does not end although it was told to")
                late = True
                deadline = time.monotonic() + limit
                for kill in (os.killpg, os.kill):
                    with contextlib.suppress(OSError):
                        kill(process, signal.SIGKILL)
                continue
            if answer["said"] == "ended":
                break
            if answer["said"] == "started":
                process = int(answer["process"])
            else:
                said = answer
        if late:
            raise WorkerFailed(f"it did not end within {limit:g} seconds")
        if said["said"] != "done":
            raise WorkerFailed(str(said.get("why", "")))
        return said

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        for descriptor in (self._orders, self._answers):
            if descriptor >= 0:
                os.close(descriptor)
        self._orders = self._answers = -1
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
        orders_in, self._orders = os.pipe()
        self._answers, answers_out = os.pipe()
        rules = version.rules
        config = {
            "read": orders_in,
            "write": answers_out,
            "rules": [rules.added, rules.only, rules.left_out],
            "argv": [version.program if version.kind == "script" else version.kind or "-c",
                     *version.arguments],
            "folder": version.folder,
            "cwd": version.cwd,
            "program": [version.kind, version.program],
            "modules": version.modules,
            "guarded": self.guarded,
        }  # fmt: skip
        try:
            self._process = subprocess.Popen(
                [sys.executable, str(_WORKER), json.dumps(config)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=version.environment(self.seed or _HASH_SEED),
                pass_fds=(orders_in, answers_out),
                start_new_session=True,
            )
        finally:
            os.close(orders_in)
            os.close(answers_out)
        try:
            loaded = self._answer(self.loading)
        except TimeoutError:
            self._die(f"{version.name} was not loaded within {self.loading:g} seconds")
        else:
            if loaded["said"] == "cannot":
                self._die(f"while its module is loaded {loaded['why']}")
            self.problems = tuple(loaded["problems"])

    def _send(self, order: dict[str, Any]) -> None:
        data = (json.dumps(order) + "\n").encode("utf-8", "surrogatepass")
        try:
            with os.fdopen(os.dup(self._orders), "wb") as pipe:
                pipe.write(data)
        except OSError:
            self._die(f"the process with {self.version.name} has ended")

    def _answer(self, limit: float) -> dict[str, Any]:
        deadline = time.monotonic() + limit
        while b"\n" not in self._kept:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._answers], [], [], max(0.0, left))
            if not ready:
                raise TimeoutError
            data = os.read(self._answers, 65536)
            if not data:
                self._die(f"the process with {self.version.name} has ended")
            self._kept += data
        line, _, rest = bytes(self._kept).partition(b"\n")
        self._kept = bytearray(rest)
        try:
            found: dict[str, Any] = json.loads(line)
        except ValueError:
            self._die(f"the process with {self.version.name} gives no sensible answer")
        return found
