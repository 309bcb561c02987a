"""The process in which a recorded program runs again, and what becomes of it.

Started as the first time, with the same interpreter, command, folder,
environment, standard input and hash seed; what it prints goes nowhere. With a journal it learns
from the world what it learned then, and changes nothing (`record/journal`). Without one it does to
files and to the world what it did: that is the user's to allow, so nothing here is done unasked.
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
from whence.langs.python.debuggee.launch import Target
from whence.langs.python.debuggee.on_target_call import CALLS
from whence.langs.python.debuggee.order import Order, Playback, StopSignal, Task
from whence.langs.python.launching.debuggee_process import start_debuggee
from whence.langs.python.launching.first_run import STOP, kept_environment
from whence.langs.python.record.journal.choosing import JOURNAL
from whence.langs.python.record.options import WHOLE_BOUND, Detail
from whence.langs.python.record.recording import Settings, usual_settings
from whence.langs.python.record.repeatable import HASH_SEED, OWN
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.recordings import beside
from whence.langs.python.trace.trace_pages import TraceHeader
from whence.langs.python.trace.trace_source import TraceSource
from whence.model.call import OutcomeKind
from whence.tree.column_tree import ColumnTree

TIME_LIMIT = 600.0
REPORT = "report.json"
OUTPUT = "again.whence"
"""In the folder of a re-run: what it recorded."""
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
    return f"the program went another way when it was run again: {how}"


@dataclass(frozen=True, slots=True)
class Conditions:
    """All that the recorded run depended on and that is known."""

    command: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str] | None
    stdin: Path | None
    options: Mapping[str, Any]
    repeatable: Mapping[str, Any]
    journal: Path | None = None

    @classmethod
    def of(cls, recording: Path, header: TraceHeader) -> Conditions:
        """What the recording and the files beside it say; `CannotReplay` if that is not enough."""
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
    """What became of a re-run: what the process itself says of it."""

    report: Mapping[str, Any] = field(default_factory=dict)
    in_time: bool = True

    @property
    def problem(self) -> str:
        """Why the journal could be played no further, in half a sentence; empty if it could."""
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
    place = beside(recording, JOURNAL)
    try:
        with place.open("rb") as file:
            told = json.loads(file.readline(_LONGEST_HEADING))
    except (OSError, ValueError):
        return None
    return (
        place if isinstance(told, dict) and header.run and told.get("run") == header.run else None
    )


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
    """Run the program once more; where its recording is, and how it went.

    `descriptors` stay open in it. `progress` is told how many calls it has made, if it says so.
    """
    order = replace(order_again(conditions, folder), task=task, call_limit=call_limit)
    process = start_rerun(conditions, order, descriptors)
    in_time = wait_for(process, time_limit, lambda: progress(calls_in(folder)))
    output = folder / OUTPUT
    if not output.exists() or not output.stat().st_size:
        raise CannotReplay("the program was started again, and did not come to run")
    return output, RerunOutcome(report_in(folder), in_time)


def order_again(conditions: Conditions, folder: Path) -> Order:
    """The order to run the program once more, with all that it writes in a folder."""
    settings = settings_again(conditions.options, str(folder / OUTPUT))
    playback = None
    if conditions.journal is not None:
        playback = Playback(str(conditions.journal.absolute()), str(folder))
    return Order(
        Target.from_words(conditions.command),
        replace(settings, repeatable=str(conditions.repeatable.get("hash_seed_by", OWN))),
        playback=playback,
        stop_signals=(
            StopSignal(int(STOP), "it took far longer than the first time, and was stopped"),
        ),
    )


def start_rerun(
    conditions: Conditions, order: Order, descriptors: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Start a debuggee under the conditions of the recorded run."""
    with _recorded_input(conditions) as stdin:
        return start_debuggee(
            order, environment=conditions.variables(), cwd=conditions.cwd, stdin=stdin,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=descriptors,
        )  # fmt: skip


def run_to_end(
    conditions: Conditions,
    command: Sequence[str],
    time_limit: float,
    look: Callable[[], object],
    stdout: int = subprocess.DEVNULL,
) -> bool:
    """Whether a process under the conditions of the recorded run ends by itself in time.

    `look` is called now and then meanwhile.
    """
    with _recorded_input(conditions) as stdin:
        process = subprocess.Popen(
            command, cwd=conditions.cwd, env=conditions.variables(), stdin=stdin, stdout=stdout,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
    return wait_for(process, time_limit, look)


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
    """A process, as far as one waits for it."""

    @property
    def returncode(self) -> int | None:
        """Not None once it has ended."""

    def wait(self, timeout: float, /) -> int:
        """Until it has ended; else `TimeoutExpired`."""

    def poll(self) -> int | None:
        """Look whether it has ended."""

    def send_signal(self, number: int, /) -> None:
        """If it has not."""


def wait_for(process: WaitableProcess, time_limit: float, look: Callable[[], object]) -> bool:
    """Whether it ended by itself. What it did up to then may be all that is needed."""
    end = time.monotonic() + time_limit
    try:
        while (left := end - time.monotonic()) > 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(min(left, _LOOKS_EVERY))
            look()
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
    """How many calls a re-run has made so far, as far as it tells."""
    with contextlib.suppress(OSError):
        return int.from_bytes((folder / CALLS).read_bytes(), sys.byteorder)
    return 0


def report_in(folder: Path) -> Mapping[str, Any]:
    """What the process of a re-run with a journal says of it."""
    try:
        found = json.loads((folder / REPORT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def settings_again(quoted: Mapping[str, Any], output: str) -> Settings:
    """The settings that a header quotes, as far as a re-run has the same."""
    return usual_settings(
        output,
        Detail(quoted.get("detail", "full")),
        quoted.get("max_calls"),
        quoted.get("max_bytes"),
        quoted.get("depth"),
        rules=UserCodeRules.told(quoted),
        backend=quoted.get("backend"),
        whole_values=tuple(quoted.get("bound", ())) == astuple(WHOLE_BOUND),
    )


# --- the recording --------------------------------------------------------------------------------


def header_of(tree: ColumnTree) -> TraceHeader:
    """What is known of how the program of a recording was run."""
    source = tree.sources[0]
    if not isinstance(source, TraceSource) or len(tree.sources) != 1:
        raise CannotReplay("a program with recorded child processes is not run again yet")
    return source.file.header


def calls_allowed(tree: ColumnTree) -> int | None:
    """The call limit of a re-run that would not end otherwise."""
    if OutcomeKind(int(tree.columns.outcome[0])) is not OutcomeKind.NOT_TERMINATED:
        return None
    return int(tree.columns.weight[0]) - 1


def time_allowed(recording: Path, tree: ColumnTree, most: float, *, will_end: bool = True) -> float:
    """Seconds after which a re-run is stopped: one that did not end will not end now, and of one
    that is changed nobody knows."""
    ended = OutcomeKind(int(tree.columns.outcome[0])) is not OutcomeKind.NOT_TERMINATED
    if ended and will_end:
        return most
    lasted = recording.stat().st_mtime - header_of(tree).clock / 1e9
    return max(_SHORTEST, min(most, 2 * lasted + _SHORTEST))
