"""What an object is, asked past its own code.

A class may have a hash, an equality and attributes of its own (by its metaclass), an instance a
`__class__`, a `__len__` or an `__iter__`. None of that is called here: the program would notice.
`issubclass(type(thing), kind)` is asked instead of `isinstance`, for the same reason.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from whence.langs.python.provenance.runtime.native_tagging import with_native

mro_of = type.__dict__["__mro__"].__get__
"""The bases of a class, itself first, in the order in which they are looked through."""
class_namespace = type.__dict__["__dict__"].__get__
"""What a class itself defines."""
name_of = type.__dict__["__name__"].__get__
qualname_of = type.__dict__["__qualname__"].__get__
_NONE = object()
_SIZED = (list, dict, tuple, set, frozenset, deque)


class IdentitySet:
    """A set of types, or of functions, told apart by what they are."""

    __slots__ = ("_addresses", "_kinds")

    def __init__(self, *kinds: object):
        self._kinds = kinds
        self._addresses = frozenset(map(id, kinds))

    def __contains__(self, kind: object) -> bool:
        return id(kind) in self._addresses

    def __or__(self, others: IdentitySet) -> IdentitySet:
        return IdentitySet(*self._kinds, *others._kinds)


SEQUENCES = IdentitySet(list, tuple)


@with_native
def class_attribute(kind: type, name: str, default: Any = None) -> Any:
    """What a class or one of its bases defines under a name, as it stands there."""
    for each in mro_of(kind):
        found = class_namespace(each).get(name, _NONE)
        if found is not _NONE:
            return found
    return default


def has_special_method(kind: type, name: str) -> bool:
    """Whether instances of a class have a special method."""
    return class_attribute(kind, name) is not None


def is_iterable(thing: Any) -> bool:
    """Whether a loop over it can begin."""
    return has_special_method(type(thing), "__iter__") or has_special_method(
        type(thing), "__getitem__"
    )


def stored_length(thing: Any) -> int:
    """How much a container holds, whatever its own `__len__` says."""
    for kind in _SIZED:
        if issubclass(type(thing), kind):
            return kind.__len__(thing)
    return len(thing)
