"""Reading, setting and deleting attributes and items."""

from __future__ import annotations

import operator
from collections import deque
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

from whence.langs.python.objects.template_types import TEMPLATES
from whence.langs.python.provenance.runtime.frame_variables import (
    own_cells,
    read_elsewhere,
    set_cell,
    set_in_frame,
)
from whence.langs.python.provenance.runtime.iteration import (
    list_with_tags,
    note_live_view,
    opaque_part_tag,
)
from whence.langs.python.provenance.runtime.native_tagging import with_native
from whence.langs.python.provenance.runtime.out_of_sight_calls import resynchronise
from whence.langs.python.provenance.runtime.run_state import RUN, Operation
from whence.langs.python.provenance.runtime.shadow_memory import (
    Candidates,
    Shadow,
    absorb,
    deep_tags,
    instance_dict,
    is_opaque,
    key_identity,
    note_held,
    part_tag,
    shadow_existing,
    shadow_for,
    shadow_from_candidates,
    shadow_of,
    shadow_of_dict,
    shadow_sequence,
    stored_attributes,
    synchronise,
)
from whence.langs.python.provenance.runtime.tagged_operations import (
    delete_global,
    item_tags,
    load_global,
    note_change_target,
    note_failure,
    operate_on_scalars,
    outcome_tag,
    run_out_of_sight,
    shape_after_comparisons,
    shape_tag,
    store_global,
)
from whence.langs.python.provenance.runtime.template_strings import all_values
from whence.langs.python.provenance.runtime.type_inspection import (
    SEQUENCES,
    IdentitySet,
    class_attribute,
    class_namespace,
    mro_of,
    stored_length,
)
from whence.langs.python.provenance.tags import (
    BOUND,
    CONST,
    LOAD,
    NEW,
    OP,
    PART,
    SCALARS,
    STORE,
    Control,
    MaybeTag,
    Pair,
    Tag,
)

_NONE = object()
_HELD_BY = IdentitySet(MemberDescriptorType, GetSetDescriptorType)
_PLACES = IdentitySet(int, slice)
_FLAGS = type.__dict__["__flags__"].__get__
_IMMUTABLE = 1 << 8
"""The flag of classes that get no further attributes: those of the interpreter."""
_PLAIN = IdentitySet(list, tuple, dict, set, frozenset, deque)

# --- attributes ----------------------------------------------------------------------------------

_METHODS = (MethodType, BuiltinFunctionType, MethodWrapperType)
_ANNOTATED = (type, FunctionType)
"""What works its annotations out when it is first asked for them (3.14)."""


@with_native
def attribute(site: int, control: Control, owner: Pair, name: str) -> Pair:
    """`owner.name`."""
    thing, tag = owner
    if type(thing) in SCALARS:
        try:
            return getattr(thing, name), Tag((BOUND, site, control, "", tag))
        except AttributeError as error:
            note_failure(Operation(site, control, (owner,)), error)
            raise
    value, operation = run_out_of_sight(site, control, (owner,), getattr, thing, name)
    if type(value) is GeneratorType:
        RUN.note_maker(value, control.activation)
    return value, read_attribute(operation, owner, name, value)


def read_attribute(operation: Operation, owner: Pair, name: str, value: Any) -> MaybeTag:
    """The tag of an attribute that was just read."""
    site, control = operation.site, operation.control
    thing, tag = owner
    if operation.callbacks:
        made = outcome_tag(operation, value, (tag,))
        # What was worked out is kept there.
        annotates = name == "__annotations__" and issubclass(type(thing), _ANNOTATED)
        if annotates or stored_attributes(thing).get(name, _NONE) is value:
            store_attribute(site, control, (value, made), owner, name)
        elif is_opaque(thing):
            absorb(thing, site, control, operation.callbacks)
        return made
    if issubclass(type(value), _METHODS) and not issubclass(type(thing), ModuleType):
        fixed = "" if type(thing) in _PLAIN else name
        return Tag((BOUND, site, control, fixed, tag))
    note_live_view(value, (owner,))
    found = read_elsewhere(site, control, owner, name)
    return found if found is not None else _attribute_tag(site, control, owner, name, value)


def closure(site: int, control: Control, owner: Pair) -> Pair:
    """`owner.__closure__`, without the cells of tags."""
    cells, tag = attribute(site, control, owner, "__closure__")
    return own_cells(owner[0]) if type(owner[0]) is FunctionType else cells, tag


