"""Models of the methods of lists, dicts, sets and texts, and of generators."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import GeneratorType
from typing import Any

from whence.langs.python.provenance.runtime import item_access, tagged_operations
from whence.langs.python.provenance.runtime.builtin_models import (
    can_copy_by_items,
    dict_entries,
    sorted_order,
)
from whence.langs.python.provenance.runtime.displays import make_dict, make_list
from whence.langs.python.provenance.runtime.item_access import note_entry, sequence_shadow
from whence.langs.python.provenance.runtime.iteration import advance_tag, yielded_tag
from whence.langs.python.provenance.runtime.iterator_sources import DictView
from whence.langs.python.provenance.runtime.model_lookup import Arguments, Keywords, models_method
from whence.langs.python.provenance.runtime.native_tagging import with_native
from whence.langs.python.provenance.runtime.opaque_holders import is_opaque, note_held
from whence.langs.python.provenance.runtime.run_state import RUN
from whence.langs.python.provenance.runtime.shadow_memory import (
    Candidates,
    Shadow,
    absorb,
    is_plain_key,
    key_identity,
    shadow_existing,
    shadow_for,
    shadow_of,
    synchronise,
)
from whence.langs.python.provenance.runtime.tagged_operations import (
    note_change_target,
    outcome_tag,
    run_out_of_sight,
    shape_after_comparisons,
    shape_tag,
)
from whence.langs.python.provenance.runtime.text_pieces import concatenation_tag
from whence.langs.python.provenance.runtime.type_inspection import is_iterable, stored_length
from whence.langs.python.provenance.runtime.unpacking import list_with_tags, spread_starred
from whence.langs.python.provenance.tags import (
    CONST,
    LOAD,
    NEW,
    OP,
    SEL,
    STORE,
    Control,
    MaybeTag,
    Pair,
    Tag,
)


def _nothing(site: int, control: Control) -> Pair:
    return None, Tag((CONST, site, control))


# --- lists ---------------------------------------------------------------------------------------


def _reshape(site: int, control: Control, owner: Pair, *needs: MaybeTag) -> None:
    shadow = shadow_for(owner[0])
    shadow.shape = Tag((OP, site, control, shadow.shape, owner[1], *needs))
    note_change_target(control, owner[1])


def list_extend(site: int, control: Control, owner: Pair, more: Pair) -> None:
    """`owner.extend(more)`, `owner += more`."""
    thing = owner[0]
    pairs = spread_starred(site, control, more)
    shadow = sequence_shadow(site, control, owner)
    list.extend(thing, [value for value, _ in pairs])
    RUN.time += 1
    for value, tag in pairs:
        shadow.values.append(value)
        shadow.items.append(Tag((STORE, site, control, tag, RUN.time, owner[1])))
        note_held(thing, value)
    _reshape(site, control, owner, more[1], shape_tag(more[0]))


@with_native
def augment(name: str, site: int, control: Control, left: Pair, right: Pair) -> Pair:
    """`left += right` and so on, without the assignment."""
    if type(left[0]) is list and name == "Add":
        list_extend(site, control, left, right)
        return left
    made = tagged_operations.apply_binary(
        tagged_operations.AUGMENTED[name], site, control, left, right
    )
    if made[0] is left[0] and is_opaque(made[0]):
        absorb(made[0], site, control, (right,))
    return made


@models_method(list, "append")
@models_method(deque, "append")
def _append(site: int, control: Control, owner: Pair, args: Arguments, named: Keywords) -> object:
    thing = owner[0]
    if len(args) != 1 or named or (type(thing) is deque and thing.maxlen is not None):
        return NotImplemented
    shadow = sequence_shadow(site, control, owner)
    (list if issubclass(type(thing), list) else deque).append(thing, args[0][0])
    RUN.time += 1
    shadow.values.append(args[0][0])
    shadow.items.append(Tag((STORE, site, control, args[0][1], RUN.time, owner[1])))
    note_held(thing, args[0][0])
    _reshape(site, control, owner)
    return _nothing(site, control)


@models_method(list, "extend")
def _extend(site: int, control: Control, owner: Pair, args: Arguments, named: Keywords) -> object:
    if len(args) != 1 or named:
        return NotImplemented
    list_extend(site, control, owner, args[0])
    return _nothing(site, control)


@models_method(list, "insert")
def _insert(site: int, control: Control, owner: Pair, args: Arguments, named: Keywords) -> object:
    if len(args) != 2 or named or type(args[0][0]) is not int:
        return NotImplemented
    shadow = sequence_shadow(site, control, owner)
    index, value = args[0][0], args[1][0]
    list.insert(owner[0], index, value)
    RUN.time += 1
    shadow.values.insert(index, value)
    needs = (owner[1], args[0][1])
    shadow.items.insert(index, Tag((STORE, site, control, args[1][1], RUN.time, *needs)))
    note_held(owner[0], value)
    _reshape(site, control, owner, args[0][1])
    return _nothing(site, control)


@models_method(list, "pop")
def _pop(site: int, control: Control, owner: Pair, args: Arguments, named: Keywords) -> object:
    if len(args) > 1 or named or (args and type(args[0][0]) is not int):
        return NotImplemented
    thing = owner[0]
    shadow = sequence_shadow(site, control, owner)
    index = args[0][0] if args else -1
    value, _ = run_out_of_sight(site, control, (owner, *args), list.pop, thing, index)
    tag = _popped_tag(site, control, owner, shadow, index, value)
    needs = (owner[1], shadow.shape, *(tag for _, tag in args))
    position = index if index >= 0 else stored_length(thing) + 1 + index
    _reshape(site, control, owner, *(tag for _, tag in args))
    return value, Tag((LOAD, site, control, tag, RUN.time, id(thing), position, *needs))


def _popped_tag(
    site: int, control: Control, owner: Pair, shadow: Shadow, index: int, value: object
) -> MaybeTag:
    """Drop an item from the shadow of a sequence that it was popped from; its tag."""
    RUN.time += 1
    expected, tag = shadow.values.pop(index), shadow.items.pop(index)
    if expected is value:
        return tag  # type: ignore[no-any-return]
    synchronise(owner[0], site, control, (owner,))
    return Candidates(site, control, (owner,)).tag(value)


def _model_whole(name: str, change: Callable[[list[Any]], None]) -> None:
    """A method without arguments that does the same to a list and to the tags of its items."""

    @models_method(list, name)
    def model(site: int, control: Control, owner: Pair, args: Arguments, named: Keywords) -> object:
        if args or named:
            return NotImplemented
        shadow = sequence_shadow(site, control, owner, check=True)
        change(owner[0])
        RUN.time += 1
        change(shadow.values)
        change(shadow.items)
        _reshape(site, control, owner)
        return _nothing(site, control)


_model_whole("clear", list.clear)
_model_whole("reverse", list.reverse)


@models_method(list, "sort")
def _sort(site: int, control: Control, owner: Pair, args: Arguments, named: Keywords) -> object:
    thing = owner[0]
    if args or named.keys() - {"key", "reverse"} or type(thing) is not list:
        return NotImplemented
    shadow = sequence_shadow(site, control, owner, check=True)
    tags = tagged_operations.item_tags(site, control, owner)
    pairs = list(zip(shadow.values, tags, strict=True))
    order, shape = sorted_order(site, control, pairs, owner, named)
    if stored_length(thing) != len(pairs):
        raise ValueError("list modified during sort")
    RUN.time += 1
    thing[:] = [pairs[index][0] for index in order]
    shadow.values = list(thing)
    shadow.items = [
        Tag((STORE, site, control, pairs[index][1], RUN.time, owner[1])) for index in order
    ]
    shadow.shape = shape
    note_change_target(control, owner[1])
    return _nothing(site, control)


@models_method(list, "copy")
def _copy(site: int, control: Control, owner: Pair, args: Arguments, named: Keywords) -> object:
    if args or named:
        return NotImplemented
    tags = tagged_operations.item_tags(site, control, owner)
    pairs = list(zip(list.__iter__(owner[0]), tags, strict=False))
    shape = Tag((OP, site, control, owner[1], shape_tag(owner[0])))
    return make_list(site, control, pairs, shape)


def _pop_end(name: str, index: int) -> None:
    @models_method(deque, name)
    def _model(
        site: int, control: Control, owner: Pair, args: Arguments, named: Keywords
    ) -> object:
        if args or named:
            return NotImplemented
        thing = owner[0]
        shadow = sequence_shadow(site, control, owner)
        value, _ = run_out_of_sight(site, control, (owner,), getattr(deque, name), thing)
        tag = _popped_tag(site, control, owner, shadow, index, value)
        needs = (owner[1], shadow.shape)
        _reshape(site, control, owner)
        return value, Tag((LOAD, site, control, tag, RUN.time, id(thing), None, *needs))


_pop_end("pop", -1)
_pop_end("popleft", 0)


# --- dicts ---------------------------------------------------------------------------------------


def _entry(site: int, control: Control, owner: Pair, key: Pair) -> tuple[bool, object, MaybeTag]:
    """Whether a dict has a key, its value, and the tag of that."""
    missing = object()
    value, operation = run_out_of_sight(
        site, control, (owner, key), dict.get, owner[0], key[0], missing
    )
    if value is missing:
        return False, None, outcome_tag(operation, None, (owner[1], key[1], shape_tag(owner[0])))
    return True, value, item_access.value_tag(operation, owner, key, value)


@models_method(dict, "get")
def _get(site: int, control: Control, owner: Pair, args: Arguments, named: Keywords) -> object:
    if not args or len(args) > 2 or named:
        return NotImplemented
    is_present, value, tag = _entry(site, control, owner, args[0])
    if is_present:
        return value, tag
    other = args[1] if len(args) > 1 else _nothing(site, control)
    return other[0], Tag((SEL, site, control, other[1], tag))


@models_method(dict, "pop")
def _pop_entry(
    site: int, control: Control, owner: Pair, args: Arguments, named: Keywords
) -> object:
    if not args or len(args) > 2 or named or not _is_plain_dict(owner, args[0]):
        return NotImplemented
    is_present, value, tag = _entry(site, control, owner, args[0])
    if not is_present:
        if len(args) == 1:
            return NotImplemented
        return args[1][0], Tag((SEL, site, control, args[1][1], tag))
    run_out_of_sight(site, control, (owner, args[0]), dict.pop, owner[0], args[0][0])
    _forget(site, control, owner, args[0])
    return value, tag


def _is_plain_dict(owner: Pair, key: Pair) -> bool:
    """Whether looking for a key twice would not be noticed."""
    return type(owner[0]) is dict and is_plain_key(key[0])


def _forget(site: int, control: Control, owner: Pair, key: Pair) -> None:
    shadow = shadow_of(owner[0])
    RUN.time += 1
    if shadow is None or shadow.values is None:
        return
    identity = key_identity(key[0])
    if identity in shadow.values:
        del shadow.values[identity], shadow.items[identity]
        shadow.keys.pop(identity, None)
    if len(shadow.values) != stored_length(owner[0]):
        synchronise(owner[0], site, control, (owner, key))
    _reshape(site, control, owner, key[1])


@models_method(dict, "setdefault")
def _setdefault(
    site: int, control: Control, owner: Pair, args: Arguments, named: Keywords
) -> object:
    if not args or len(args) > 2 or named or not _is_plain_dict(owner, args[0]):
        return NotImplemented
    is_present, value, tag = _entry(site, control, owner, args[0])
    if is_present:
        return value, tag
    other = args[1] if len(args) > 1 else _nothing(site, control)
    run_out_of_sight(site, control, (owner, *args), dict.setdefault, owner[0], args[0][0], other[0])
    note_entry(site, control, owner, args[0], other)
    return other[0], Tag((SEL, site, control, other[1], tag))


@models_method(dict, "update")
def _update(site: int, control: Control, owner: Pair, args: Arguments, named: Keywords) -> object:
    if len(args) > 1 or type(owner[0]) is not dict or not can_copy_by_items(args):
        return NotImplemented
    for key, value in dict_entries(site, control, args, named):
        item_access.set_item(site, control, value, owner, key)
    if args and shadow_of(owner[0]) is not None:
        _reshape(site, control, owner, args[0][1], shape_tag(args[0][0]))
    return _nothing(site, control)


@models_method(dict, "clear")
def _clear_dict(
    site: int, control: Control, owner: Pair, args: Arguments, named: Keywords
) -> object:
    if args or named or type(owner[0]) is not dict:
        return NotImplemented
    dict.clear(owner[0])
    RUN.time += 1
    shadow = shadow_of(owner[0])
    if shadow is not None and shadow.values is not None:
        shadow.values.clear()
        shadow.items.clear()
        shadow.keys.clear()
        _reshape(site, control, owner)
    return _nothing(site, control)


@models_method(dict, "copy")
def _copy_dict(
    site: int, control: Control, owner: Pair, args: Arguments, named: Keywords
) -> object:
    if args or named or type(owner[0]) is not dict or not can_copy_by_items((owner,)):
        return NotImplemented
    entries = dict_entries(site, control, (owner,), {})
    return make_dict(
        site, control, entries, Tag((OP, site, control, owner[1], shape_tag(owner[0])))
    )


def _view(kind: str) -> None:
    @models_method(dict, kind)
    def _model(
        site: int, control: Control, owner: Pair, args: Arguments, named: Keywords
    ) -> object:
        if args or named or type(owner[0]) is not dict:
            return NotImplemented
        made = getattr(dict, kind)(owner[0])
        RUN.sources[id(made)] = (made, DictView(owner, kind))
        return made, Tag((NEW, site, control, None, owner[1], shape_tag(owner[0])))


for _kind in ("keys", "values", "items"):
    _view(_kind)


# --- sets ----------------------------------------------------------------------------------------


@models_method(set, "add")
def _add(site: int, control: Control, owner: Pair, args: Arguments, named: Keywords) -> object:
    if len(args) != 1 or named:
        return NotImplemented
    thing = owner[0]
    before = stored_length(thing)
    _, operation = run_out_of_sight(site, control, (owner, args[0]), set.add, thing, args[0][0])
    RUN.time += 1
    shadow = shadow_of(thing)
    if shadow is None or shadow.values is None:
        shadow = shadow_existing(site, control, owner)
    if stored_length(thing) > before:
        identity = key_identity(args[0][0])
        shadow.values[identity] = args[0][0]
        shadow.items[identity] = Tag((STORE, site, control, args[0][1], RUN.time, owner[1]))
        note_held(thing, args[0][0])
    _reshape(site, control, owner, args[0][1], shape_after_comparisons(operation, None))
    return _nothing(site, control)


# --- texts ---------------------------------------------------------------------------------------


@models_method(str, "join")
def _join(site: int, control: Control, owner: Pair, args: Arguments, named: Keywords) -> object:
    if len(args) != 1 or named or not is_iterable(args[0][0]):
        return NotImplemented
    pairs = list(list_with_tags(site, control, args[0]))
    text, _ = run_out_of_sight(
        site, control, (owner, *pairs), owner[0].join, [value for value, _ in pairs]
    )
    parts = [part for pair in pairs for part in (owner, pair)][1:]
    return text, concatenation_tag(
        site, control, parts, (owner[1], args[0][1], shape_tag(args[0][0]))
    )


# --- generators ----------------------------------------------------------------------------------


@models_method(GeneratorType, "send", "__next__")
def _send(site: int, control: Control, owner: Pair, args: Arguments, named: Keywords) -> object:
    if len(args) > 1 or named:
        return NotImplemented
    generator = owner[0]
    run = RUN.run_of(generator)
    if run is not None and run.activation is not None and args:
        run.activation.sent = args[0][1]
    sent = args[0][0] if args else None
    value, operation = run_out_of_sight(site, control, (owner, *args), generator.send, sent)
    return value, advance_tag(operation, generator, yielded_tag(operation, generator, value, owner))
