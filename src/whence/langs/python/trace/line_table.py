"""Which line and column an instruction of a Python code object was made from.

Decodes `co_linetable` as CPython 3.11 and later write it (Objects/locations.md in its source). The
bytes come from a file, so that anything may stand in them: what does not fit ends the table.
"""

from __future__ import annotations

from typing import Final

_SHORT_END: Final = 10
_ONE_LINE_END: Final = 13
_NO_COLUMN: Final = 13
_LONG: Final = 14
_MAX_LINE: Final = 2**31 - 1


def position(table: bytes, first_line: int, unit: int) -> tuple[int | None, int | None]:
    """Line (from 1) and column (from 1) of a code unit, None where the table does not tell."""
    place, line, seen = 0, first_line, 0
    try:
        while place < len(table):
            head = table[place]
            code, units = head >> 3 & 15, (head & 7) + 1
            place += 1
            delta, column, place = _entry(table, place, code)
            line += delta
            seen += units
            if unit < seen:
                return (None, None) if code == 15 or not 0 < line <= _MAX_LINE else (line, column)
    except IndexError:
        pass
    return None, None


def _entry(table: bytes, place: int, code: int) -> tuple[int, int | None, int]:
    """How many lines further, the column, and where the next entry starts."""
    if code < _SHORT_END:
        return 0, (code << 3 | table[place] >> 4) + 1, place + 1
    if code < _ONE_LINE_END:
        return code - _SHORT_END, table[place] + 1, place + 2
    if code > _LONG:
        return 0, None, place
    raw, place = _varint(table, place)
    delta = -(raw >> 1) if raw & 1 else raw >> 1
    if code == _NO_COLUMN:
        return delta, None, place
    _, place = _varint(table, place)
    column, place = _varint(table, place)
    _, place = _varint(table, place)
    return delta, column or None, place


def _varint(table: bytes, place: int) -> tuple[int, int]:
    byte = table[place]
    number, shift = byte & 63, 0
    while byte & 64:
        place += 1
        byte = table[place]
        shift += 6
        number |= (byte & 63) << shift
    return number, place + 1
