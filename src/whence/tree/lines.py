"""The lines of a tree file: how one is found, bounded, decoded and parsed.

This module knows JSON lines but not what stands in them. Nothing here trusts the file: a line is
never longer than `MAX_LINE`, and whatever is wrong with one is a `BadLine`.

A line is found again by its *detail*, one number that holds its offset and a check of its bytes,
so that a file that was changed after it was indexed is noticed when a line is read.
"""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from whence.errors import TreeFormatError
from whence.tree.codec import MAX_NESTING

MAX_LINE = 64 * 2**20
MAX_FILE = 2**40
"""So that an offset takes 40 bits of a detail; the check has the other 23."""

_OFFSET = MAX_FILE - 1
_CHECK = 2**23 - 1
_BLANK = " \t\r\n"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_UNPAIRED = re.compile("[\ud800-\udfff]")


class BadLine(Exception):
    """What is wrong with a line, and what to do about it."""

    def __init__(self, problem: str, cure: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.cure = cure


def _refuse_constant(name: str) -> NoReturn:
    raise BadLine(f"{name} is not JSON", f'write it as a text, "{name}"')


_raw_decode = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode


def parse(line: bytes) -> dict[str, Any] | None:
    """The object on a line, or None for a blank line."""
    try:
        text = str(line, "utf-8")
        if text[:1] != "{":
            text = text.lstrip(_BLANK)
        record, stop = _raw_decode(text)
        rest = text[stop:]
        complete = rest == "\n" or not rest.strip(_BLANK)
        if complete and record.__class__ is dict:
            if "\\u" in text and _SURROGATE.search(text):
                record = _without_surrogates(record)
            parsed: dict[str, Any] = record
            return parsed
    except (ValueError, RecursionError) as error:
        if not line.strip():
            return None
        raise _bad_line(line, error) from None
    if not complete:
        raise BadLine("something follows the JSON object", "write one object on each line")
    raise BadLine("this is JSON, but not an object", "write one object on each line")


def _bad_line(line: bytes, error: ValueError | RecursionError) -> BadLine:
    if isinstance(error, RecursionError):
        return BadLine(
            "the line is nested too deeply", f"cut values off below {MAX_NESTING} levels"
        )
    if isinstance(error, UnicodeDecodeError):
        byte = line[error.start]
        return BadLine(
            f"byte 0x{byte:02x} at column {error.start + 1} is not UTF-8",
            "write tree files in UTF-8",
        )
    if isinstance(error, json.JSONDecodeError):
        return BadLine(
            f"this is not JSON: {error.msg} at column {error.colno}",
            "write one JSON object on each line",
        )
    return BadLine("a number has too many digits", "write it as a text")


def _without_surrogates(record: Any) -> Any:
    """The object of a line whose unpaired surrogates are spelt out: JSON can have them, terminals
    cannot."""
    text = json.dumps(record, ensure_ascii=False)
    return json.loads(_UNPAIRED.sub(lambda match: rf"\\u{ord(match[0]):04x}", text))


def detail_of(offset: int, line: bytes) -> int:
    """The number by which a line is found again."""
    return offset | (zlib.crc32(line) & _CHECK) << 40


def offset_of(detail: int) -> int:
    """Where a line starts."""
    return detail & _OFFSET


def read_line(file: BinaryIO, detail: int) -> bytes | None:
    """The line, or None if the file has another one there now."""
    offset = offset_of(detail)
    file.seek(offset)
    line = file.readline(MAX_LINE + 1)
    return line if detail_of(offset, line) == detail else None


def line_number(path: Path, offset: int) -> int | None:
    """The number of the line that starts at an offset; None if it cannot be determined."""
    number = 1
    try:
        with path.open("rb") as file:
            while offset > 0 and (chunk := file.read(min(offset, 2**20))):
                number += chunk.count(b"\n")
                offset -= len(chunk)
    except OSError:
        return None
    return number


def cannot_read(path: Path, error: OSError) -> TreeFormatError:
    """The error for a tree file that the operating system does not give."""
    return TreeFormatError(str(path), None, f"cannot be read: {error.strerror or error}")
