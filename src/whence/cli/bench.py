"""`whence bench`: how well whence does on bugs that are known. Only in a checkout.

What is measured, and how, is in `bench/questions.py` and `bench/mutants.py`, which are no part of
the installed package.
"""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path
from typing import Any

import whence
from whence.errors import UsageError, WhenceError

_OPTIONS = {
    "questions": ("strategy", "bug", "mutants", "package"),
    "mutants": ("package", "count", "parallel", "seconds", "results"),
}
_FOLDER = Path(whence.__file__).parents[2] / "bench"


def configure(commands: Any) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "bench",
        help="how well whence does on bugs that are known (in a checkout of whence)",
        description="`questions` debugs the buggy programs in tests/corpus with every strategy, a "
        "simulated person answering as the repaired programs do, and prints whether the function "
        "at fault was named, how many questions that took, how many characters were shown, and the "
        "seconds (docs/questions.md); with --mutants it debugs bugs that are made in installed "
        "packages instead, by `auto` without and with marks. `mutants` makes such bugs and debugs "
        "them with the unchanged package as reference version (docs/mutants.md); it goes on where "
        "it was cut off. Both need a checkout of whence, and Python 3.12.",
    )
    command.add_argument("what", choices=tuple(_OPTIONS), help="what is measured")
    command.add_argument("--write", metavar="FILE", help="put the tables into a document, too")
    command.add_argument(
        "--strategy", action="append", metavar="NAME",
        help="questions: only this strategy (may be repeated)",
    )  # fmt: skip
    command.add_argument(
        "--bug", action="append", metavar="NAME",
        help="questions: only this program (may be repeated)",
    )  # fmt: skip
    command.add_argument(
        "--mutants", metavar="N", help="questions: N bugs that are made in each installed package"
    )
    command.add_argument(
        "--package", action="append", metavar="NAME",
        help="mutants, questions --mutants: only this package (may be repeated)",
    )  # fmt: skip
    command.add_argument(
        "--count", metavar="N", help="mutants: of each package, so many with another outcome"
    )
    command.add_argument("--parallel", metavar="N", help="mutants: so many at a time")
    command.add_argument("--seconds", metavar="N", help="mutants: that one may take")
    command.add_argument(
        "--results", metavar="FILE", help="mutants: what came of each; a run goes on from there"
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Measure."""
    script = _FOLDER / f"{options.what}.py"
    if not script.exists():
        raise WhenceError("this needs a checkout of whence: the corpus is not installed with it")
    words = []
    for option in dict.fromkeys(name for names in _OPTIONS.values() for name in names):
        given = getattr(options, option)
        if given is not None and option not in _OPTIONS[options.what]:
            raise UsageError(f"--{option} has no meaning for whence bench {options.what}")
        for word in given if isinstance(given, list) else [given] if given is not None else []:
            words += [f"--{option}", word]
    if options.write is not None:
        words += ["--write", options.write]
    code: int = runpy.run_path(str(script))["main"](words)
    return code
