"""Which line and column an instruction of a Python code object was made from.

Decodes `co_linetable` as CPython 3.11 and later write it (Objects/locations.md in its source). The
bytes come from a file that may be damaged: an entry that does not fit ends the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

Span = tuple[int, int, int, int]
_SHORT_END: Final = 10
_ONE_LINE_END: Final = 13
_NO_COLUMN: Final = 13
_LONG: Final = 14
_MAX_LINE: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class LineEntry:
    """The position of some code units. Columns count from 1; the end column is exclusive."""

    lines: int
    """How many lines after the previous entry."""
    column: int | None = None
    more_lines: int = 0
    end_column: int | None = None


def position(table: bytes, first_line: int, unit: int) -> tuple[int | None, int | None]:
    """Line and column of a code unit, both from 1; None where the table has none."""
    match = _find_entry(table, first_line, unit)
    return (None, None) if match is None else (match[0], match[1].column)


def span(table: bytes, first_line: int, unit: int) -> Span | None:
    """The source range of a code unit: line, column, last line, end column, all from 1."""
    match = _find_entry(table, first_line, unit)
    if match is None or match[1].column is None or match[1].end_column is None:
        return None
    line, entry = match
    assert entry.column is not None and entry.end_column is not None
    return line, entry.column, line + entry.more_lines, entry.end_column


def _find_entry(table: bytes, first_line: int, unit: int) -> tuple[int, LineEntry] | None:
    """The line of a code unit, and its entry."""
    place, line, end = 0, first_line, 0
    try:
        while place < len(table):
            head = table[place]
            code, units = head >> 3 & 15, (head & 7) + 1
            entry, place = _entry(table, place + 1, code)
            line += entry.lines
            end += units
            if unit < end:
                return None if code == 15 or not 0 < line <= _MAX_LINE else (line, entry)
    except IndexError:
        pass
    return None


def _entry(table: bytes, place: int, code: int) -> tuple[LineEntry, int]:
    """An entry, and where the next one starts."""
    if code < _SHORT_END:
        column = (code << 3 | table[place] >> 4) + 1
        return LineEntry(0, column, 0, column + (table[place] & 15)), place + 1
    if code < _ONE_LINE_END:
        return LineEntry(code - _SHORT_END, table[place] + 1, 0, table[place + 1] + 1), place + 2
    if code > _LONG:
        return LineEntry(0), place
    raw, place = _varint(table, place)
    delta = -(raw >> 1) if raw & 1 else raw >> 1
    if code == _NO_COLUMN:
        return LineEntry(delta), place
    more, place = _varint(table, place)
    column, place = _varint(table, place)
    end_column, place = _varint(table, place)
    return LineEntry(delta, column or None, more, end_column or None), place


def _varint(table: bytes, place: int) -> tuple[int, int]:
    byte = table[place]
    number, shift = byte & 63, 0
    while byte & 64:
        place += 1
        byte = table[place]
        shift += 6
        number |= (byte & 63) << shift
    return number, place + 1
