"""Writes summaries as a person would: `datetime(2024, 5, 1)`, `array([[1, 2], [3, 4]])`.

A trace holds the complete one-line text of `record/summaries.py`. This module shortens it for
display; the recording is not changed.
"""

from __future__ import annotations

import ast
import re

import numpy as np

from whence.langs.python.record.matches import shown
from whence.langs.python.trace.trace_tables import TypeEntry

_DTYPE = re.compile(r"dtype='([^']{1,40})'\)\Z")
_ARRAY = re.compile(r"array\((\[.*\]), shape=(\([\d, ]*\)), dtype='[^']*'\)\Z", re.DOTALL)
_LONGEST = 2000


def readable_summary(kind: TypeEntry, text: str, *, complete: bool) -> str:
    """The text of a summary as it is shown."""
    package = kind.module.partition(".")[0]
    if package in ("datetime", "zoneinfo"):
        text = text.replace("datetime.", "").replace("zoneinfo.", "")
    elif package == "pathlib" and text.startswith(("PosixPath(", "WindowsPath(")):
        text = f"Path({text.partition('(')[2]}"
    elif package == "numpy":
        text = _array(text)
    elif package == "re" and complete:
        text = shown(text)
    elif package in ("builtins", "itertools", "functools"):
        return text  # what an iterator has left; `<Type>` says what is not shown
    return text if complete or "…" in text else f"{text} …"


def _array(text: str) -> str:
    if len(text) > _LONGEST:
        return text
    nested = _ARRAY.match(text)
    match = _DTYPE.search(text)
    if match is None:
        return text
    name = _dtype_name(match[1])
    if nested is not None and "…" not in text:
        items = _nested(nested[1], nested[2])
        if items is not None:
            return f"array({items}, dtype={name})"
    return f"{text[: match.start()]}dtype={name})"


def _dtype_name(text: str) -> str:
    """The usual name, which does not tell the byte order; a foreign order keeps its own text."""
    try:
        dtype = np.dtype(text)
    except (TypeError, ValueError):
        return repr(text)
    return dtype.name if dtype.isnative and dtype.kind in "biufc" else repr(text)


def _nested(items: str, shape: str) -> str | None:
    """The items as nested rows."""
    try:
        flat, sizes = ast.literal_eval(items), ast.literal_eval(shape)
        rows = np.empty(len(flat), dtype=object)
        rows[:] = flat
        return repr(rows.reshape(sizes).tolist())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
