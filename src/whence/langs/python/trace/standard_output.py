"""What a recorded program printed, line by line, and which calls wrote each line.

Lines are those of standard output as text, in the order in which they were written; where one ends
only a newline says. What bypasses the text stream is not in a recording, and so is counted by
nobody here. Of one very long text only the beginning is recorded: how many lines are missing there
is not known, so nothing behind it has a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

MOST_LINES = 100_000
MOST_CHARACTERS = 16 * 2**20
_LONGEST = 10_000
_CUT = re.compile(r"…\d+ more characters\n\Z")
NOT_COUNTED = "what comes after it cannot be counted: a very long text was not recorded in full"
TOO_MANY = "what comes after it is more than is read of an output"


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """A line of standard output without its end, and the calls that wrote it, in order."""

    text: str
    calls: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StandardOutput:
    """All lines, and what keeps further ones from being known."""

    lines: tuple[PrintedLine, ...]
    rest: str = ""


def in_lines(pieces: Iterable[tuple[int, str]]) -> StandardOutput:
    """The lines that calls wrote piece by piece, each piece with the number of its call."""
    lines: list[PrintedLine] = []
    parts: list[str] = []
    calls: dict[int, None] = {}
    room = MOST_CHARACTERS

    def finish() -> None:
        lines.append(PrintedLine("".join(parts), tuple(calls)))
        parts.clear()
        calls.clear()

    for call, text in pieces:
        cut = _CUT.search(text) if len(text) > _LONGEST else None
        whole = text if cut is None else text[: cut.start()]
        room -= len(whole)
        *ended, rest = whole.split("\n")
        for part in ended:
            parts.append(part)
            calls[call] = None
            finish()
        if rest:
            parts.append(rest)
            calls[call] = None
        if cut is not None:
            finish()
            return StandardOutput(tuple(lines), NOT_COUNTED)
        if len(lines) >= MOST_LINES or room < 0:
            return StandardOutput(tuple(lines[:MOST_LINES]), TOO_MANY)
    if parts:
        finish()
    return StandardOutput(tuple(lines))
