"""Loops: the values of an iterable, each with its tag and the control of its round."""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterator
from itertools import groupby
from types import GeneratorType
from typing import Any

from whence.langs.python.provenance.runtime.iterator_sources import (
    SOURCES,
    DictView,
    IteratorSource,
    KeySource,
    SequenceSource,
    ViewSource,
    entry_tag,
    key_tag,
    note_live_view,
    sequence_item_tag,
    source_of,
)
from whence.langs.python.provenance.runtime.native_tagging import with_native
from whence.langs.python.provenance.runtime.opaque_holders import is_opaque, note_may_hold
from whence.langs.python.provenance.runtime.run_state import RUN, THREAD, Operation
from whence.langs.python.provenance.runtime.shadow_memory import (
    Candidates,
    deep_tags,
    new_shadow,
    part_tag,
    shadow_for,
    shadow_of,
)
from whence.langs.python.provenance.runtime.tagged_operations import (
    note_failure,
    note_stop,
    outcome_tag,
    run_out_of_sight,
    shape_tag,
)
from whence.langs.python.provenance.runtime.type_inspection import (
    SEQUENCES,
    IdentitySet,
    class_attribute,
    has_special_method,
)
from whence.langs.python.provenance.tags import (
    CTL,
    LOAD,
    NEW,
    OP,
    RET,
    SCALARS,
    SEL,
    STORE,
    Control,
    MaybeTag,
    Pair,
    Tag,
    with_control,
)

_PLACES = IdentitySet(list.__iter__, tuple.__iter__)
_KEYS = IdentitySet(dict.__iter__, set.__iter__, frozenset.__iter__)
Steps = tuple[int, int, tuple[Any, ...]]
Step = tuple[str, Any]


def iterator_of(site: int, control: Control, owner: Pair) -> Pair:
    """`iter(owner)`; its source is known from then on."""
    thing, tag = owner
    iterator, operation = run_out_of_sight(site, control, (owner,), iter, thing)
    if type(iterator) is GeneratorType and iterator is not thing:
        RUN.note_maker(iterator, control.activation)
    made: MaybeTag = Tag((NEW, site, control, None, tag, shape_tag(thing)))
    if operation.callbacks:
        return iterator, outcome_tag(operation, iterator, (tag,))
    if iterator is thing or source_of(iterator) is not None:
        return iterator, tag
    view = source_of(thing)
    kind = type(thing)
    if isinstance(view, DictView):
        if view.kind == "keys":
            KeySource(iterator, view.owner)
        else:
            ViewSource(iterator, view.owner, view.kind, dict.__iter__(view.owner[0]))
    elif issubclass(kind, (list, tuple)) and class_attribute(kind, "__iter__") in _PLACES:
        SequenceSource(iterator, owner)
    elif issubclass(kind, (dict, set, frozenset)) and class_attribute(kind, "__iter__") in _KEYS:
        KeySource(iterator, owner)
    elif id(kind) in SOURCES:
        SOURCES[id(kind)](iterator, owner)
    return iterator, made


@with_native
def next_pair(site: int, control: Control, iterator: Pair, owner: Pair) -> Pair:
    """The next value of an iterator over `owner`, or `StopIteration`."""
    thing = iterator[0]
    operation = Operation(site, control, (iterator, owner))
    before, THREAD.operation, THREAD.pending = THREAD.operation, operation, None
    try:
        value = next(thing)
    except StopIteration as error:
        note_end(operation, thing, owner[0], error)
        raise
    except BaseException as error:
        note_failure(operation, error)
        raise
    finally:
        THREAD.operation = before
    tag = yielded_tag(operation, thing, value, owner)
    return value, tag if thing is not owner[0] else advance_tag(operation, thing, tag)


def _note_advance(operation: Operation, source: IteratorSource, *ended: MaybeTag) -> None:
    """Note what decides how far an iterator runs that advances others or calls functions: these
    could have done more, or less. Noted once, and when it ends.
    """
    if len(source.behind) < 2 or (source.is_advance_noted and not ended):
        return
    source.is_advance_noted = True
    if any(
        has_special_method(type(value), "__next__") or callable(value) for value, _ in source.behind
    ):
        tags = (tag for _, tag in (*operation.operands, *source.behind))
        note_stop(source.iterator, Tag((OP, operation.site, operation.control, *tags, *ended)))


