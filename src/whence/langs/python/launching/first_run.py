"""Runs a program for the first time, recorded and in a process of its own, and waits for its end.

The program gets our terminal, our streams and the signals that we receive. Its output goes directly
to where ours does. Input that is no terminal is copied for later re-runs: a file before the program
starts, a pipe while it is forwarded.

Invariant: whatever the program does to the terminal or to itself, this process continues.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.python.debuggee.order import Order, StopSignal
from whence.langs.python.launching.debuggee_process import start_debuggee
from whence.langs.python.record.options import RecordOptions
from whence.langs.python.record.repeatable import pin_hash_seed
from whence.langs.python.recordings import beside
from whence.regular_files import read_regular_file
from whence.secret_values import secrets_for
from whence.user_folders import open_private_file, replace_private_file

STOP = getattr(signal, "SIGRTMAX", signal.SIGXCPU)
"""Ends the debuggee, which keeps what it recorded. Hardly any program uses this signal."""
FULL = getattr(signal, "SIGRTMAX", signal.SIGXFSZ + 1) - 1
"""The same, for a program that uses too much memory."""
_FORWARDED = [
    getattr(signal, name)
    for name in ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
]
_ENDING = {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}
_GRACE = 3.0
"""Seconds until a program that does not stop is killed: it may be busy in a library in C."""
_POLL, _SHORT_POLL = 0.5, 0.02
_MAX_INPUT = 256 * 2**20
_CHUNK = 65536


@dataclass(frozen=True, slots=True)
class FirstRun:
    """An order, and the streams and limits of the process that carries it out."""

    order: Order
    time_limit: float | None = None
    memory_limit: int | None = None
    stdout: int | None = None
    """Where the program's output goes, if not where ours does."""
    has_input: bool = True
    """Whether our standard input is the program's."""
    keep_input: bool = True
    """Whether what it reads is kept beside the recording."""

    @property
    def recording(self) -> Path:
        """The trace file that the process writes."""
        return Path(self.order.settings.output)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a first run ended."""

    status: int
    """The exit status, or minus the number of the signal that killed it."""
    ending_signal: int | None = None
    """The signal that told this process to end, if one did."""


def run_first(run: FirstRun) -> Ended:
    """Run the program to its end, or to a limit."""
    with _terminal_restored(), _program_input(run) as stdin:
        environment, seed_by = pin_hash_seed(os.environ)
        order = replace(
            run.order,
            settings=replace(run.order.settings, repeatable=seed_by),
            stop_signals=tuple(_stop_signals(run)),
        )
        process = start_debuggee(order, environment=environment, stdin=stdin, stdout=run.stdout)
        with forward_signals(process) as received:
            _wait(process, run)
    ending = next((number for number in received if number in _ENDING), None)
    return Ended(process.returncode, ending)


def _stop_signals(run: FirstRun) -> Iterator[StopSignal]:
    if run.time_limit is not None:
        seconds = f"{run.time_limit:g} second{'s' if run.time_limit != 1 else ''}"
        yield StopSignal(int(STOP), f"it was stopped after {seconds}")
    if run.memory_limit is not None:
        megabytes = run.memory_limit / 2**20
        yield StopSignal(int(FULL), f"it was stopped with {megabytes:,.0f} MB")


def keep_environment(recording: Path, options: RecordOptions) -> None:
    """Store the environment of this process beside a recording, of secrets only digests."""
    secrets = secrets_for(options.keep_secrets, options.secret_names)
    text = json.dumps(secrets.environment(os.environ), indent=1, sort_keys=True)
    replace_private_file(beside(recording, "environment.json"), text)


def kept_environment(recording: Path) -> dict[str, str] | None:
    """The environment that is stored beside a recording, if there is one.

    Its secrets are taken from the present environment, if their digests fit.
    """
    stored = _stored_environment(recording)
    return None if stored is None else secrets_for().restored(stored, os.environ)[0]


def missing_secrets(recording: Path) -> list[str]:
    """The secret variables of the recorded environment that the present one does not have."""
    return secrets_for().restored(_stored_environment(recording) or {}, os.environ)[1]


def recorded_variables(recording: Path, names: Sequence[str]) -> dict[str, str | None]:
    """Some variables of the recorded environment, None where one was not set.

    Secrets are left out; all are if the environment is not stored.
    """
    stored = _stored_environment(recording) if names else None
    if stored is None:
        return {}
    values = {name: stored.get(name) for name in names}
    return {n: value for n, value in values.items() if value is None or isinstance(value, str)}


def _stored_environment(recording: Path) -> dict[str, object] | None:
    path = beside(recording, "environment.json")
    try:
        variables = json.loads(read_regular_file(path))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        raise WhenceError(f"{path}: cannot be read ({problem})") from problem
    if not isinstance(variables, dict):
        raise WhenceError(f"{path}: holds no environment")
    return {str(name): value for name, value in variables.items()}


# --- waiting -------------------------------------------------------------------------------------


def _wait(process: subprocess.Popen[bytes], run: FirstRun) -> None:
    deadline = None
    stopping, running = False, run.time_limit is None
    full = False
    while True:
        now = time.monotonic()
        if not running and _size(run.recording) and run.time_limit is not None:
            # Only now does the program begin: a slow start of the process does not count.
            running, deadline = True, now + run.time_limit
        if deadline is not None and now >= deadline:
            process.send_signal(signal.SIGKILL if stopping else STOP)
            deadline, stopping = None if stopping else now + _GRACE, True
        if run.memory_limit is not None and not full and _size(run.recording):
            full = _memory(process.pid) >= run.memory_limit
            if full:
                process.send_signal(FULL)
                deadline, stopping = now + _GRACE, True
        pause = _POLL if running and run.memory_limit is None else _SHORT_POLL
        if deadline is not None:
            pause = max(0.001, min(pause, deadline - now))
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(pause)
            return


def _memory(process: int) -> int:
    """The bytes that a process has in memory; 0 if the system does not say."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


