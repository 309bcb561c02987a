"""Inspects types without running the program's code.

A metaclass may define a hash, an equality and attributes of classes; a class a `__class__`, a
`__len__` or an `__iter__`. None of them is called here, because the program could notice. For the
same reason `issubclass(type(thing), kind)` replaces `isinstance`.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from whence.langs.python.objects.raw_class import find_in_class
from whence.langs.python.provenance.runtime.native_tagging import with_native

_SIZED = (list, dict, tuple, set, frozenset, deque)


class IdentitySet:
    """A set of types or functions that compares by identity."""

    __slots__ = ("_kinds", "addresses")

    def __init__(self, *kinds: object):
        self._kinds = kinds
        self.addresses = frozenset(map(id, kinds))

    def __contains__(self, kind: object) -> bool:
        return id(kind) in self.addresses

    def __or__(self, others: IdentitySet) -> IdentitySet:
        return IdentitySet(*self._kinds, *others._kinds)


SEQUENCES = IdentitySet(list, tuple)


@with_native
def class_attribute(kind: type, name: str, default: object = None) -> Any:
    """What a class or one of its bases defines under a name, unbound."""
    return find_in_class(kind, name, default)


def has_special_method(kind: type, name: str) -> bool:
    """Whether instances of a class have a special method."""
    return class_attribute(kind, name) is not None


def is_iterable(thing: object) -> bool:
    """Whether the interpreter can iterate over it."""
    return has_special_method(type(thing), "__iter__") or has_special_method(
        type(thing), "__getitem__"
    )


def stored_length(thing: Any) -> int:
    """The number of stored items, whatever a program's `__len__` says."""
    for kind in _SIZED:
        if issubclass(type(thing), kind):
            return kind.__len__(thing)
    return len(thing)
