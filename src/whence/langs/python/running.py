"""Runs a program under `whence record` in a process of its own, and waits for its end.

The process that debugs never runs the program's code. It hands over its terminal, its streams and
the signals that it gets; nothing is put between the program and its output. Input that is no
terminal is kept on its way, because a later run will need it: a file is copied, a pipe is passed on
through another one.

Invariant: whatever the program does to the terminal or to itself, this process goes on.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whence.errors import WhenceError
from whence.langs.python.debuggee.launch import Kind
from whence.langs.python.record.repeatable import pinned
from whence.langs.python.recordings import beside

STOP = getattr(signal, "SIGRTMAX", signal.SIGXCPU)
"""Ends the recording process, with all that it has: hardly a program has a use for it."""
FULL = getattr(signal, "SIGRTMAX", signal.SIGXFSZ + 1) - 1
"""The same, for one that has too much memory."""
_FORWARDED = [
    getattr(signal, name)
    for name in ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
]
_ENDING = {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}
_GRACE = 3.0
"""Seconds until a program that does not stop is killed: it may be busy in a library in C."""
_TURN, _AT_FIRST = 0.5, 0.02
_MOST_INPUT = 256 * 2**20
_CHUNK = 65536
_KINDS = {kind.value for kind in Kind if kind is not Kind.SCRIPT}


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be run, and how."""

    words: Sequence[str]
    """What follows `whence record` on a command line."""
    recording: Path
    time_limit: float | None = None
    memory_limit: int | None = None
    stdout: int | None = None
    """Where the program's output goes, if not where ours does."""
    has_input: bool = True
    """Whether our standard input is the program's."""
    keep_input: bool = True
    """Whether what it reads is kept beside the recording."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How it went."""

    status: int
    """The exit status, or minus the number of the signal that killed it."""
    told_to_end: int | None = None
    """A signal by which we were told to end ourselves."""


def run(order: Order) -> Ran:
    """Run the program to its end, or to the time limit."""
    with _terminal_restored(), _input(order) as source:
        environment, seed_by = pinned(os.environ)
        command = [*launcher(), "--repeatable", seed_by, "-q", "-o", str(order.recording)]
        if order.time_limit is not None:
            seconds = f"{order.time_limit:g} second{'s' if order.time_limit != 1 else ''}"
            command.append(f"--stopped-by={int(STOP)}:it was stopped after {seconds}")
        if order.memory_limit is not None:
            megabytes = order.memory_limit / 2**20
            command.append(f"--stopped-by={int(FULL)}:it was stopped with {megabytes:,.0f} MB")
        process = subprocess.Popen(
            [*command, *order.words], stdin=source, stdout=order.stdout, env=environment
        )
        with signals_passed_on(process) as heard:
            _wait(process, order)
    told = next((each for each in heard if each in _ENDING), None)
    return Ran(process.returncode, told)


def keep_environment(recording: Path) -> None:
    """Keep the environment of this process beside a recording, for nobody else to read."""
    place = beside(recording, "environment.json")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with os.fdopen(os.open(place, flags, 0o600), "w", encoding="ascii") as file:
        json.dump(dict(os.environ), file, indent=1, sort_keys=True)


def kept_environment(recording: Path) -> dict[str, str] | None:
    """The environment that is kept beside a recording, if one is."""
    place = beside(recording, "environment.json")
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        raise WhenceError(f"{place}: cannot be read ({problem})") from problem
    if not isinstance(found, dict):
        raise WhenceError(f"{place}: holds no environment")
    return {str(name): str(value) for name, value in found.items()}


def launcher() -> list[str]:
    """The words that start `whence record`: this Python, with the options that it was started with.

    With `-m` or a folder in front of the path, a file of the program might be loaded in place of
    one that whence needs.
    """
    given: Any = subprocess
    options: list[str] = given._args_from_interpreter_flags()
    place = os.path.dirname(sys.executable)  # noqa: PTH120
    code = (
        "import sys\n"
        f"if not sys.flags.safe_path: sys.path[0] = {place!r}\n"
        "from whence.cli.main import main\n"
        "sys.exit(main())"
    )
    return [sys.executable, *options, "-c", code, "record"]


