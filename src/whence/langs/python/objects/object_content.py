"""What one object holds now: read, compared, written back.

For processes in which whence is no guest: re-runs and workers. Still no method that the program
defines runs, since its effects would happen once more. Attributes are read where they are stored.

Invariant: an object that cannot be seen in full is of an opaque kind.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import operator
import types
import weakref
from typing import NamedTuple

from whence.langs.python.objects.atoms import Json
from whence.langs.python.objects.class_slots import Slots, is_changeable, layout
from whence.langs.python.objects.kind_table import kind_of_c_class, kind_of_exact
from whence.langs.python.objects.object_kinds import (
    CLASS,
    EXCEPTION,
    MODULE,
    UNKNOWN,
    WEAK_REFERENCE,
    ObjectKind,
    ProgramObject,
    Reader,
    write_dict,
)
from whence.langs.python.objects.raw_class import class_order, own_names


class ObjectShape(NamedTuple):
    """What all objects of a class have in common."""

    kind: ObjectKind
    of: type
    dict_getter: types.GetSetDescriptorType | None = None
    """Reads the `__dict__` of an object."""
    slots: Slots = ()


class ObjectContent(NamedTuple):
    """What one object holds: the parts of its kind, then its attributes, then its slots."""

    shape: ObjectShape
    label: Json
    parts: tuple[ProgramObject, ...]
    names: tuple[str, ...] = ()
    slots: tuple[int, ...] = ()
    """The slots that are set."""
    attributes: dict[str, ProgramObject] | None = None
    """Its `__dict__`, if it has one."""

    @property
    def own_parts(self) -> tuple[ProgramObject, ...]:
        """The parts of its kind, without attributes and slots."""
        return self.parts[: len(self.parts) - len(self.names) - len(self.slots)]

    @property
    def can_change(self) -> bool:
        """Whether the object may hold something else later."""
        shape = self.shape
        return shape.kind.can_change or shape.dict_getter is not None or bool(shape.slots)

    def is_same(self, other: ObjectContent) -> bool:
        """Whether both hold the same objects, by identity."""
        return (
            self.shape is other.shape
            and self.label == other.label
            and len(self.parts) == len(other.parts)
            and all(map(operator.is_, self.parts, other.parts))
            and self.names == other.names
            and self.slots == other.slots
            and self.attributes is other.attributes
        )


_shapes: dict[int, ObjectShape] = {}
"""By address of the class, since a class may define a hash."""


def shape_of(cls: type) -> ObjectShape:
    """The shape of a class."""
    shape = _shapes.get(id(cls))
    if shape is None:
        exact = kind_of_exact(cls)
        shape = ObjectShape(exact, cls) if exact is not None else _find_shape(cls)
        _shapes[id(cls)] = shape
    return shape


def _find_shape(cls: type) -> ObjectShape:
    for base, kind in (
        (type, CLASS), (types.ModuleType, MODULE), (weakref.ref, WEAK_REFERENCE),
        (BaseException, EXCEPTION),
    ):  # fmt: skip
        if issubclass(cls, base):
            return ObjectShape(kind, cls)
    if not is_changeable(cls):
        return ObjectShape(kind_of_c_class(cls) or UNKNOWN, cls)
    c_class, slots = layout(cls)
    base_kind = kind_of_exact(c_class)
    getter, is_plain = dict_getter(cls)
    if base_kind is None or Reader.FREEZING not in base_kind.subclasses_for or not is_plain:
        return ObjectShape(UNKNOWN, cls)
    return ObjectShape(base_kind, cls, getter, slots)


_dict_getters: dict[int, tuple[type, types.GetSetDescriptorType | None, bool]] = {}


def dict_getter(cls: type) -> tuple[types.GetSetDescriptorType | None, bool]:
    """The getter of an object's `__dict__`, and whether no class defines another `__dict__`."""
    entry = _dict_getters.get(id(cls))
    if entry is None:
        spaces = [own_names(base) for base in class_order(cls)]
        getters = [space["__dict__"] for space in spaces if "__dict__" in space]
        is_plain = all(type(getter) is types.GetSetDescriptorType for getter in getters)
        getter = getters[0] if getters and is_plain else None
        entry = _dict_getters[id(cls)] = (cls, getter, is_plain)
    return entry[1:]


def read_content(value: ProgramObject) -> ObjectContent:
    """What an object holds."""
    shape = shape_of(type(value))
    label, parts = shape.kind.read(value)
    if shape.dict_getter is None and not shape.slots:
        return ObjectContent(shape, label, tuple(parts))
    held = None if shape.dict_getter is None else shape.dict_getter.__get__(value)
    attributes = {} if held is None else held
    if type(attributes) is not dict or any(type(name) is not str for name in attributes):
        unknown = ObjectShape(UNKNOWN, shape.of)
        return ObjectContent(unknown, None, tuple(gc.get_referents(value)))
    slots, slot_values = read_slots(value, shape.slots)
    all_parts = (*parts, *attributes.values(), *slot_values)
    return ObjectContent(shape, label, all_parts, tuple(attributes), tuple(slots), held)


def read_slots(value: ProgramObject, slots: Slots) -> tuple[list[int], list[ProgramObject]]:
    """The numbers of the slots that are set, and their values."""
    numbers, values = [], []
    for number, (_, slot) in enumerate(slots):
        with contextlib.suppress(AttributeError):
            values.append(slot.__get__(value))
            numbers.append(number)
    return numbers, values


def write_content(value: ProgramObject, content: ObjectContent) -> None:
    """Make an object hold this and nothing else."""
    shape, own_parts = content.shape, content.own_parts
    end_of_attributes = len(own_parts) + len(content.names)
    if shape.kind.write is not None:
        shape.kind.write(value, content.label, own_parts)
    if shape.dict_getter is not None:
        attributes = content.parts[len(own_parts) : end_of_attributes]
        entries = [*itertools.chain(*zip(content.names, attributes, strict=True))]
        write_dict(shape.dict_getter.__get__(value), None, entries)
    set_slots = dict(zip(content.slots, content.parts[end_of_attributes:], strict=True))
    for number, (_, slot) in enumerate(shape.slots):
        if number in set_slots:
            slot.__set__(value, set_slots[number])
        else:
            with contextlib.suppress(AttributeError):
                slot.__delete__(value)


def write_attribute(value: ProgramObject, name: str, part: ProgramObject) -> bool:
    """Set one attribute where it is stored, past the class's own setters; False if it has none."""
    cls = type(value)
    for base in class_order(cls):
        slot = own_names(base).get(name)
        if isinstance(slot, types.MemberDescriptorType):
            slot.__set__(value, part)
            return True
    getter, _ = dict_getter(cls)
    if getter is None:
        return False
    dict.__setitem__(getter.__get__(value), name, part)
    return True