@with_native
def advance_tag(operation: Operation, iterator: object, tag: MaybeTag) -> MaybeTag:
    """The tag of a value of a shared iterator: it depends on what advanced the iterator."""
    site, control = operation.site, operation.control
    run = RUN.run_of(iterator)
    shadow = None if run is not None else shadow_for(iterator)
    position = run.position if run is not None else shadow.shape if shadow is not None else None
    if not (
        position is not None
        and position.kind == STORE
        and position.site == site
        and position.control is control
    ):
        moved = Tag((STORE, site, control, position, RUN.time))
        if run is not None:
            run.position = moved
        elif shadow is not None:
            shadow.shape = moved
    read = Tag((LOAD, site, control, position, RUN.time, id(iterator), None))
    return Tag((SEL, site, control, tag, read))


def note_end(operation: Operation, iterator: object, thing: object, error: StopIteration) -> None:
    """Note that the program's code influenced the end of an iterator, which may be too early."""
    shadow = shadow_of(error)
    source = source_of(iterator)
    callback_tag = None
    if not isinstance(source, IteratorSource) or source.heeds_callbacks:
        callback_tag = _callback_tag(operation, iterator)
    if isinstance(source, IteratorSource):
        _note_advance(operation, source, callback_tag)
    if shadow is not None and callback_tag is not None:
        shadow.shape = Tag((OP, operation.site, operation.control, shadow.shape, callback_tag))
    elif callback_tag is not None:
        shadow = new_shadow(error)
        shadow.shape = callback_tag  # whatever iterates over it ends with the same exception
    if shadow is not None:
        RUN.iteration_ends[id(thing)] = (thing, shadow.shape)


GROUP = type(next(groupby([0]))[1])


def _callback_tag(operation: Operation, iterator: object) -> MaybeTag:
    """The tag of all that callbacks returned to an iterator so far; a `groupby` group shares it."""
    if type(iterator) is GROUP:
        iterator = next(
            referent for referent in gc.get_referents(iterator) if type(referent) is groupby
        )
    before = RUN.callback_history.get(id(iterator))
    earlier = before[1] if before is not None else None
    if not operation.callbacks:
        return earlier
    now = tuple(tag for _, tag in operation.callbacks)
    tag = Tag((OP, operation.site, operation.control, *now, earlier))
    RUN.callback_history[id(iterator)] = (iterator, tag)
    return tag


def yielded_tag(operation: Operation, iterator: object, value: object, owner: Pair) -> MaybeTag:
    """The tag of the value that an iterator just gave."""
    site, control = operation.site, operation.control
    source = source_of(iterator)
    if isinstance(source, IteratorSource):
        _note_advance(operation, source)
        if not source.heeds_callbacks:
            return source.tag(site, control, value)
        source.callbacks = operation.callbacks
        tag = source.tag(site, control, value)
    elif operation.callbacks:
        tag = outcome_tag(operation, value, (owner[1],))
        if _is_expression(iterator):
            return tag
    elif type(owner[0]) in SCALARS:
        return Tag((OP, site, control, owner[1]))
    else:
        tag = opaque_part_tag(operation, value, owner, ("next", ""))
    callback_tag = _callback_tag(operation, iterator)
    return tag if callback_tag is None else Tag((SEL, site, control, tag, callback_tag))


def _is_expression(iterator: object) -> bool:
    """Whether this is a generator expression: its tests decide which value it gives."""
    run = RUN.run_of(iterator) if type(iterator) is GeneratorType else None
    return run is not None and run.activation is None


def opaque_part_tag(operation: Operation, value: object, owner: Pair, step: Step) -> MaybeTag:
    """The tag of a value that an object without a shadow returned."""
    site, control = operation.site, operation.control
    made = Tag((OP, site, control, *deep_tags(operation.operands), RUN.stray_results))
    candidates = Candidates(site, control, operation.operands, made)
    if is_opaque(value) and is_opaque(owner[0]):  # a change of the part is one of the whole
        note_may_hold(value, owner[0])
    tag = candidates.tag(value)
    if tag is None or tag.kind != OP:
        return tag
    note_live_view(value, operation.operands)
    return part_tag(site, control, owner, step, value, (tag,))


@with_native
def iterate_pairs(site: int, control: Control, owner: Pair) -> Iterator[Pair]:
    """The values of an iterable, one by one; its iterator is requested at once."""
    if type(owner[0]) in SEQUENCES:
        return _index_pairs(site, control, owner)
    return step_iterator(site, control, iterator_of(site, control, owner), owner)


def _index_pairs(site: int, control: Control, owner: Pair) -> Iterator[Pair]:
    thing = owner[0]
    index = 0
    while index < len(thing):
        value = thing[index]
        yield value, sequence_item_tag(site, control, owner, index, value)
        index += 1


def is_plain_dict(thing: object) -> bool:
    """Whether reading it as a whole never calls a method of the program."""
    return issubclass(type(thing), dict) and class_attribute(type(thing), "__iter__") in _KEYS


