"""Runs a recorded program again in a process, under the recorded conditions.

It has the same interpreter, command, folder, environment, standard input and hash seed; its output
is discarded. With a journal it receives the recorded answers of the outside world, and changes
nothing (`record/journal`). Without one it has all the effects that it had then, so the user has to
allow it.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Protocol

from whence.errors import WhenceError
from whence.langs.python.debuggee.on_target_call import CALLS
from whence.langs.python.debuggee.order import Order, Playback, StopSignal, Task
from whence.langs.python.debuggee.run_as_python import Target
from whence.langs.python.launching.debuggee_process import start_debuggee
from whence.langs.python.launching.first_run import STOP, kept_environment
from whence.langs.python.record.journal.journal_choice import JOURNAL
from whence.langs.python.record.one_test import OneTest
from whence.langs.python.record.options import WHOLE_BOUND, Detail
from whence.langs.python.record.recording import Settings, usual_settings
from whence.langs.python.record.repeatable import HASH_SEED, OWN
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.recording_signature import ForeignRecording, require_own
from whence.langs.python.recordings import beside
from whence.langs.python.replay.scratch_folder import ScratchFolder
from whence.langs.python.trace.joined_processes import main_process
from whence.langs.python.trace.trace_pages import TraceHeader
from whence.langs.python.trace.trace_source import TraceSource
from whence.model.call import OutcomeKind
from whence.regular_files import open_regular_file
from whence.tree.column_tree import ColumnTree

TIME_LIMIT = 600.0
REPORT = "report.json"
OUTPUT = "again.whence"
"""The recording of a re-run, in its folder."""
_GRACE = 3.0
_LOOKS_EVERY = 0.25
_SHORTEST = 5.0
_LONGEST_HEADING = 2**16


class CannotReplay(WhenceError):
    """The program cannot be run again, or diverged; the text says why."""


class ReplayDiverged(CannotReplay):
    """A re-run did something other than the recorded run, so nothing of it is believed."""

    def __init__(self, how: str, cause: str = "") -> None:
        """`how` completes a sentence; `cause` is a sentence of its own, or empty."""
        cause = f" {cause}" if cause else ""
        super().__init__(f"{divergence_message(how)}.{cause} What is recorded still holds.")


def divergence_message(how: str) -> str:
    """That a re-run diverged, in half a sentence."""
    return f"the re-run diverged: {how}"


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the recorded run depended on, as far as it is known."""

    command: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str] | None
    stdin: Path | None
    options: Mapping[str, Any]
    repeatable: Mapping[str, Any]
    journal: Path | None = None
    test: OneTest | None = None
    """The pytest test that was recorded; None: the whole program was."""

    @classmethod
    def of(cls, recording: Path, header: TraceHeader) -> Conditions:
        """Read from the recording and the files beside it; `CannotReplay` if that is not enough.

        A recording that is not the user's own is refused: all re-runs start here.
        """
        try:
            require_own(recording)
        except ForeignRecording as problem:
            raise CannotReplay(str(problem)) from None
        if header.python != platform.python_version():
            raise CannotReplay(
                f"{recording}: was recorded with Python {header.python}, and this is "
                f"{platform.python_version()}; run whence with that one to run the program again"
            )
        if not header.words:
            raise CannotReplay(f"{recording}: does not say what was run, so it cannot be run again")
        if header.cwd and not Path(header.cwd).is_dir():
            raise CannotReplay(f"{recording}: was recorded in {header.cwd}, which is gone")
        stdin = beside(recording, "stdin")
        return cls(
            command=header.words,
            cwd=header.cwd or ".",
            environment=kept_environment(recording),
            stdin=stdin if stdin.exists() else None,
            options=header.options,
            repeatable=header.repeatable,
            journal=journal_beside(recording, header),
            test=OneTest(header.test, header.with_teardown) if header.test else None,
        )

    def variables(self) -> dict[str, str]:
        """The environment for another run."""
        variables = dict(os.environ if self.environment is None else self.environment)
        seed = self.repeatable.get("hash_seed")
        if seed:
            variables[HASH_SEED] = str(seed)
        return variables


