"""Reading, setting and deleting items of sequences and mappings."""

from __future__ import annotations

import operator
from collections import deque
from typing import Any

from whence.langs.python.provenance.runtime.frame_variables import set_in_frame
from whence.langs.python.provenance.runtime.iteration import opaque_part_tag
from whence.langs.python.provenance.runtime.kept_values import note_kept
from whence.langs.python.provenance.runtime.native_tagging import with_native
from whence.langs.python.provenance.runtime.opaque_holders import is_opaque, note_held
from whence.langs.python.provenance.runtime.out_of_sight_calls import resynchronise
from whence.langs.python.provenance.runtime.run_state import RUN, Operation
from whence.langs.python.provenance.runtime.shadow_memory import (
    Candidates,
    Shadow,
    absorb,
    is_plain_key,
    key_identity,
    part_tag,
    shadow_existing,
    shadow_for,
    shadow_from_candidates,
    shadow_of,
    shadow_sequence,
    synchronise,
)
from whence.langs.python.provenance.runtime.tagged_operations import (
    item_tags,
    note_change_target,
    operate_on_scalars,
    outcome_tag,
    run_out_of_sight,
    shape_after_comparisons,
    shape_tag,
)
from whence.langs.python.provenance.runtime.type_inspection import (
    SEQUENCES,
    IdentitySet,
    stored_length,
)
from whence.langs.python.provenance.runtime.unpacking import list_with_tags
from whence.langs.python.provenance.runtime.variable_tags import (
    delete_global,
    load_global,
    store_global,
)
from whence.langs.python.provenance.tags import (
    CONST,
    LOAD,
    NEW,
    OP,
    SCALARS,
    SEL,
    STORE,
    Control,
    MaybeTag,
    Pair,
    Tag,
)

_NONE = object()
_PLACES = IdentitySet(int, slice)


@with_native
def subscript(site: int, control: Control, owner: Pair, key: Pair) -> Pair:
    """`owner[key]`."""
    thing, index = owner[0], key[0]
    if type(index) is int and type(thing) in SEQUENCES:  # no code of the program runs
        value, _ = operate_on_scalars(operator.getitem, site, control, owner, key)
        return value, item_tag(site, control, owner, index, (key[1],), value)
    if type(thing) in SCALARS and type(key[0]) in _PLACES:
        return operate_on_scalars(operator.getitem, site, control, owner, key)
    value, operation = run_out_of_sight(
        site, control, (owner, key), operator.getitem, thing, key[0]
    )
    return read_item(operation, owner, key, value)


def read_item(operation: Operation, owner: Pair, key: Pair, value: object) -> Pair:
    """An item that was just read, with its tag."""
    site, control = operation.site, operation.control
    thing = owner[0]
    if operation.callbacks and not issubclass(type(thing), dict):
        return value, outcome_tag(operation, value, (owner[1], key[1]))
    if issubclass(type(thing), (list, tuple, deque)):
        if type(key[0]) is int or type(key[0]) is bool:
            return value, item_tag(site, control, owner, int(key[0]), (key[1],), value)
        return _part_of_sequence(site, control, owner, key, value)
    if issubclass(type(thing), dict):
        return value, value_tag(operation, owner, key, value)
    if type(thing) in SCALARS:
        return value, Tag((OP, site, control, owner[1], key[1]))
    return value, opaque_part_tag(operation, value, owner, ("item", key[0]))


def item_tag(
    site: int, control: Control, owner: Pair, index: int, needs: tuple[MaybeTag, ...], value: object
) -> MaybeTag:
    """The tag of an item of a sequence."""
    thing, tag = owner
    if index < 0:
        index += stored_length(thing)
    shadow = RUN.shadows.get(id(thing))
    if shadow is None or type(shadow.items) is not list:
        return part_tag(site, control, owner, ("item", index), value, needs)
    if index >= len(shadow.values) or shadow.values[index] is not value:
        synchronise(thing, site, control)
        shadow = shadow_for(thing)
        if index >= len(shadow.values):
            return part_tag(site, control, owner, ("item", index), value, needs)
    return Tag((LOAD, site, control, shadow.items[index], RUN.time, id(thing), index, tag, *needs,
            shadow.shape))  # fmt: skip


