"""Checkpoints in a re-run: sleeping forks of this process, from which later re-runs start.

The process that whence starts is the first checkpoint: it sleeps before the program's first line.
For each order it forks a worker, which runs the program up to the target call and on its way forks
more checkpoints. Every checkpoint takes orders in the same way.

Each checkpoint reads its orders from a pipe of its own, of which whence holds the other end: when
whence ends, in whatever way, so do they. All of them report through one socket.

Invariant: the program cannot notice any of this. No module is imported, the journal sees nothing,
and the program's descriptors keep their numbers.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from whence.langs.python.debuggee.checkpoint_fds import (
    CannotCheckpoint,
    OpenFile,
    capture,
    release,
    restore,
)
from whence.langs.python.debuggee.order import CheckpointChannel, CheckpointOrder, Task
from whence.langs.python.record import _recorder
from whence.langs.python.record.high_descriptors import to_high_number
from whence.langs.python.record.journal import _interposition
from whence.langs.python.record.journal.playing import JournalPlayer
from whence.langs.python.record.recording import Recording
from whence.langs.python.record.repeatable import aside
from whence.typed_json import reader

Begin = Callable[[Task, str], None]
"""Starts on a task, in a folder."""

_LONGEST = 2**16
_LOOPS_HAVE_PROCESSES = sys.version_info < (3, 12)
_NEVER = -1.0
_WAITS = 4
"""A checkpoint may take so many times its CPU time by the clock."""
# Bound here, because a program may replace them.
_read, _write, _close, _fstat, _exit = os.read, os.write, os.close, os.fstat, os._exit
_pipe, _getpid, _dumps, _loads = os.pipe, os.getpid, json.dumps, json.loads
_time_used, _clock = time.process_time, time.monotonic
_read_order = reader(CheckpointOrder)


class CheckpointForks:
    """The checkpoints that this process makes, or is."""

    def __init__(
        self,
        channel: CheckpointChannel,
        recording: Recording,
        journal: JournalPlayer,
        begin: Begin,
    ):
        self._control, self._orders = channel.control, channel.orders
        self._identity = _fstat(self._control).st_ino
        self._own = {channel.control, recording.descriptor, *channel.terminal}
        self._recording = recording
        self._journal = journal
        self._begin = begin
        self._folder = journal.folder
        self._spacing = _NEVER
        self._cost_ratio = 0.0
        self._made = 0
        self._reported = ""

    def wait(self) -> None:
        """Sleep before the program's first line. Only forked workers return from here."""
        _recorder.settle()
        _interposition.aside(aside(self._sleep), self._orders, [], self._length())
        _recorder.checkpoints(self._copy, self._spacing)

    # --- asleep --------------------------------------------------------------------------------

    def _sleep(self, orders: int, files: Sequence[OpenFile], length: int) -> None:
        """Fork a worker for each order; only workers return.

        After a failure the program is not continued. Then there is no recording, and whence starts
        from an earlier checkpoint.
        """
        try:
            while True:
                order = self._order(orders, files)
                process = _recorder.fork_worker()
                if process == 0:
                    _close(orders)
                    self._continue(order, files, length)
                    return
                self._report({"worker": process, "order": order.number})
        except BaseException:
            _exit(1)

    def _order(self, orders: int, files: Sequence[OpenFile]) -> CheckpointOrder:
        text = b""
        while not text.endswith(b"\n"):
            _recorder.sleep(orders)
            piece = _read(orders, _LONGEST)
            if not piece:  # whence has ended, or dropped this checkpoint
                release(files)
                _exit(0)
            text += piece
        return _read_order(_loads(text), "checkpoint order")

    def _continue(self, order: CheckpointOrder, files: Sequence[OpenFile], length: int) -> None:
        """In a worker: take over files and recording, and start on the task."""
        before, after = self._journal.moved(order.folder)
        restore(files, before, after)
        self._recording.moved(order.output, length)
        self._begin(order.task, order.folder)
        self._spacing, self._cost_ratio, self._made = order.spacing, order.cost_ratio, 0

    # --- on the way ----------------------------------------------------------------------------

    def _copy(self) -> float:
        """Make a checkpoint; returns the seconds until the next one."""
        return float(_interposition.aside(aside(self._fork)))

    def _fork(self) -> float:
        try:
            if _fstat(self._control).st_ino != self._identity:
                return _NEVER  # the program closed it
        except OSError:
            return _NEVER
        used, began = _time_used(), _clock()
        self._made += 1
        place = os.path.join(self._folder, f"held-{_getpid()}-{self._made}")
        try:
            files = capture(place, self._journal.sandbox, self._own)
        except CannotCheckpoint as why:
            return self._report_obstacle(str(why))
        except OSError as problem:
            return self._report_obstacle(str(problem))
        calls, length = self._calls(), self._length()
        loop = _running_loop()
        source, target = _pipe()
        made = _recorder.fork_sleeper()
        if made == 0:
            high = to_high_number(source)
            _close(source)
            self._announce(calls, target)
            _close(target)
            self._sleep(high, files, length)
            if loop is not None:
                sys.modules["_asyncio"]._set_running_loop(loop)
            return self._spacing
        _close(source)
        _close(target)
        self._recording.own_processes()
        if made < 0:
            return self._report_obstacle("no process can be made")
        answer = self._answer()
        if answer < 0:
            return _NEVER
        taken = max(_time_used() - used, (_clock() - began) / _WAITS)
        return max(answer, self._cost_ratio * taken)

    def _announce(self, calls: int, orders: int) -> None:
        """In a new checkpoint: report where it sleeps, and the pipe for its orders."""
        report = {"calls": calls, "process": _getpid()}
        if not _recorder.send_descriptor(self._control, _dumps(report).encode(), orders):
            _exit(1)

    def _answer(self) -> float:
        """The seconds until the next checkpoint, with which whence answers a report."""
        try:
            answer = _read(self._control, _LONGEST)
        except OSError:  # it took too long
            return _NEVER
        if not answer:
            _exit(1)  # whence has ended
        self._spacing = float(answer)
        return self._spacing

    def _report_obstacle(self, why: str) -> float:
        """Report why there is no checkpoint here; there may be one later."""
        if why != self._reported:
            self._reported = why
            self._report({"without": why})
        return self._spacing

    def _report(self, report: dict[str, object]) -> None:
        with contextlib.suppress(OSError):
            _write(self._control, _dumps(report).encode())

    # --- where it is -----------------------------------------------------------------------

    def _calls(self) -> int:
        state = _recorder.state()
        return state["calls"] + state["skipped"]

    def _length(self) -> int:
        """The size of the trace file, with all that was recorded."""
        _recorder.flush()
        return _fstat(self._recording.descriptor).st_size


def _running_loop() -> Any:
    """The running event loop, where asyncio would not know it in a fork."""
    if _LOOPS_HAVE_PROCESSES and "_asyncio" in sys.modules:
        return sys.modules["_asyncio"]._get_running_loop()
    return None
