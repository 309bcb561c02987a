"""Runs a recorded program up to the end of one call, the target call, and records that call alone.

Before and beside the target call nothing is recorded (`record/native/window.c`), and calls that
were judged right can be frozen. Runs start from a checkpoint where there is one.

Invariant: a run is believed only if the target call's function, and what both recordings know of
its inputs and its outcome, agree.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

from whence.langs.python.debuggee.on_target_call import ARRIVED, BREAKPOINT, TRIED
from whence.langs.python.debuggee.order import StepDebugger, TargetCall, Task, TrialCall
from whence.langs.python.replay.alignment import contradiction, other_outcome
from whence.langs.python.replay.checkpoint_pool import CheckpointFailed, CheckpointPool, obstacle
from whence.langs.python.replay.frozen_calls import FrozenCalls
from whence.langs.python.replay.recorded_windows import RecordedWindow, RecordedWindows
from whence.langs.python.replay.rerun_process import (
    TIME_LIMIT,
    CannotReplay,
    Conditions,
    ReplayDiverged,
    RerunOutcome,
    calls_allowed,
    header_of,
    journal_beside,
    run_again,
    time_allowed,
)
from whence.langs.python.replay.scratch_folder import ScratchFolder
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.replay_settings import DEFAULT_SETTINGS, ReplayMode, ReplaySettings
from whence.tree.column_tree import ColumnTree
from whence.tree.readable_call import function_at

TOP = 1
"""The number of the target call in its window: the first call of the file."""
MOST_RECORDED = 2_000_000
"""The most calls that a re-run records."""
NOT_REPLAYED = "the program would have to be run again for it, and --replay=off forbids that"
_A_DAY = 86_400.0
_RUNS_BEFORE = 2
"""After this many re-runs more are expected, so freezing pays."""
_LONG = 2.0
"""Seconds; shorter runs are not worth freezing."""
_HIGH = 700
_NO_BOUNDS: Mapping[str, int | None] = {
    "depth": None,
    "max_bytes": None,
    "max_calls": MOST_RECORDED,
    "filter": None,
}

_T = TypeVar("_T")


class PartialReplay:
    """Partial replays of one recording's program."""

    def __init__(
        self, recording: Path, tree: ColumnTree, settings: ReplaySettings = DEFAULT_SETTINGS
    ) -> None:
        self.recording = recording
        self.tree = tree
        self.settings = settings
        self.windows = RecordedWindows(tree)
        self.freezing = FrozenCalls(recording, tree)
        self.checkpoints: CheckpointPool | None = None
        """The sleeping processes, once there are any."""
        self.runs = 0
        """How many times the program ran again, from its start or from a checkpoint."""
        self._seconds = 0.0
        """How long the last run took."""

    def configure(self, settings: ReplaySettings) -> None:
        """Obey other settings from now on."""
        self.settings = settings

    @property
    def is_harmless(self) -> bool:
        """Whether a re-run changes nothing in the world."""
        if self.settings.mode is ReplayMode.OFF:
            return True
        return journal_beside(self.recording, header_of(self.tree)) is not None

    def record(self, node: int, budget: int) -> RecordedWindow:
        """Record a call and at most `budget` calls below it."""
        with self.run(node, budget) as (tree, _):
            # The file stays open, and so readable, when its folder is gone.
            return self.windows.add(tree, node)

    @contextmanager
    def run(
        self, node: int, budget: int, task: Callable[[Path], Task] = lambda _: Task()
    ) -> Iterator[tuple[ColumnTree, Path]]:
        """Run the program up to the end of a call; its tree, and the folder of the run.

        The run can write only in that folder; `task` is given the folder.
        """

        def checked(output: Path, outcome: RerunOutcome, _: Path) -> ColumnTree:
            tree = open_trace(output)
            self._check_target(node, tree, outcome)
            return tree

        with self._believed(node, budget, task, checked) as (tree, folder):
            yield tree, folder

    def debug(self, node: int, target: TargetCall, *, at_end: bool) -> None:
        """Run the program up to a call, and let a person step from there."""
        debugger = os.environ.get(BREAKPOINT, "")

        def task(_: Path) -> Task:
            pool = self._checkpoint_pool()
            stdin, stdout = terminal if pool is None else pool.terminal
            return Task(debugger=StepDebugger(target, stdin, stdout, at_end, debugger))

        def check_arrival(_: Path, outcome: RerunOutcome, folder: Path) -> None:
            if not (folder / ARRIVED).exists():
                raise _target_missed(outcome)

        with (
            _terminal_descriptors() as terminal,
            self._believed(node, 1, task, check_arrival, terminal),
        ):
            pass

    def try_values(self, values: Mapping[int, tuple[TargetCall, str]]) -> ColumnTree:
        """Make some calls return other values; the tree records how that run ends."""
        ordinal = self.windows.ordinal
        nodes = sorted(values, key=ordinal)
        task = Task(trial=tuple(TrialCall(ordinal(node), *values[node]) for node in nodes))

        def read_trial(output: Path, outcome: RerunOutcome, folder: Path) -> ColumnTree:
            report = folder / TRIED
            if not report.exists():
                raise _target_missed(outcome)
            problem, replaced = json.loads(report.read_text(encoding="utf-8"))
            if problem:
                raise CannotReplay(problem)
            if outcome.problem:
                raise CannotReplay(f"how that run ends is not known: {outcome.problem}")
            tree = open_trace(output)
            for node, number in zip_longest(nodes, replaced):
                if number is None or not self._has_same_inputs(node, tree, number):
                    raise CannotReplay(
                        f"with the other values call {node} is not made with the same inputs, "
                        "so what it should return is not known"
                    )
            return tree

        run = self._believed(nodes[0], 1, lambda _: task, read_trial, will_end=False)
        with run as (tree, _):
            return tree

    def _has_same_inputs(self, node: int, theirs: ColumnTree, number: int) -> bool:
        ours, position = self.windows.locate(node)
        recorded, again = ours.call(position), theirs.call(theirs.position(number))
        common = {read.name for read in recorded.reads} & {read.name for read in again.reads}
        both = [
            replace(call, arguments=(*call.arguments, *(r for r in call.reads if r.name in common)))
            for call in (recorded, again)
        ]
        return contradiction(*both) is None

    @contextmanager
    def _believed(
        self,
        node: int,
        budget: int,
        task: Callable[[Path], Task],
        judge: Callable[[Path, RerunOutcome, Path], _T],
        descriptors: Sequence[int] = (),
        will_end: bool = True,
    ) -> Iterator[tuple[_T, Path]]:
        """What `judge` makes of a run up to the end of a call, and the run's folder.

        `judge` raises if it does not believe the run. If that run started from a checkpoint, the
        program runs once more, from its start.
        """
        self.check_allowed()
        with ExitStack() as stack:
            while True:
                pool = self._checkpoint_pool()
                retry = pool is not None and pool.is_before(self.windows.ordinal(node))
                try:
                    run = stack.enter_context(self._run(node, budget, task, descriptors, will_end))
                    result = judge(*run)
                    break
                except (ReplayDiverged, CheckpointFailed) as problem:
                    stack.close()
                    self._discard_checkpoints(problem)
                    if not retry:
                        raise
            yield result, run[2]

    def _discard_checkpoints(self, problem: CannotReplay) -> None:
        """Discard all that a run which is not believed has left behind."""
        if isinstance(problem, CheckpointFailed):
            self.close()
        elif self.checkpoints is not None:
            self.checkpoints.drop()

    @contextmanager
    def _run(
        self,
        node: int,
        budget: int,
        task: Callable[[Path], Task],
        descriptors: Sequence[int],
        will_end: bool,
    ) -> Iterator[tuple[Path, RerunOutcome, Path]]:
        """Run up to the end of a call without the bounds of the first run: the new recording, what
        became of the run, and its folder."""
        ordinal = self.windows.ordinal(node)
        limit = time_allowed(self.recording, self.tree, TIME_LIMIT, will_end=will_end)
        progress = self._progress(node)
        if descriptors:  # a person steps through it
            limit, progress = _A_DAY, lambda calls: None

        def windowed(folder: Path) -> Task:
            return replace(task(folder), window=(ordinal, budget))

        pool = self._checkpoint_pool()
        if pool is None and self.runs >= _RUNS_BEFORE and self._seconds >= _LONG:
            self._freeze_before(node)  # a checkpoint is past these calls already
        self.runs += 1
        if pool is not None:
            with pool.run(ordinal, windowed, limit, progress) as run:
                yield run
            return
        with ScratchFolder() as name:
            folder = Path(name)
            frozen = replace(windowed(folder), freezing=self.freezing.order_file(folder, ordinal))
            began = time.monotonic()
            output, outcome = run_again(
                self._conditions(), folder, frozen, limit, descriptors, progress,
                call_limit=calls_allowed(self.tree),
            )  # fmt: skip
            self._seconds = time.monotonic() - began
            yield output, outcome, folder

    def _freeze_before(self, node: int) -> None:
        """Freeze calls judged right that take long before a call, if that is worth two runs."""
        calls = {}
        for right in self.settings.judged_right():
            with contextlib.suppress(CannotReplay):
                tree, position = self.windows.locate(right)
                calls[self.windows.ordinal(right)] = int(tree.columns.weight[position]) - 1
        candidates = self.freezing.worthwhile(calls, self.windows.ordinal(node))
        if candidates:
            self.runs += 2
            with contextlib.suppress(CannotReplay):
                self.freezing.freeze(candidates)

    def _conditions(self) -> Conditions:
        conditions = Conditions.of(self.recording, header_of(self.tree))
        return replace(conditions, options={**conditions.options, **_NO_BOUNDS})

    def _checkpoint_pool(self) -> CheckpointPool | None:
        """The checkpoints, if they are wanted and possible."""
        if self.settings.mode is not ReplayMode.CHECKPOINTS or obstacle():
            return None
        if self.checkpoints is None:
            self.checkpoints = CheckpointPool(self._conditions(), calls_allowed(self.tree))
        return self.checkpoints

    def check_allowed(self) -> None:
        """Raise `CannotReplay` if nothing may run again."""
        if self.settings.mode is ReplayMode.OFF:
            raise CannotReplay(NOT_REPLAYED)

    def close(self) -> None:
        """End the sleeping processes."""
        if self.checkpoints is not None:
            self.checkpoints.close()
            self.checkpoints = None

    def describe(self) -> str:
        """How the program runs again, for a person."""
        if self.settings.mode is ReplayMode.OFF:
            return "never (--replay=off)"
        if self.settings.mode is ReplayMode.RERUN:
            return "from its start (--replay=rerun)"
        if obstacle():
            return f"from its start: there are no checkpoints, {obstacle()}"
        pool = self.checkpoints
        if pool is None:
            return "from its start, and from checkpoints after that"
        count, why = len(pool), pool.why_not
        if not count:
            return f"from its start: there is no checkpoint{f', {why}' if why else ' yet'}"
        text = f"from {count} checkpoint{'s' if count != 1 else ''}, {pool.memory >> 20:,} MB"
        return f"{text}; none where {why}" if why else text

    def _progress(self, node: int) -> Callable[[int], object]:
        tree, position = self.windows.locate(node)
        name, first = function_at(tree, position).short(), self.windows.ordinal(node)
        last = first + int(tree.columns.weight[position]) - 1
        return lambda calls: self.settings.on_progress(f"{name}, call {first:,}", calls, last)

    def _check_target(self, node: int, theirs: ColumnTree, outcome: RerunOutcome) -> None:
        ours, position = self.windows.locate(node)
        if len(theirs.columns) <= TOP or theirs.details[TOP] < 0:
            raise ReplayDiverged(outcome.problem or "the call was not made")
        names = [function_at(ours, position).short(), function_at(theirs, TOP).short()]
        if names[0] != names[1]:
            raise ReplayDiverged(f"{names[1]} was called instead of {names[0]}")
        recorded, again = ours.call(position), theirs.call(TOP)
        difference = contradiction(recorded, again) or other_outcome(recorded, again)
        if difference:
            raise ReplayDiverged(difference)


def _target_missed(outcome: RerunOutcome) -> CannotReplay:
    """Why a run did not report on its target call."""
    if outcome.in_time:
        return ReplayDiverged(outcome.problem or "another call was made in its place")
    return CannotReplay("it took too long, and was stopped")


@contextmanager
def _terminal_descriptors() -> Iterator[tuple[int, int]]:
    """Our terminal under high descriptors, which the program does not notice.

    Meanwhile we ignore interrupts: they are meant for the debugger.
    """
    stdin, stdout = (fcntl.fcntl(descriptor, fcntl.F_DUPFD, _HIGH) for descriptor in (0, 1))
    handler = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield stdin, stdout
    finally:
        signal.signal(signal.SIGINT, handler)
        os.close(stdin)
        os.close(stdout)