def _part_of_sequence(site: int, control: Control, owner: Pair, key: Pair, value: Any) -> Pair:
    """`owner[a:b]`."""
    thing = owner[0]
    if type(key[0]) is not slice or not issubclass(type(value), (list, tuple)):
        return value, Candidates(site, control, (owner, key)).tag(value)
    if value is thing:
        return value, owner[1]
    tags = item_tags(site, control, owner)
    try:
        picked = tags[key[0]]
    except (TypeError, ValueError):
        picked = []
    shape = Tag((OP, site, control, shape_tag(thing), owner[1], key[1]))
    if len(picked) == len(value):
        shadow_sequence(value, picked, shape)
    else:
        shadow_from_candidates(value, Candidates(site, control, (owner, key)))
    return value, Tag((NEW, site, control, None, owner[1], key[1]))


def value_tag(operation: Operation, owner: Pair, key: Pair, value: object) -> MaybeTag:
    """The tag of the value of a dict's key, which the dict may just have created."""
    site, control = operation.site, operation.control
    thing, tag = owner
    module = RUN.namespaces.get(id(thing))
    if module is not None and type(key[0]) is str:
        source = load_global(site, control, module, key[0], value)[1]
        return Tag((SEL, site, control, source, tag, key[1]))
    shadow = RUN.shadows.get(id(thing))
    if shadow is None or shadow.values is None:
        if operation.callbacks:
            return outcome_tag(operation, value, (tag, key[1]))
        return part_tag(site, control, owner, ("item", key[0]), value, (key[1],))
    identity = key_identity(key[0])
    if shadow.values.get(identity, _NONE) is not value:
        if identity not in shadow.values and not is_plain_key(key[0]):
            identity = _entry_with(shadow, value)
        if identity is None or shadow.values.get(identity, _NONE) is not value:
            made = outcome_tag(operation, value, (tag, key[1], shadow.shape))
            if stored_length(thing) == len(shadow.values) + 1 and type(thing) is not dict:
                # made for the key that was missing
                note_entry(site, control, owner, key, (value, made))
                return made
            operands = (owner, key, *operation.callbacks) if operation.callbacks else ()
            synchronise(thing, site, control, operands)
            shadow, identity = shadow_for(thing), key_identity(key[0])
            if shadow.values is None or shadow.values.get(identity, _NONE) is not value:
                return made
    compared = tuple(tag for _, tag in operation.callbacks)
    return Tag((
        LOAD, site, control, shadow.items[identity], RUN.time, id(thing), key[0], tag, key[1],
        shadow.shape, shadow.keys.get(identity), *compared,
    ))  # fmt: skip


def _entry_with(shadow: Shadow, value: object) -> object:
    """The only key with this value; identifies an entry whose key was equal but not identical."""
    identities = [identity for identity, candidate in shadow.values.items() if candidate is value]
    return identities[0] if len(identities) == 1 else None


def note_entry(site: int, control: Control, owner: Pair, key: Pair, new_value: Pair) -> None:
    """Note that a dict now has an entry."""
    thing = owner[0]
    shadow = shadow_of(thing)
    if shadow is None or shadow.values is None:
        shadow = shadow_existing(site, control, owner)
    identity = key_identity(key[0])
    RUN.time += 1
    assert shadow.values is not None
    if identity not in shadow.values and len(shadow.values) == stored_length(thing):
        same = [value for value in shadow.values if type(value) is tuple]
        if len(same) == 1:  # an equal key of a type of the program's own
            identity = same[0]
        else:
            synchronise(thing, site, control, (owner, key, new_value))
            return
    if identity not in shadow.values:
        shadow.keys[identity] = key[1]
    if identity not in shadow.values or (key[1] is not None and key[1][0] != CONST):
        # Which entry was set depends on the key: so do all that could have been set instead.
        shadow.shape = Tag((OP, site, control, shadow.shape, key[1]))
    shadow.items[identity] = Tag((STORE, site, control, new_value[1], RUN.time, owner[1], key[1]))
    shadow.values[identity] = new_value[0]
    note_held(thing, new_value[0])
    note_held(thing, key[0])