def _attribute_tag(site: int, control: Control, owner: Pair, name: str, value: Any) -> MaybeTag:
    thing, tag = owner
    shadow = RUN.shadows.get(id(thing))
    if shadow is not None and name in shadow.attributes:
        if shadow.attribute_values[name] is not value:
            synchronise(thing, site, control)
            shadow = shadow_for(thing)
        if shadow.attribute_values.get(name, _NONE) is value:
            needs = (tag,) if shadow.shape is None else (tag, shadow.shape)
            source = shadow.attributes[name]
            return Tag((LOAD, site, control, source, RUN.time, id(thing), name, *needs))
    space = shadow_of_dict(thing)
    if space is not None and space.values is not None and space.values.get(name, _NONE) is value:
        return Tag(
            (LOAD, site, control, space.items[name], RUN.time, id(thing), name, tag, space.shape)
        )
    if issubclass(type(thing), ModuleType):
        module = RUN.namespaces.get(id(thing.__dict__), -1)
        return load_global(site, control, module, name, value)[1]
    if issubclass(type(thing), tuple) and name in class_attribute(type(thing), "_fields", ()):
        index = class_attribute(type(thing), "_fields").index(name)
        return item_tag(site, control, owner, index, (), value)
    is_class = issubclass(type(thing), type)
    if not is_class and _own_attribute(thing, name) is value:
        return part_tag(site, control, owner, ("attribute", name), value, (shape_tag(thing),))
    # What stands nearer could have had it instead, and had not.
    lacking = [] if is_class else [missing_attribute(site, control, owner, name)]
    for kind in mro_of(thing if is_class else type(thing)):
        space = class_namespace(kind)
        if name not in space:
            if not _FLAGS(kind) & _IMMUTABLE:
                lacking.append(missing_attribute(site, control, (kind, None), name))
            continue
        found = RUN.shadows.get(id(kind))
        if found is not None and found.attribute_values.get(name, _NONE) is value:
            source = found.attributes[name]
        elif space[name] is not value and not is_class:
            return _described(site, control, owner, name, value, (space[name], lacking))
        else:
            part = found.shape if found is not None else None
            source = Tag((PART, site, control, part, ("attribute", name)))
        return Tag((LOAD, site, control, source, RUN.time, id(kind), name, tag, *lacking))
    return part_tag(site, control, owner, ("attribute", name), value, (shape_tag(thing),))


def _own_attribute(thing: Any, name: str) -> Any:
    """What an object's dictionary has under a name."""
    found = instance_dict(thing)
    return found.get(name, _NONE) if type(found) is dict else _NONE


def _described(
    site: int, control: Control, owner: Pair, name: str, value: Any,
    described: tuple[Any, list[MaybeTag]],
) -> MaybeTag:  # fmt: skip
    """The tag of a value that a descriptor out of sight returned: it was computed, or the object
    holds it.
    """
    descriptor, needs = described
    if name == "values" and issubclass(type(owner[0]), TEMPLATES):
        return all_values(site, control, owner, value)
    if type(descriptor) in _HELD_BY:
        return part_tag(site, control, owner, ("attribute", name), value, tuple(needs))
    made = Tag((OP, site, control, *deep_tags((owner,)), *needs))
    return Candidates(site, control, (owner,), made).tag(value)


def named_attribute(site: int, control: Control, owner: Pair, name: Pair) -> None:
    """Note that the program computed which attribute to set: it could have been another."""
    if name[1] is not None and name[1][0] != CONST:
        shadow = shadow_for(owner[0])
        shadow.shape = Tag((OP, site, control, shadow.shape, name[1]))


def missing_attribute(site: int, control: Control, owner: Pair, name: str) -> MaybeTag:
    """The tag of not finding an attribute: somebody could have set it."""
    thing, tag = owner
    RUN.kept_alive[id(thing)] = thing
    return Tag((LOAD, site, control, None, RUN.time, id(thing), name, tag, shape_tag(thing)))


@with_native
def set_attribute(site: int, control: Control, given: Pair, owner: Pair, name: str) -> None:
    """`owner.name = given`."""
    _, operation = run_out_of_sight(
        site, control, (owner, given), setattr, owner[0], name, given[0]
    )
    attribute_written(operation, given, owner, name)


def attribute_written(operation: Operation, given: Pair, owner: Pair, name: str) -> None:
    """Compute the tags after an attribute was set."""
    site, control = operation.site, operation.control
    thing = owner[0]
    note_change_target(control, owner[1])
    if is_opaque(thing):
        absorb(thing, site, control, (given, *operation.callbacks))
    if operation.callbacks:
        return  # a setter of the program's own, which has done what it does
    store_attribute(site, control, given, owner, name)


