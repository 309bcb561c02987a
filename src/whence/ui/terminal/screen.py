"""What the question loop needs of a screen, whatever it is drawn with.

A screen knows lines, their tone and how to read one line; it knows neither sessions nor commands.
Everything that is shown goes through `printable`: a tree is made by somebody's program, and what
it holds must not be able to move the cursor, colour the screen or hide a line.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from whence.printable_text import printable

Complete = Callable[[str], Sequence[str]]
"""Maps the text before the cursor to the texts that could replace it."""


class Tone(Enum):
    """What a line is, for screens that can show the difference."""

    PLAIN = "plain"
    TITLE = "title"
    CALL = "call"
    QUIET = "quiet"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Line:
    """One line to show."""

    text: str
    tone: Tone = Tone.PLAIN
    strong: tuple[str, ...] = ()
    """The pieces of the text that matter most, for screens that can emphasise them."""


def no_completion(text: str) -> Sequence[str]:
    """No proposals."""
    return ()


class Screen(Protocol):
    """What a session is shown on and read from."""

    @property
    def interactive(self) -> bool:
        """Whether a person is there, who can be asked what to do next."""

    @property
    def width(self) -> int:
        """How many characters fit on a line."""

    @property
    def emphasises(self) -> bool:
        """Whether it can emphasise pieces of a line."""

    def say(self, *lines: str | Line) -> None:
        """Show lines."""

    def note(self, text: str) -> None:
        """Say something outside the dialogue."""

    def warn(self, text: str) -> None:
        """Say what went wrong."""

    def read(self, prompt: str | None, complete: Complete = no_completion) -> str | None:
        """The next line, None when no more will come. Without a prompt nothing is shown."""


_LABEL = re.compile(r"\s*(?:\S+(?: \S+){0,3}  +)?")
_NARROWEST = 20


def wrap(text: str, width: int) -> list[str]:
    """Break sentences into lines; a path stays in one piece, so that it can be copied."""
    lines = textwrap.wrap(printable(text), width, break_long_words=False, break_on_hyphens=False)
    return lines or [""]


def hanging(line: str, width: int) -> list[str]:
    """A line that may be too long, the rest indented deeper than its beginning.

    Two spaces after the first words make these a label, and the rest is written beside it.
    """
    if len(line) <= width:
        return [line]
    label = _LABEL.match(line)
    assert label is not None
    column = label.end() if label.end() <= width // 2 else len(line) - len(line.lstrip())
    pieces = textwrap.wrap(
        printable(line[column:]),
        max(_NARROWEST, width - column - 2),
        break_long_words=False,
        break_on_hyphens=False,
    )
    first, rest = line[:column], " " * (column + 2)
    return [(rest if number else first) + piece for number, piece in enumerate(pieces)]
