"""What rewritten expressions call: operators, tests, attributes, items, and what is made of parts.

Every operation does first what the program asked for, with the program's own values, and then
works out the tag. So what the program sees, an exception too, is what it would see without.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, MethodType, MethodWrapperType, ModuleType
from typing import Any

from whence.langs.python.provenance.shadows import (
    Candidates,
    Shadow,
    adopt,
    everything,
    held,
    is_container,
    key_of,
    new_shadow,
    of_mapping,
    of_sequence,
    of_set,
    shadow_for,
    shadow_of,
    synchronise,
)
from whence.langs.python.provenance.state import HERE, RUN, Operation
from whence.langs.python.provenance.tags import (
    BOUND,
    CTL,
    EXC,
    LOAD,
    NEW,
    OP,
    PART,
    PHI,
    RET,
    SCALARS,
    SEL,
    STORE,
    Control,
    Pair,
    Tag,
)

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow,
    "LShift": operator.lshift, "RShift": operator.rshift, "BitOr": operator.or_,
    "BitXor": operator.xor, "BitAnd": operator.and_, "MatMult": operator.matmul,
}  # fmt: skip
AUGMENTED: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.iadd, "Sub": operator.isub, "Mult": operator.imul, "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv, "Mod": operator.imod, "Pow": operator.ipow,
    "LShift": operator.ilshift, "RShift": operator.irshift, "BitOr": operator.ior,
    "BitXor": operator.ixor, "BitAnd": operator.iand, "MatMult": operator.imatmul,
}  # fmt: skip
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le,
    "Gt": operator.gt, "GtE": operator.ge, "Is": operator.is_, "IsNot": operator.is_not,
    "In": lambda left, right: left in right, "NotIn": lambda left, right: left not in right,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    "USub": operator.neg, "UAdd": operator.pos, "Not": operator.not_, "Invert": operator.invert,
}  # fmt: skip


def natively(
    site: int, control: Control, operands: tuple[Pair, ...], function: Callable[..., Any],
    *arguments: Any,
) -> tuple[Any, Operation]:  # fmt: skip
    """Do what is out of sight; the program's code that it calls knows what it was given."""
    operation = Operation(site, control, operands)
    before, HERE.operation, HERE.pending = HERE.operation, operation, None
    try:
        return function(*arguments), operation
    except BaseException as error:
        note_failure(operation, error)
        raise
    finally:
        HERE.operation = before


def note_failure(operation: Operation, error: BaseException) -> None:
    """An exception that came out of something out of sight needs all that this was given."""
    if shadow_of(error) is None:
        needs = everything((*operation.operands, *operation.callbacks))
        new_shadow(error).shape = (EXC, operation.site, operation.control, None, needs)


def told(operation: Operation, value: Any, needs: tuple[Tag, ...]) -> Tag:
    """The tag of what an operation gave: what its last callback gave, or of its own making."""
    site, control, callbacks = operation.site, operation.control, operation.callbacks
    if not callbacks:
        return (OP, site, control, None, needs)
    others = tuple(tag for _, tag in callbacks)
    if callbacks[-1][0] is value:
        return (RET, site, control, callbacks[-1][1], (*others[:-1], *needs))
    return (OP, site, control, None, (*needs, *others))


def opaque(site: int, control: Control, *needs: Tag) -> Tag:
    """The tag of what was evaluated as it is."""
    return (OP, site, control, None, needs)


# --- operators -----------------------------------------------------------------------------------


def binary(name: str, site: int, control: Control, left: Pair, right: Pair) -> Pair:
    """`left + right` and so on."""
    return _binary(BINARY[name], site, control, left, right)


