"""The checkpoints of a session, and runs that start from them.

A re-run up to a call leaves checkpoints on its way (`debuggee/checkpoint_forks.py`). A later run
starts from the nearest one before its target call. whence itself never runs the program: it keeps a
pipe to each process, and when the pipe closes the process ends.

Number and memory of the processes are bounded. When a bound is reached, every second checkpoint is
dropped, and from then on they are made half as often.

Invariant: while there is any, there is one that sleeps before the program's first line.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from whence.langs.python.debuggee.order import CheckpointChannel, CheckpointOrder, Task
from whence.langs.python.replay.rerun_process import (
    OUTPUT,
    CannotReplay,
    Conditions,
    RerunOutcome,
    calls_in,
    order_again,
    report_in,
    start_rerun,
    wait_for,
)
from whence.langs.python.replay.scratch_folder import ScratchFolder
from whence.typed_json import to_data

MOST = 32
"""The most sleeping processes."""
MOST_MEMORY = 256 * 2**20
"""The most bytes of all of them together; shared memory counts once."""
FIRST_SPACING = 0.1
"""Seconds of the program between two checkpoints, at first."""
COSTS = 20
"""The program runs at least this many times as long as making a checkpoint takes."""
_LONGEST = 2**16
_PATIENCE = 30.0
_GRACE = 3.0
_HIGH, _ROOM = 700, 24
_NO_CALL = 2**64 - 2


class CheckpointFailed(CannotReplay):
    """A checkpoint could not continue the program."""


def obstacle() -> str:
    """Why checkpoints are not possible here, in half a sentence; empty if they are."""
    if not sys.platform.startswith("linux"):
        return "they are made on Linux only"
    if not hasattr(os, "pidfd_open"):
        return "this Python cannot wait for them"
    return ""


@dataclass(frozen=True, slots=True)
class _Sleeper:
    """A sleeping process, and the pipe for its orders."""

    calls: int
    """The number of calls made before it."""
    process: int
    orders: int


class CheckpointPool:
    """The checkpoints of one recording's program."""

    def __init__(self, conditions: Conditions, call_limit: int | None):
        self.why_not = ""
        """Why the last attempt to make a checkpoint failed."""
        self._spacing = FIRST_SPACING
        self._count = 0
        self._folder = ScratchFolder()
        # Without symbolic links, as the process sees it.
        self._path = Path(os.path.realpath(self._folder.name))
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        source, target = os.pipe()
        patience = struct.pack("ll", int(_PATIENCE), 0)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, patience)
        descriptors = [_high(descriptor) for descriptor in (theirs.fileno(), source, 0, 1)]
        self.terminal = descriptors[2], descriptors[3]
        """The descriptors of our terminal in that process."""
        order = replace(
            order_again(conditions, self._path),
            task=Task(window=(_NO_CALL, 1)),
            checkpoints=CheckpointChannel(descriptors[0], descriptors[1], self.terminal),
            call_limit=call_limit,
        )
        try:
            self._process = start_rerun(conditions, order, descriptors)
        finally:
            for descriptor in (source, *descriptors):
                os.close(descriptor)
            theirs.close()
        self._first = _Sleeper(0, self._process.pid, target)
        self._others: list[_Sleeper] = []
        self._current = self._first
        self._close = weakref.finalize(
            self, _end_all, self._process, self._control, self._first, self._others, self._folder
        )

    def __len__(self) -> int:
        """The number of checkpoints, without the one before the program's first line."""
        return len(self._others)

    def close(self) -> None:
        """End them all."""
        self._close()

    def drop(self) -> None:
        """Drop all checkpoints but the first."""
        while self._others:
            os.close(self._others.pop().orders)

    def is_before(self, ordinal: int) -> bool:
        """Whether there is a checkpoint between the start and a call."""
        return self._nearest(ordinal) is not self._first

    @property
    def memory(self) -> int:
        """The bytes of all checkpoints together."""
        return sum(_memory(sleeper.process) for sleeper in self._others)

    @contextmanager
    def run(
        self,
        ordinal: int,
        task: Callable[[Path], Task],
        time_limit: float,
        progress: Callable[[int], object],
    ) -> Iterator[tuple[Path, RerunOutcome, Path]]:
        """Run from the nearest checkpoint to a call: its recording, its outcome, its folder."""
        self._count += 1
        with tempfile.TemporaryDirectory(dir=self._path, prefix=f"{self._count}-") as name:
            folder = Path(name)
            output = folder / OUTPUT
            order = CheckpointOrder(
                self._count, task(folder), name, str(output), self._spacing, COSTS
            )
            self._current = self._nearest(ordinal)
            worker = self._wake(self._current, order)
            in_time = worker is None or wait_for(
                worker, time_limit, lambda: progress(calls_in(folder))
            )
            if not output.exists() or not output.stat().st_size:
                raise CheckpointFailed("the program was continued, but wrote no recording")
            yield output, RerunOutcome(report_in(folder), in_time), folder

    def _nearest(self, ordinal: int) -> _Sleeper:
        before = [sleeper for sleeper in self._others if sleeper.calls < ordinal]
        return max(before, key=lambda sleeper: sleeper.calls, default=self._first)

    def _wake(self, sleeper: _Sleeper, order: CheckpointOrder) -> _Worker | None:
        """The process that carries out an order; None if it has ended already."""
        try:
            _write(sleeper.orders, json.dumps(to_data(order)).encode() + b"\n")
        except OSError:
            raise CheckpointFailed("the process of a checkpoint is gone") from None
        end = time.monotonic() + _PATIENCE
        while (left := end - time.monotonic()) > 0:
            if self._process.poll() is not None:
                raise CheckpointFailed("the program was started again, but ended before it ran")
            if not _readable([self._control], min(left, 1.0)):
                continue
            report = self._listen()
            number = report.get("worker", 0)
            if number > 0 and report["order"] == order.number:
                try:
                    return _Worker(os.pidfd_open(number), self._control, self._listen)
                except ProcessLookupError:
                    return None
            if number > 0:  # it belongs to an earlier order that timed out
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            elif number < 0:
                break
        raise CheckpointFailed("no process could be forked to continue the program")

    # --- messages --------------------------------------------------------------------------------

    def _listen(self) -> dict[str, Any]:
        message, descriptors, _, _ = socket.recv_fds(self._control, _LONGEST, 1)
        report = json.loads(message) if message else {}
        assert isinstance(report, dict)
        if "without" in report:
            self.why_not = str(report["without"])
        if "calls" in report and descriptors:
            os.set_inheritable(descriptors[0], False)
            self._others.append(_Sleeper(report["calls"], report["process"], descriptors[0]))
            self._keep_within_budget()
            with contextlib.suppress(OSError):
                self._control.send(repr(self._spacing).encode())
        return report

    def _keep_within_budget(self) -> None:
        while len(self._others) > MOST or self.memory > MOST_MEMORY:
            self._others.sort(key=lambda sleeper: sleeper.calls)
            # The process that now carries out an order ends with the checkpoint it came from.
            dropped = [sleeper for sleeper in self._others[::-2] if sleeper is not self._current]
            if not dropped:
                break
            for sleeper in dropped:
                self._others.remove(sleeper)
                os.close(sleeper.orders)
            self._spacing *= 2


