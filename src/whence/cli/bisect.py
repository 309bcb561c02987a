"""`whence bisect [OPTIONS] PROGRAM`: find the revision since which it fails, then the fault.

The program, or a test by its pytest id, is run in revisions of the repository of the current folder
until the last one is known in which it was right. That one is the reference of the session that
follows.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from whence.cli import record, run
from whence.langs.python.debuggee.run_as_python import Target, TargetKind
from whence.langs.python.oracles.bisection import Bisection, BisectionResult, Command
from whence.langs.python.oracles.checkouts import git, repository

_USAGE = "whence bisect [OPTIONS] (script.py | -m MODULE | -c CODE | TEST::ID) [ARGS]"
_TEST = "::"
_LIMIT = 60.0


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "bisect",
        usage=_USAGE,
        help="find the revision since which a program fails, and the fault by it",
        description="Runs a program, or one test of pytest, in revisions of the git repository "
        "until the last good and the first bad one are known; then debugs it with the good one as "
        "--reference (docs/reference.md). A revision is good if the exit status is 0; if it is 0 "
        "in the bad one too, if it ends and prints as in the one named by --good. The working tree "
        "is left alone. Exit codes are those of `whence run`.",
    )
    record.add_program(command.add_argument_group("the program"))
    history = command.add_argument_group("the history")
    history.add_argument(
        "--good", metavar="REVISION",
        help="one in which it was right (default: looked for from --bad backwards)",
    )  # fmt: skip
    history.add_argument(
        "--bad", metavar="REVISION", default="HEAD", help="one in which it is wrong (default: HEAD)"
    )
    history.add_argument(
        "--only-revision", action="store_true", help="say the revision and debug nothing"
    )
    run.add_options(command)
    command.set_defaults(run=bisect)


def bisect(options: argparse.Namespace) -> int:
    """Find the revision, then hold the session."""
    target = record.target_of(options, _USAGE)
    top = repository(str(Path.cwd()))
    command = _command(target, options.time_limit or _LIMIT)
    result = Bisection(top, command, _print).find(options.good, options.bad)
    _print(_result_text(top, result))
    if options.only_revision:
        return 0
    options.reference = f"git:{result.good}"
    if _is_test(target):
        return _debug_test(target, options)
    return run.debug_program(options, target)


def _is_test(target: Target) -> bool:
    return target.kind is TargetKind.SCRIPT and _TEST in target.name


def _command(target: Target, limit: float) -> Command:
    cwd = Path.cwd().resolve()
    if _is_test(target):
        words = ["-m", "pytest", "-q", "-x", target.name, *target.arguments]
        needs = target.name.partition(_TEST)[0]
    else:
        words = list(target.words)
        needs = target.name if target.kind is TargetKind.SCRIPT else ""
    if Path(needs).is_absolute():
        needs = os.path.relpath(Path(needs).resolve(), cwd)
        words = [needs if word == target.name else word for word in words]
    return Command([sys.executable, *words], str(cwd), needs, limit)


def _result_text(top: str, result: BisectionResult) -> str:
    def named(revision: str) -> str:
        return git(top, "log", "-1", "--format=%h %s", revision)

    text = f"It was right in {named(result.good)}, and is wrong since {named(result.bad)}"
    if result.untried:
        text += f", or since one of {len(result.untried)} before it that could not be tried"
    return text + "."


def _debug_test(target: Target, options: argparse.Namespace) -> int:
    """Debug a test, as `whence test` does."""
    from whence.cli.main import main

    return main(["test", "--reference", options.reference, "--", target.name])


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
