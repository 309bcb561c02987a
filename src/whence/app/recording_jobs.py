"""Recordings that are made in the background: each is a `whence run`, `call` or `test` process.

A job is known by its handle as long as this process lives; the recordings stay. Nothing here reads
what was recorded.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

import whence
from whence.protocol import requests, views
from whence.protocol.problems import Code, Problem

KINDS = ("run", "call", "test")
MOST_OUTPUT = 8_000
LONGEST_WAIT = 20.0
MOST_RUNNING = 8
_GRACE = 5.0
_POLL = 0.05
_COMMAND = str(Path(whence.__file__).with_name("__main__.py"))
_CHUNK = 1 << 16


class RecordingJob:
    """One process that records, and the end of what it printed."""

    def __init__(self, handle: str, request: requests.Record) -> None:
        """Start the process."""
        self.handle, self.command = handle, request.command
        self._folder = tempfile.mkdtemp(prefix="whence-job-")
        self._list = Path(self._folder) / "recordings"
        self._began = time.monotonic()
        self._ended: float | None = None
        self._stopped = False
        self._output = b""
        words = [request.kind, "--record-only", f"--record-list={self._list}", *request.options]
        if request.time_limit is not None and request.kind != "test":
            words.append(f"--time-limit={request.time_limit:g}")
        separator = ["--"] if request.kind == "test" else []
        try:
            self._process = subprocess.Popen(
                [sys.executable, _COMMAND, *words, *separator, *request.command],
                cwd=request.folder or None,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as problem:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise Problem(Code.CANNOT, f"it cannot be started ({problem})", "") from problem
        assert self._process.stdout is not None
        self._reader = threading.Thread(
            target=self._read, args=(self._process.stdout,), daemon=True
        )
        self._reader.start()

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        if self._process.poll() is None:
            return True
        if self._ended is None:
            self._ended = time.monotonic()
        return False

    def wait(self, seconds: float) -> None:
        """Wait for the end, at most so many seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, min(seconds, LONGEST_WAIT)))
        if not self.is_running:
            self._reader.join(1.0)

    def stop(self) -> None:
        """Stop the program as Ctrl-C would, which keeps what was recorded; later kill it."""
        if not self.is_running:
            return
        self._stopped = True
        for number, grace in ((signal.SIGINT, _GRACE), (signal.SIGKILL, _GRACE)):
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(grace)
                return

    def close(self) -> None:
        """Stop it and remove what is not needed any more."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def view(self) -> views.JobView:
        """How far it is."""
        running = self.is_running
        recordings = [] if running else self._recordings()
        seconds = (self._ended or time.monotonic()) - self._began
        state = "running" if running else "done" if recordings else "failed"
        if self._stopped and not running:
            state = "stopped"
        output = self._output.decode(errors="replace")
        problem = "" if running or recordings else self._problem(output)
        return views.JobView(
            self.handle,
            state,
            round(seconds, 1),
            self.command,
            recordings[0] if recordings else "",
            tuple(recordings),
            self._process.returncode,
            output,
            problem,
        )

    def _problem(self, output: str) -> str:
        said = [line for line in output.splitlines() if line.startswith("whence: ")]
        return said[-1].removeprefix("whence: ") if said else "nothing was recorded"

    def _recordings(self) -> list[str]:
        try:
            lines = self._list.read_text(encoding="utf-8").splitlines()
            return [str(json.loads(line)["recording"]) for line in lines]
        except (OSError, ValueError, KeyError):
            return []

    def _read(self, stream: IO[bytes]) -> None:
        while chunk := os.read(stream.fileno(), _CHUNK):
            self._output = (self._output + chunk)[-MOST_OUTPUT:]
        stream.close()


class RecordingJobs:
    """The recordings that were begun in this process."""

    def __init__(self) -> None:
        self._jobs: dict[str, RecordingJob] = {}
        self._lock = threading.Lock()

    def start(self, request: requests.Record) -> views.JobView:
        """Begin a recording."""
        if request.kind not in KINDS:
            raise Problem(Code.BAD_PARAMETERS, f"`kind` is one of {', '.join(KINDS)}", "")
        if not request.command and request.kind != "test":
            raise Problem(Code.BAD_PARAMETERS, "`command` names no program", "")
        if request.folder and not Path(request.folder).is_dir():
            raise Problem(Code.BAD_PARAMETERS, f"{request.folder} is no folder", "")
        with self._lock:
            if sum(job.is_running for job in self._jobs.values()) >= MOST_RUNNING:
                raise Problem(
                    Code.CANNOT,
                    f"{MOST_RUNNING} recordings are being made already",
                    "stop ends one",
                )
            handle = f"job-{len(self._jobs) + 1}"
            job = self._jobs[handle] = RecordingJob(handle, request)
        return job.view()

    def look(self, request: requests.Job) -> views.JobView:
        """How far a recording is, after waiting for its end for a while."""
        job = self._job(request.job)
        job.wait(request.wait)
        return job.view()

    def stop(self, request: requests.Stop) -> views.JobView:
        """Stop a recording."""
        job = self._job(request.job)
        job.stop()
        job.wait(_POLL)
        return job.view()

    def all(self) -> views.JobsView:
        """All of them, the last one last."""
        with self._lock:
            jobs = list(self._jobs.values())
        return views.JobsView(tuple(job.view() for job in jobs))

    def close(self) -> None:
        """Stop all of them."""
        with self._lock:
            jobs = list(self._jobs.values())
        for job in jobs:
            job.close()

    def _job(self, handle: str) -> RecordingJob:
        with self._lock:
            job = self._jobs.get(handle)
        if job is None:
            raise Problem(Code.NO_JOB, f"there is no recording {handle} in the making")
        return job
