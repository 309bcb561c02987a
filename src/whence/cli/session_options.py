"""The options of every command that ends in a diagnosis.

`whence debug` is the first of them. Recording commands share these options, so that scripts and CI
drive all of them in the same way.
"""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

from whence.app.oracle_gathering import NAMES
from whence.app.report_writing import check_output
from whence.app.session_request import SessionRequest
from whence.model.replay_settings import NODE_BUDGET, ReplayMode
from whence.search.registry import DEFAULT, find_strategy


def add_options(command: argparse.ArgumentParser) -> None:
    """The options, in groups."""
    search = command.add_argument_group("the search")
    search.add_argument(
        "-s", "--strategy", default=None, metavar="NAME",
        help=f"how questions are chosen (default: {DEFAULT}; `whence strategies` lists all)",
    )  # fmt: skip
    search.add_argument(
        "--trust", action="append", default=[], metavar="[SCOPE:]NAME",
        help="code that cannot be at fault: a function, or module:NAME or file:NAME; "
        "what it calls is searched all the same (may be repeated)",
    )  # fmt: skip
    for name, words in (
        ("compress", "fold a call into its caller when both have the same rule"),
        ("single-rule", "stop as soon as only one rule can be at fault"),
        ("no-duplicates", "ask again about calls with equal equations"),
        ("no-slicing", "search all calls even after a part of a value was marked"),
    ):
        search.add_argument(f"--{name}", action="store_true", help=words)

    add_budget(search)
    add_replay(search)

    without = command.add_argument_group("without a person")
    without.add_argument(
        "--answers", metavar="FILE",
        help="read answers from a file, one a line, as they would be typed (-: standard input)",
    )  # fmt: skip
    without.add_argument(
        "--format", choices=("text", "json", "html"), default="text",
        help="how the diagnosis is written at the end (default: text)",
    )  # fmt: skip
    without.add_argument(
        "-o", "--output", metavar="FILE", type=Path,
        help="write the diagnosis to a file instead of standard output",
    )  # fmt: skip
    without.add_argument(
        "--regression-test", nargs="?", const="", default=None, metavar="FILE",
        help="when the fault is found, write a failing test of it (default: "
        "tests/test_regression_NAME.py); a file that exists is not overwritten",
    )  # fmt: skip
    without.add_argument(
        "--rerun", action=argparse.BooleanOptionalAction, default=None,
        help="run the program again, without asking, for the lines that the call at fault ran, "
        "for what full and ran show, and for where marked parts came from (default: one is asked "
        "at a terminal, and a script that marks a part is taken to wish it; for the lines only "
        "this call is made again, where it can reach nothing outside; --no-rerun: none of that)",
    )  # fmt: skip
    without.add_argument("--plain", action="store_true", help="no colours, no line editing")

    keeping = command.add_argument_group("keeping the session")
    where = keeping.add_mutually_exclusive_group()
    where.add_argument("--session", metavar="FILE", type=Path, help="keep the session in FILE")
    where.add_argument("--no-session", action="store_true", help="keep nothing")
    _add_oracle_options(without, keeping)
    keeping.add_argument("--fresh", action="store_true", help="forget the answers given before")


def _add_oracle_options(without: argparse._ArgumentGroup, keeping: argparse._ArgumentGroup) -> None:
    """The options about oracles."""
    without.add_argument(
        "--oracle", action="append", default=[], metavar="python:MODULE:FUNCTION",
        help="ask this function first; the person is asked what it does not know",
    )  # fmt: skip
    without.add_argument(
        "--reference", metavar="VERSION",
        help="ask a version that is right: a folder or script that stands in for the program's "
        "own, git:REVISION, or PACKAGE==VERSION (docs/reference.md)",
    )  # fmt: skip
    without.add_argument(
        "--no-oracle", action="append", default=[], metavar="NAME",
        help=f"do not ask this oracle: {', '.join(NAMES)}, or one given with --oracle (may be "
        "repeated)",
    )  # fmt: skip
    keeping.add_argument(
        "--remember", action=argparse.BooleanOptionalAction, default=None,
        help="keep answers for later runs in .whence/answers.jsonl (default: those of a person "
        "at a terminal, where there is a folder .whence)",
    )  # fmt: skip


def add_budget(group: Any) -> None:
    """The option of all commands that may look deeper."""
    group.add_argument(
        "--node-budget", type=int, default=NODE_BUDGET, metavar="N",
        help="so many calls come to light at once where a recording only counted them (default: "
        f"{NODE_BUDGET})",
    )  # fmt: skip


def add_replay(group: Any) -> None:
    """The option of all commands that hold a session."""
    group.add_argument(
        "--replay", choices=[mode.value for mode in ReplayMode],
        default=ReplayMode.CHECKPOINTS.value,
        help="how the program of a recording is run again where a question needs it: off: never; "
        "rerun: from its start; checkpoints: from the nearest of the sleeping copies of it that "
        "the runs before have left, where there can be any (default: checkpoints)",
    )  # fmt: skip


def read(options: argparse.Namespace) -> SessionRequest:
    """The options as what a user wants of a session."""
    values = {field.name: getattr(options, field.name) for field in fields(SessionRequest)}
    return SessionRequest(**values | {"replay": ReplayMode(options.replay)})


def check(options: argparse.Namespace) -> None:
    """Find what is wrong with the options as far as that needs no tree."""
    if options.strategy is not None:
        find_strategy(options.strategy)
    check_output(options.output)
