"""`whence materialize [RECORDING] [CALL]`: record the calls below a call that were only counted."""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path

import numpy as np

from whence.app.foreign_recordings import require_trust
from whence.app.frontends import named_or_last, open_any
from whence.app.progress import ProgressDisplay
from whence.cli.convert import header_of
from whence.cli.session_options import add_budget, add_trust
from whence.cli.show import natural, tree_lines
from whence.errors import UsageError
from whence.model.replay_settings import ReplaySettings
from whence.ports import Tree
from whence.tree.tree_file import write_tree

_NARROWEST = 40


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "materialize",
        help="record the calls below a call that was only counted",
        description="Runs the program of a recording with a journal again, up to the end of "
        "one call, and records the calls below it, as deep as the node budget allows. A "
        "session does this by itself when a question needs it (docs/running-again.md).",
    )
    command.add_argument(
        "recording", type=Path, metavar="RECORDING", nargs="?",
        help="what to look into (default: the last recording)",
    )  # fmt: skip
    command.add_argument(
        "call", type=int, metavar="CALL", nargs="?",
        help="the number of the call (default: the one with the most callees that were only "
        "counted)",
    )  # fmt: skip
    add_budget(command)
    command.add_argument(
        "--depth", type=natural, default=3, metavar="N",
        help="how many levels to show (default: 3)",
    )  # fmt: skip
    command.add_argument(
        "-o", "--output", type=Path, metavar="FILE",
        help="write the tree with these calls in the open format (docs/tree-format.md)",
    )  # fmt: skip
    add_trust(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Expand one call, and show the calls below it."""
    path = named_or_last(options.recording)
    opened = open_any(path)
    if opened.trust is not None:
        require_trust(opened.trust, path, allowed=options.trust_recording)
    tree = opened.tree
    position = _heaviest(tree) if options.call is None else tree.position(options.call)
    node, began = tree.id(position), time.monotonic()
    waiting = ProgressDisplay()
    if opened.replay is not None:
        opened.replay.configure(
            ReplaySettings(node_budget=options.node_budget, on_progress=waiting.show)
        )
    with waiting("running it again"):
        grown = tree.expand(position, 1)
    seconds = time.monotonic() - began
    width = max(_NARROWEST, shutil.get_terminal_size((80, 24)).columns)
    top = grown.position(node)
    recorded = int(grown.columns.end[top]) - top - 1
    counted = float(tree.columns.weight[position]) - 1
    print(
        f"call {node}: {recorded:,} of the {counted:,.0f} calls below it were recorded, in "
        f"{seconds:.1f} s"
    )
    for line in tree_lines(grown, options.depth, width, top):
        print(line)
    if options.output is not None:
        write_tree(options.output, grown, None, header_of(opened))
    return 0


def _heaviest(tree: Tree) -> int:
    columns = tree.columns
    trusted = np.array([function.trusted for function in tree.functions], dtype=bool)[
        columns.function
    ]
    hidden = np.flatnonzero((columns.implicit != 0) & ~trusted)
    if not len(hidden):
        raise UsageError("all calls of this recording were recorded: none was only counted")
    return int(hidden[np.argmax(columns.weight[hidden])])