@contextlib.contextmanager
def forward_signals(process: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """Forward the signals that we receive to the program; yields the list of them.

    A terminal sends its signals to all of its processes, so those have reached it already.
    """
    received: list[int] = []

    def forward(number: int, _: object) -> None:
        received.append(number)
        if number in _FORWARDED or not _at_terminal():
            with contextlib.suppress(OSError):
                process.send_signal(number)

    handled = [signal.SIGINT, *_FORWARDED]
    if hasattr(signal, "SIGQUIT"):
        handled.append(signal.SIGQUIT)
    before = {number: signal.signal(number, forward) for number in handled}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _at_terminal() -> bool:
    """Whether this process is in the foreground of a terminal, so that its keys interrupt it."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


@contextlib.contextmanager
def _terminal_restored() -> Iterator[None]:
    """Restore the terminal's settings, whatever the program did to them."""
    try:
        import termios
    except ImportError:
        yield
        return
    try:
        before = termios.tcgetattr(0)
    except (OSError, termios.error):
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(0, termios.TCSADRAIN, before)


# --- input ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def _program_input(run: FirstRun) -> Iterator[int | None]:
    """The program's standard input. What is no terminal is copied beside the recording."""
    if not run.has_input:
        yield subprocess.DEVNULL
        return
    try:
        mode = os.fstat(0).st_mode
    except OSError:  # there is none
        yield None
        return
    copy = beside(run.recording, "stdin")
    if run.keep_input and stat.S_ISREG(mode):
        _copy_file(copy)
        yield None
    elif run.keep_input and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        with _forwarding(copy) as source:
            yield source
    else:
        yield None


class _InputCopy:
    """The copy of the program's input, dropped once it is too large or cannot be written.

    Invariant: it never raises, and it does not change once it is closed. The program gets its input
    whatever becomes of the copy.
    """

    def __init__(self, path: Path):
        self._path = path
        self._room = _MAX_INPUT
        self._lock = threading.Lock()
        self._file: io.FileIO | None = None
        with contextlib.suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            self._file = os.fdopen(open_private_file(path, flags), "wb", buffering=0)
        if self._file is None:
            self._remove()

    def add(self, piece: bytes) -> None:
        """Append a piece of the input."""
        with self._lock:
            if self._file is None:
                return
            self._room -= len(piece)
            try:
                complete = self._room >= 0 and self._file.write(piece) == len(piece)
            except OSError:
                complete = False
            if not complete:
                self._close()
                self._remove()

    def close(self) -> None:
        """End the copy."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


def _copy_file(path: Path) -> None:
    offset = os.lseek(0, 0, os.SEEK_CUR)
    if os.fstat(0).st_size - offset > _MAX_INPUT:
        return
    copy = _InputCopy(path)
    while piece := os.pread(0, _CHUNK, offset):
        copy.add(piece)
        offset += len(piece)
    copy.close()


@contextlib.contextmanager
def _forwarding(path: Path) -> Iterator[int]:
    source, sink = os.pipe()
    copy = _InputCopy(path)
    thread = threading.Thread(target=_forward, args=(os.dup(0), sink, copy), daemon=True)
    thread.start()
    try:
        yield source
    finally:
        # The program has ended: the thread ends with the next piece, or with this process.
        os.close(source)
        copy.close()


def _forward(source: int, sink: int, copy: _InputCopy) -> None:
    """Give the program its input, and copy it."""
    with contextlib.suppress(OSError):
        while piece := os.read(source, _CHUNK):
            copy.add(piece)
            view = memoryview(piece)
            while view:
                view = view[os.write(sink, view) :]
    copy.close()
    os.close(sink)
    os.close(source)
