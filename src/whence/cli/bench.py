"""`whence bench questions`: how well the strategies do on the corpus. Only in a checkout.

What is measured, and how, is in `bench/questions.py`, which is no part of the installed package.
"""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path
from typing import Any

import whence
from whence.errors import WhenceError

_FOLDER = Path(whence.__file__).parents[2] / "bench"


def configure(commands: Any) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "bench",
        help="how many questions each strategy asks (in a checkout of whence)",
        description="Debugs the buggy programs in tests/corpus with every strategy, a simulated "
        "person answering as the repaired programs do, and prints whether the function at fault "
        "was named, how many questions that took, how many characters were shown, and the seconds "
        "(docs/questions.md). It needs a checkout of whence, and Python 3.12.",
    )
    command.add_argument("what", choices=("questions",), help="what is measured")
    command.add_argument(
        "--write", type=Path, metavar="FILE", help="put the tables into a document, too"
    )
    command.add_argument(
        "--strategy", action="append", default=[], metavar="NAME",
        help="only this strategy (may be repeated)",
    )  # fmt: skip
    command.add_argument(
        "--bug", action="append", default=[], metavar="NAME",
        help="only this program (may be repeated)",
    )  # fmt: skip
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Measure."""
    script = _FOLDER / f"{options.what}.py"
    if not script.exists():
        raise WhenceError("this needs a checkout of whence: the corpus is not installed with it")
    words = []
    for option in ("strategy", "bug"):
        for name in getattr(options, option):
            words += [f"--{option}", name]
    if options.write is not None:
        words += ["--write", str(options.write)]
    code: int = runpy.run_path(str(script))["main"](words)
    return code
