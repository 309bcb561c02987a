"""`whence call 'package.module:function' ARGS`: call one function and find the fault in it."""

from __future__ import annotations

import argparse

from whence.cli import run as running
from whence.cli.record import unprotected
from whence.errors import UsageError
from whence.langs.python.debuggee.run_as_python import Target, TargetKind

_USAGE = "whence call [OPTIONS] 'package.module:function' [ARGS]"


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "call",
        usage=_USAGE,
        help="call one function of a Python program and find the fault in it",
        description="Imports a module, with the current folder on the path, calls a function of "
        "it, and goes on as `whence run` does; the result is that of the function. A coroutine is "
        "run, a generator is run to its end. Exit codes are those of `whence run`.",
    )
    command.add_argument(
        "function", nargs=argparse.REMAINDER, metavar="MODULE:FUNCTION ARGS",
        help="the function and its arguments, which are Python literals: 3, '[1, 2]', count=3; "
        "a text is quoted twice, as '\"text\"'",
    )  # fmt: skip
    running.add_options(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Call it, then hold the session."""
    words = unprotected(options.function)
    if words[:1] == ["--"]:
        del words[0]
    if not words:
        raise UsageError(f"which function? {_USAGE}")
    return running.debug_program(options, Target(TargetKind.CALL, words[0], tuple(words[1:])))