def _binary(
    function: Callable[[Any, Any], Any], site: int, control: Control, left: Pair, right: Pair
) -> Pair:
    a, b = left[0], right[0]
    value, operation = natively(site, control, (left, right), function, a, b)
    if type(a) in SCALARS and type(b) in SCALARS:
        return value, (OP, site, control, None, (left[1], right[1]))
    if operation.callbacks:
        return value, told(operation, value, everything((left, right)))
    kind = type(value)
    made = (NEW, site, control, None, (left[1], right[1]))
    if kind in {list, tuple} and value is not a and value is not b:
        tags = _joined_tags(site, control, left, right, len(value))
        if tags is not None:
            shape = (OP, site, control, None, (left[1], right[1], shape_of(a), shape_of(b)))
            of_sequence(value, tags, shape)
            return value, made
    if value is a:
        synchronise(value, site, control, (left, right), selects=True)
        return value, left[1]
    if is_container(value):
        candidates = Candidates(site, control, (left, right))
        adopt(value, candidates, selects=kind in {dict, set, frozenset})
        return value, (NEW, site, control, None, candidates.needs)
    return value, (OP, site, control, None, everything((left, right)))


def _joined_tags(
    site: int, control: Control, left: Pair, right: Pair, length: int
) -> list[Tag] | None:
    """The tags of the items of `a + b` or `a * n`."""
    a, b = left[0], right[0]
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        tags = item_tags(site, control, left) + item_tags(site, control, right)
    elif isinstance(a, (list, tuple)) and type(b) is int:
        tags = item_tags(site, control, left) * max(b, 0)
    elif isinstance(b, (list, tuple)) and type(a) is int:
        tags = item_tags(site, control, right) * max(a, 0)
    else:
        return None
    return tags if len(tags) == length else None


def item_tags(site: int, control: Control, pair: Pair) -> list[Tag]:
    """The tags of a sequence's items."""
    thing = pair[0]
    shadow = shadow_of(thing)
    if shadow is not None:
        synchronise(thing, site, control)
        shadow = shadow_for(thing)
        if type(shadow.items) is list:
            return list(shadow.items)
    return [(PART, site, control, pair[1], (), ("item", i)) for i in range(len(thing))]


def shape_of(thing: Any) -> Tag:
    """The tag of which places an object has."""
    shadow = RUN.shadows.get(id(thing))
    if shadow is not None:
        return shadow.shape
    run = RUN.run_of(thing) if type(thing) not in SCALARS else None
    if run is None or not run.dropped:
        return None
    return (OP, 0, RUN.root.control, None, tuple(run.dropped))


def unary(name: str, site: int, control: Control, given: Pair) -> Pair:
    """`-given` and so on."""
    value, operation = natively(site, control, (given,), UNARY[name], given[0])
    if type(given[0]) in SCALARS:
        return value, (OP, site, control, None, (given[1],))
    return value, told(operation, value, (given[1], shape_of(given[0])))


def compare(name: str, site: int, control: Control, left: Pair, right: Pair) -> Pair:
    """`left < right` and so on."""
    a, b = left[0], right[0]
    value, operation = natively(site, control, (left, right), COMPARISONS[name], a, b)
    if name in {"Is", "IsNot"} or (type(a) in SCALARS and type(b) in SCALARS):
        return value, (OP, site, control, None, (left[1], right[1]))
    return value, told(operation, value, everything((left, right)))


def augment(name: str, site: int, control: Control, left: Pair, right: Pair) -> Pair:
    """`left += right` and so on, without the assignment."""
    if type(left[0]) is list and name == "Add":
        from whence.langs.python.provenance.methods import list_extend

        list_extend(site, control, left, right)
        return left
    return _binary(AUGMENTED[name], site, control, left, right)


# --- tests ---------------------------------------------------------------------------------------


def test(site: int, control: Control, given: Pair) -> Control:
    """The control of what depends on whether a value is true."""
    value, tag = given
    if type(value) in SCALARS:
        return (CTL, site, control, tag, control[4], bool(value))
    truth, operation = natively(site, control, (given,), bool, value)
    needs = (tag, shape_of(value), *(each for _, each in operation.callbacks))
    return (CTL, site, control, (OP, site, control, None, needs), control[4], truth)


