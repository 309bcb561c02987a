"""From the bytes of a value to a `Value`, written as Python writes it.

A value that occurs twice is written once in the trace; here the second one is *shared*, a number
that the first one carries as its identity. Numbers are given by whoever reads all values of a call
(`Identities`), because an outcome may share what an input holds. The first reading of a call finds
out which values are shared; if there are any, a second one gives them their numbers.

Invariant: reading never fails otherwise than with `Malformed`, and takes time and memory in
proportion to the bytes read, except that a name or type may stand in many values.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from whence.langs.python.trace import format as f
from whence.langs.python.trace.format import Malformed, read_bytes, read_text, read_v, read_z
from whence.langs.python.trace.pages import shown
from whence.langs.python.trace.tables import Tables
from whence.langs.python.trace.written import written
from whence.model.value import Kind, Limits, Value, atom, show

Parts = list[tuple[str, Value]]

MAX_OMITTED: Final = 2**31 - 1
_MOST_BITS: Final = 8192
"""Larger numbers are written in hexadecimal: their decimal digits would take long to find."""
_KEY = Limits(depth=2, parts=8, characters=80)
_CONSTANTS = {
    f.UNBOUND: atom("<unbound>"),
    f.NONE: atom("None"),
    f.TRUE: atom("True"),
    f.FALSE: atom("False"),
    f.LEFT_OUT: atom("…"),
}
_SMALL = tuple(atom(str(number)) for number in range(128))
_KINDS = {f.LIST: Kind.LIST, f.TUPLE: Kind.TUPLE, f.SET: Kind.SET, f.DICT: Kind.DICT}
_CONTAINERS = frozenset((*range(f.LIST, f.SUMMARY + 1), f.BYTEARRAY, f.METHOD))
_BROKEN = "a record breaks off"


class Identities:
    """The numbers of the values of one call that occur more than once.

    A value is known by its root (a number that whoever reads it gives it) and by how many
    containers start before it there. Inputs are the roots 0, 1, 2 …
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
class Root:
    """What has to be known of a root value to read it."""

    identities: Identities
    number: int
    inputs: int
    """How many inputs its call has."""
    same_as: int | None = None
    """The input that it is at another time: the same object, though with other content."""

    def refer(self, container: int) -> int:
        """The number of a container in it that something refers to."""
        return self.identities.refer(*self._key(container))

    def identity(self, container: int) -> int | None:
        """The number of a container in it, if something refers to it."""
        return self.identities.of(*self._key(container))

    def _key(self, container: int) -> tuple[int, int]:
        whole = container == 0 and self.same_as is not None
        return (self.same_as or 0 if whole else self.number), container


