"""`whence debug [FILE]`: find the fault in an execution tree, or in the last recording again."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from whence.app import diagnosing
from whence.app.first_answers import first_answers
from whence.app.frontends import named_or_last, open_any
from whence.cli import session_options


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "debug",
        help="find the fault in an execution tree",
        description="Asks whether calls of the tree are right until it can name the one at "
        "fault. FILE is a recording, a tree (JSON lines, see docs/tree-format.md) or an "
        "Augmented Redex Trail (JSON, see docs/art-format.md). Without FILE it opens the "
        "project's last recording, see `whence list`.",
    )
    command.add_argument(
        "file", type=Path, metavar="FILE", nargs="?",
        help="the tree (default: the last recording)",
    )  # fmt: skip
    session_options.add_symptom(command)
    session_options.add_options(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Open the tree and hold the session."""
    path = named_or_last(options.file, ", `whence debug FILE` opens a file")
    opened = open_any(path)
    # The project's own recordings were made to find a fault; others may serve other purposes.
    asks = options.file is None
    # What is said here is said in this session; `whence run --wrong` says it of the recording.
    wrong = None if options.wrong is None else replace(options.wrong, by_person=True)
    return diagnosing.diagnose(
        session_options.read(options), opened, path,
        lambda screen: first_answers(
            opened, wrong, screen, asks=asks, fresh=options.fresh,
            is_script=options.answers is not None or options.no_session,
        ),
        symptom=wrong,
    )  # fmt: skip
