"""`whence run [OPTIONS] PROGRAM`: run a Python program and find the fault in it.

The program runs in a process of its own, under `whence record`. Here its recording is opened, what
is wrong is found out, and the session is held as `whence debug` holds it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from whence.app import diagnosing
from whence.app.first_answers import first_answers
from whence.app.frontends import open_any
from whence.app.unfinished_session import UnfinishedSession, unfinished_session
from whence.cli import record, session_options
from whence.errors import WhenceError
from whence.langs.python.debuggee.run_as_python import Target
from whence.langs.python.launching.first_run import (
    FULL,
    STOP,
    FirstRun,
    keep_environment,
    run_first,
)
from whence.langs.python.recording_signature import key_folder, sign
from whence.langs.python.recordings import (
    latest_named,
    new_recording,
    remove,
    remove_companions,
)
from whence.ui.terminal.screen_choice import choose_screen

_USAGE = "whence run [OPTIONS] (script.py | -m MODULE | -c CODE) [ARGS]"


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "run",
        usage=_USAGE,
        help="run a Python program and find the fault in it",
        description="Runs a Python program as python does and records it. Asks what is wrong, "
        "and then whether some of its calls are right, until it can name the one at fault "
        "(docs/python.md). Options come before the program; everything after it belongs to the "
        "program, and so does standard input unless --answers is -. Exit codes: 0 the fault "
        "was found, 1 it was not found, 2 the program did not run, 128 and more: a signal "
        "ended whence.",
    )
    record.add_program(command.add_argument_group("the program"))
    add_options(command)
    command.set_defaults(run=run)


def add_options(command: argparse.ArgumentParser) -> None:
    """All that can be said besides the program."""
    running = command.add_argument_group("the run")
    session_options.add_symptom(running)
    running.add_argument(
        "--time-limit", metavar="SECONDS", type=_seconds,
        help="stop the program after this time; the calls that were running count as not ended",
    )  # fmt: skip
    running.add_argument(
        "--memory-limit", metavar="SIZE", type=record.size,
        help="stop the program when it uses this many bytes of memory (K, M and G are "
        "understood), if the system reports it",
    )  # fmt: skip
    running.add_argument(
        "--recording", metavar="FILE", type=Path,
        help="the file of the recording (default: a new one in .whence/runs, see `whence list`)",
    )  # fmt: skip
    add_record_only(running)
    record.add_options(running, command.add_argument_group("which code is recorded"))
    session_options.add_options(command)


def add_record_only(group: argparse._ActionsContainer) -> None:
    """The option of all commands that record and then ask."""
    group.add_argument(
        "--record-only", action="store_true",
        help="ask nothing, and print a line of JSON for each recording with its path",
    )  # fmt: skip
    group.add_argument(
        "--record-list", metavar="FILE", default="",
        help="with --record-only: add these lines to a file instead of printing them",
    )  # fmt: skip


def list_recordings(file: str, recordings: Sequence[tuple[str, Path]]) -> None:
    """Say where recordings are, each with the test that it is of, if it is of one."""
    lines = [
        json.dumps({"recording": str(path.absolute()), **({"test": test} if test else {})})
        for test, path in recordings
    ]
    if not file:
        print("\n".join(lines))
        return
    try:
        with Path(file).open("a", encoding="utf-8") as stream:
            stream.write("".join(f"{line}\n" for line in lines))
    except OSError as problem:
        raise WhenceError(f"{file}: cannot be written ({problem.strerror})") from problem


def run(options: argparse.Namespace) -> int:
    """Run the program, then hold the session."""
    return debug_program(options, record.target_of(options, _USAGE))


def debug_program(options: argparse.Namespace, target: Target) -> int:
    """Run a program and find the fault in it."""
    target.check()
    record.check(options)
    session_options.check(options)
    earlier = _earlier_session(options, target)
    if earlier is not None:
        return diagnosing.diagnose(session_options.read(options), earlier.opened, earlier.path)
    if options.reference is not None:
        options.whole_values = True  # calls are made again from what was recorded of them
    recording = options.recording or new_recording(record.short_name(target))
    remove_companions(recording)
    first = _first_run(options, target, recording)
    ran = run_first(first)
    if ran.ending_signal is not None:
        return 128 + ran.ending_signal
    if not recording.exists() or not recording.stat().st_size:
        remove(recording)
        if ran.status == 2:  # which said why
            return 2
        raise WhenceError("the program was stopped before anything was recorded")
    if ran.status < 0 and ran.status not in (-signal.SIGINT, -STOP, -FULL):
        print(f"whence: the program was killed by {_name(-ran.status)}", file=sys.stderr)
    if options.recording is None:
        with contextlib.suppress(OSError):
            keep_environment(recording, first.order.settings.options)
    sign(recording, key_folder())
    if options.record_only:
        list_recordings(options.record_list, [("", recording)])
        return 0
    opened = open_any(recording)
    if options.answers is None:
        _take_terminal()
    return diagnosing.diagnose(
        session_options.read(options), opened, recording,
        lambda screen: first_answers(opened, options.wrong, screen, asks=True),
        symptom=options.wrong,
    )  # fmt: skip


def _earlier_session(options: argparse.Namespace, target: Target) -> UnfinishedSession | None:
    """The unfinished session about this program that a person wants to go on with."""
    at_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    is_script = options.answers or options.record_only
    is_named = options.recording or options.session or options.wrong or options.reference
    if not at_terminal or is_script or is_named or options.fresh or options.no_session:
        return None
    earlier = unfinished_session(latest_named(record.short_name(target)), target.words)
    if earlier is None:
        return None
    screen = choose_screen(answers=None, output=None, plain=options.plain)
    answers = "1 answer" if earlier.answers == 1 else f"{earlier.answers} answers"
    screen.say(f"A session about this program was left unfinished, with {answers}.")
    reply = screen.read("Go on with it? n runs the program again. [Y/n] ")
    return earlier if reply is not None and reply.strip().lower() in ("", "y", "yes") else None


def _first_run(options: argparse.Namespace, target: Target, recording: Path) -> FirstRun:
    json_to_stdout = options.format != "text" and options.output is None
    return FirstRun(
        record.order_of(options, target, str(recording)),
        time_limit=options.time_limit,
        memory_limit=options.memory_limit,
        # A diagnosis for programs must stand alone.
        stdout=2 if json_to_stdout else None,
        has_input=options.answers != "-",
        keep_input=options.recording is None,
    )


def _take_terminal() -> None:
    """Read answers where a person types them: our input was the program's."""
    if sys.stdin is not None and sys.stdin.isatty():
        return
    place = "/dev/tty" if sys.stdout.isatty() or sys.stderr.isatty() else os.devnull
    try:
        terminal = os.open(place, os.O_RDWR)
    except OSError:
        terminal = os.open(os.devnull, os.O_RDWR)
    os.dup2(terminal, 0)
    os.close(terminal)
    sys.stdin = os.fdopen(os.dup(0), encoding="utf-8", errors="replace")


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _seconds(text: str) -> float:
    number = float(text)
    if not (number > 0 and math.isfinite(number)):
        raise ValueError(text)
    return number
