"""What an object is, asked past its own code.

A class may have a hash, an equality and attributes of its own (by its metaclass), an instance a
`__class__`, a `__len__` or an `__iter__`. None of that is called here: the program would notice.
`issubclass(type(thing), kind)` is asked instead of `isinstance`, for the same reason.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from whence.langs.python.provenance.runtime.native_tagging import twin

order_of = type.__dict__["__mro__"].__get__
"""The bases of a class, itself first, in the order in which they are looked through."""
space_of_class = type.__dict__["__dict__"].__get__
"""What a class itself defines."""
name_of = type.__dict__["__name__"].__get__
qualname_of = type.__dict__["__qualname__"].__get__
_NONE = object()
_SIZED = (list, dict, tuple, set, frozenset, deque)


class Kinds:
    """A set of types, or of functions, told apart by what they are."""

    __slots__ = ("_addresses", "_kinds")

    def __init__(self, *kinds: object):
        self._kinds = kinds
        self._addresses = frozenset(map(id, kinds))

    def __contains__(self, kind: object) -> bool:
        return id(kind) in self._addresses

    def __or__(self, others: Kinds) -> Kinds:
        return Kinds(*self._kinds, *others._kinds)


SEQUENCES = Kinds(list, tuple)


@twin
def found_in(kind: type, name: str, default: Any = None) -> Any:
    """What a class or one of its bases defines under a name, as it stands there."""
    for each in order_of(kind):
        found = space_of_class(each).get(name, _NONE)
        if found is not _NONE:
            return found
    return default


def has(kind: type, name: str) -> bool:
    """Whether instances of a class have a special method."""
    return found_in(kind, name) is not None


def can_be_gone_through(thing: Any) -> bool:
    """Whether a loop over it can begin."""
    return has(type(thing), "__iter__") or has(type(thing), "__getitem__")


def size(thing: Any) -> int:
    """How much a container holds, whatever its own `__len__` says."""
    for kind in _SIZED:
        if issubclass(type(thing), kind):
            return kind.__len__(thing)
    return len(thing)
