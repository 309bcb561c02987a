"""What a class statement adds to the objects of the class of C that it stands on.

Nothing that the program defines is asked: neither metaclasses nor properties.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

_HEAP, _IMMUTABLE, _POINTER = 1 << 9, 1 << 8, 8
above: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
"""A class and all that it inherits from."""
own_names: Callable[[type], Mapping[str, Any]] = type.__dict__["__dict__"].__get__
"""What a class itself defines."""

_layouts: dict[int, tuple[type, type, list[tuple[str, Any]]]] = {}
"""Of classes by their address, for a class may have a hash of its own."""


def layout(kind: type) -> tuple[type, list[tuple[str, Any]]]:
    """The class of C that a class stands on, and the slots that it has."""
    known = _layouts.get(id(kind))
    if known is None:
        made = [each for each in above(kind) if _is_of_python(each)]
        base = next(each for each in above(kind) if not _is_of_python(each))
        slots = [
            (name, each)
            for held in made
            for name, each in own_names(held).items()
            if isinstance(each, types.MemberDescriptorType)
        ]
        known = _layouts[id(kind)] = (kind, base, slots)
    return known[1:]


def is_changeable(kind: type) -> bool:
    """Whether its attributes can be set."""
    return bool(kind.__flags__ & _HEAP and not kind.__flags__ & _IMMUTABLE)


def _is_of_python(kind: type) -> bool:
    """Whether it was made by a class statement: it has slots and a `__dict__`, and nothing else."""
    if not is_changeable(kind) or kind.__base__ is None:
        return False
    added = kind.__basicsize__ - kind.__base__.__basicsize__
    held = own_names(kind)
    return not added or "__slots__" in held or ("__dict__" in held and added <= 2 * _POINTER)
