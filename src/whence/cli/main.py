"""`whence`: finds the subcommand, and prints the three kinds of failure differently.

Exit codes: 0 found (or done), 1 not found, 2 wrong usage or input that cannot be had, 128 and more
stopped by a signal. 70 is a bug of whence and says what to report.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO

import whence
from whence.errors import WhenceError, bug_notice, cause_outside
from whence.printable_text import PrintableStream, printable_lines, raw

COMMANDS = (
    "run", "call", "test", "bisect", "record", "debug", "web", "prolog", "zoom", "why", "check",
    "rerun", "materialize", "freeze", "answers", "list", "show", "convert", "strategies", "serve",
    "next", "answer", "mcp", "skill", "bench", "doctor",
)  # fmt: skip
# Becomes the process of somebody's program: nothing is changed that the program does not expect.
GUEST = "record"
MARK = "\0"
"""Begins a word that is not ours (`record.protected`, `test.separated`)."""
_PROGRAM_WORDS = ("program", "module", "code", "call", "function", "arguments")
# Are followed by the command line of a program.
_RUNNING = ("record", "run", "call", "bisect")


class _Parser(argparse.ArgumentParser):
    """Takes no shortened options: one of the program's own would be mistaken for ours."""

    def __init__(self, **settings: Any):
        super().__init__(**settings, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Print the message without the marks that words got in `main`."""
        super().error(message.replace("\\x00", "").replace(MARK, ""))

    def _print_message(self, message: str, file: Any = None) -> None:
        super()._print_message(printable_lines(message), file)


def parser(names: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """The whole command line, or that of some commands."""
    whole = _Parser(
        prog="whence",
        description="Finds the call that went wrong: takes the calls of a run as a tree, asks "
        "whether a few of them are right, and names the one at fault.",
    )
    whole.add_argument("--version", action="version", version=f"whence {whence.__version__}")
    commands = whole.add_subparsers(
        title="commands", dest="command", required=True, parser_class=_Parser
    )
    for name in names:
        importlib.import_module(f"whence.cli.{name}").configure(commands)
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    is_guest = words[:1] == [GUEST]
    with contextlib.nullcontext() if is_guest else _printable_streams():
        return _run(words, is_guest, is_process=arguments is None)


def _run(words: list[str], is_guest: bool, is_process: bool) -> int:
    if words[:1] and words[0] in _RUNNING:
        words = importlib.import_module("whence.cli.record").protected(words)
    try:
        if is_process and not is_guest:
            _end_orderly()
        if words[:1] == ["test"]:
            words = importlib.import_module("whence.cli.test").separated(words)
        options = parser((GUEST,) if is_guest else COMMANDS).parse_args(words)
    except KeyboardInterrupt:  # the modules of the commands are imported here
        _complain("stopped")
        return 130
    missing = _option_without_value(options)
    if missing:
        parser((words[0],)).error(f"{missing} needs a value before the --")
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except WhenceError as problem:
        _complain(str(problem))
        return 2
    except KeyboardInterrupt:
        _complain("stopped")
        return 130
    except BrokenPipeError:
        # The reader of our output went away, as `head` does.
        _forget_output()
        return 1
    except OSError as problem:
        _forget_output()
        cause = cause_outside(problem)
        if cause is None:
            return _report_bug()
        _complain(cause)
        return 2
    except Exception:
        return _report_bug()


def _option_without_value(options: argparse.Namespace) -> str:
    """The option whose value is a word of the program that follows; empty if there is none.

    No word of a command line has a NUL in it, so one with a NUL was marked as the program's.
    """
    for name, value in vars(options).items():
        if value == MARK:
            setattr(options, name, "")
        elif name not in _PROGRAM_WORDS:
            values = value if isinstance(value, list) else [value]
            if any(isinstance(one, str | Path) and MARK in str(one) for one in values):
                return f"--{name.replace('_', '-')}"
    return ""


def _report_bug() -> int:
    """Print the exception that is being handled, and what to do about it."""
    text = f"{traceback.format_exc()}{bug_notice(whence.__version__)}"
    print(printable_lines(text), file=sys.stderr)
    return 70


def _complain(problem: str) -> None:
    print(f"whence: {printable_lines(problem)}", file=sys.stderr)


def _end_orderly() -> None:
    """On a signal, exit in the normal way, so that processes and folders of re-runs are removed."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda number, _: sys.exit(128 + number))


@contextlib.contextmanager
def _printable_streams() -> Iterator[None]:
    """Have what we write made printable, and make sure that writing any character cannot fail."""
    before = {name: getattr(sys, name) for name in ("stdout", "stderr")}
    target: TextIO
    for name, stream in before.items():
        if stream is None:
            target = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
        else:
            target = raw(stream)
            if isinstance(target, io.TextIOWrapper):
                target.reconfigure(errors="backslashreplace")
        setattr(sys, name, PrintableStream(target))
    try:
        yield
    finally:
        for name, stream in before.items():
            setattr(sys, name, stream)


def _forget_output() -> None:
    """Drop buffered output: Python would try to write it at exit, and fail again."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
