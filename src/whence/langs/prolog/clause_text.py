"""The text of clauses in their file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from whence.langs.prolog.port_events import Clause

_MOST_LINES = 60


def source_of(clause: Clause) -> str:
    """The text of a clause: the lines from its first to the one that ends with a full stop."""
    return source_between(clause.file, clause.line, clause.line)


def source_between(file: str, first: int, last: int) -> str:
    """The lines of a file from the start of one clause to the end of another."""
    try:
        lines = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    clauses = [*lines[first - 1 : last - 1], *_until_full_stop(lines[last - 1 :])]
    return "\n".join(clauses[:_MOST_LINES])


def _until_full_stop(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line
        if line.split("%")[0].rstrip().endswith("."):
            return
