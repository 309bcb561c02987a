"""Folds source text where a line would get too long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

WIDTH = 88


@dataclass(frozen=True, slots=True)
class Group:
    """Parts between brackets, each with its prefix, such as `weight=`."""

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


def fold(text: Text, *, before: str = "", after: str = "", indent: int = 0) -> list[str]:
    """The lines of a text with a prefix and a suffix."""
    line = f"{' ' * indent}{before}{flat(text)}{after}"
    if len(line) <= WIDTH or isinstance(text, str) or not text.parts:
        return [line]
    out = [f"{' ' * indent}{before}{text.opening}"]
    atoms = [part for label, part in text.parts if not label and isinstance(part, str)]
    if len(atoms) == len(text.parts) and text.opening in ("[", "(", "{"):
        out += _filled(atoms, indent + 4)
    else:
        for label, part in text.parts:
            out += fold(part, before=label, after=",", indent=indent + 4)
    return [*out, f"{' ' * indent}{text.closing}{after}"]


def _filled(atoms: list[str], indent: int) -> list[str]:
    """Atoms, as many on a line as fit."""
    rows: list[str] = []
    for atom in atoms:
        if rows and indent + len(rows[-1]) + len(atom) + 2 <= WIDTH:
            rows[-1] += f" {atom},"
        else:
            rows.append(f"{atom},")
    return [" " * indent + row for row in rows]