def set_item(site: int, control: Control, new_value: Pair, owner: Pair, key: Pair) -> None:
    """`owner[key] = new_value`."""
    thing = owner[0]
    if issubclass(type(thing), list) and type(key[0]) is slice:
        _set_slice(site, control, new_value, owner, key)
        note_change_target(control, owner[1])
        return
    _, operation = run_out_of_sight(
        site, control, (owner, key, new_value), operator.setitem, thing, key[0], new_value[0]
    )
    note_change_target(control, owner[1])
    if is_opaque(thing):
        note_kept(operation)
        absorb(thing, site, control, (key, new_value, *operation.callbacks))
    if operation.callbacks:
        if not issubclass(type(thing), (dict, list, deque)):
            return
        synchronise(thing, site, control, (owner, key, new_value), True)
    if issubclass(type(thing), dict):
        note_entry(site, control, owner, key, new_value)
        shadow = shadow_for(thing)
        shadow.shape = shape_after_comparisons(operation, shadow.shape)
        module = RUN.namespaces.get(id(thing))
        if module is not None and type(key[0]) is str:
            store_global(site, control, module, key[0], new_value)
    elif issubclass(type(thing), (list, deque)):
        _set_place(site, control, new_value, owner, key)
    elif not set_in_frame(site, control, new_value, owner, key[0]):
        resynchronise(operation)


def _set_place(site: int, control: Control, new_value: Pair, owner: Pair, key: Pair) -> None:
    thing = owner[0]
    shadow = sequence_shadow(site, control, owner)
    RUN.time += 1
    if type(key[0]) is not int:
        synchronise(thing, site, control, (owner, key, new_value))
        return
    # Which place was set depends on the key: so do all that could have been set instead.
    shadow.shape = Tag((OP, site, control, shadow.shape, key[1]))
    shadow.items[key[0]] = Tag((STORE, site, control, new_value[1], RUN.time, owner[1], key[1]))
    shadow.values[key[0]] = new_value[0]
    note_held(thing, new_value[0])


def _set_slice(site: int, control: Control, new_value: Pair, owner: Pair, key: Pair) -> None:
    thing = owner[0]
    bounds = (key[0].start, key[0].stop, key[0].step)
    if not all(bound is None or type(bound) is int for bound in bounds):
        run_out_of_sight(
            site, control, (owner, key, new_value), operator.setitem, thing, key[0], new_value[0]
        )
        RUN.time += 1
        synchronise(thing, site, control, (owner, key, new_value))
        return
    pairs = list(list_with_tags(site, control, new_value))
    shadow = sequence_shadow(site, control, owner)
    run_out_of_sight(site, control, (owner, key, new_value), operator.setitem, thing, key[0],
             [value for value, _ in pairs])  # fmt: skip
    RUN.time += 1
    tags = [Tag((STORE, site, control, tag, RUN.time, owner[1], key[1])) for _, tag in pairs]
    shadow.items[key[0]] = tags
    shadow.values[key[0]] = [value for value, _ in pairs]
    shadow.shape = Tag(
        (OP, site, control, shadow.shape, key[1], new_value[1], shape_tag(new_value[0]))
    )
    for value, _ in pairs:
        note_held(thing, value)


def sequence_shadow(site: int, control: Control, owner: Pair, *, check: bool = False) -> Shadow:
    """The shadow of a sequence. If it has none, it gets one in which all items are parts.

    `check` compares all items, otherwise only their number.
    """
    thing = owner[0]
    shadow = shadow_of(thing)
    if shadow is None or type(shadow.items) is not list:
        return shadow_existing(site, control, owner)
    if check or len(shadow.items) != stored_length(thing):
        synchronise(thing, site, control)
    return shadow_for(thing)


def delete_item(site: int, control: Control, owner: Pair, key: Pair) -> None:
    """`del owner[key]`."""
    thing = owner[0]
    shadow = shadow_of(thing)
    _, operation = run_out_of_sight(site, control, (owner, key), operator.delitem, thing, key[0])
    note_change_target(control, owner[1])
    if is_opaque(thing):
        absorb(thing, site, control, (key, *operation.callbacks))
    RUN.time += 1
    module = RUN.namespaces.get(id(thing))
    if module is not None:
        delete_global(site, control, module, key[0])
    if shadow is None or shadow.items is None:
        return
    identity = key[0] if type(shadow.items) is list else key_identity(key[0])
    if type(identity) in _PLACES or type(shadow.items) is dict:
        try:
            del shadow.items[identity], shadow.values[identity]
            if type(shadow.items) is dict:
                shadow.keys.pop(identity, None)
        except (KeyError, IndexError):
            pass
    if len(shadow.values) != stored_length(thing):
        synchronise(thing, site, control, (owner, key))
        shadow = shadow_for(thing)
    shape = Tag((OP, site, control, shadow.shape, key[1], owner[1]))
    shadow.shape = shape_after_comparisons(operation, shape)