def entry_pairs(
    site: int, control: Control, owner: Pair, into: dict[object, object] | None = None
) -> list[tuple[Pair, Pair]]:
    """The entries of a mapping; those of a program's mapping are also stored `into` a dict."""
    thing = owner[0]
    if is_plain_dict(thing):
        return [
            ((key, key_tag(site, control, owner, key)),
             (value, entry_tag(site, control, owner, key, value)))
            for key, value in list(dict.items(thing))
        ]  # fmt: skip
    read, operation = run_out_of_sight(site, control, (owner,), _entries, thing, into)
    made = outcome_tag(operation, None, deep_tags((owner,)))
    return [((key, made), (value, made)) for key, value in read]


def _entries(mapping: Any, into: dict[object, object] | None) -> list[tuple[object, object]]:
    entries = []
    for key in mapping.keys():  # noqa: SIM118
        value = mapping[key]
        entries.append((key, value))
        if into is not None:
            into[key] = value
    return entries


def spread_entries(
    site: int, control: Control, owner: Pair, refusal: str, into: dict[object, object] | None = None
) -> list[tuple[Pair, Pair]]:
    """`**owner`; refused like any non-mapping if an attribute is missing (from 3.15 on: `keys`)."""
    try:
        return entry_pairs(site, control, owner, into)
    except AttributeError:
        if sys.version_info >= (3, 15):
            has_keys, _ = run_out_of_sight(site, control, (owner,), hasattr, owner[0], "keys")
            if has_keys:
                raise
    raise TypeError(refusal)


# --- loops ---------------------------------------------------------------------------------------


@with_native
def iterate(
    site: int, control: Control, owner: Pair, dropped: list[MaybeTag] | None
) -> Iterator[tuple[Pair, Control]]:
    """The values of a loop, each with the control of its round."""
    return _rounds(site, control, owner, iterate_pairs(site, control, owner), dropped)


@with_native
def step_iterator(site: int, control: Control, iterator: Pair, owner: Pair) -> Iterator[Pair]:
    """The remaining values of an iterator over `owner`."""
    while True:
        try:
            pair = next_pair(site, control, iterator, owner)
        except StopIteration:
            return
        yield pair


def _rounds(
    site: int, control: Control, owner: Pair, pairs: Iterator[Pair], dropped: Any
) -> Iterator[tuple[Pair, Control]]:
    thing, tag = owner
    has_places = issubclass(type(thing), (list, tuple, dict, set, frozenset, deque))
    rest = () if dropped is None else (dropped,)
    for pair in pairs:
        why = shape_tag(thing) if has_places else pair[1]
        needs = Tag((OP, site, control, tag, why))
        yield pair, Tag((CTL, site, control, needs, control.activation, True, *rest))
    ended = RUN.iteration_ends.get(id(thing))
    if dropped is not None and ended is not None:
        RUN.note_dropped(dropped, ended[1])


@with_native
def nest_control(inner: Control, outer: Control) -> Control:
    """The control of a round that depends on how the rounds before it went."""
    return with_control(inner, outer)


def loop_end(site: int, control: Control, owner: Pair, changes: bool) -> Control:
    """The control of everything that depends on when a loop ended."""
    thing, tag = owner
    run = RUN.run_of(thing) if type(thing) is GeneratorType else None
    ended = run.activation.result if run is not None and run.activation is not None else None
    needs = (tag, shape_tag(thing), ended)
    made = Tag((CTL, site, control, Tag((OP, site, control, *needs)), control.activation, False))
    if changes:
        made.activation.note_decision(RUN.time, made)
    return made


class AsyncRounds:
    """The values of `async for`, each with the control of its round."""

    def __init__(self, site: int, control: Control, owner: Pair, dropped: object):
        self._where = site, control
        self._owner = owner
        self._dropped = dropped
        self._iterator, _ = run_out_of_sight(site, control, (owner,), aiter, owner[0])

    def __aiter__(self) -> AsyncIterator[tuple[Pair, Control]]:
        return self

    async def __anext__(self) -> tuple[Pair, Control]:
        site, control = self._where
        operation = Operation(site, control, (self._owner,))
        iterator = self._iterator
        run = RUN.run_of(iterator)
        value = await anext(iterator)
        tag: MaybeTag
        if run is not None and run.activation is not None and run.activation.yielded:
            tag = Tag((RET, site, control, run.activation.yielded[-1][1], run.activation))
        else:
            tag = outcome_tag(operation, value, (self._owner[1],))
        why = Tag((OP, site, control, self._owner[1], tag))
        return (value, tag), Tag((CTL, site, control, why, control.activation, True, self._dropped))
