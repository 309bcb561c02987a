"""Text that is safe to print: nothing in it can move a cursor, colour a screen or hide a line.

Names, values, printed output, file names and commands of a recording come from somebody's program.
Control characters (C0, C1, so all escape sequences), characters that reorder or hide text, and
unpaired surrogates are spelled out. JSON stays JSON: above ASCII, the spelling is that of JSON.

Every command writes to a `PrintableStream` in place of `sys.stdout` and `sys.stderr`, so that no
printing function has to think of this. What draws on a terminal itself writes to `raw(stream)`. The
output of a recorded program does not come this way: its process has the descriptors themselves.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any, TextIO

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_NAMED = {"\n": r"\n", "\r": r"\r", "\t": "    "}
_UNUSUAL = re.compile(r"[^ -~]")


def printable(text: str) -> str:
    """The text on one line, with everything spelled out that could leave its line."""
    return text if text.isprintable() else _UNUSUAL.sub(_spelled, text)


def printable_lines(text: str) -> str:
    """The same, with its line breaks."""
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


def _spelled(match: re.Match[str]) -> str:
    character = match[0]
    if unicodedata.category(character) not in _HIDDEN:
        return character
    if character in _NAMED:
        return _NAMED[character]
    if character < "\x7f":
        return f"\\x{ord(character):02x}"
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


class PrintableStream:
    """A text stream through which only printable text and line breaks reach another one."""

    def __init__(self, stream: TextIO) -> None:
        self.raw = stream

    def write(self, text: str) -> int:
        """Write text, made printable."""
        self.raw.write(printable_lines(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts, made printable."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def raw(stream: TextIO) -> TextIO:
    """The stream itself, for what draws on a terminal."""
    target: object = stream
    return target.raw if isinstance(target, PrintableStream) else stream
