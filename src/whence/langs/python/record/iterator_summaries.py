"""Short texts for iterators of builtin types and of `itertools`: what they have left.

An iterator cannot be read without using it up. But what it goes through can: `filter(None,
iter(['a', '']))`. Sequence iterators tell their sequence and place by `__reduce__`, which their
types define in C. What the others hold is taken from the garbage collector: `__reduce__` of
`itertools` warns, and the program can see warnings.

Invariants are those of `summaries`: no code of the program runs, and objects that are neither exact
atoms nor exact builtin containers are shown by their type.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from gc import get_referents
from itertools import islice
from types import BuiltinFunctionType, FunctionType
from typing import Any

Described = tuple[str, bool]
Atom = Callable[[object], Described]

_HEAD = 16
_DEEPEST = 4
_SEQUENCE_ITERATORS: dict[type, type] = {
    type(iter([])): list, type(iter(())): tuple, type(iter(b"")): bytes, type(iter("")): str,
    type(iter("ä")): str, type(iter(range(0))): range, type(iter(range(2**70))): range,
}  # fmt: skip
"""What an iterator goes through: an instance of this type, or of a subclass."""
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_BY_REDUCTION = (map, filter, zip, enumerate)
_SEQUENCES: dict[type, tuple[str, str]] = {
    list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}"), frozenset: ("frozenset({", "})"),
}  # fmt: skip
_qualname = FunctionType.__dict__["__qualname__"].__get__
_builtin_name = BuiltinFunctionType.__dict__["__name__"].__get__
_raw_qualname = type.__dict__["__qualname__"].__get__
_OF_ITERTOOLS = (
    itertools.chain, itertools.islice, itertools.takewhile, itertools.dropwhile,
    itertools.filterfalse, itertools.starmap, itertools.pairwise,
)  # fmt: skip
_PARTS_OF_PARTIAL = tuple(partial.__dict__[name].__get__ for name in ("func", "args", "keywords"))


class IteratorSummary:
    """Describes iterators, views of dicts and partial functions."""

    KINDS: tuple[type, ...] = (
        *_SEQUENCE_ITERATORS,
        *_BY_REDUCTION,
        *_OF_ITERTOOLS,
        *_VIEWS,
        partial,
    )

    def __init__(self, atom: Atom) -> None:
        """`atom` describes an exact atom in full, and anything else by its type."""
        self._atom = atom

    def __call__(self, value: Any) -> Described:
        """The text, which never says all: what the iterator goes through may have other users."""
        return self._described(value, _DEEPEST)[0], False

    def _described(self, value: Any, depth: int) -> Described:
        kind = type(value)
        if kind is FunctionType:
            return str.__str__(_qualname(value)), False
        if kind is BuiltinFunctionType:
            return str.__str__(_builtin_name(value)), False
        if kind is type:
            return str.__str__(_raw_qualname(value)), False
        if not depth:
            return self._atom(value)
        if kind in _SEQUENCES:
            begin, end = _SEQUENCES[kind]
            text, complete = self._items(kind.__iter__(value), kind.__len__(value), depth)
            comma = "," if kind is tuple and kind.__len__(value) == 1 else ""
            return f"{begin}{text}{comma}{end}", complete
        if kind is dict:
            return self._dict(value, depth)
        if kind in _SEQUENCE_ITERATORS:
            return self._sequence_iterator(value, depth)
        if kind in _VIEWS:
            text, complete = self._items(kind.__iter__(value), kind.__len__(value), depth)
            return f"{kind.__name__}([{text}])", complete
        if kind is partial:
            return self._partial(value, depth)
        if kind in _BY_REDUCTION:
            return self._made(kind.__name__, _reduced(value)[0], depth)
        if kind in _OF_ITERTOOLS:
            return self._itertool(kind, get_referents(value), depth)
        return self._atom(value)

    def _sequence_iterator(self, value: Any, depth: int) -> Described:
        (sequence,), at = _reduced(value)
        kind: Any = _SEQUENCE_ITERATORS[type(value)]
        if kind is range:
            return f"iter({sequence[at:]!r})", True
        if kind is str or kind is bytes:
            text, complete = self._atom(kind.__getitem__(sequence, slice(at, None)))
            return f"iter({text})", complete
        rest = kind.__getitem__(sequence, slice(at, at + _HEAD))
        text, complete = self._items(iter(rest), max(kind.__len__(sequence) - at, 0), depth)
        return f"iter([{text}])", complete

    def _itertool(self, kind: type, held: list[Any], depth: int) -> Described:
        """By what it refers to; how far it is cannot be seen."""
        held = [each for each in held if each is not kind]  # from 3.12 on they refer to their type
        if kind is itertools.chain and held and type(held[0]) is type(iter(())):
            # What it takes from now, then the iterables that are left of its arguments.
            (iterables,), at = _reduced(held[0])
            held = [*held[1:], *tuple.__getitem__(iterables, slice(at, None))]
        return self._made(kind.__name__, tuple(held), depth)[0], False

    def _made(self, name: str, arguments: tuple[Any, ...], depth: int) -> Described:
        text, complete = self._items(iter(arguments), len(arguments), depth)
        return f"{name}({text})", complete

    def _partial(self, value: Any, depth: int) -> Described:
        function, arguments, keywords = (read(value) for read in _PARTS_OF_PARTIAL)
        shown = [self._described(each, depth - 1)[0] for each in (function, *arguments)]
        for name, part in list(islice(dict.items(keywords), _HEAD)):
            shown.append(f"{self._atom(name)[0][1:-1]}={self._described(part, depth - 1)[0]}")
        return f"partial({', '.join(shown)})", False

    def _dict(self, value: dict[Any, Any], depth: int) -> Described:
        shown, complete = [], len(value) <= _HEAD
        for key, part in list(islice(dict.items(value), _HEAD)):
            (left, first), (right, second) = (
                self._described(each, depth - 1) for each in (key, part)
            )
            shown.append(f"{left}: {right}")
            complete = complete and first and second
        if len(value) > len(shown):
            shown.append(f"…{len(value) - len(shown)} more")
        return f"{{{', '.join(shown)}}}", complete

    def _items(self, values: Iterator[Any], count: int, depth: int) -> Described:
        shown, complete = [], count <= _HEAD
        for value in list(islice(values, _HEAD)):
            text, whole = self._described(value, depth - 1)
            shown.append(text)
            complete = complete and whole
        if count > len(shown):
            shown.append(f"…{count - len(shown)} more")
        return ", ".join(shown), complete


def _reduced(iterator: Any) -> tuple[Any, int]:
    """What an iterator of a builtin type was made of, and how far it is."""
    kind: Any = type(iterator)
    _, arguments, *place = kind.__reduce__(iterator)
    return arguments, place[0] if place and type(place[0]) is int else 0
