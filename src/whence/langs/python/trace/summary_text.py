"""Writes summaries as a person would: `datetime(2024, 5, 1)`, `array([[1, 2], [3, 4]])`.

A trace holds the complete one-line text of `record/summaries.py`. This module shortens it for
display; the recording is not changed.
"""

from __future__ import annotations

import ast
import re

import numpy as np

from whence.langs.python.record.library_summaries import LIBRARIES
from whence.langs.python.record.matches import shown
from whence.langs.python.trace.trace_tables import TypeEntry
from whence.model.value import Kind, Value, atom

_DTYPE = re.compile(r"dtype='([^']{1,40})'\)\Z")
_ARRAY = re.compile(r"array\((\[.*\]), shape=(\([\d, ]*\)), dtype='[^']*'\)\Z", re.DOTALL)
_FRACTION = re.compile(r"-?\d+\.\d{6,}(?:e[+-]?\d+)?")
_LONGEST = 2000
_FRAME = re.compile(r"DataFrame\(\d+×\d+; (.*)\)\Z", re.DOTALL)
_COLUMN = re.compile(r"(.*?): (\w+(?:\[[^\[\]]*\])?(?: \w+)*) \[(.*)\]\Z", re.DOTALL)
_MORE = re.compile(r"…(\d{1,9}) more\Z")
_PLAIN_TYPES = ("int64", "float64", "bool", "object", "str", "string")
"""Types of columns that their values show."""


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
    elif package in ("builtins", "itertools", "functools", *LIBRARIES):
        return text  # `<Type>` and `…` in it say what is not shown
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
    return f"{_rounded(text[: match.start()])}dtype={name})"


def _rounded(text: str) -> str:
    """The text of an array that is cut off, with its numbers rounded."""
    if "…" not in text:
        return text
    return _FRACTION.sub(lambda number: f"{float(number[0]):.6g}", text)


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


def frame_parts(kind: TypeEntry, text: str) -> tuple[list[tuple[str, Value]], int] | None:
    """The columns of a data frame, each with its step, and how many more there are.

    None if the text is not that of a data frame, or was cut.
    """
    match = _FRAME.match(text)
    if match is None or kind.module.partition(".")[0] != "pandas":
        return None
    parts, omitted = [], 0
    for piece in _split(match[1], "; "):
        more, column = _MORE.match(piece), _COLUMN.match(piece)
        if more is not None:
            omitted = int(more[1])
        elif column is None:
            return None
        else:
            step = ".index" if column[1] == "index" else f"[{column[1]}]"
            parts.append((step, _cells(column[2], column[3])))
    return parts, omitted


def _cells(dtype: str, text: str) -> Value:
    cells, omitted = _split(text, ", ") if text else [], 0
    more = _MORE.match(cells[-1]) if cells else None
    if more is not None:
        cells, omitted = cells[:-1], int(more[1])
    parts = tuple((f"[{number}]", atom(cell)) for number, cell in enumerate(cells))
    if dtype in _PLAIN_TYPES:
        return Value(Kind.LIST, "", parts, omitted)
    return Value(Kind.OBJECT, dtype, parts, omitted)


def _split(text: str, separator: str) -> list[str]:
    """The pieces between separators that are neither quoted nor in brackets."""
    pieces, begin, depth, quote, position = [], 0, 0, "", 0
    while position < len(text):
        letter = text[position]
        if quote:
            position += letter == "\\"
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "[(":
            depth += 1
        elif letter in "])":
            depth -= 1
        elif not depth and text.startswith(separator, position):
            pieces.append(text[begin:position])
            begin = position + len(separator)
        position += 1
    return [*pieces, text[begin:]]
