"""Which objects hold which others, and which may hold values where they cannot be read."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from types import AsyncGeneratorType, CoroutineType, GeneratorType, MethodType

from whence.langs.python.objects.newer_types import TEMPLATES
from whence.langs.python.objects.raw_class import class_order, own_names
from whence.langs.python.provenance.runtime.native_tagging import with_native
from whence.langs.python.provenance.runtime.object_contents import (
    SEQUENCE_TYPES,
    SET_TYPES,
    SHARED_TYPES,
)
from whence.langs.python.provenance.runtime.run_state import RUN
from whence.langs.python.provenance.runtime.type_inspection import (
    IdentitySet,
)
from whence.langs.python.provenance.tags import SCALARS

_CONTAINERS = (*SEQUENCE_TYPES, dict, *SET_TYPES)
_READABLE_TYPES = IdentitySet(
    *_CONTAINERS, *SHARED_TYPES, MethodType, BaseException, GeneratorType, CoroutineType,
    AsyncGeneratorType, slice, *TEMPLATES,
)  # fmt: skip
_DISPLAYED = IdentitySet(list, tuple, dict)
_NOTED_WHEN_STORED = (*_CONTAINERS, *SHARED_TYPES)
"""Types whose contents are noted when they are stored, or are shared by all."""


@with_native
def is_opaque(thing: object) -> bool:
    """Whether code out of sight may keep things in an object where they cannot be read."""
    kind = type(thing)
    if kind in SCALARS:
        return False
    entry = RUN.opaque_types.get(id(kind))
    if entry is None:
        entry = RUN.opaque_types[id(kind)] = (kind, _is_opaque_type(kind), is_program_class(kind))
    return entry[1]


def _is_opaque_type(kind: type) -> bool:
    order = class_order(kind)
    if any(base in _READABLE_TYPES for base in order):
        return False
    return not all(is_program_class(base) for base in order[:-1])


def is_program_class(kind: type) -> bool:
    """Whether the program defines a class: then its instances hold only their attributes."""
    module = sys.modules.get(own_names(kind).get("__module__", ""))
    return module is not None and id(module.__dict__) in RUN.namespaces


def note_may_hold(thing: object, other: object) -> None:
    """Note that an opaque object may hold another one."""
    RUN.behind.setdefault(id(thing), (thing, {}))[1][id(other)] = other


@with_native
def note_held(holder: object, value: object) -> None:
    """Note that an object now holds another: whatever reaches the first reaches the second."""
    if type(value) not in SCALARS:
        RUN.holder_addresses.append(id(holder))
        RUN.held_addresses.append(id(value))


@with_native
def note_referents(thing: object) -> None:
    """Note what an object of the interpreter or of an extension holds, such as a queue's entries.

    What objects with items or attributes hold is noted when it is stored.
    """
    if issubclass(type(thing), _NOTED_WHEN_STORED) or type(thing) in SCALARS:
        return
    shadow = RUN.shadows.get(id(thing))
    if shadow is not None and shadow.attributes:
        return
    for referent in gc.get_referents(thing):
        note_held(thing, referent)
        if type(referent) in _DISPLAYED and id(referent) not in RUN.shadows:
            for inner in gc.get_referents(referent):
                note_held(referent, inner)


_MOST = 200_000


@with_native
def scan_existing_objects(roots: Iterable[object]) -> None:
    """Note what holds what among objects that existed before shadowing began."""
    pending = [root for root in roots if type(root) not in SCALARS]
    reached = {id(thing) for thing in pending}
    while pending:
        thing = pending.pop()
        for referent in gc.get_referents(thing):
            if type(referent) in SCALARS or issubclass(type(referent), SHARED_TYPES):
                continue
            RUN.holder_addresses.append(id(thing))
            RUN.held_addresses.append(id(referent))
            if id(referent) not in reached:
                if len(reached) > _MOST:
                    RUN.is_scanned = False
                    return
                reached.add(id(referent))
                RUN.kept_alive[id(referent)] = referent
                pending.append(referent)
