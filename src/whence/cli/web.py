"""`whence web [RECORDING]`: hold a session on a page in the browser, or only look at a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from whence.cli import debug, session_options


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "web",
        help="find the fault on a page in the browser, or only look at a run",
        description="Serves a page on this machine, for this user only, and opens it in the "
        "browser: a picture of the run, the questions, where values came from, the source. "
        "RECORDING is a recording, a tree or an Augmented Redex Trail, as for `whence debug`. "
        "Ends when the session is finished on the page, or with Ctrl-C; the answers are kept "
        "(docs/web.md).",
    )
    command.add_argument(
        "file", type=Path, metavar="RECORDING", nargs="?",
        help="what to open (default: the project's last recording)",
    )  # fmt: skip
    command.add_argument("--browse", action="store_true", help="only look: nothing is asked")
    session_options.add_symptom(command)
    session_options.add_options(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Open the recording, and serve the page."""
    options.web = True
    if options.browse:  # nothing is said, so nothing is kept
        options.no_session = True
    return debug.run(options)