class _Worker:
    """A forked process of the program, which is not our child."""

    def __init__(self, handle: int, control: socket.socket, listen: Callable[[], object]) -> None:
        self._handle = handle
        self._control = control
        self._listen = listen
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Whether it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float) -> int:
        """Wait until it ends, and handle its messages meanwhile."""
        end = time.monotonic() + timeout
        while self.returncode is None:
            left = max(0.0, end - time.monotonic())
            ready = _readable([self._handle, self._control], left)
            if self._control in ready:
                self._listen()
            elif self._handle in ready:
                os.close(self._handle)
                self.returncode = 0
            elif not left:
                raise subprocess.TimeoutExpired("whence record", timeout)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, number)


def _end_all(
    process: subprocess.Popen[bytes],
    control: socket.socket,
    first: _Sleeper,
    others: list[_Sleeper],
    folder: ScratchFolder,
) -> None:
    for sleeper in (*others, first):
        with contextlib.suppress(OSError):
            os.close(sleeper.orders)
    others.clear()
    control.close()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    folder.cleanup()


def _readable(sources: Sequence[Any], timeout: float) -> list[Any]:
    """The sources that can be read from; unlike `select`, any descriptor is fine."""
    with selectors.DefaultSelector() as selector:
        for source in sources:
            selector.register(source, selectors.EVENT_READ)
        return [key.fileobj for key, _ in selector.select(timeout)]


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _high(descriptor: int) -> int:
    """A copy of a descriptor under a number that programs rarely use."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    high = _HIGH if most == resource.RLIM_INFINITY else max(3, min(_HIGH, most - _ROOM))
    with contextlib.suppress(OSError):
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD, high)
    with Path(os.devnull).open("r+b") as nothing:  # we have no terminal
        return fcntl.fcntl(nothing.fileno(), fcntl.F_DUPFD, high)


def _memory(process: int) -> int:
    """The bytes of a process, with its share of the shared ones."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    sizes = [line.split()[1] for line in text.splitlines() if line.startswith("Pss:")]
    return int(sizes[0]) * 1024 if sizes else 0
