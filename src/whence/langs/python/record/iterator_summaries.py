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
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from gc import get_referents
from itertools import islice
from types import BuiltinFunctionType, FunctionType
from typing import Any

from whence.langs.python.objects.raw_class import is_builtin_function, qualname_of

Atom = Callable[[object], tuple[str, bool]]

_HEAD = 16
_DEEPEST = 4
_MOST_TEXT = 1000
"""More than any summary shows of a text, so that a long one is not copied."""
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
_function_qualname = FunctionType.__dict__["__qualname__"].__get__
_builtin_name = BuiltinFunctionType.__dict__["__name__"].__get__
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
        """`atom` describes an exact atom, and anything else by its type."""
        self._atom = atom

    def __call__(self, value: Any) -> tuple[str, bool]:
        """The text, which never says all: what the iterator goes through may have other users."""
        return self._described(value, _DEEPEST), False

    def _described(self, value: Any, depth: int) -> str:
        kind = type(value)
        if kind is FunctionType:
            return str.__str__(_function_qualname(value))
        if is_builtin_function(kind):
            return str.__str__(_builtin_name(value))
        if kind is type:
            return str.__str__(qualname_of(value))
        if depth and kind in _SEQUENCES:
            begin, end = _SEQUENCES[kind]
            comma = "," if kind is tuple and kind.__len__(value) == 1 else ""
            items = self._items(kind.__iter__(value), kind.__len__(value), depth)
            return f"{begin}{items}{comma}{end}"
        if depth and kind is dict:
            pairs = (
                f"{self._described(key, depth - 1)}: {self._described(part, depth - 1)}"
                for key, part in list(islice(dict.items(value), _HEAD))
            )
            return f"{{{_listed(pairs, len(value))}}}"
        if depth and kind in _SEQUENCE_ITERATORS:
            return f"iter({self._rest(value, depth)})"
        if depth and kind in _VIEWS:
            items = self._items(kind.__iter__(value), kind.__len__(value), depth)
            return f"{kind.__name__}([{items}])"
        if depth and kind is partial:
            return self._partial(value, depth)
        if depth and kind in _BY_REDUCTION:
            return self._made(kind, _reduced(value)[0], depth)
        if depth and kind in _OF_ITERTOOLS:
            return self._made(kind, _held(value), depth)
        return self._atom(value)[0]

    def _rest(self, iterator: Any, depth: int) -> str:
        """What a sequence iterator has left."""
        (sequence,), at = _reduced(iterator)
        kind: Any = _SEQUENCE_ITERATORS[type(iterator)]
        if kind is range:
            return repr(sequence[at:])
        if kind is str or kind is bytes:
            return self._atom(kind.__getitem__(sequence, slice(at, at + _MOST_TEXT)))[0]
        rest = kind.__getitem__(sequence, slice(at, at + _HEAD))
        return f"[{self._items(iter(rest), max(kind.__len__(sequence) - at, 0), depth)}]"

    def _made(self, kind: type, arguments: Sequence[Any], depth: int) -> str:
        return f"{kind.__name__}({self._items(iter(arguments), len(arguments), depth)})"

    def _partial(self, value: Any, depth: int) -> str:
        function, arguments, keywords = (read(value) for read in _PARTS_OF_PARTIAL)
        shown = [self._described(part, depth - 1) for part in (function, *arguments)]
        for name, part in list(islice(dict.items(keywords), _HEAD)):
            shown.append(f"{self._atom(name)[0][1:-1]}={self._described(part, depth - 1)}")
        return f"partial({', '.join(shown)})"

    def _items(self, values: Iterator[Any], count: int, depth: int) -> str:
        first = list(islice(values, _HEAD))
        return _listed((self._described(value, depth - 1) for value in first), count)


def _listed(texts: Iterable[str], count: int) -> str:
    """The texts of the first of `count` items, and how many more there are."""
    shown = list(texts)
    return ", ".join(shown + [f"…{count - len(shown)} more"] * (count > len(shown)))


def _held(iterator: Any) -> Sequence[Any]:
    """What an iterator of `itertools` refers to; how far it is cannot be seen."""
    kind = type(iterator)
    held = [part for part in get_referents(iterator) if part is not kind]  # its type, from 3.12 on
    if kind is itertools.chain and held and type(held[0]) is type(iter(())):
        # What it takes from now, then the iterables that are left of its arguments.
        (iterables,), at = _reduced(held[0])
        held = [*held[1:], *tuple.__getitem__(iterables, slice(at, None))]
    return held


def _reduced(iterator: Any) -> tuple[Any, int]:
    """What an iterator of a builtin type was made of, and how far it is."""
    kind: Any = type(iterator)
    _, arguments, *place = kind.__reduce__(iterator)
    return arguments, place[0] if place and type(place[0]) is int else 0
