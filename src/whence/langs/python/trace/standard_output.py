"""What a recorded program printed, line by line, and which calls wrote each line.

Lines are those of standard output as text, in the order in which they were written; only a newline
ends one. Output that bypasses the text stream is not recorded. Of a very long text only the
beginning is recorded, so the lines after it have no numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

MOST_LINES = 100_000
MOST_CHARACTERS = 16 * 2**20
_LONGEST = 10_000
_CUT = re.compile(r"…\d+ more characters\n\Z")
NOT_COUNTED = "later lines cannot be counted: a very long text was not recorded in full"
TOO_MANY = "the output is longer than what is read of it"


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """A line of standard output without its end, and the calls that wrote it, in order."""

    text: str
    calls: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StandardOutput:
    """All lines that are known, and why later ones are not (empty if there are none)."""

    lines: tuple[PrintedLine, ...]
    rest: str = ""


def split_lines(pieces: Iterable[tuple[int, str]]) -> StandardOutput:
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
        if "\n" in whole:
            *ended, rest = whole.split("\n")
            for part in ended:
                parts.append(part)
                calls[call] = None
                finish()
        else:
            rest = whole
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
