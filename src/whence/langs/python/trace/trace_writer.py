"""Writes the records, values and pages of docs/trace-format.md.

Each function appends to a `bytearray` and does nothing else. The recorder decides what is written
and in which order, and writes a table's entry before its first use. `RootNumbering` keeps the one
rule that needs memory, the numbering of root values; `PageWriter` puts whole records into pages.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from whence.langs.python.trace import trace_format as f

PAGE_SIZE: Final = 1 << 20
"""A page is written once it holds this many bytes."""
KNOWN_ROOTS: Final = 1 << 14
"""How many root values can be referred to at a time, so that memory is bounded."""

_FLOAT = struct.Struct("<d")
_COMPLEX = struct.Struct("<dd")
_WHOLE = 1 << 63


# --- fields --------------------------------------------------------------------------------------


def add_v(out: bytearray, number: int) -> None:
    """An unsigned number."""
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def add_z(out: bytearray, number: int) -> None:
    """A signed number."""
    add_v(out, number << 1 if number >= 0 else ~number << 1 | 1)


def add_text(out: bytearray, text: str) -> None:
    """A text."""
    add_bytes(out, text.encode("utf-8", "surrogatepass"))


def add_bytes(out: bytearray, data: bytes) -> None:
    """Bytes with their length before them."""
    add_v(out, len(data))
    out += data


def add_record(out: bytearray, record: int, *numbers: int) -> None:
    """The byte of a record or value, and its numbers; VALUEs or texts may follow."""
    out.append(record)
    for number in numbers:
        if number < 0x80:
            out.append(number)
        else:
            add_v(out, number)


# --- tables --------------------------------------------------------------------------------------


def add_name(out: bytearray, text: str) -> None:
    """NAME."""
    out.append(f.NAME)
    add_text(out, text)


def add_type(out: bytearray, module: int, name: int, flags: int) -> None:
    """TYPE."""
    add_record(out, f.TYPE, module, name)
    out.append(flags)


def add_code(
    out: bytearray,
    flags: int,
    place: tuple[int, int, int, int],
    inputs: tuple[Sequence[int], Sequence[int]],
    variables: Sequence[int],
    line_table: bytes,
) -> None:
    """CODE. `place`: names of file, module and code, and its first line."""
    parameters, free = inputs
    add_record(out, f.CODE, flags, *place, len(parameters), len(free), len(variables))
    for number in (*parameters, *free, *variables):
        add_v(out, number)
    add_bytes(out, line_table)


def add_output(out: bytearray, distance: int, descriptor: int, text: str) -> None:
    """OUTPUT."""
    add_record(out, f.OUTPUT, distance)
    out.append(descriptor)
    add_text(out, text)


def add_note(out: bytearray, text: str) -> None:
    """NOTE."""
    out.append(f.NOTE)
    add_text(out, text)


# --- values --------------------------------------------------------------------------------------


def add_whole(out: bytearray, number: int, most: int | None = None) -> None:
    """A whole number; of a large one at most `most` bytes are stored."""
    if 0 <= number < 0x80:
        out.append(f.SMALL + number)
    elif -_WHOLE <= number < _WHOLE:
        out.append(f.WHOLE)
        add_z(out, number)
    else:
        size = abs(number)
        bits = size.bit_length()
        length = (bits + 7) // 8
        stored = length if most is None else min(length, most)
        out += bytes((f.LARGE, number < 0))
        add_v(out, bits)
        add_v(out, stored)
        out += (size >> 8 * (length - stored)).to_bytes(stored, "little")


def add_float(out: bytearray, number: float) -> None:
    """A float."""
    out.append(f.FLOAT)
    out += _FLOAT.pack(number)


def add_complex(out: bytearray, number: complex) -> None:
    """A complex number."""
    out.append(f.COMPLEX)
    out += _COMPLEX.pack(number.real, number.imag)


def add_string(out: bytearray, text: str, most: int | None = None) -> None:
    """A string, cut off after `most` characters."""
    if most is None or len(text) <= most:
        out.append(f.STRING)
        add_text(out, text)
    else:
        out.append(f.CUT_STRING)
        add_v(out, len(text))
        add_text(out, text[:most])


def add_blob(out: bytearray, data: bytes | bytearray, most: int | None = None) -> None:
    """Bytes or a bytearray, cut off after `most`."""
    stored = data if most is None else data[:most]
    out.append(f.BYTEARRAY if isinstance(data, bytearray) else f.BYTES)
    add_v(out, len(data))
    add_v(out, len(stored))
    out += stored


def add_summary(out: bytearray, type_number: int, complete: bool, text: str) -> None:
    """A SUMMARY."""
    add_record(out, f.SUMMARY, type_number)
    out.append(complete)
    add_text(out, text)


def add_secret(out: bytearray, kind: int, length: int, digest: bytes) -> None:
    """A SECRET."""
    out += bytes((f.SECRET, kind))
    add_v(out, length)
    out += digest


class RootNumbering:
    """Appends root values, each content once: later ones are references to it."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._next = 0

    def add(self, out: bytearray, value: bytes) -> None:
        """A root VALUE, given its encoding in full."""
        if len(value) < f.NUMBERED:
            out += value
            return
        number = self._numbers.get(value)
        if number is not None:
            out.append(f.REFERENCE)
            add_v(out, self._next - number)
            return
        if len(self._numbers) >= KNOWN_ROOTS:
            self._numbers.clear()
        self._numbers[value] = self._next
        self._next += 1
        out += value


# --- pages and the header ------------------------------------------------------------------------


def header_bytes(about: Mapping[str, Any]) -> bytes:
    """The header of a file."""
    text = json.dumps(about).encode()
    return f.HEADER.pack(f.MAGIC, f.VERSION, len(text), zlib.crc32(text)) + text


def page_bytes(payload: bytes | bytearray, codec: int = f.ZLIB) -> bytes:
    """A page of whole records."""
    stored = zlib.compress(payload, 1) if codec == f.ZLIB else bytes(payload)
    return f.PAGE.pack(f.PAGE_MAGIC, codec, len(stored), len(payload), zlib.crc32(stored)) + stored


class PageWriter:
    """Collects records in `buffer`; `write` receives whole pages.

    The recorder appends whole records to `buffer` and calls `page_is_full` between two of them. The
    buffer is always the same object, so that it can be bound once.
    """

    def __init__(self, write: Callable[[bytes], object], page_size: int = PAGE_SIZE) -> None:
        self.buffer = bytearray()
        self._write = write
        self._page_size = page_size

    def page_is_full(self) -> bool:
        """Whether it is time to flush."""
        return len(self.buffer) >= self._page_size

    def flush(self) -> int:
        """Write what there is as a page; how many bytes were written."""
        if not self.buffer:
            return 0
        page = page_bytes(self.buffer)
        self.buffer.clear()
        self._write(page)
        return len(page)
