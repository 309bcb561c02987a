"""Skips the values in a trace: where each one ends, and a digest of its bytes.

Part of the pass of `trace_scan.py`, the part that knows how values are encoded.
"""

from __future__ import annotations

from array import array

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.table_scan import TableScanner
from whence.langs.python.trace.trace_format import (
    MalformedTrace,
    digest_of,
    read_secret,
    read_v,
    skip_text,
)

_CONTENTS = frozenset(
    (*range(f.WHOLE, f.BYTEARRAY + 1), *range(f.LIST, f.DICT + 1), f.OPAQUE, f.SECRET)
)


class ValueScanner:
    """Skips root values, and keeps the digest, size and completeness of the last one."""

    def __init__(self, tables: TableScanner) -> None:
        self._tables = tables
        self.root_at, self._root_digest, self._root_size = array("q"), array("Q"), array("i")
        self._root_complete = bytearray()
        self.complete = True
        """Whether all of the value is stored, so that an equal digest means an equal value."""
        self.digest = 0
        self.size = 0
        self._containers = 0
        self.data = b""
        self.base = 0

    def root(self, place: int) -> int:
        """Skip a root value; its digest, size and completeness are attributes afterwards."""
        data = self.data
        if place < len(data) and data[place] == f.REFERENCE:
            distance, place = read_v(data, place + 1)
            number = len(self.root_at) - distance
            if distance < 1 or number < 0:
                raise MalformedTrace("a value refers to one that does not exist")
            self.digest = self._root_digest[number]
            self.size = self._root_size[number]
            self.complete = bool(self._root_complete[number])
            return place
        self.complete, self._containers = True, 0
        stop = self._value(place, 0)
        if stop > len(data):
            raise MalformedTrace("a record breaks off")
        self.digest = digest_of(data, place, stop)
        self.size = stop - place
        if stop - place >= f.NUMBERED:
            self.root_at.append(self.base | place)
            self._root_digest.append(self.digest)
            self._root_size.append(stop - place)
            self._root_complete.append(self.complete)
        return stop

    def _value(self, place: int, nesting: int) -> int:
        """Skip a value. The place returned may lie behind the end of the data."""
        data = self.data
        if place >= len(data):
            raise MalformedTrace("a record breaks off")
        kind = data[place]
        place += 1
        if kind >= f.SMALL or kind <= f.FALSE:
            return place
        if kind in f.CONTAINERS:
            self._containers += 1
        if kind == f.WHOLE:
            return read_v(data, place)[1]
        if kind == f.STRING:
            return skip_text(self.data, place)
        if f.LIST <= kind <= f.DICT:
            return self._parts(place, nesting, kind == f.DICT)
        if kind == f.OBJECT:
            return self._attributes(self._type_number(place), nesting)
        return self._rare_value(kind, place, nesting)

    def _rare_value(self, kind: int, place: int, nesting: int) -> int:
        data = self.data
        if kind == f.FLOAT:
            return place + 8
        if kind == f.COMPLEX:
            return place + 16
        if kind == f.LARGE:
            bits, place = read_v(data, place + 1)
            return self._stored(-(-bits // 8), place)
        if kind == f.CUT_STRING:
            self.complete = False
            return skip_text(self.data, read_v(data, place)[1])
        if kind in (f.BYTES, f.BYTEARRAY):
            length, place = read_v(data, place)
            return self._stored(length, place)
        if kind in (f.SUBCLASS, f.EXCEPTION):
            return self._built_in(kind, self._type_number(place), nesting)
        if kind == f.OPAQUE:
            self.complete = False
            return self._type_number(place)
        if kind == f.SUMMARY:
            place = self._type_number(place)
            if place >= len(data) or data[place] != 1:
                self.complete = False
            return skip_text(self.data, place + 1)
        if kind == f.CLASS:
            return self._type_number(place)
        if kind == f.FUNCTION:
            _, place = self._tables.name_number(place)
            return self._function_name(place)
        if kind == f.METHOD:
            return self._value(self._function_name(place), self._below(nesting))
        if kind == f.MODULE:
            return self._tables.name_number(place)[1]
        if kind == f.LEFT_OUT:
            self.complete = False
            return place
        if kind == f.SECRET:
            return read_secret(data, place)[3]
        return self._reference(kind, place)

    def _reference(self, kind: int, place: int) -> int:
        if kind == f.SAME:
            back, place = read_v(self.data, place)
            if not 1 <= back <= self._containers:
                raise MalformedTrace("a value is the same as one that does not exist")
            return place
        if kind == f.INPUT:
            return read_v(self.data, place)[1]
        raise MalformedTrace(f"there is no value 0x{kind:02x} here")

    def _function_name(self, place: int) -> int:
        name, place = self._tables.name_number(place)
        if self._tables.name_is_vague[name]:
            self.complete = False
        return place

    def _below(self, nesting: int) -> int:
        if nesting >= f.MAX_NESTING:
            raise MalformedTrace(f"a value is nested more than {f.MAX_NESTING} levels deep")
        return nesting + 1

    def _type_number(self, place: int) -> int:
        number, place = read_v(self.data, place)
        if number >= len(self._tables.type_at):
            raise MalformedTrace("there is no type of this number")
        return place

    def _stored(self, length: int, place: int) -> int:
        """Skip bytes of which some may have been left out."""
        stored, place = self._stored_count(length, place)
        if stored > len(self.data) - place:
            raise MalformedTrace("a record breaks off")
        return place + stored

    def _stored_count(self, length: int, place: int) -> tuple[int, int]:
        stored, place = read_v(self.data, place)
        if stored > length:
            raise MalformedTrace("more of a value is stored than there is")
        if stored < length:
            self.complete = False
        return stored, place

    def _parts(self, place: int, nesting: int, pairs: bool) -> int:
        length, place = read_v(self.data, place)
        stored, place = self._stored_count(length, place)
        if not stored:
            return place
        below = self._below(nesting)
        for _ in range(2 * stored if pairs else stored):
            place = self._value(place, below)
        return place

    def _attributes(self, place: int, nesting: int) -> int:
        length, place = read_v(self.data, place)
        stored, place = self._stored_count(length, place)
        if not stored:
            return place
        below = self._below(nesting)
        for _ in range(stored):
            _, place = self._tables.name_number(place)
            place = self._value(place, below)
        return place

    def _built_in(self, kind: int, place: int, nesting: int) -> int:
        if place >= len(self.data):
            raise MalformedTrace("a record breaks off")
        content = self.data[place]
        fits = content == f.TUPLE if kind == f.EXCEPTION else content in _CONTENTS
        if not fits and not (content >= f.SMALL and kind == f.SUBCLASS):
            raise MalformedTrace("an instance of a subclass has no content")
        place = self._value(place, self._below(nesting))
        return self._attributes(place, nesting)
