"""Reading, setting and deleting attributes."""

from __future__ import annotations

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

from whence.langs.python.objects.newer_types import TEMPLATES
from whence.langs.python.objects.raw_class import IMMUTABLE_TYPE, class_order, flags_of, own_names
from whence.langs.python.provenance.runtime.frame_variables import (
    own_cells,
    read_elsewhere,
    set_cell,
)
from whence.langs.python.provenance.runtime.item_access import item_tag
from whence.langs.python.provenance.runtime.iterator_sources import note_live_view
from whence.langs.python.provenance.runtime.native_tagging import with_native
from whence.langs.python.provenance.runtime.object_contents import instance_dict, stored_attributes
from whence.langs.python.provenance.runtime.opaque_holders import is_opaque, note_held
from whence.langs.python.provenance.runtime.run_state import RUN, Operation
from whence.langs.python.provenance.runtime.shadow_memory import (
    Candidates,
    absorb,
    deep_tags,
    part_tag,
    shadow_existing,
    shadow_for,
    shadow_of,
    shadow_of_dict,
    synchronise,
)
from whence.langs.python.provenance.runtime.tagged_operations import (
    note_change_target,
    note_failure,
    outcome_tag,
    run_out_of_sight,
    shape_tag,
)
from whence.langs.python.provenance.runtime.template_strings import all_values
from whence.langs.python.provenance.runtime.type_inspection import (
    IdentitySet,
    class_attribute,
)
from whence.langs.python.provenance.runtime.variable_tags import (
    delete_global,
    load_global,
    store_global,
)
from whence.langs.python.provenance.tags import (
    BOUND,
    CONST,
    LOAD,
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
_STORAGE_DESCRIPTORS = IdentitySet(MemberDescriptorType, GetSetDescriptorType)
_PLAIN = IdentitySet(list, tuple, dict, set, frozenset, deque)
_METHODS = (MethodType, BuiltinFunctionType, MethodWrapperType)
_ANNOTATED = (type, FunctionType)
"""What evaluates its annotations when they are first read (3.14)."""


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


def read_attribute(operation: Operation, owner: Pair, name: str, value: object) -> MaybeTag:
    """The tag of an attribute that was just read."""
    site, control = operation.site, operation.control
    thing, tag = owner
    if operation.callbacks:
        made = outcome_tag(operation, value, (tag,))
        # The object keeps the result.
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
    outer_tag = read_elsewhere(site, control, owner, name)
    return outer_tag if outer_tag is not None else _attribute_tag(site, control, owner, name, value)


def closure(site: int, control: Control, owner: Pair) -> Pair:
    """`owner.__closure__`, without the cells of tags."""
    cells, tag = attribute(site, control, owner, "__closure__")
    return own_cells(owner[0]) if type(owner[0]) is FunctionType else cells, tag


def _attribute_tag(site: int, control: Control, owner: Pair, name: str, value: object) -> MaybeTag:
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
    # The object and the classes searched first could have had the attribute.
    lacking = [] if is_class else [missing_attribute(site, control, owner, name)]
    for kind in class_order(thing if is_class else type(thing)):
        names = own_names(kind)
        if name not in names:
            if not flags_of(kind) & IMMUTABLE_TYPE:
                lacking.append(missing_attribute(site, control, (kind, None), name))
            continue
        class_shadow = RUN.shadows.get(id(kind))
        if class_shadow is not None and class_shadow.attribute_values.get(name, _NONE) is value:
            source = class_shadow.attributes[name]
        elif names[name] is not value and not is_class:
            return _described(site, control, owner, name, value, (names[name], lacking))
        else:
            part = class_shadow.shape if class_shadow is not None else None
            source = Tag((PART, site, control, part, ("attribute", name)))
        return Tag((LOAD, site, control, source, RUN.time, id(kind), name, tag, *lacking))
    return part_tag(site, control, owner, ("attribute", name), value, (shape_tag(thing),))


def _own_attribute(thing: object, name: str) -> object:
    """What an object's dictionary has under a name."""
    attributes = instance_dict(thing)
    return attributes.get(name, _NONE) if type(attributes) is dict else _NONE


def _described(
    site: int, control: Control, owner: Pair, name: str, value: Any,
    described: tuple[object, list[MaybeTag]],
) -> MaybeTag:  # fmt: skip
    """The tag of a value that a descriptor out of sight returned: it was computed, or the object
    holds it.
    """
    descriptor, needs = described
    if name == "values" and issubclass(type(owner[0]), TEMPLATES):
        return all_values(site, control, owner, value)
    if type(descriptor) in _STORAGE_DESCRIPTORS:
        return part_tag(site, control, owner, ("attribute", name), value, tuple(needs))
    made = Tag((OP, site, control, *deep_tags((owner,)), *needs))
    return Candidates(site, control, (owner,), made).tag(value)


def named_attribute(site: int, control: Control, owner: Pair, name: Pair) -> None:
    """Note that the program computed which attribute to set: it could have been another."""
    if name[1] is not None and name[1][0] != CONST:
        shadow = shadow_for(owner[0])
        shadow.shape = Tag((OP, site, control, shadow.shape, name[1]))


def missing_attribute(site: int, control: Control, owner: Pair, name: str) -> MaybeTag:
    """The tag of not finding an attribute: other code could have set it."""
    thing, tag = owner
    RUN.kept_alive[id(thing)] = thing
    return Tag((LOAD, site, control, None, RUN.time, id(thing), name, tag, shape_tag(thing)))


@with_native
def set_attribute(site: int, control: Control, new_value: Pair, owner: Pair, name: str) -> None:
    """`owner.name = new_value`."""
    _, operation = run_out_of_sight(
        site, control, (owner, new_value), setattr, owner[0], name, new_value[0]
    )
    attribute_written(operation, new_value, owner, name)


def attribute_written(operation: Operation, new_value: Pair, owner: Pair, name: str) -> None:
    """Compute the tags after an attribute was set."""
    site, control = operation.site, operation.control
    thing = owner[0]
    note_change_target(control, owner[1])
    if is_opaque(thing):
        absorb(thing, site, control, (new_value, *operation.callbacks))
    if operation.callbacks:
        return  # a setter of the program, which made its own tags
    store_attribute(site, control, new_value, owner, name)


def store_attribute(site: int, control: Control, new_value: Pair, owner: Pair, name: str) -> None:
    """Note that an attribute was set."""
    thing = owner[0]
    RUN.time += 1
    if type(thing) is CellType:
        set_cell(site, control, new_value, owner)
        note_held(thing, new_value[0])
        return
    module = _module_of(thing)
    if module is not None:
        store_global(site, control, module, name, new_value)
        return
    if issubclass(type(thing), ModuleType):
        shadow = RUN.modules[-id(thing)] = shadow_for(thing)
    else:
        shadow = shadow_of(thing) or shadow_existing(site, control, owner)
    shadow.attributes[name] = Tag((STORE, site, control, new_value[1], RUN.time, owner[1]))
    shadow.attribute_values[name] = new_value[0]
    note_held(thing, new_value[0])


def _module_of(thing: object) -> int | None:
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