def program_words(program: Sequence[str]) -> list[str]:
    """A program with its arguments behind our options, none of which it may be taken for."""
    return [*program] if program[0] in _KINDS else ["--", *program]


# --- waiting -------------------------------------------------------------------------------------


def _wait(process: subprocess.Popen[bytes], order: Order) -> None:
    deadline = None
    told, running = False, order.time_limit is None
    full = False
    while True:
        now = time.monotonic()
        if not running and _size(order.recording) and order.time_limit is not None:
            # Only now the program begins: that it took long to start is not its fault.
            running, deadline = True, now + order.time_limit
        if deadline is not None and now >= deadline:
            process.send_signal(signal.SIGKILL if told else STOP)
            deadline, told = None if told else now + _GRACE, True
        if order.memory_limit is not None and not full and _size(order.recording):
            full = _memory(process.pid) >= order.memory_limit
            if full:
                process.send_signal(FULL)
                deadline, told = now + _GRACE, True
        turn = _TURN if running and order.memory_limit is None else _AT_FIRST
        if deadline is not None:
            turn = max(0.001, min(turn, deadline - now))
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(turn)
            return


def _memory(process: int) -> int:
    """The bytes that a process has in memory; 0 if the system does not tell."""
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
def signals_passed_on(process: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """What comes to us goes to the program; the list of it is given.

    Not so what a terminal sends to all of its processes, which has reached the program already.
    """
    heard: list[int] = []

    def pass_on(number: int, _: object) -> None:
        heard.append(number)
        if number in _FORWARDED or not _at_terminal():
            with contextlib.suppress(OSError):
                process.send_signal(number)

    own = [signal.SIGINT, *_FORWARDED]
    if hasattr(signal, "SIGQUIT"):
        own.append(signal.SIGQUIT)
    before = {number: signal.signal(number, pass_on) for number in own}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _at_terminal() -> bool:
    """Whether we are who a terminal's keys interrupt."""
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
    """Leave the terminal as it was, whatever the program made of it."""
    try:
        import termios

        before = termios.tcgetattr(0)
    except (ImportError, OSError, termios.error):
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(0, termios.TCSADRAIN, before)


# --- input ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def _input(order: Order) -> Iterator[int | None]:
    """What is the program's standard input, which is kept on its way if it is no terminal."""
    if not order.has_input:
        yield subprocess.DEVNULL
        return
    try:
        mode = os.fstat(0).st_mode
    except OSError:  # there is none
        yield None
        return
    kept = beside(order.recording, "stdin")
    if order.keep_input and stat.S_ISREG(mode):
        _copy_file(kept)
        yield None
    elif order.keep_input and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        with _passed_on(kept) as source:
            yield source
    else:
        yield None


def _copy_file(kept: Path) -> None:
    place = os.lseek(0, 0, os.SEEK_CUR)
    size = os.fstat(0).st_size - place
    if size > _MOST_INPUT:
        return
    with kept.open("wb") as file:
        while piece := os.pread(0, _CHUNK, place):
            file.write(piece)
            place += len(piece)


@contextlib.contextmanager
def _passed_on(kept: Path) -> Iterator[int]:
    source, sink = os.pipe()
    copying = threading.Thread(target=_pass_on, args=(os.dup(0), sink, kept), daemon=True)
    copying.start()
    try:
        yield source
    finally:
        # Nobody reads any more: the thread ends with the next piece, or with this process.
        os.close(source)


def _pass_on(given: int, sink: int, kept: Path) -> None:
    room = _MOST_INPUT
    with contextlib.suppress(OSError), kept.open("wb", buffering=0) as file:
        while piece := os.read(given, _CHUNK):
            room -= len(piece)
            if room >= 0:
                file.write(piece)
            view = memoryview(piece)
            while view:
                view = view[os.write(sink, view) :]
    if room < 0:
        kept.unlink(missing_ok=True)
    os.close(sink)
    os.close(given)