def store_attribute(site: int, control: Control, given: Pair, owner: Pair, name: str) -> None:
    """Note that an attribute was set."""
    thing = owner[0]
    RUN.time += 1
    if type(thing) is CellType:
        set_cell(site, control, given, owner)
        note_held(thing, given[0])
        return
    module = _module_of(thing)
    if module is not None:
        store_global(site, control, module, name, given)
        return
    if issubclass(type(thing), ModuleType):
        shadow = RUN.modules[-id(thing)] = shadow_for(thing)
    else:
        shadow = shadow_of(thing) or shadow_existing(site, control, owner)
    shadow.attributes[name] = Tag((STORE, site, control, given[1], RUN.time, owner[1]))
    shadow.attribute_values[name] = given[0]
    note_held(thing, given[0])


def _module_of(thing: Any) -> int | None:
    """The number of a module that is rewritten."""
    return RUN.namespaces.get(id(thing.__dict__)) if issubclass(type(thing), ModuleType) else None


def delete_attribute(site: int, control: Control, owner: Pair, name: str) -> None:
    """`del owner.name`."""
    run_out_of_sight(site, control, (owner,), delattr, owner[0], name)
    note_change_target(control, owner[1])
    RUN.time += 1
    module = _module_of(owner[0])
    if module is not None:
        delete_global(site, control, module, name)
        return
    shadow = shadow_for(owner[0])
    shadow.attributes.pop(name, None)
    shadow.attribute_values.pop(name, None)
    shadow.shape = Tag((OP, site, control, shadow.shape, owner[1]))


# --- items ---------------------------------------------------------------------------------------


@with_native
def subscript(site: int, control: Control, owner: Pair, key: Pair) -> Pair:
    """`owner[key]`."""
    thing, place = owner[0], key[0]
    if type(place) is int and type(thing) in SEQUENCES:  # no code of the program runs
        value, _ = operate_on_scalars(operator.getitem, site, control, owner, key)
        return value, item_tag(site, control, owner, place, (key[1],), value)
    if type(thing) in SCALARS and type(key[0]) in _PLACES:
        return operate_on_scalars(operator.getitem, site, control, owner, key)
    value, operation = run_out_of_sight(
        site, control, (owner, key), operator.getitem, thing, key[0]
    )
    return read_item(operation, owner, key, value)


def read_item(operation: Operation, owner: Pair, key: Pair, value: Any) -> Pair:
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
    site: int, control: Control, owner: Pair, index: int, needs: tuple[MaybeTag, ...], value: Any
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


def value_tag(operation: Operation, owner: Pair, key: Pair, value: Any) -> MaybeTag:
    """The tag of the value of a dict's key, which the dict may just have created."""
    site, control = operation.site, operation.control
    thing, tag = owner
    shadow = RUN.shadows.get(id(thing))
    if shadow is None or shadow.values is None:
        if operation.callbacks:
            return outcome_tag(operation, value, (tag, key[1]))
        return part_tag(site, control, owner, ("item", key[0]), value, (key[1],))
    known = key_identity(key[0])
    if shadow.values.get(known, _NONE) is not value:
        known = _entry_with(shadow, value) if known not in shadow.values else known
        if known is None or shadow.values[known] is not value:
            made = outcome_tag(operation, value, (tag, key[1], shadow.shape))
            if stored_length(thing) == len(shadow.values) + 1 and type(thing) is not dict:
                # made for the key that was missing
                note_entry(site, control, owner, key, (value, made))
                return made
            told_it = (owner, key, *operation.callbacks) if operation.callbacks else ()
            synchronise(thing, site, control, told_it)
            shadow, known = shadow_for(thing), key_identity(key[0])
            if shadow.values is None or shadow.values.get(known, _NONE) is not value:
                return made
    compared = tuple(tag for _, tag in operation.callbacks)
    return Tag((LOAD, site, control, shadow.items[known], RUN.time, id(thing), key[0], tag, key[1],
            shadow.shape, shadow.keys.get(known), *compared))  # fmt: skip


def _entry_with(shadow: Shadow, value: Any) -> Any:
    """The only key with this value; identifies an entry whose key was equal but not identical."""
    found = [known for known, candidate in shadow.values.items() if candidate is value]
    return found[0] if len(found) == 1 else None


