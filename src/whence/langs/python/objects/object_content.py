"""What any object of a running program holds, and having it hold something else.

For re-runs only: nobody is a guest here. No method that the program defines is run all the same,
since what it does would be done once more. Attributes are read where they lie.

Invariant: what cannot be seen in full is of the kind `UNKNOWN`.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import operator
import types
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

from whence.langs.python.objects.class_slots import above, is_changeable, layout, own_names
from whence.langs.python.objects.object_kinds import (
    CLASS,
    EXACT,
    EXCEPTION,
    EXTENDABLE,
    HOLDER,
    KEPT,
    MODULE,
    UNKNOWN,
    VALUE,
    VALUES,
    Kind,
    put_entries,
)


class Shape(NamedTuple):
    """What is the same of all objects of a class."""

    kind: Kind
    of: type
    held: Any = None
    """What tells the `__dict__` of one."""
    slots: Sequence[tuple[str, Any]] = ()


class Content(NamedTuple):
    """What one object holds now: parts of its kind, attributes, slots."""

    shape: Shape
    label: Any
    parts: tuple[Any, ...]
    names: tuple[str, ...] = ()
    slots: tuple[int, ...] = ()
    """The slots that are set."""
    held: Any = None
    """Its `__dict__`, if it has one."""

    @property
    def can_change(self) -> bool:
        """Whether it may hold something else some day."""
        shape = self.shape
        return shape.kind.changes or shape.held is not None or bool(shape.slots)

    def is_now(self, other: Content) -> bool:
        """Whether it is the same as another one: of the same objects."""
        return (
            self.shape is other.shape
            and self.label == other.label
            and len(self.parts) == len(other.parts)
            and all(map(operator.is_, self.parts, other.parts))
            and self.names == other.names
            and self.slots == other.slots
            and self.held is other.held
        )


_shapes: dict[int, Shape] = {}
"""Of classes by their address, likewise."""


def shape_of(kind: type) -> Shape:
    """That of a class."""
    found = _shapes.get(id(kind))
    if found is None:
        exact = EXACT.get(id(kind))
        found = _shapes[id(kind)] = Shape(exact, kind) if exact is not None else _shape(kind)
    return found


def _shape(kind: type) -> Shape:
    if issubclass(kind, type):
        return Shape(CLASS, kind)
    if issubclass(kind, types.ModuleType):
        return Shape(MODULE, kind)
    if issubclass(kind, weakref.ref):
        return Shape(HOLDER, kind)
    if issubclass(kind, BaseException):
        return Shape(EXCEPTION, kind)
    name = (kind.__module__, kind.__qualname__) if not is_changeable(kind) else ("", "")
    if name in VALUES or name in KEPT:
        return Shape(VALUE if name in VALUES else HOLDER, kind)
    base, slots = layout(kind)
    known = EXTENDABLE.get(id(base))
    named = [own_names(each) for each in above(kind)]
    getters = [each["__dict__"] for each in named if "__dict__" in each]
    if known is None or any(type(each) is not types.GetSetDescriptorType for each in getters):
        return Shape(UNKNOWN, kind)
    return Shape(known, kind, getters[0] if getters else None, slots)


def tell(value: Any) -> Content:
    """What an object holds."""
    shape = shape_of(type(value))
    label, parts = shape.kind.tell(value)
    if shape.held is None and not shape.slots:
        return Content(shape, label, tuple(parts))
    held = None if shape.held is None else shape.held.__get__(value)
    attributes = {} if held is None else held
    if type(attributes) is not dict or any(type(name) is not str for name in attributes):
        return Content(Shape(UNKNOWN, shape.of), None, tuple(gc.get_referents(value)))
    slots, set_to = [], []
    for number, (_, slot) in enumerate(shape.slots):
        with contextlib.suppress(AttributeError):
            set_to.append(slot.__get__(value))
            slots.append(number)
    whole = (*parts, *attributes.values(), *set_to)
    return Content(shape, label, whole, tuple(attributes), tuple(slots), held)


def put(value: Any, content: Content) -> None:
    """Have an object hold this."""
    shape, parts = content.shape, content.parts
    attributes = len(parts) - len(content.names) - len(content.slots)
    slots = attributes + len(content.names)
    if shape.kind.put is not None:
        shape.kind.put(value, content.label, parts[:attributes])
    if shape.held is not None:
        entries = zip(content.names, parts[attributes:slots], strict=True)
        put_entries(shape.held.__get__(value), None, [*itertools.chain.from_iterable(entries)])
    left = dict(zip(content.slots, parts[slots:], strict=True))
    for number, (_, slot) in enumerate(shape.slots):
        if number in left:
            slot.__set__(value, left[number])
        else:
            with contextlib.suppress(AttributeError):
                slot.__delete__(value)
