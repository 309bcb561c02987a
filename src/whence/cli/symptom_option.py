"""The option `--wrong`: what is wrong about a recorded run."""

from __future__ import annotations

from typing import Any

from whence.errors import WhenceError
from whence.model.symptom import Symptom, parse


def add_option(group: Any) -> None:
    """The option `--wrong`."""
    group.add_argument(
        "--wrong", metavar="WHAT", type=_parsed,
        help="what is wrong about the run: exception, result, output, output:LINE, "
        "output:LINE:WORDS, not-ended, or a part as result[2].name (default: it is asked)",
    )  # fmt: skip


def _parsed(text: str) -> Symptom:
    try:
        return parse(text)
    except WhenceError as problem:
        raise ValueError(str(problem)) from None
