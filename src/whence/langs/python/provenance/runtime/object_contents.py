"""Reads what objects hold past the methods that the program overrides."""

from __future__ import annotations

from collections import deque
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

from whence.langs.python.objects.raw_class import class_order, module_of, own_names
from whence.langs.python.provenance.runtime.run_state import RUN
from whence.langs.python.provenance.runtime.type_inspection import (
    class_attribute,
)

SEQUENCE_TYPES = (list, tuple, deque)
SET_TYPES = (set, frozenset)
SHARED_TYPES = (type, FunctionType, ModuleType, BuiltinFunctionType)
Slots = list[tuple[str, MemberDescriptorType]]


def sequence_items(thing: Any) -> list[object]:
    if issubclass(type(thing), list):
        return list.__getitem__(thing, slice(None))
    if issubclass(type(thing), tuple):
        return list(tuple.__iter__(thing))
    return list(deque.__iter__(thing))


def set_elements(thing: Any) -> list[object]:
    """The elements of a set, or the keys of a dict."""
    if issubclass(type(thing), dict):
        return list(dict.__iter__(thing))
    return list((set if issubclass(type(thing), set) else frozenset).__iter__(thing))


def instance_dict(thing: object) -> object:
    """The dictionary of an object, or None. Raises no exception inside if that can be avoided."""
    if class_attribute(type(thing), "__dict__") is None:
        return None
    try:
        return object.__getattribute__(thing, "__dict__")
    except (AttributeError, TypeError):
        return None


def stored_attributes(thing: object) -> dict[str, object]:
    """What an instance holds in its dictionary and its slots."""
    attributes = instance_dict(thing)
    stored = dict(attributes) if type(attributes) is dict else {}
    for name, slot in _slots_of(type(thing)):
        try:
            stored[name] = slot.__get__(thing)
        except AttributeError:
            continue
    return stored


def _slots_of(kind: type) -> Slots:
    order = class_order(kind)
    entry = RUN.slots.get(id(kind))
    if entry is None or entry[0] is not order:
        slots = [
            (name, member)
            for base in order
            for name, member in own_names(base).items()
            if type(member) is MemberDescriptorType and module_of(base) != "builtins"
        ]
        entry = RUN.slots[id(kind)] = (order, slots)
    return entry[1]
