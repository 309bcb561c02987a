"""Source text that is folded where a line would get too long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

WIDTH = 88


@dataclass(frozen=True, slots=True)
class Group:
    """Parts between brackets, each with what stands before it, such as `weight=`."""

    opening: str
    parts: tuple[tuple[str, Text], ...]
    closing: str


Text: TypeAlias = "str | Group"


def flat(text: Text) -> str:
    """The text on one line."""
    if isinstance(text, str):
        return text
    inner = ", ".join(before + flat(part) for before, part in text.parts)
    comma = "," if text.opening == "(" and len(text.parts) == 1 else ""
    return f"{text.opening}{inner}{comma}{text.closing}"


def laid_out(text: Text, *, before: str = "", after: str = "", indent: int = 0) -> list[str]:
    """The lines of a text between two others."""
    line = f"{' ' * indent}{before}{flat(text)}{after}"
    if len(line) <= WIDTH or isinstance(text, str) or not text.parts:
        return [line]
    out = [f"{' ' * indent}{before}{text.opening}"]
    for label, part in text.parts:
        out += laid_out(part, before=label, after=",", indent=indent + 4)
    return [*out, f"{' ' * indent}{text.closing}{after}"]
