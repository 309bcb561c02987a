"""The option `--wrong`: what is wrong about a recorded run."""

from __future__ import annotations

import argparse

from whence.errors import WhenceError
from whence.model.symptom import Symptom, parse


def add_option(group: argparse._ActionsContainer) -> None:
    """The option `--wrong`."""
    group.add_argument(
        "--wrong", metavar="WHAT", type=_parsed,
        help="the symptom: exception, result, output, output:LINE, output:LINE:WORDS, "
        "not-ended, or a part such as result[2].name (default: ask)",
    )  # fmt: skip


def _parsed(text: str) -> Symptom:
    try:
        return parse(text)
    except WhenceError as problem:
        raise ValueError(str(problem)) from None
