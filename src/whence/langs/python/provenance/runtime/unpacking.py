"""Unpacking: starred elements of displays and calls, and targets with several parts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from operator import length_hint
from types import FunctionType
from typing import Any

from whence.langs.python.objects.raw_class import name_of
from whence.langs.python.provenance.runtime.displays import (
    StarredArguments,
    StarredEntries,
    make_list,
)
from whence.langs.python.provenance.runtime.iteration import (
    Steps,
    iterate_pairs,
    iterator_of,
    spread_entries,
    step_iterator,
)
from whence.langs.python.provenance.runtime.native_tagging import with_native
from whence.langs.python.provenance.runtime.shadow_memory import new_shadow
from whence.langs.python.provenance.runtime.tagged_operations import run_out_of_sight, shape_tag
from whence.langs.python.provenance.runtime.type_inspection import (
    IdentitySet,
    class_attribute,
    is_iterable,
)
from whence.langs.python.provenance.tags import EXC, OP, Control, MaybeTag, Pair, Tag

_SIZES = ("__len__", "__length_hint__")


class _IndexedOnly:
    """An iterable without `__iter__`, which is iterated by index."""

    def __getitem__(self, index: int) -> None: ...


_INDEX_ITERATOR = type(iter(_IndexedOnly()))
"""The type of the iterator over such an object, which calls its `__len__`."""
_COUNTED = IdentitySet(list, tuple, dict)


def spread_starred(
    site: int, control: Control, owner: Pair, asks_length: bool = True
) -> StarredArguments:
    """`*owner` in a display or call, which calls a program's `__len__`."""
    kind = type(owner[0])
    is_own = any(type(class_attribute(kind, method)) is FunctionType for method in _SIZES)
    if asks_length and is_own:
        iterator = iterator_of(site, control, owner)
        run_out_of_sight(site, control, (owner,), length_hint, owner[0])
        pairs = step_iterator(site, control, iterator, owner)
    else:
        pairs = iterate_pairs(site, control, owner)
    made = StarredArguments(pairs)
    made.shape = Tag((OP, site, control, owner[1], shape_tag(owner[0])))
    return made


def spread_elements(site: int, control: Control, elements: tuple[Any, ...]) -> StarredArguments:
    """The elements of a display or call of which some are starred."""
    pairs: list[Pair] = []
    shapes: list[MaybeTag] = []
    for element in elements:
        if type(element) is StarredArguments:
            pairs += element
            shapes.append(element.shape)
        else:
            pairs.append(element)
    made = StarredArguments(pairs)
    made.shape = Tag((OP, site, control, *shapes))
    return made


def spread_mapping(site: int, control: Control, owner: Pair) -> StarredEntries:
    """`**owner` in a comprehension."""
    refusal = f"'{name_of(type(owner[0]))}' object is not a mapping"
    made = StarredEntries(spread_entries(site, control, owner, refusal))
    made.shape = Tag((OP, site, control, owner[1], shape_tag(owner[0])))
    return made


@with_native
def unpack(site: int, control: Control, owner: Pair, count: int, starred: int) -> list[Pair]:
    """`a, *b, c = owner`."""
    thing = owner[0]
    if not is_iterable(thing):
        raise _unpacking_error(
            site, control, owner,
            TypeError(f"cannot unpack non-iterable {name_of(type(thing))} object"),
        )  # fmt: skip
    pairs: list[Pair] = []
    needed = count if starred < 0 else count - 1
    source = (
        iterate_pairs(site, control, owner) if starred < 0
        else list_with_tags(site, control, owner, starred)
    )  # fmt: skip
    for pair in source:
        pairs.append(pair)
        if starred < 0 and len(pairs) > count:
            raise _unpacking_error(
                site, control, owner, ValueError(_too_many_message(count, thing))
            )
    if len(pairs) < needed:
        least = "" if starred < 0 else "at least "
        message = f"not enough values to unpack (expected {least}{needed}, got {len(pairs)})"
        raise _unpacking_error(site, control, owner, ValueError(message))
    if starred < 0:
        return pairs
    end = len(pairs) - (count - 1 - starred)
    rest = make_list(site, control, pairs[starred:end], Tag((OP, site, control, owner[1],
                     shape_tag(thing))))  # fmt: skip
    return [*pairs[:starred], rest, *pairs[end:]]


def list_with_tags(site: int, control: Control, owner: Pair, before: int = 0) -> Iterator[Pair]:
    """The values of an iterable of which the interpreter makes a list, after the first `before`.
    A program's class is asked for an iterator and a length then.
    """
    if type(owner[0]) is list or type(owner[0]) is tuple:
        return iterate_pairs(site, control, owner)
    return _list_steps(site, control, owner, iterator_of(site, control, owner), before)


def _list_steps(
    site: int, control: Control, owner: Pair, iterator: Pair, before: int
) -> Iterator[Pair]:
    pairs = step_iterator(site, control, iterator, owner)
    is_own = type(class_attribute(type(iterator[0]), "__next__")) is FunctionType
    if is_own or type(iterator[0]) is _INDEX_ITERATOR:
        yield from islice(pairs, before)
    if is_own:
        pairs = iter(spread_starred(site, control, iterator))
    elif type(iterator[0]) is _INDEX_ITERATOR:
        run_out_of_sight(site, control, (owner,), length_hint, iterator[0])
    yield from pairs


def _too_many_message(count: int, thing: object) -> str:
    if sys.version_info >= (3, 14) and type(thing) in _COUNTED:
        return f"too many values to unpack (expected {count}, got {len(thing)})"
    return f"too many values to unpack (expected {count})"


def _unpacking_error(
    site: int, control: Control, owner: Pair, error: BaseException
) -> BaseException:
    new_shadow(error).shape = Tag((EXC, site, control, None, owner[1], shape_tag(owner[0])))
    return error


def unpack_all(site: int, control: Control, owner: Pair, steps: Steps) -> list[object]:
    """The same at every level of a pattern."""
    count, starred, below = steps
    pairs = unpack(site, control, owner, count, starred)
    return [
        pair if deeper is None else unpack_all(site, control, pair, deeper)
        for pair, deeper in zip(pairs, below, strict=True)
    ]
