"""Finds and reads single records of a trace.

What is shared by the readers of calls, of recipes and of how a run ended. Record contents are read
when they are asked for and not kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.many_records import CHANGED_FILE, ManyRecords
from whence.langs.python.trace.trace_format import MalformedTrace, read_v
from whence.langs.python.trace.trace_pages import TraceFile
from whence.langs.python.trace.trace_tables import CodeEntry, TraceTables
from whence.langs.python.trace.value_decoder import RootValue
from whence.ports import Int32s, Int64s

AFTER_INPUTS = 2**32
"""Roots from here on are no inputs, but outcomes and what inputs were changed to."""
GLOBALS = 2**33
"""Roots from here on are not the call's own."""
LAST = 2**62
"""A position behind all records."""
NO_CODE = CodeEntry(0, "", "", "", 0, (), (), (), b"")


_Read_co = TypeVar("_Read_co", covariant=True)


class RootReader(Protocol[_Read_co]):
    """Makes something of one root value."""

    def read(self, place: int) -> tuple[_Read_co, int]:
        """The value at a place, which is no reference, and where the next field starts."""


@dataclass(frozen=True, slots=True)
class RecordPositions:
    """Events are sorted by call, then by time; globals by variable, then by time."""

    call_at: Int64s
    exit_at: Int64s
    event_call: Int32s
    event_at: Int64s
    global_variable: Int32s
    global_at: Int64s
    root_at: Int64s
    end_at: Int64s
    output_call: Int32s
    output_at: Int64s
    interrupted: Int64s
    """If the run ended by an exception that stops it: where the first call ended that it left."""
    note_at: Int64s
    skipped_count: Int64s
    skipped_before: Int64s
    threads: Int64s


@dataclass(frozen=True, slots=True)
class CallHead:
    """The fields of a CALL record before its values, which begin at `values`."""

    bare: bool
    parent: int
    code: int
    site: int
    values: int


@dataclass(frozen=True, slots=True)
class TraceRecords:
    """The records of one trace."""

    file: TraceFile
    tables: TraceTables
    positions: RecordPositions

    @property
    def calls(self) -> int:
        """The number of calls, the run itself included."""
        return len(self.positions.call_at)

    def code(self, number: int) -> CodeEntry:
        """The code of a call."""
        return self.tables.code(self.head(number).code)

    def head(self, number: int) -> CallHead:
        """The fields of a call's first record."""
        record, fields, values = self.fields(int(self.positions.call_at[number]), 3)
        if record not in (f.CALL, f.BARE_CALL):
            raise MalformedTrace(CHANGED_FILE)
        distance, code, site = fields
        return CallHead(record == f.BARE_CALL, number - distance, code, site, values)

    def events(self, number: int) -> Int64s:
        """The positions of the records of a call between its first and its last."""
        return self.positions.event_at[_entries_of(self.positions.event_call, number)]

    def many(self, positions: Int64s) -> ManyRecords:
        """The records at some positions, to be read at once."""
        return ManyRecords(self.file.payload, positions)

    def variable_records(self, variable: int) -> Int64s:
        """The positions of the records of a module variable."""
        return self.positions.global_at[_entries_of(self.positions.global_variable, variable)]

    def fields(self, position: int, count: int) -> tuple[int, list[int], int]:
        """The kind of a record, its first `count` numbers, and the position of the next field."""
        data, place = self.tables.data_at(position)
        base = position - place
        if place >= len(data):
            raise MalformedTrace(CHANGED_FILE)
        record, numbers = data[place], []
        place += 1
        for _ in range(count):
            number, place = read_v(data, place)
            numbers.append(number)
        return record, numbers, base + place

    def read_root(
        self,
        reader: Callable[[TraceTables, bytes, RootValue], RootReader[_Read_co]],
        root: RootValue,
        position: int,
    ) -> tuple[_Read_co, int]:
        """The root value at a position, made by a reader, and the position of the next field."""
        data, place = self.tables.data_at(position)
        base = position - place
        if place < len(data) and data[place] == f.REFERENCE:
            before = int(np.searchsorted(self.positions.root_at, position))
            distance, place = read_v(data, place + 1)
            if not 1 <= distance <= before:
                raise MalformedTrace("a value refers to one that does not exist")
            there, start = self.tables.data_at(int(self.positions.root_at[before - distance]))
            return reader(self.tables, there, root).read(start)[0], base + place
        value, place = reader(self.tables, data, root).read(place)
        return value, base + place


def _entries_of(column: Int32s, number: int) -> slice:
    """Where a number stands in a sorted column."""
    # Numbers of another type would have the whole column converted first.
    start, stop = np.searchsorted(column, np.array([number, number + 1], dtype=column.dtype))
    return slice(int(start), int(stop))