def test_and_note(site: int, control: Control, given: Pair) -> Control:
    """A test that decides whether something is changed."""
    made = test(site, control, given)
    made[4].tests.append((RUN.time, made))
    return made


def holds(control: Control) -> Any:
    """What came out of a test."""
    return control[5]


def select(site: int, control: Control, given: Pair, decided: Control) -> Pair:
    """A value that a test chose."""
    return given[0], (SEL, site, control, given[1], (decided,))


def shortcut(
    site: int, control: Control, stops_when: bool, left: Pair, right: Callable[[], Pair]
) -> Pair:
    """`and` and `or` where no variable may be bound."""
    decided = test(site, control, left)
    return select(site, control, left if decided[5] is stops_when else right(), decided)


def choose(
    site: int, control: Control, given: Pair, body: Callable[[], Pair], other: Callable[[], Pair]
) -> Pair:
    """`body if given else other` where no variable may be bound."""
    decided = test(site, control, given)
    return select(site, control, body() if decided[5] else other(), decided)


def first(given: Any, *_: Any) -> Any:
    """The first of what was evaluated."""
    return given


def last(*given: Any) -> Any:
    """The last of what was evaluated."""
    return given[-1]


# --- variables of modules ------------------------------------------------------------------------

_NONE = object()


def load_global(site: int, control: Control, module: int, name: str, value: Any) -> Pair:
    """A variable of a module."""
    shadow = RUN.modules.get(module)
    if shadow is None or shadow.attribute_values.get(name, _NONE) is not value:
        return value, None
    return value, (LOAD, site, control, shadow.attributes[name], (), RUN.time, ("module", module),
                   name)  # fmt: skip


def store_global(site: int, control: Control, module: int, name: str, given: Pair) -> Any:
    """Note what a variable of a module becomes, and give it."""
    shadow = RUN.modules.get(module)
    if shadow is None:
        shadow = RUN.modules[module] = Shadow(("module", module))
    RUN.time += 1
    shadow.attributes[name] = (STORE, site, control, given[1], (), RUN.time)
    shadow.attribute_values[name] = given[0]
    return given[0]


def join_global(site: int, control: Control, module: int, name: str, decided: Control) -> None:
    """Where branches join that may have set a variable of a module."""
    shadow = RUN.modules.get(module)
    if shadow is not None and name in shadow.attributes:
        before = shadow.attributes[name]
        shadow.attributes[name] = (PHI, site, control, before, (decided,))


def load_cell(site: int, control: Control, cell: str, value: Any, tag: Tag) -> Pair:
    """A variable that more than one function sets."""
    return value, (LOAD, site, control, tag, (), RUN.time, ("cell", cell), None)


def store_cell(site: int, control: Control, given: Pair) -> Pair:
    """What such a variable is set to."""
    RUN.time += 1
    return given[0], (STORE, site, control, given[1], (), RUN.time)


# --- attributes ----------------------------------------------------------------------------------

_MRO = type.__dict__["__mro__"]
_METHODS = (MethodType, BuiltinFunctionType, MethodWrapperType)


def attribute(site: int, control: Control, owner: Pair, name: str) -> Pair:
    """`owner.name`."""
    thing, tag = owner
    value, operation = natively(site, control, (owner,), getattr, thing, name)
    if operation.callbacks:
        return value, told(operation, value, (tag,))
    if isinstance(value, _METHODS) and not isinstance(thing, ModuleType):
        return value, (BOUND, site, control, None, (tag,))
    return value, _attribute_tag(site, control, owner, name, value)


