"""Carries out an order in this process, which becomes that of the program.

The only module that knows all that can be asked of a debuggee: it starts the recording, what a
re-run does besides, and the program, and ends them in the right order.

Invariant: a first run and its re-runs have imported the same modules when the program starts.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # without the enums of `signal`
import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from whence.langs.python.debuggee.executed_lines import LineWatch
from whence.langs.python.debuggee.interpreter_start import InterpreterStart
from whence.langs.python.debuggee.order import ClosingMessage, Order, StopSignal, Task, Zoom
from whence.langs.python.debuggee.run_as_python import compile_plainly, launch
from whence.langs.python.record import one_test
from whence.langs.python.record.children import leave
from whence.langs.python.record.journal.journal_choice import Journal, journal_of
from whence.langs.python.record.recording import Recording, WrittenRecording
from whence.langs.python.record.repeatable import aside, directly, uncounted
from whence.langs.python.record.user_code import UserCode, UserCodeRules
from whence.langs.python.trace.trace_format import STOPPED
from whence.printable_text import printable

if TYPE_CHECKING:
    from whence.langs.python.debuggee.checkpoint_forks import CheckpointForks
    from whence.langs.python.zoom.step_recorder import StepRecorder

_NO_LIMIT = 2**64 - 1
_STOPPED_STATUS = 75


def execute(order: Order, interpreter: InterpreterStart) -> NoReturn:
    """Run the program; the process ends as it does."""
    leave()
    if order.task.tags is not None:
        from whence.langs.python.debuggee.tagged_run import run_with_tags

        run_with_tags(order, order.task.tags, interpreter)
    Debuggee(order, interpreter).run()


class Debuggee:
    """This process: the program, its recording, and what else the order asks for."""

    def __init__(self, order: Order, interpreter: InterpreterStart):
        self._order = order
        self._interpreter = interpreter
        self._task = order.task
        self._on_stop: list[Callable[[str], object]] = []
        """What to do before the process is stopped, with the reason."""
        for stop in order.stop_signals:
            self._stop_at(stop)
        settings = order.settings
        options = replace(
            settings.options, whole_calls=order.task.whole_calls, window=order.task.window
        )
        settings = replace(settings, options=options)
        self._recording = recording = Recording(settings, order.target.words, order.test)
        if recording.instead_of:
            _say_where_it_goes(recording)
        self._on_stop.append(lambda reason: recording.is_here and recording.cut_off(reason))
        self._lines = _line_watch(order.task)
        playback = (order.playback.journal, order.playback.folder) if order.playback else None
        channel = -1 if order.checkpoints is None else order.checkpoints.control
        self._journal = journal_of(order.journal, playback, recording.output, recording, channel)
        zoom = order.task.zoom
        self._zoom = uncounted(_zoom_watch)(zoom, recording, self._journal) if zoom else None
        self._checkpoints = self._checkpoint_forks() if order.checkpoints else None

    def run(self) -> NoReturn:
        """Run the program to its end."""
        compiled = compile_plainly if self._zoom is None else self._zoom.compiled
        launch(self._order.target, self._interpreter, self._start, self._finish, compiled)

    def _start(self) -> None:
        """Right before the program's first line."""
        if self._order.test is None:
            self._begin()
            return
        _load_what_begins()
        one_test.awaited[:] = [
            one_test.AwaitedTest(self._order.test, self._begin, self._recording.stop)
        ]

    def _begin(self) -> None:
        """Start the recording, and what the task asks for besides."""
        order, journal = self._order, self._journal
        self._recording.start()
        if self._task.window:
            self._await_target_call(order.playback.folder if order.playback else "")
        elif self._lines is not None:
            self._lines.start()
        if self._task.freezing:
            aside(_start_freezing)(self._task.freezing, order.settings.rules)
        if journal is not None:
            journal.start()
            self._recording.before_hard_exit = journal.finish
            # Before the recording ends: the journal must not note what that takes.
            self._on_stop.insert(0, lambda _: journal.finish())
        if order.call_limit is not None or order.depth_limit is not None:
            self._set_limits()
        if self._checkpoints is not None:
            self._checkpoints.wait()

    def _finish(self, how: int, value: object) -> None:
        """Right after the program's end."""
        with _without_interrupts():
            self._close(how, value)

    def _close(self, how: int, value: object) -> None:
        recording = self._recording
        if self._zoom is not None and recording.is_here:
            self._zoom.program_ended()
        if self._journal is not None:
            self._journal.finish()
            if self._journal.problem and recording.is_here:
                recording.backend.note(
                    f"the journal stopped before the end: {self._journal.problem}"
                )
        if self._lines is not None and recording.is_here:
            self._lines.finish()
        if recording.is_here:  # and not a child that was forked off
            written = recording.finish(how, value)
            if not recording.is_of_child:
                journal = self._journal.problem if self._journal is not None else ""
                _say_what_was_written(written, journal, self._order.closing_message)
            if self._order.playback:
                os._exit(0)  # the interpreter's shutdown must not reach the outside world

    # --- the target call -----------------------------------------------------------------------

    def _await_target_call(self, folder: str) -> None:
        from whence.langs.python.debuggee.on_target_call import await_call

        def over() -> None:
            self._finish(STOPPED, "it was wanted up to here")

        await_call(self._task, folder, over, self._lines)

    def _checkpoint_forks(self) -> CheckpointForks:
        """The program starts once the first task is known; each fork has a task of its own."""
        from whence.langs.python.debuggee.checkpoint_forks import CheckpointForks
        from whence.langs.python.record.journal.playing import JournalPlayer
        from whence.langs.python.record.native_backend import NativeBackend

        backend, channel = self._recording.backend, self._order.checkpoints
        assert isinstance(backend, NativeBackend)
        assert isinstance(self._journal, JournalPlayer)
        assert channel is not None

        def begin(task: Task, folder: str) -> None:
            assert task.window is not None
            backend.go_on(task.window, task.whole_calls)
            self._task, self._lines = task, _line_watch(task)
            self._await_target_call(folder)

        return CheckpointForks(channel, self._recording, self._journal, begin)

    # --- stopping ------------------------------------------------------------------------------

    def _stop_at(self, stop: StopSignal) -> None:
        """End at once when a signal comes, as a run that did not end: nobody else can interfere."""
        import signal

        def end(*_: object) -> NoReturn:
            for prepare in self._on_stop:
                prepare(stop.reason)
            _leave(128 + stop.number)

        signal.signal(stop.number, end)

    def _set_limits(self) -> None:
        """End as a run that did not end once there are too many calls, or too deep ones."""
        from whence.langs.python.record import _recorder

        limits = {"calls": self._order.call_limit, "depth": self._order.depth_limit}
        reasons = {
            "calls": "it was stopped after {:,} calls",
            "depth": "it was stopped where calls were nested {:,} deep",
        }
        calls, depth = (_NO_LIMIT if limit is None else limit for limit in limits.values())

        def stop(exceeded: str) -> NoReturn:
            self._finish(STOPPED, reasons[exceeded].format(limits[exceeded]))
            _leave(_STOPPED_STATUS)

        _recorder.limits(calls, depth, stop)