def note_entry(site: int, control: Control, owner: Pair, key: Pair, given: Pair) -> None:
    """Note that a dict now has an entry."""
    thing = owner[0]
    shadow = shadow_of(thing)
    if shadow is None or shadow.values is None:
        shadow = shadow_existing(site, control, owner)
    known = key_identity(key[0])
    RUN.time += 1
    assert shadow.values is not None
    if known not in shadow.values and len(shadow.values) == stored_length(thing):
        same = [value for value in shadow.values if type(value) is tuple]
        if len(same) == 1:  # an equal key of a type of the program's own
            known = same[0]
        else:
            synchronise(thing, site, control, (owner, key, given))
            return
    if known not in shadow.values:
        shadow.keys[known] = key[1]
    if known not in shadow.values or (key[1] is not None and key[1][0] != CONST):
        # Which entry was set depends on the key: so do all that could have been set instead.
        shadow.shape = Tag((OP, site, control, shadow.shape, key[1]))
    shadow.items[known] = Tag((STORE, site, control, given[1], RUN.time, owner[1], key[1]))
    shadow.values[known] = given[0]
    note_held(thing, given[0])
    note_held(thing, key[0])


def set_item(site: int, control: Control, given: Pair, owner: Pair, key: Pair) -> None:
    """`owner[key] = given`."""
    thing = owner[0]
    if issubclass(type(thing), list) and type(key[0]) is slice:
        _set_slice(site, control, given, owner, key)
        note_change_target(control, owner[1])
        return
    _, operation = run_out_of_sight(
        site, control, (owner, key, given), operator.setitem, thing, key[0], given[0]
    )
    note_change_target(control, owner[1])
    if is_opaque(thing):
        absorb(thing, site, control, (key, given, *operation.callbacks))
    if operation.callbacks:
        if not issubclass(type(thing), (dict, list, deque)):
            return
        synchronise(thing, site, control, (owner, key, given), True)
    if issubclass(type(thing), dict):
        note_entry(site, control, owner, key, given)
        shadow = shadow_for(thing)
        shadow.shape = shape_after_comparisons(operation, shadow.shape)
        module = RUN.namespaces.get(id(thing))
        if module is not None and type(key[0]) is str:
            store_global(site, control, module, key[0], given)
    elif issubclass(type(thing), (list, deque)):
        _set_place(site, control, given, owner, key)
    elif not set_in_frame(site, control, given, owner, key[0]):
        resynchronise(operation)


def _set_place(site: int, control: Control, given: Pair, owner: Pair, key: Pair) -> None:
    thing = owner[0]
    shadow = sequence_shadow(site, control, owner)
    RUN.time += 1
    if type(key[0]) is not int:
        synchronise(thing, site, control, (owner, key, given))
        return
    # Which place was set depends on the key: so do all that could have been set instead.
    shadow.shape = Tag((OP, site, control, shadow.shape, key[1]))
    shadow.items[key[0]] = Tag((STORE, site, control, given[1], RUN.time, owner[1], key[1]))
    shadow.values[key[0]] = given[0]
    note_held(thing, given[0])


def _set_slice(site: int, control: Control, given: Pair, owner: Pair, key: Pair) -> None:
    thing = owner[0]
    bounds = (key[0].start, key[0].stop, key[0].step)
    if not all(bound is None or type(bound) is int for bound in bounds):
        run_out_of_sight(
            site, control, (owner, key, given), operator.setitem, thing, key[0], given[0]
        )
        RUN.time += 1
        synchronise(thing, site, control, (owner, key, given))
        return
    pairs = list(list_with_tags(site, control, given))
    shadow = sequence_shadow(site, control, owner)
    run_out_of_sight(site, control, (owner, key, given), operator.setitem, thing, key[0],
             [value for value, _ in pairs])  # fmt: skip
    RUN.time += 1
    tags = [Tag((STORE, site, control, tag, RUN.time, owner[1], key[1])) for _, tag in pairs]
    shadow.items[key[0]] = tags
    shadow.values[key[0]] = [value for value, _ in pairs]
    shadow.shape = Tag((OP, site, control, shadow.shape, key[1], given[1], shape_tag(given[0])))
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
    known = key[0] if type(shadow.items) is list else key_identity(key[0])
    if type(known) in _PLACES or type(shadow.items) is dict:
        try:
            del shadow.items[known], shadow.values[known]
            if type(shadow.items) is dict:
                shadow.keys.pop(known, None)
        except (KeyError, IndexError):
            pass
    if len(shadow.values) != stored_length(thing):
        synchronise(thing, site, control, (owner, key))
        shadow = shadow_for(thing)
    shape = Tag((OP, site, control, shadow.shape, key[1], owner[1]))
    shadow.shape = shape_after_comparisons(operation, shape)