def _attribute_tag(site: int, control: Control, owner: Pair, name: str, value: Any) -> Tag:
    thing, tag = owner
    shadow = RUN.shadows.get(id(thing))
    if shadow is not None and name in shadow.attributes:
        if shadow.attribute_values[name] is not value:
            synchronise(thing, site, control)
            shadow = shadow_for(thing)
        if shadow.attribute_values.get(name, _NONE) is value:
            return (LOAD, site, control, shadow.attributes[name], (tag,), RUN.time, id(thing), name)
    if isinstance(thing, ModuleType):
        module = RUN.namespaces.get(id(thing.__dict__), -1)
        return load_global(site, control, module, name, value)[1]
    if isinstance(thing, tuple) and name in getattr(type(thing), "_fields", ()):
        index = type(thing)._fields.index(name)  # type: ignore[attr-defined]
        return _place_tag(site, control, owner, index, (), value)
    kinds = _MRO.__get__(thing) if isinstance(thing, type) else type(thing).__mro__
    for kind in kinds:
        if name in kind.__dict__:
            found = RUN.shadows.get(id(kind))
            if found is not None and found.attribute_values.get(name, _NONE) is value:
                return (LOAD, site, control, found.attributes[name], (tag,), RUN.time, id(kind),
                        name)  # fmt: skip
            source = found.shape if found is not None else None
            return (PART, site, control, source, (tag,), ("attribute", name))
    return (PART, site, control, tag, (), ("attribute", name))


def set_attribute(site: int, control: Control, given: Pair, owner: Pair, name: str) -> None:
    """`owner.name = given`."""
    thing = owner[0]
    _, operation = natively(site, control, (owner, given), setattr, thing, name, given[0])
    if operation.callbacks:
        return  # a setter of the program's own, which has done what it does
    store_attribute(site, control, given, owner, name)


def store_attribute(site: int, control: Control, given: Pair, owner: Pair, name: str) -> None:
    """Note that an attribute was set."""
    thing = owner[0]
    RUN.time += 1
    if isinstance(thing, ModuleType):
        module = RUN.namespaces.get(id(thing.__dict__))
        if module is not None:
            store_global(site, control, module, name, given)
        return
    shadow = shadow_for(thing)
    shadow.attributes[name] = (STORE, site, control, given[1], (owner[1],), RUN.time)
    shadow.attribute_values[name] = given[0]
    held(thing, given[0])


def delete_attribute(site: int, control: Control, owner: Pair, name: str) -> None:
    """`del owner.name`."""
    natively(site, control, (owner,), delattr, owner[0], name)
    shadow = shadow_of(owner[0])
    RUN.time += 1
    if shadow is not None:
        shadow.attributes.pop(name, None)
        shadow.attribute_values.pop(name, None)


# --- items ---------------------------------------------------------------------------------------


def subscript(site: int, control: Control, owner: Pair, key: Pair) -> Pair:
    """`owner[key]`."""
    thing = owner[0]
    value, operation = natively(site, control, (owner, key), operator.getitem, thing, key[0])
    if operation.callbacks and not isinstance(thing, dict):
        return value, told(operation, value, (owner[1], key[1]))
    if isinstance(thing, (list, tuple, deque)):
        if type(key[0]) is int or type(key[0]) is bool:
            return value, _place_tag(site, control, owner, int(key[0]), (key[1],), value)
        return _part_of_sequence(site, control, owner, key, value)
    if isinstance(thing, dict):
        return value, _entry_tag(operation, owner, key, value)
    if type(thing) in SCALARS:
        return value, (OP, site, control, None, (owner[1], key[1]))
    candidates = Candidates(site, control, (owner, key))
    if is_container(value) and shadow_of(value) is None:
        adopt(value, candidates)
    return value, candidates.tag(value)


def _place_tag(
    site: int, control: Control, owner: Pair, index: int, needs: tuple[Tag, ...], value: Any
) -> Tag:
    """The tag of an item of a sequence."""
    thing, tag = owner
    if index < 0:
        index += len(thing)
    shadow = RUN.shadows.get(id(thing))
    if shadow is None or type(shadow.items) is not list:
        return (PART, site, control, tag, needs, ("item", index))
    if index >= len(shadow.values) or shadow.values[index] is not value:
        synchronise(thing, site, control)
        shadow = shadow_for(thing)
        if index >= len(shadow.values):
            return (PART, site, control, tag, needs, ("item", index))
    return (LOAD, site, control, shadow.items[index], (tag, *needs, shadow.shape), RUN.time,
            id(thing), index)  # fmt: skip


