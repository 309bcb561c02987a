"""Decodes the bytes of a root value, independent of what is built from them.

Shared by `value_reader` (values for display) and `value_recipes` (values to rebuild): which bytes
begin what, how deeply values may be nested, and which of them are one object.

Invariant: reading fails only with `MalformedTrace`.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.trace_format import MalformedTrace, read_v
from whence.langs.python.trace.trace_tables import TraceTables

BROKEN: Final = "a record breaks off"
Made = TypeVar("Made")


class ValueIdentities:
    """The numbers of the values of one call that occur more than once.

    A value is identified by its root (a number that the reader chooses) and by how many containers
    start before it there. Inputs are the roots 0, 1, 2 …
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, int], int] = {}

    def __bool__(self) -> bool:
        return bool(self._numbers)

    def refer(self, root: int, container: int) -> int:
        """The number of a value that something refers to."""
        return self._numbers.setdefault((root, container), len(self._numbers) + 1)

    def of(self, root: int, container: int) -> int | None:
        """The number of a value, if something refers to it."""
        return self._numbers.get((root, container))


@dataclass(frozen=True, slots=True)
class RootValue:
    """The context in which a root value is read."""

    identities: ValueIdentities
    number: int
    inputs: int
    """How many inputs its call has."""
    same_as: int | None = None
    """The input that it is a later state of: the same object."""

    def refer(self, container: int) -> int:
        """The number of a container in it that something refers to."""
        return self.identities.refer(*self._key(container))

    def identity(self, container: int) -> int | None:
        """The number of a container in it, if something refers to it."""
        return self.identities.of(*self._key(container))

    def _key(self, container: int) -> tuple[int, int]:
        whole = container == 0 and self.same_as is not None
        return (self.same_as or 0 if whole else self.number), container


class ValueDecoder(ABC, Generic[Made]):
    """Reads one root value; each has its own decoder."""

    constants: Mapping[int, Made]
    """The values of one byte, small numbers among them."""

    def __init__(self, tables: TraceTables, data: bytes, root: RootValue) -> None:
        self._tables = tables
        self._data = data
        self._root = root
        self._started = 0
        self._contents: dict[int, int] = {}
        """Containers that are the content of another: references to them mean the outer one."""

    def read(self, place: int) -> tuple[Made, int]:
        """A root value, which is no reference, and where the next field starts."""
        return self._value(place, 0)

    def _value(self, place: int, nesting: int) -> tuple[Made, int]:
        data = self._data
        if place >= len(data):  # inlined `_byte`: this runs for every value
            raise MalformedTrace(BROKEN)
        kind = data[place]
        place += 1
        constant = self.constants.get(kind)
        if constant is not None:
            return constant, place
        if kind in f.CONTAINERS:
            if nesting > f.MAX_NESTING:
                raise MalformedTrace(f"a value is nested more than {f.MAX_NESTING} levels deep")
            number = self._started
            self._started += 1
            return self._container(kind, place, nesting, number)
        return self._plain(kind, place)

    @abstractmethod
    def _plain(self, kind: int, place: int) -> tuple[Made, int]:
        """A value without parts, or a reference."""

    @abstractmethod
    def _container(self, kind: int, place: int, nesting: int, number: int) -> tuple[Made, int]:
        """A container that is the `number`-th to start in this root."""

    def _byte(self, place: int) -> int:
        if place >= len(self._data):
            raise MalformedTrace(BROKEN)
        return self._data[place]

    def _float(self, place: int) -> float:
        try:
            number: float = struct.unpack_from("<d", self._data, place)[0]
        except struct.error:
            raise MalformedTrace(BROKEN) from None
        return number

    def _referred(self, kind: int, number: int) -> int:
        """The identity of the value that a reference means."""
        if kind == f.SAME:
            target = self._started - number
            if number < 1 or target < 0:
                raise MalformedTrace("a value is the same as one that does not exist")
            return self._root.refer(self._contents.get(target, target))
        if kind == f.INPUT:
            if number >= self._root.inputs:
                raise MalformedTrace("a value is an input that does not exist")
            return self._root.identities.refer(number, 0)
        raise MalformedTrace(f"there is no value 0x{kind:02x} here")

    def _counts(self, place: int) -> tuple[int, int, int]:
        """How many parts are stored, how many were left out, where they start."""
        length, place = read_v(self._data, place)
        stored, place = read_v(self._data, place)
        if stored > length:
            raise MalformedTrace("more of a value is stored than there is")
        if stored > len(self._data) - place:
            raise MalformedTrace(BROKEN)
        return stored, length - stored, place
