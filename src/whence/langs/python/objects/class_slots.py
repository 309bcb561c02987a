"""What a class statement adds to objects of the C class that it extends: slots and a `__dict__`.

Neither metaclasses nor properties of the program run.
"""

from __future__ import annotations

import types
from collections.abc import Sequence

from whence.langs.python.objects.raw_class import (
    HEAP_TYPE,
    IMMUTABLE_TYPE,
    base_of,
    class_order,
    flags_of,
    own_names,
    size_of,
)

_POINTER = 8
Slots = Sequence[tuple[str, types.MemberDescriptorType]]
"""The slots of a class, by name."""
_layouts: dict[int, tuple[type, type, Slots]] = {}
"""By address of the class, since a class may define a hash. The class is kept so that its address
stays its own."""


def layout(cls: type) -> tuple[type, Slots]:
    """The C class that a class extends, and the slots that class statements added."""
    entry = _layouts.get(id(cls))
    if entry is None:
        order = class_order(cls)
        slots = [
            (name, member)
            for base in order
            if _is_of_class_statement(base)
            for name, member in own_names(base).items()
            if isinstance(member, types.MemberDescriptorType)
        ]
        c_class = next(base for base in order if not _is_of_class_statement(base))
        entry = _layouts[id(cls)] = (cls, c_class, slots)
    return entry[1:]


def is_changeable(cls: type) -> bool:
    """Whether the attributes of the class can be set."""
    flags = flags_of(cls)
    return bool(flags & HEAP_TYPE and not flags & IMMUTABLE_TYPE)


def _is_of_class_statement(cls: type) -> bool:
    """Whether a class statement made the class: it adds only slots and a `__dict__`."""
    base = base_of(cls)
    if not is_changeable(cls) or base is None:
        return False
    added = size_of(cls) - size_of(base)
    names = own_names(cls)
    return not added or "__slots__" in names or ("__dict__" in names and added <= 2 * _POINTER)