def _part_of_sequence(site: int, control: Control, owner: Pair, key: Pair, value: Any) -> Pair:
    """`owner[a:b]`."""
    thing = owner[0]
    if type(key[0]) is not slice or not isinstance(value, (list, tuple)):
        return value, Candidates(site, control, (owner, key)).tag(value)
    if value is thing:
        return value, owner[1]
    tags = item_tags(site, control, owner)
    try:
        picked = tags[key[0]]
    except (TypeError, ValueError):
        picked = []
    shape = (OP, site, control, None, (shape_of(thing), owner[1], key[1]))
    if len(picked) == len(value):
        of_sequence(value, picked, shape)
    else:
        adopt(value, Candidates(site, control, (owner, key)))
    return value, (NEW, site, control, None, (owner[1], key[1]))


def _entry_tag(operation: Operation, owner: Pair, key: Pair, value: Any) -> Tag:
    """The tag of what a dict has for a key; it may just have made it."""
    site, control = operation.site, operation.control
    thing, tag = owner
    shadow = RUN.shadows.get(id(thing))
    if shadow is None or shadow.values is None:
        if operation.callbacks:
            return told(operation, value, (tag, key[1]))
        return (PART, site, control, tag, (key[1],), ("item", key[0]))
    known = key_of(key[0])
    if shadow.values.get(known, _NONE) is not value:
        known = _entry_with(shadow, value) if known not in shadow.values else known
        if known is None or shadow.values[known] is not value:
            made = told(operation, value, (tag, key[1], shadow.shape))
            if len(thing) == len(shadow.values) + 1:  # made for the key that was missing
                note_entry(site, control, owner, key, (value, made))
                return made
            synchronise(thing, site, control, (owner, key, *operation.callbacks))
            shadow, known = shadow_for(thing), key_of(key[0])
            if shadow.values is None or shadow.values.get(known, _NONE) is not value:
                return made
    return (LOAD, site, control, shadow.items[known],
            (tag, key[1], shadow.shape, shadow.keys.get(known)), RUN.time, id(thing), key[0],
            )  # fmt: skip


def _entry_with(shadow: Shadow, value: Any) -> Any:
    """The only key whose value it is: how an entry is known whose key was only equal."""
    found = [known for known, each in shadow.values.items() if each is value]
    return found[0] if len(found) == 1 else None


def note_entry(site: int, control: Control, owner: Pair, key: Pair, given: Pair) -> None:
    """Note that a dict has an entry now."""
    thing = owner[0]
    shadow = shadow_of(thing)
    if shadow is None or shadow.values is None:
        adopt(thing, Candidates(site, control, (owner, key, given)))
        shadow = shadow_for(thing)
    known = key_of(key[0])
    RUN.time += 1
    assert shadow.values is not None
    if known not in shadow.values and len(shadow.values) == len(thing):
        same = [each for each in shadow.values if type(each) is tuple]
        if len(same) == 1:  # an equal key of a type of the program's own
            known = same[0]
        else:
            synchronise(thing, site, control, (owner, key, given))
            return
    if known not in shadow.values:
        shadow.shape = (OP, site, control, None, (shadow.shape, key[1]))
        shadow.keys[known] = key[1]
    shadow.items[known] = (STORE, site, control, given[1], (owner[1], key[1]), RUN.time)
    shadow.values[known] = given[0]
    held(thing, given[0])
    held(thing, key[0])


