"""Reads and parses source as the interpreter does, with its declared encoding, and never fails.

Sources come from anywhere: a file may be gone, in an unknown encoding or no Python at all. All of
these give None, since every caller can do without.
"""

from __future__ import annotations

import ast
from importlib.util import decode_source
from pathlib import Path

from whence.langs.python.source.quiet_compile import parse_quietly

_NOT_PYTHON = (SyntaxError, ValueError, MemoryError, RecursionError)


def read_source(file: str | Path) -> str | None:
    """The text of a source file."""
    try:
        return decode_source(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None


def parse_source(source: str | bytes) -> ast.Module | None:
    """The syntax tree of a source."""
    try:
        return parse_quietly(source)
    except _NOT_PYTHON:
        return None


def parse_file(file: str | Path, most_bytes: int | None = None) -> ast.Module | None:
    """The syntax tree of a file, unless it is larger than `most_bytes`."""
    path = Path(file)
    try:
        if most_bytes is not None and path.stat().st_size > most_bytes:
            return None
        return parse_source(path.read_bytes())
    except OSError:
        return None
