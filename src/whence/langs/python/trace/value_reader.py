"""Decodes the bytes of a value to a `Value`, written as Python writes it.

A value that occurs twice is written once in the trace; the second occurrence becomes *shared*, with
the identity of the first. Identities span all values of a call (`ValueIdentities`), because an
outcome may share what an input holds. The first reading of a call finds which values are shared; if
there are any, a second reading gives them identities.

Invariant: reading fails only with `MalformedTrace`, and takes time and memory in proportion to the
bytes read, except that a name or type may occur in many values.
"""

from __future__ import annotations

from typing import Final

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.library_objects import text_in_place
from whence.langs.python.trace.summary_text import frame_parts, readable_summary
from whence.langs.python.trace.trace_format import read_bytes, read_text, read_v, read_z
from whence.langs.python.trace.trace_pages import printable
from whence.langs.python.trace.value_decoder import ValueDecoder
from whence.model.value import Kind, Limits, Value, atom, is_opaque, show
from whence.secret_values import secret_text

Parts = list[tuple[str, Value]]

MAX_OMITTED: Final = 2**31 - 1
_MOST_BITS: Final = 8192
"""Larger numbers are written in hexadecimal: their decimal digits would take long to find."""
_KEY = Limits(depth=2, parts=8, characters=80)
_CONSTANTS: dict[int, Value] = {
    f.UNBOUND: atom("<unbound>"),
    f.NONE: atom("None"),
    f.TRUE: atom("True"),
    f.FALSE: atom("False"),
    f.LEFT_OUT: atom("…"),
    **{f.SMALL + number: atom(str(number)) for number in range(f.SMALL)},
}
_KINDS = {f.LIST: Kind.LIST, f.TUPLE: Kind.TUPLE, f.SET: Kind.SET, f.DICT: Kind.DICT}


class ValueReader(ValueDecoder[Value]):
    """Reads one root value as what a person is shown of it."""

    constants = _CONSTANTS

    def read(self, place: int) -> tuple[Value, int]:
        """A root value, which is no reference, and where the next field starts."""
        value, place = super().read(place)
        identity = self._root.identity(0)
        if identity is not None and value.identity is None and value.kind is Kind.ATOM:
            value = Value(Kind.ATOM, value.text, identity=identity)
        return value, place

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
        if kind == f.SECRET:
            secret_kind, length, digest, place = f.read_secret(data, place)
            return atom(secret_text(secret_kind, length, digest)), place
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
        return Value(Kind.SHARED, identity=self._referred(kind, number)), place

    def _large(self, place: int) -> tuple[Value, int]:
        sign = "-" if self._byte(place) else ""
        bits, place = read_v(self._data, place + 1)
        raw, place = read_bytes(self._data, place)
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
            complete = self._byte(place) == 1
            text, place = read_text(self._data, place + 1)
            columns = frame_parts(named, printable(text))
            if columns is not None:
                return self._made(number, Kind.OBJECT, "DataFrame", *columns), place
            text = readable_summary(named, printable(text), complete=complete)
            return self._made(number, Kind.ATOM, text), place
        parts, omitted = [], 0
        has_content = kind in (f.SUBCLASS, f.EXCEPTION)
        if has_content:
            self._contents[self._started] = number
            content, place = self._value(place, nesting + 1)
            parts, omitted = _content_parts(content)
            has_content = not is_opaque(content)
        attributes, more, place = self._attributes(place, nesting)
        distinct, more = _distinct(parts + attributes), omitted + more
        brief = None if has_content else text_in_place(named, distinct, more)
        return self._made(number, Kind.OBJECT, named.short, distinct, more, brief), place

    def _made(
        self,
        number: int,
        kind: Kind,
        text: str,
        parts: Parts | None = None,
        omitted: int = 0,
        brief: str | None = None,
    ) -> Value:
        identity = self._root.identity(number)
        omitted = min(omitted, MAX_OMITTED)
        return Value(kind, text, tuple(parts or ()), omitted, identity, brief=brief)

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