def set_item(site: int, control: Control, given: Pair, owner: Pair, key: Pair) -> None:
    """`owner[key] = given`."""
    thing = owner[0]
    if isinstance(thing, list) and type(key[0]) is slice:
        _set_slice(site, control, given, owner, key)
        return
    _, operation = natively(
        site, control, (owner, key, given), operator.setitem, thing, key[0], given[0]
    )
    if operation.callbacks:
        if not isinstance(thing, (dict, list, deque)):
            return
        synchronise(thing, site, control, (owner, key, given), selects=True)
    if isinstance(thing, dict):
        note_entry(site, control, owner, key, given)
    elif isinstance(thing, (list, deque)):
        _set_place(site, control, given, owner, key)
    else:
        synchronise(thing, site, control, (owner, key, given))


def _set_place(site: int, control: Control, given: Pair, owner: Pair, key: Pair) -> None:
    thing = owner[0]
    shadow = sequence_shadow(site, control, owner, check=False)
    RUN.time += 1
    if type(key[0]) is not int or len(shadow.items) != len(thing):
        synchronise(thing, site, control, (owner, key, given))
        return
    # Which place was set depends on the key: so do all that could have been set instead.
    shadow.shape = (OP, site, control, None, (shadow.shape, key[1]))
    shadow.items[key[0]] = (STORE, site, control, given[1], (owner[1], key[1]), RUN.time)
    shadow.values[key[0]] = given[0]
    held(thing, given[0])


def _set_slice(site: int, control: Control, given: Pair, owner: Pair, key: Pair) -> None:
    from whence.langs.python.provenance.iteration import all_pairs

    thing = owner[0]
    pairs = all_pairs(site, control, given)
    shadow = sequence_shadow(site, control, owner)
    natively(site, control, (owner, key, given), operator.setitem, thing, key[0],
             [each for each, _ in pairs])  # fmt: skip
    RUN.time += 1
    tags = [(STORE, site, control, tag, (owner[1], key[1]), RUN.time) for _, tag in pairs]
    shadow.items[key[0]] = tags
    shadow.values[key[0]] = [each for each, _ in pairs]
    shadow.shape = (OP, site, control, None, (shadow.shape, key[1], given[1], shape_of(given[0])))
    for value, _ in pairs:
        held(thing, value)


def sequence_shadow(site: int, control: Control, owner: Pair, *, check: bool = True) -> Shadow:
    """The shadow of a sequence, made if need be: then its items are parts of what is known."""
    thing, tag = owner
    shadow = shadow_of(thing)
    if shadow is None or type(shadow.items) is not list:
        parts: list[Tag] = [
            (PART, site, control, tag, (), ("item", number)) for number in range(len(thing))
        ]
        return of_sequence(thing, parts, tag)
    if check:
        synchronise(thing, site, control)
    return shadow_for(thing)


def delete_item(site: int, control: Control, owner: Pair, key: Pair) -> None:
    """`del owner[key]`."""
    thing = owner[0]
    shadow = shadow_of(thing)
    _, operation = natively(site, control, (owner, key), operator.delitem, thing, key[0])
    RUN.time += 1
    if shadow is None or shadow.items is None:
        return
    known = key[0] if type(shadow.items) is list else key_of(key[0])
    if type(known) in {int, slice} or type(shadow.items) is dict:
        try:
            del shadow.items[known], shadow.values[known]
            shadow.keys.pop(known, None) if type(shadow.items) is dict else None
        except (KeyError, IndexError):
            pass
    synchronise(thing, site, control, (owner, key))
    shadow = shadow_for(thing)
    shadow.shape = (OP, site, control, None, (shadow.shape, key[1], owner[1]))


def make_slice(site: int, control: Control, *bounds: Pair | None) -> Pair:
    """`a:b:c`."""
    values = [each[0] if each is not None else None for each in bounds]
    needs = tuple(each[1] for each in bounds if each is not None)
    return slice(*values), (OP, site, control, None, needs)


# --- what is made of parts -----------------------------------------------------------------------


