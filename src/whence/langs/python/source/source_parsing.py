"""Reads and parses source as the interpreter does, with its declared encoding, and never fails.

Sources come from anywhere: a file may be gone, a device, much too large, in an unknown encoding or
no Python at all. All of these give None, since every caller can do without.
"""

from __future__ import annotations

import ast
from importlib.util import decode_source
from pathlib import Path

from whence.langs.python.source.quiet_compile import parse_quietly
from whence.regular_files import MOST_BYTES, read_regular_file

_NOT_PYTHON = (SyntaxError, ValueError, MemoryError, RecursionError)


def read_source(file: str | Path) -> str | None:
    """The text of a source file."""
    try:
        return decode_source(read_regular_file(file))
    except (OSError, SyntaxError, ValueError):
        return None


def parse_source(source: str | bytes) -> ast.Module | None:
    """The syntax tree of a source."""
    try:
        return parse_quietly(source)
    except _NOT_PYTHON:
        return None


def parse_file(file: str | Path, most_bytes: int = MOST_BYTES) -> ast.Module | None:
    """The syntax tree of a file, unless it is larger than `most_bytes`."""
    try:
        return parse_source(read_regular_file(file, most_bytes))
    except OSError:
        return None
