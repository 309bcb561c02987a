"""The source of a rule, for `source`: from the tree, else from the file that the tree names.

A tree file is somebody else's, so of the file that it names only a regular one of a modest size is
read, and only to show lines of it.
"""

from __future__ import annotations

import os
from pathlib import Path

from whence.errors import WhenceError
from whence.model.call import Call, Location

MOST_LINES = 40
_MOST_BYTES = 8 * 2**20


def source_lines(call: Call) -> list[str]:
    """The source with its line numbers."""
    where = call.where()
    if call.rule.source:
        text = call.rule.source.splitlines()
        first = where.line if where and where.line else None
    elif where is None or where.line is None:
        raise WhenceError("the tree does not say where the source of this call is")
    else:
        first = where.line
        text = _block(_read(where), where)
    out = [str(where)] if where else []
    out += _numbered(text[:MOST_LINES], first)
    if len(text) > MOST_LINES:
        out.append(f"… and {len(text) - MOST_LINES} more lines")
    if call.site:
        out.append(f"called at {call.site}")
    return out


def _numbered(lines: list[str], first: int | None) -> list[str]:
    if first is None:
        return [f"  {line}" for line in lines]
    column = len(str(first + len(lines)))
    return [f"  {number:>{column}}  {line}" for number, line in enumerate(lines, first)]


def _read(where: Location) -> list[str]:
    path = Path(where.file)
    try:
        if not path.is_file():
            raise WhenceError(f"{where.file} is not there, and the tree does not hold its text")
        if path.stat().st_size > _MOST_BYTES:
            raise WhenceError(f"{where.file} is too large to be shown")
        # Some files of the system look regular and never end: do not wait for them.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, encoding="utf-8", errors="replace") as file:
            return file.read(_MOST_BYTES).splitlines()
    except (OSError, ValueError) as problem:
        raise WhenceError(f"{where.file} cannot be read ({problem})") from problem


def _block(lines: list[str], where: Location) -> list[str]:
    """From a definition's line to the next line that is indented no deeper."""
    assert where.line is not None
    below = lines[where.line - 1 :] if where.line > 0 else []
    if not below:
        raise WhenceError(f"{where.file} has no line {where.line}; was it changed since?")
    depth = _indent(below[0])
    for count, line in enumerate(below[1:], 1):
        closes = line.strip()[:1] in (")", "]", "}")
        if line.strip() and _indent(line) <= depth and not closes:
            return _without_blank_end(below[:count])
    return _without_blank_end(below)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _without_blank_end(lines: list[str]) -> list[str]:
    while len(lines) > 1 and not lines[-1].strip():
        lines = lines[:-1]
    return lines