def make_list(site: int, control: Control, pairs: Iterable[Pair], shape: Tag = None) -> Pair:
    """`[…]`."""
    pairs = tuple(pairs)
    return _sequence(site, control, [each for each, _ in pairs], pairs, shape)


def make_tuple(site: int, control: Control, pairs: Iterable[Pair], shape: Tag = None) -> Pair:
    """`(…)`."""
    pairs = tuple(pairs)
    made = tuple([each for each, _ in pairs])
    if not made:
        return made, (NEW, site, control, None, (shape,))
    return _sequence(site, control, made, pairs, shape)


def _sequence(site: int, control: Control, made: Any, pairs: tuple[Pair, ...], shape: Tag) -> Pair:
    RUN.time += 1
    now = RUN.time
    tags: list[Tag] = [(STORE, site, control, tag, (), now) for _, tag in pairs]
    of_sequence(made, tags, shape)
    return made, (NEW, site, control, None, ())


def make_set(site: int, control: Control, pairs: Iterable[Pair], shape: Tag = None) -> Pair:
    """`{…}`, of values."""
    pairs = tuple(pairs)
    made, _ = natively(site, control, pairs, set, [each for each, _ in pairs])
    RUN.time += 1
    if shape is None:
        shape = (OP, site, control, None, tuple(tag for _, tag in pairs))
    entries = [(value, (STORE, site, control, tag, (), RUN.time)) for value, tag in pairs]
    of_set(made, [each for each in reversed(entries) if _is_the_one(made, each[0])], shape)
    synchronise(made, site, control, pairs)
    return made, (NEW, site, control, None, ())


def _is_the_one(made: set[Any], value: Any) -> bool:
    return type(value) in SCALARS or any(each is value for each in set.__iter__(made))


def make_dict(
    site: int, control: Control, entries: Iterable[tuple[Pair | None, Pair]], shape: Tag = None
) -> Pair:
    """`{…}`, of keys and values; a None for a key: all entries of the value."""
    from whence.langs.python.provenance.iteration import entry_pairs

    made: dict[Any, Any] = {}
    flat: list[tuple[Pair, Pair]] = []
    for key, value in entries:
        if key is None:
            natively(site, control, (value,), _update, made, value[0])
            flat += entry_pairs(site, control, value)
        else:
            natively(site, control, (key, value), operator.setitem, made, key[0], value[0])
            flat.append((key, value))
    RUN.time += 1
    if shape is None:
        shape = (OP, site, control, None, tuple(key[1] for key, _ in flat))
    of_mapping(made, [
        (key[0], value[0], key[1], (STORE, site, control, value[1], (key[1],), RUN.time))
        for key, value in flat
    ], shape)  # fmt: skip
    synchronise(made, site, control, [each for entry in flat for each in entry])
    return made, (NEW, site, control, None, ())


def _update(made: dict[Any, Any], more: Any) -> None:
    if not isinstance(more, dict) and not hasattr(more, "keys"):
        raise TypeError(f"'{type(more).__name__}' object is not a mapping")
    made.update(more)


_CONVERSIONS: dict[int, Callable[[Any], str]] = {115: str, 114: repr, 97: ascii}


def formatted(site: int, control: Control, given: Pair, conversion: int, how: Pair | None) -> Pair:
    """`{given!r:how}` in a text."""
    form = how[0] if how is not None else ""

    def make() -> str:
        value = given[0]
        if conversion in _CONVERSIONS:
            value = _CONVERSIONS[conversion](value)
        return format(value, form)

    text, operation = natively(site, control, (given,), make)
    needs = everything((given,) if how is None else (given, how))
    return text, told(operation, text, needs)


def joined(site: int, control: Control, parts: Iterable[Pair]) -> Pair:
    """A text with values in it."""
    parts = tuple(parts)
    text = "".join([each for each, _ in parts])
    return text, (OP, site, control, None, tuple(tag for _, tag in parts))
