"""`whence debug FILE`: find the fault in an execution tree."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from whence.cli import diagnosing
from whence.cli.opening import open_any


def configure(commands: Any) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "debug",
        help="find the fault in an execution tree",
        description="Asks whether calls of the tree are right until it can name the one at "
        "fault. FILE is a tree (JSON lines, see docs/tree-format.md) or an Augmented Redex Trail "
        "(JSON, see docs/art-format.md).",
    )
    command.add_argument("file", type=Path, metavar="FILE", help="the tree")
    diagnosing.add_options(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Open the tree and hold the session."""
    tree, provenance = open_any(options.file)
    return diagnosing.diagnose(options, tree, provenance, options.file)
