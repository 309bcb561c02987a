"""`whence bench`: how long a person waits, and how well whence does on bugs that are known.

Only in a checkout. What is measured, and how, is in `bench/waiting.py`, `bench/questions.py`,
`bench/readability.py` and `bench/mutants.py`, which are no part of the installed package.
"""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path

import whence
from whence.errors import UsageError, WhenceError

_OPTIONS = {
    "waiting": ("largest", "program"),
    "questions": ("strategy", "bug", "mutants", "package"),
    "readability": ("bug", "mutants", "package"),
    "mutants": ("package", "count", "parallel", "seconds", "results"),
}
_FOLDER = Path(whence.__file__).parents[2] / "bench"


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "bench",
        help="measure whence, on known bugs too (in a checkout of whence)",
        description="`waiting` records programs of growing size and debugs them with the default "
        "settings, all oracles included. It prints the seconds that recording takes, and the "
        "milliseconds until the first question and the next ones (docs/strategies.md). "
        "`questions` debugs the buggy programs in tests/corpus with every "
        "strategy; a simulated person answers as the repaired programs do. It prints whether "
        "the function at fault was named, the number of questions, the characters shown, and "
        "the seconds (docs/questions.md). With --mutants it debugs mutations of installed "
        "packages instead, with `auto`, without and with marks. `readability` prints for the same "
        "sessions how much there is to read, and how often the screen shows what decides a "
        "question. `mutants` makes such mutations and debugs them with the unchanged package as "
        "reference version (docs/mutants.md); it resumes where it was interrupted. All need a "
        "checkout of whence, the last three Python 3.12.",
    )
    command.add_argument("what", choices=tuple(_OPTIONS), help="what to measure")
    command.add_argument("--write", metavar="FILE", help="also put the tables into a document")
    command.add_argument(
        "--largest", metavar="N", help="waiting: the size of the largest program (default: 10⁷)"
    )
    command.add_argument(
        "--program", action="append", metavar="NAME",
        help="waiting: only loop, printing, generator or threads (may be repeated)",
    )  # fmt: skip
    command.add_argument(
        "--strategy", action="append", metavar="NAME",
        help="questions: only this strategy (may be repeated)",
    )  # fmt: skip
    command.add_argument(
        "--bug", action="append", metavar="NAME",
        help="questions, readability: only this program (may be repeated)",
    )  # fmt: skip
    command.add_argument(
        "--mutants",
        metavar="N",
        help="questions, readability: debug N mutations of each installed package",
    )
    command.add_argument(
        "--package", action="append", metavar="NAME",
        help="mutants, questions --mutants, readability: only this package (may be repeated)",
    )  # fmt: skip
    command.add_argument(
        "--count",
        metavar="N",
        help="mutants: this many mutations with another outcome, for each package",
    )
    command.add_argument("--parallel", metavar="N", help="mutants: this many processes")
    command.add_argument("--seconds", metavar="N", help="mutants: the time limit of one mutation")
    command.add_argument(
        "--results", metavar="FILE", help="mutants: the file of results, from which a run resumes"
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Measure."""
    script = _FOLDER / f"{options.what}.py"
    if not script.exists():
        raise WhenceError("this needs a checkout of whence: the corpus is not installed with it")
    words = []
    for option in dict.fromkeys(name for names in _OPTIONS.values() for name in names):
        value = getattr(options, option)
        if value is not None and option not in _OPTIONS[options.what]:
            raise UsageError(f"--{option} has no meaning for whence bench {options.what}")
        for word in value if isinstance(value, list) else [value] if value is not None else []:
            words += [f"--{option}", word]
    if options.write is not None:
        words += ["--write", options.write]
    code: int = runpy.run_path(str(script))["main"](words)
    return code
