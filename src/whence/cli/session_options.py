"""The options of every command that ends in a diagnosis.

`whence debug` is the first of them. Recording commands share these options, so that scripts and CI
drive all of them in the same way.
"""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path

from whence.app.foreign_recordings import OPTION
from whence.app.oracle_gathering import NAMES
from whence.app.report_writing import check_output
from whence.app.session_request import SessionRequest
from whence.errors import WhenceError
from whence.model.replay_settings import NODE_BUDGET, ReplayMode
from whence.model.symptom import Symptom, parse
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
        help="code that cannot be at fault: a function, module:NAME or file:NAME; the calls "
        "that it makes are still searched (may be repeated)",
    )  # fmt: skip
    for name, words in (
        ("compress", "fold a call into its caller when both have the same rule"),
        ("single-rule", "stop as soon as only one rule can be at fault"),
        ("no-duplicates", "ask again about calls with equal equations"),
        ("no-slicing", "search all calls, even those that cannot have influenced what is wrong"),
        ("no-presumption", "ask about imports and class bodies like about other calls"),
    ):
        search.add_argument(f"--{name}", action="store_true", help=words)

    add_budget(search)
    search.add_argument(
        "--replay", choices=[mode.value for mode in ReplayMode],
        default=ReplayMode.CHECKPOINTS.value,
        help="how the recorded program runs again when a question needs it: off: never; rerun: "
        "from its start; checkpoints: from the nearest checkpoint that earlier re-runs have "
        "left, if the system supports them (default: checkpoints)",
    )  # fmt: skip

    page = command.add_argument_group("on a page (whence[web])")
    page.add_argument(
        "--web", action="store_true",
        help="hold the session on a page in the browser instead of here (docs/web.md)",
    )  # fmt: skip
    page.add_argument(
        "--port", type=int, default=0, metavar="N", help="the page's port (default: a free one)"
    )
    page.add_argument(
        "--no-open", action="store_true", help="print the page's address, but open no browser"
    )
    command.set_defaults(browse=False)

    without = command.add_argument_group("without a person")
    without.add_argument(
        "--answers", metavar="FILE",
        help="read answers from a file, one per line, as you would type them (-: standard "
        "input)",
    )  # fmt: skip
    without.add_argument(
        "--format", choices=("text", "json", "html"), default="text",
        help="the format of the diagnosis (default: text)",
    )  # fmt: skip
    without.add_argument(
        "-o", "--output", metavar="FILE", type=Path,
        help="write the diagnosis to a file instead of standard output",
    )  # fmt: skip
    without.add_argument(
        "--regression-test", nargs="?", const="", default=None, metavar="FILE",
        help="when the fault is found, write a test that fails because of it (default: "
        "tests/test_regression_NAME.py); an existing file is not overwritten",
    )  # fmt: skip
    without.add_argument(
        "--rerun", action=argparse.BooleanOptionalAction, default=None,
        help="run the program again, without asking, to find the lines that the call at fault "
        "ran, the values that full and ran show, and the origins of marked parts (default: ask "
        "at a terminal; a script that marks a part allows it; the lines are found by making "
        "only this call again, isolated from the world; --no-rerun: do none of this)",
    )  # fmt: skip
    add_trust(without)
    without.add_argument("--plain", action="store_true", help="no colours, no line editing")

    keeping = command.add_argument_group("keeping the session")
    where = keeping.add_mutually_exclusive_group()
    where.add_argument(
        "--session",
        metavar="FILE",
        type=Path,
        help="store the session in FILE, and resume it from there",
    )
    where.add_argument("--no-session", action="store_true", help="do not store the session")
    _add_oracle_options(without, keeping)
    keeping.add_argument(
        "--fresh",
        action="store_true",
        help="start a new session; the stored one is kept under another name, and remembered "
        "answers still count",
    )


def _add_oracle_options(without: argparse._ArgumentGroup, keeping: argparse._ArgumentGroup) -> None:
    """The options about oracles."""
    without.add_argument(
        "--oracle", action="append", default=[], metavar="python:MODULE:FUNCTION",
        help="ask this function first, and the person if it does not know",
    )  # fmt: skip
    without.add_argument(
        "--reference", metavar="VERSION",
        help="judge calls by a version that is right: a folder or script that replaces the "
        "program's own, git:REVISION, or PACKAGE==VERSION (docs/reference.md)",
    )  # fmt: skip
    without.add_argument(
        "--no-oracle", action="append", default=[], metavar="NAME",
        help=f"do not ask this oracle: {', '.join(NAMES)}, or one given with --oracle (may be "
        "repeated)",
    )  # fmt: skip
    keeping.add_argument(
        "--remember", action=argparse.BooleanOptionalAction, default=None,
        help="remember answers for later sessions in .whence/answers.jsonl (default: remember "
        "those of a person at a terminal, if there is a folder .whence)",
    )  # fmt: skip


def add_trust(group: argparse._ActionsContainer) -> None:
    """The option of all commands that may execute the program of a recording."""
    group.add_argument(
        OPTION, action="store_true", dest="trust_recording",
        help="execute the program of a recording that was not made by you on this machine, where "
        "that is needed (default: ask at a terminal, else do not)",
    )  # fmt: skip


def add_budget(group: argparse._ActionsContainer) -> None:
    """The option of all commands that may look deeper."""
    group.add_argument(
        "--node-budget", type=int, default=NODE_BUDGET, metavar="N",
        help="materialize at most this many calls at once, where the recording only counted them "
        f"(default: {NODE_BUDGET})",
    )  # fmt: skip


def add_symptom(group: argparse._ActionsContainer) -> None:
    """The option `--wrong`: what is wrong about a recorded run."""
    group.add_argument(
        "--wrong", metavar="WHAT", type=_symptom,
        help="the symptom: exception, result, output, output:LINE, output:LINE:WORDS, "
        "not-ended, raises EXCEPTION, or a part such as result[2].name (default: ask)",
    )  # fmt: skip


def _symptom(text: str) -> Symptom:
    try:
        return parse(text)
    except WhenceError as problem:
        raise ValueError(str(problem)) from None


def read(options: argparse.Namespace) -> SessionRequest:
    """The options as what a user wants of a session."""
    values = {field.name: getattr(options, field.name) for field in fields(SessionRequest)}
    return SessionRequest(**values | {"replay": ReplayMode(options.replay)})


def check(options: argparse.Namespace) -> None:
    """Find what is wrong with the options as far as that needs no tree."""
    if options.strategy is not None:
        find_strategy(options.strategy)
    check_output(options.output)