class ValueReader:
    """Reads one root value; made anew for each."""

    def __init__(self, tables: Tables, data: bytes, root: Root) -> None:
        self._tables = tables
        self._data = data
        self._root = root
        self._identities = root.identities
        self._started = 0
        self._contents: dict[int, int] = {}
        """Containers that are the content of another one, which stands for both."""

    def read(self, place: int) -> tuple[Value, int]:
        """A root value, which is no reference, and where the next field starts."""
        value, place = self._value(place, 0)
        identity = self._root.identity(0)
        if identity is not None and value.identity is None and value.kind is Kind.ATOM:
            value = Value(Kind.ATOM, value.text, identity=identity)
        return value, place

    def _value(self, place: int, nesting: int) -> tuple[Value, int]:
        data = self._data
        if place >= len(data):
            raise Malformed(_BROKEN)
        kind = data[place]
        place += 1
        if kind >= f.SMALL:
            return _SMALL[kind - f.SMALL], place
        constant = _CONSTANTS.get(kind)
        if constant is not None:
            return constant, place
        if kind in _CONTAINERS:
            if nesting > f.MAX_NESTING:
                raise Malformed(f"a value is nested more than {f.MAX_NESTING} levels deep")
            number = self._started
            self._started += 1
            return self._container(kind, place, nesting, number)
        return self._plain(kind, place)

    # --- values without parts --------------------------------------------------------------------

    def _plain(self, kind: int, place: int) -> tuple[Value, int]:
        data = self._data
        if kind == f.WHOLE:
            number, place = read_z(data, place)
            return atom(str(number)), place
        if kind == f.STRING:
            text, place = read_text(data, place)
            return atom(repr(text)), place
        if kind == f.FLOAT:
            return atom(repr(self._float(place))), place + 8
        if kind == f.COMPLEX:
            number_text = repr(complex(self._float(place), self._float(place + 8)))
            return atom(number_text), place + 16
        if kind == f.CUT_STRING:
            length, place = read_v(data, place)
            text, place = read_text(data, place)
            return atom(f"{text!r}…{max(0, length - len(text)):,} more"), place
        if kind == f.LARGE:
            return self._large(place)
        if kind == f.BYTES:
            text, place = self._blob(place)
            return atom(text), place
        return self._named(kind, place)

    def _named(self, kind: int, place: int) -> tuple[Value, int]:
        """Values that are known by a name, and references."""
        number, place = read_v(self._data, place)
        if kind == f.CLASS:
            return atom(f"<class {self._tables.type(number).full}>"), place
        if kind == f.MODULE:
            return atom(f"<module {self._tables.name(number)}>"), place
        if kind == f.FUNCTION:
            name, place = read_v(self._data, place)
            return atom(f"<function {self._tables.name(name)}>"), place
        if kind == f.SAME:
            target = self._started - number
            if number < 1 or target < 0:
                raise Malformed("a value is the same as one that there is not")
            target = self._contents.get(target, target)
            return Value(Kind.SHARED, identity=self._root.refer(target)), place
        if kind == f.INPUT:
            if number >= self._root.inputs:
                raise Malformed("a value is an input that there is not")
            return Value(Kind.SHARED, identity=self._identities.refer(number, 0)), place
        raise Malformed(f"there is no value 0x{kind:02x} here")

    def _float(self, place: int) -> float:
        try:
            number: float = struct.unpack_from("<d", self._data, place)[0]
        except struct.error:
            raise Malformed(_BROKEN) from None
        return number

    def _large(self, place: int) -> tuple[Value, int]:
        data = self._data
        if place >= len(data):
            raise Malformed(_BROKEN)
        sign = "-" if data[place] else ""
        bits, place = read_v(data, place + 1)
        raw, place = read_bytes(data, place)
        missing = -(-bits // 8) - len(raw)
        if missing == 0 and bits <= _MOST_BITS:
            return atom(sign + str(int.from_bytes(raw, "little"))), place
        digits = raw[::-1][:16].hex() + ("…" if missing or len(raw) > 16 else "")
        return atom(f"{sign}0x{digits} ({bits:,} bits)"), place

    def _blob(self, place: int) -> tuple[str, int]:
        length, place = read_v(self._data, place)
        raw, place = read_bytes(self._data, place)
        more = length - len(raw)
        return f"{raw!r}" + (f"…{more:,} more" if more > 0 else ""), place

    # --- containers ------------------------------------------------------------------------------

    def _container(self, kind: int, place: int, nesting: int, number: int) -> tuple[Value, int]:
        """A container that is the `number`-th to start in this root."""
        if kind == f.BYTEARRAY:
            text, place = self._blob(place)
            return self._made(number, Kind.ATOM, f"bytearray({text})"), place
        if kind in (f.LIST, f.TUPLE, f.SET, f.FROZENSET):
            parts, omitted, place = self._items(place, nesting)
            if kind == f.FROZENSET:
                return self._made(number, Kind.OBJECT, "frozenset", parts, omitted), place
            return self._made(number, _KINDS[kind], "", parts, omitted), place
        if kind == f.DICT:
            parts, omitted, place = self._entries(place, nesting)
            return self._made(number, Kind.DICT, "", parts, omitted), place
        if kind == f.METHOD:
            name, place = read_v(self._data, place)
            owner, place = self._value(place, nesting + 1)
            text = f"<method {self._tables.name(name)}>"
            return self._made(number, Kind.OBJECT, text, [(".__self__", owner)]), place
        type_number, place = read_v(self._data, place)
        named = self._tables.type(type_number)
        if kind == f.OPAQUE:
            return self._made(number, Kind.ATOM, f"<{named.full}>"), place
        if kind == f.SUMMARY:
            if place >= len(self._data):
                raise Malformed(_BROKEN)
            complete = self._data[place] == 1
            text, place = read_text(self._data, place + 1)
            text = written(named, shown(text), complete=complete)
            return self._made(number, Kind.ATOM, text), place
        parts, omitted = [], 0
        if kind in (f.SUBCLASS, f.EXCEPTION):
            self._contents[self._started] = number
            content, place = self._value(place, nesting + 1)
            parts, omitted = _content_parts(content)
        attributes, more, place = self._attributes(place, nesting)
        found = _distinct(parts + attributes)
        return self._made(number, Kind.OBJECT, named.short, found, omitted + more), place

    def _made(
        self, number: int, kind: Kind, text: str, parts: Parts | None = None, omitted: int = 0
    ) -> Value:
        identity = self._root.identity(number)
        return Value(kind, text, tuple(parts or ()), min(omitted, MAX_OMITTED), identity)

    def _counts(self, place: int) -> tuple[int, int, int]:
        """How many parts are stored, how many were left out, where they start."""
        length, place = read_v(self._data, place)
        stored, place = read_v(self._data, place)
        if stored > length:
            raise Malformed("more of a value is stored than there is")
        if stored > len(self._data) - place:
            raise Malformed(_BROKEN)
        return stored, length - stored, place

    def _items(self, place: int, nesting: int) -> tuple[Parts, int, int]:
        stored, omitted, place = self._counts(place)
        parts: Parts = []
        for number in range(stored):
            value, place = self._value(place, nesting + 1)
            parts.append((f"[{number}]", value))
        return parts, omitted, place

    def _entries(self, place: int, nesting: int) -> tuple[Parts, int, int]:
        stored, omitted, place = self._counts(place)
        parts: Parts = []
        for _ in range(stored):
            key, place = self._value(place, nesting + 1)
            value, place = self._value(place, nesting + 1)
            step = key.text if key.kind is Kind.ATOM else show(key, _KEY)
            parts.append((f"[{step}]", value))
        return _distinct(parts), omitted, place

    def _attributes(self, place: int, nesting: int) -> tuple[Parts, int, int]:
        stored, omitted, place = self._counts(place)
        parts: Parts = []
        for _ in range(stored):
            number, place = read_v(self._data, place)
            name = self._tables.name(number)
            value, place = self._value(place, nesting + 1)
            parts.append((f".{name if name.isidentifier() else repr(name)}", value))
        return _distinct(parts), omitted, place


def _content_parts(content: Value) -> tuple[Parts, int]:
    """What an instance holds as the builtin that it is one of."""
    if content.kind is Kind.ATOM:
        return [("[0]", content)], 0
    return list(content.parts), content.omitted


def _distinct(parts: Parts) -> Parts:
    """The same parts, each with a step of its own: keys may be written alike."""
    if len({step for step, _ in parts}) == len(parts):
        return parts
    seen: set[str] = set()
    copies: dict[str, int] = {}
    out: Parts = []
    for own, value in parts:
        step = own
        while step in seen:
            copies[own] = copy = copies.get(own, 1) + 1
            step = f"{own[:-1]}′{copy}]" if own.endswith("]") else f"{own}′{copy}"
        seen.add(step)
        out.append((step, value))
    return out
