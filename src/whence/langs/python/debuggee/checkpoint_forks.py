"""In a re-run: sleeping copies of this process, from which the program is run on when asked for.

The process that whence starts goes to sleep before the program's first line. What it is asked for,
one of its children does: it runs the program up to the call that is wanted, and leaves copies of
itself behind on its way, each of which sleeps and is asked in the same way. So whoever arrives at a
call does the same, wherever it started from.

Orders come through a pipe that each sleeping process has for itself, and whence holds the other
end: when whence has ended, however it did, so do they. What they say goes through one socket.

Invariant: nothing here is the program's. No module is loaded, nothing is asked of the journal, and
no number of a descriptor is another than without.
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
    CannotCopy,
    OpenFile,
    capture,
    release,
    restore,
)
from whence.langs.python.debuggee.order import CheckpointChannel, CheckpointOrder, Task
from whence.langs.python.debuggee.typed_json import reader
from whence.langs.python.record import _recorder
from whence.langs.python.record.journal import _interposition
from whence.langs.python.record.journal.playing import JournalPlayer
from whence.langs.python.record.recording import Recording, moved_up
from whence.langs.python.record.repeatable import aside

Begin = Callable[[Task, str], None]
"""Starts on a task, in a folder."""

_LONGEST = 2**16
_LOOPS_HAVE_PROCESSES = sys.version_info < (3, 12)
_NEVER = -1.0
_WAITS = 4
"""By the clock a copy may take so many times as long as by its own time."""
# A program may put something else in their place.
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
        self._said = ""

    def wait(self) -> None:
        """Sleep before the program's first line; it is a child of this process that returns."""
        _recorder.settle()
        _interposition.aside(aside(self._sleep), self._orders, [], self._length())
        _recorder.checkpoints(self._copy, self._spacing)

    # --- asleep --------------------------------------------------------------------------------

    def _sleep(self, orders: int, files: Sequence[OpenFile], length: int) -> None:
        """Wait for orders, each of which a child goes on with.

        Whatever is in the way of that, the program does not go on: then there is no recording, and
        it is run from further up.
        """
        try:
            while True:
                order = self._order(orders, files)
                process = _recorder.fork_worker()
                if process == 0:
                    _close(orders)
                    self._go_on(order, files, length)
                    return
                self._say({"worker": process, "order": order.number})
        except BaseException:
            _exit(1)

    def _order(self, orders: int, files: Sequence[OpenFile]) -> CheckpointOrder:
        text = b""
        while not text.endswith(b"\n"):
            _recorder.sleep(orders)
            piece = _read(orders, _LONGEST)
            if not piece:  # nobody will ask any more
                release(files)
                _exit(0)
            text += piece
        return _read_order(_loads(text), "checkpoint order")

    def _go_on(self, order: CheckpointOrder, files: Sequence[OpenFile], length: int) -> None:
        """In the fork that carries out an order."""
        before, after = self._journal.moved(order.folder)
        restore(files, before, after)
        self._recording.moved(order.output, length)
        self._begin(order.task, order.folder)
        self._spacing, self._cost_ratio, self._made = order.spacing, order.cost_ratio, 0

    # --- on the way ----------------------------------------------------------------------------

    def _copy(self) -> float:
        """Leave a copy of this process behind; the seconds until the next one."""
        return float(_interposition.aside(aside(self._copied)))

    def _copied(self) -> float:
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
        except CannotCopy as why:
            return self._without(str(why))
        except OSError as problem:
            return self._without(str(problem))
        calls, length = self._calls(), self._length()
        loop = _running_loop()
        source, target = _pipe()
        made = _recorder.fork_sleeper()
        if made == 0:
            high = moved_up(source)
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
            return self._without("no process can be made")
        answer = self._answer()
        if answer < 0:
            return _NEVER
        taken = max(_time_used() - used, (_clock() - began) / _WAITS)
        return max(answer, self._cost_ratio * taken)

    def _announce(self, calls: int, orders: int) -> None:
        """In a copy: where it sleeps, and the way to ask it."""
        told = {"calls": calls, "process": _getpid()}
        if not _recorder.send_descriptor(self._control, _dumps(told).encode(), orders):
            _exit(1)

    def _answer(self) -> float:
        """How long it is until the next copy, which whence says when it has heard of this one."""
        try:
            answer = _read(self._control, _LONGEST)
        except OSError:  # it took too long
            return _NEVER
        if not answer:
            _exit(1)  # nobody is there to be told anything
        self._spacing = float(answer)
        return self._spacing

    def _without(self, why: str) -> float:
        """There is no copy now; perhaps later."""
        if why != self._said:
            self._said = why
            self._say({"without": why})
        return self._spacing

    def _say(self, told: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            _write(self._control, _dumps(told).encode())

    # --- where it stands -----------------------------------------------------------------------

    def _calls(self) -> int:
        state = _recorder.state()
        return state["calls"] + state["skipped"]

    def _length(self) -> int:
        """How long the file of the recording is, with all that was recorded."""
        _recorder.flush()
        return _fstat(self._recording.descriptor).st_size


def _running_loop() -> Any:
    """The event loop that runs here, where it would not be known to run in another process."""
    if _LOOPS_HAVE_PROCESSES and "_asyncio" in sys.modules:
        return sys.modules["_asyncio"]._get_running_loop()
    return None