@dataclass(frozen=True, slots=True)
class RerunOutcome:
    """How a re-run went: the report of its process, and whether it ended in time."""

    report: Mapping[str, Any] = field(default_factory=dict)
    in_time: bool = True

    @property
    def problem(self) -> str:
        """Why the journal could not be played to the end, in half a sentence; empty if it could."""
        report = self.report
        if "missing" in report:
            return str(report["missing"])
        if "escaped" in report:
            return f"it would reach beyond the re-run by {report['asked']}, which is not kept"
        if "asked" in report:
            return f"it asked for {report['asked']}, recorded was {report['recorded']}"
        return ""


def journal_beside(recording: Path, header: TraceHeader) -> Path | None:
    """The journal of this very recording, if one was kept."""
    journal = beside(recording, JOURNAL)
    try:
        with open_regular_file(journal) as file:
            heading = json.loads(file.readline(_LONGEST_HEADING))
    except (OSError, ValueError):
        return None
    is_ours = isinstance(heading, dict) and header.run and heading.get("run") == header.run
    return journal if is_ours else None


def run_again(
    conditions: Conditions,
    folder: Path,
    task: Task,
    time_limit: float,
    descriptors: Sequence[int] = (),
    progress: Callable[[int], object] = lambda calls: None,
    *,
    call_limit: int | None = None,
) -> tuple[Path, RerunOutcome]:
    """Run the program once more; the path of its recording, and how the run went.

    `descriptors` stay open in it. `progress` receives the number of calls made, if it is known.
    """
    order = replace(order_again(conditions, folder), task=task, call_limit=call_limit)
    process = start_rerun(conditions, order, descriptors)
    in_time = wait_for(process, time_limit, lambda: progress(calls_in(folder)))
    output = folder / OUTPUT
    if not output.exists() or not output.stat().st_size:
        raise CannotReplay("the program was started again, but wrote no recording")
    return output, RerunOutcome(report_in(folder), in_time)


@contextlib.contextmanager
def rerun(
    recording: Path,
    tree: ColumnTree,
    task: Callable[[Path], Task],
    *,
    time_limit: float = TIME_LIMIT,
    options: Mapping[str, Any] | None = None,
    limits_calls: bool = True,
) -> Iterator[tuple[Path, RerunOutcome, Path]]:
    """Run the program from its start, in a folder of its own that `task` receives.

    Yields its recording, how the run went, and the folder. `options` replace recorded options.
    """
    conditions = Conditions.of(recording, header_of(tree))
    conditions = replace(conditions, options={**conditions.options, **(options or {})})
    limit = time_allowed(recording, tree, time_limit)
    call_limit = calls_allowed(tree) if limits_calls and conditions.journal is not None else None
    with ScratchFolder() as name:
        folder = Path(name)
        run = run_again(conditions, folder, task(folder), limit, call_limit=call_limit)
        yield *run, folder


def order_again(conditions: Conditions, folder: Path) -> Order:
    """The order to run the program once more, with all that it writes in a folder."""
    settings = settings_again(conditions.options, str(folder / OUTPUT))
    playback = None
    if conditions.journal is not None:
        playback = Playback(str(conditions.journal.absolute()), str(folder))
    return Order(
        Target.from_words(conditions.command),
        replace(settings, repeatable=str(conditions.repeatable.get("hash_seed_by", OWN))),
        test=conditions.test,
        playback=playback,
        stop_signals=(
            StopSignal(int(STOP), "it took far longer than the first time, and was stopped"),
        ),
    )