def _leave(status: int) -> NoReturn:
    for stream in (sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(Exception):
            if type(stream) is io.TextIOWrapper:
                stream.flush()
    os._exit(status)


def _load_what_begins() -> None:
    """Import what `Debuggee._begin` needs now: later the program's own modules are in the way."""
    from whence.langs.python.debuggee import on_target_call  # noqa: F401
    from whence.langs.python.freezing import effect_hooks  # noqa: F401


def _line_watch(task: Task) -> LineWatch | None:
    return None if task.lines is None else LineWatch(task.lines.call, task.lines.output)


def _start_freezing(order_file: str, rules: UserCodeRules) -> None:
    """Note what some calls do, or freeze them.

    The modules that this loads are taken out of `sys.modules` again: the program imports its own.
    """
    loaded = set(sys.modules)
    from whence.langs.python.freezing import effect_hooks

    effect_hooks.start(order_file, UserCode(rules))
    for name in set(sys.modules) - loaded:
        if name.partition(".")[0] != "whence":
            del sys.modules[name]


def _zoom_watch(zoom: Zoom, recording: Recording, journal: Journal | None) -> StepRecorder:
    """Follows the statements of one call; the recording ends with it."""
    from whence.langs.python.zoom.step_recorder import ZoomRequest, start

    backend, unnoticed = recording.backend, directly
    if journal is not None:
        from whence.langs.python.record.journal import playing

        unnoticed = playing.aside

    def finish() -> None:
        if journal is not None:
            journal.finish()
        recording.finish(STOPPED, "the steps that were asked for are recorded")

    request = ZoomRequest.from_text(zoom.request)
    return start(request, zoom.output, backend.here, lambda: backend.calls, finish, unnoticed)


def _say_where_it_goes(recording: Recording) -> None:
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(
            f"whence: another process records into {printable(recording.instead_of)}; "
            f"this run goes to {printable(recording.output)}\n"
        )
        sys.stderr.flush()


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ctrl-C in here is dropped: the program has ended, and what was recorded must be kept."""
    try:
        # No SIG_IGN: Python complains about an interrupt that came just before it was set.
        handler = _signal.signal(_signal.SIGINT, lambda *_: None)
    except ValueError:  # only the main thread may do that
        handler = None
    try:
        yield
    finally:
        if handler is not None:
            _signal.signal(_signal.SIGINT, handler)


def _say_what_was_written(written: WrittenRecording, journal: str, when: ClosingMessage) -> None:
    """After the program's last output. `journal`: why the journal is not whole."""
    stream, output = sys.stderr, printable(written.output)
    try:
        if journal:
            reason = printable(journal)
            stream.write(f"whence: the journal of {output} is not whole: {reason}\n")
        if written.problem is not None:
            stream.write(f"whence: {output} is not whole: {printable(written.problem)}\n")
        elif when is ClosingMessage.ALWAYS or (
            when is ClosingMessage.AT_TERMINAL and stream.isatty()
        ):
            stream.write(f"whence: {output}: {written.calls:,} calls, {written.size:,} bytes\n")
        stream.flush()
    except (AttributeError, OSError, ValueError):
        pass  # the program closed or replaced it