def start_rerun(
    conditions: Conditions,
    order: Order,
    descriptors: Sequence[int] = (),
    stdout: int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start a debuggee under the conditions of the recorded run. `descriptors` stay open in it."""
    with _recorded_input(conditions) as stdin:
        return start_debuggee(
            order, environment=conditions.variables(), cwd=conditions.cwd, stdin=stdin,
            stdout=stdout, stderr=subprocess.DEVNULL, pass_fds=descriptors,
        )  # fmt: skip


@contextlib.contextmanager
def _recorded_input(conditions: Conditions) -> Iterator[int | IO[bytes]]:
    """The standard input of a process that is started meanwhile; a journal holds it already."""
    try:
        if conditions.stdin is None or conditions.journal is not None:
            yield subprocess.DEVNULL
        else:
            with conditions.stdin.open("rb") as file:
                yield file
    except OSError as problem:
        raise CannotReplay(f"the program cannot be started again: {problem}") from problem


class WaitableProcess(Protocol):
    """A process that can be waited for."""

    @property
    def returncode(self) -> int | None:
        """Not None once it has ended."""

    def wait(self, timeout: float, /) -> int:
        """Wait until it has ended, or raise `TimeoutExpired`."""

    def poll(self) -> int | None:
        """The return code, if it has ended."""

    def send_signal(self, number: int, /) -> None:
        """Send a signal, if it still runs."""


def wait_for(process: WaitableProcess, time_limit: float, on_tick: Callable[[], object]) -> bool:
    """Wait for a process, and stop it after the time limit; whether it ended by itself."""
    end = time.monotonic() + time_limit
    try:
        while (left := end - time.monotonic()) > 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(min(left, _LOOKS_EVERY))
            on_tick()
            if process.returncode is not None:
                return True
    finally:
        if process.poll() is None:
            for number in (STOP, signal.SIGKILL):
                process.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_GRACE)
                    break
    return False


def calls_in(folder: Path) -> int:
    """The number of calls that a re-run has made so far; 0 if it does not say."""
    with contextlib.suppress(OSError):
        return int.from_bytes((folder / CALLS).read_bytes(), sys.byteorder)
    return 0


def report_in(folder: Path) -> Mapping[str, Any]:
    """The report that a re-run with a journal wrote; empty if there is none."""
    try:
        report = json.loads((folder / REPORT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return report if isinstance(report, dict) else {}


def settings_again(quoted: Mapping[str, Any], output: str) -> Settings:
    """The settings that a header quotes, as far as a re-run has the same."""
    return usual_settings(
        output,
        Detail(quoted.get("detail", "full")),
        quoted.get("max_calls"),
        quoted.get("max_bytes"),
        quoted.get("depth"),
        rules=UserCodeRules.from_header(quoted),
        backend=quoted.get("backend"),
        whole_values=tuple(quoted.get("bound", ())) == astuple(WHOLE_BOUND),
        keep_secrets=quoted.get("keep_secrets") is True,
        secret_names=secret_names(quoted),
    )


def secret_names(quoted: Mapping[str, Any]) -> tuple[str, ...]:
    """The patterns of secret names that a header quotes."""
    names = quoted.get("secret_names")
    return tuple(map(str, names)) if isinstance(names, list) else ()


# --- the recording --------------------------------------------------------------------------------


def header_of(tree: ColumnTree) -> TraceHeader:
    """The header of a recording: that of its main process."""
    return trace_of(tree).file.header


def trace_of(tree: ColumnTree) -> TraceSource:
    """The trace file of the main process of a recording."""
    source = main_process(tree).sources[0]
    assert isinstance(source, TraceSource)
    return source


def calls_allowed(tree: ColumnTree) -> int | None:
    """The call limit of a re-run that would not end otherwise."""
    if OutcomeKind(int(tree.columns.outcome[0])) is not OutcomeKind.NOT_TERMINATED:
        return None
    return int(tree.columns.weight[0]) - 1


def time_allowed(recording: Path, tree: ColumnTree, most: float, *, will_end: bool = True) -> float:
    """Seconds after which a re-run is stopped.

    A run that did not end will not end now, and a changed one (`will_end=False`) may not.
    """
    ended = OutcomeKind(int(tree.columns.outcome[0])) is not OutcomeKind.NOT_TERMINATED
    if ended and will_end:
        return most
    lasted = recording.stat().st_mtime - header_of(tree).clock / 1e9
    return max(_SHORTEST, min(most, 2 * lasted + _SHORTEST))
