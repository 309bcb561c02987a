"""Displays: lists, tuples, sets, dicts, slices and f-strings."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from whence.langs.python.provenance.runtime import text_pieces
from whence.langs.python.provenance.runtime.native_tagging import with_native
from whence.langs.python.provenance.runtime.run_state import RUN
from whence.langs.python.provenance.runtime.shadow_memory import (
    deep_tags,
    shadow_mapping,
    shadow_sequence,
    shadow_set,
    synchronise,
)
from whence.langs.python.provenance.runtime.tagged_operations import (
    outcome_tag,
    run_out_of_sight,
    shape_after_comparisons,
)
from whence.langs.python.provenance.tags import (
    CONST,
    NEW,
    OP,
    SCALARS,
    STORE,
    Control,
    MaybeTag,
    Pair,
    Tag,
)


class StarredArguments(tuple[Pair, ...]):
    """Pairs of which some came from a starred iterable; `shape` is the tag of their number."""

    shape: MaybeTag


class StarredKeywords(dict[str, Pair]):
    """The same for keyword arguments."""

    shape: MaybeTag


class StarredEntries(tuple[tuple[Pair, Pair], ...]):
    """The same for the entries of a dict."""

    shape: MaybeTag


def star_shapes(arguments: tuple[Pair, ...], keywords: dict[str, Pair]) -> tuple[MaybeTag, ...]:
    """The tags that the number of arguments depends on."""
    shapes: tuple[MaybeTag, ...] = ()
    if type(arguments) is StarredArguments:
        shapes = (arguments.shape,)
    return (*shapes, keywords.shape) if type(keywords) is StarredKeywords else shapes


@with_native
def make_list(site: int, control: Control, pairs: Iterable[Pair], shape: MaybeTag = None) -> Pair:
    """`[…]`."""
    shape = pairs.shape if type(pairs) is StarredArguments else shape
    pairs = tuple(pairs)
    return _sequence(site, control, [value for value, _ in pairs], pairs, shape)


@with_native
def make_tuple(site: int, control: Control, pairs: Iterable[Pair], shape: MaybeTag = None) -> Pair:
    """`(…)`."""
    shape = pairs.shape if type(pairs) is StarredArguments else shape
    pairs = tuple(pairs)
    made = tuple([value for value, _ in pairs])
    if not made:
        return made, Tag((NEW, site, control, None, shape))
    return _sequence(site, control, made, pairs, shape)


def _sequence(
    site: int, control: Control, made: object, pairs: tuple[Pair, ...], shape: MaybeTag
) -> Pair:
    RUN.time += 1
    now = RUN.time
    tags: list[MaybeTag] = [Tag((STORE, site, control, tag, now)) for _, tag in pairs]
    shadow_sequence(made, tags, shape)
    return made, Tag((NEW, site, control, None))


def make_set(site: int, control: Control, pairs: Iterable[Pair], shape: MaybeTag = None) -> Pair:
    """`{…}`, of values."""
    starred = (pairs.shape,) if type(pairs) is StarredArguments else ()
    pairs = tuple(pairs)
    made, operation = run_out_of_sight(site, control, pairs, set, [value for value, _ in pairs])
    RUN.time += 1
    # How many elements there are depends on each: it may be equal to another one.
    shape = Tag((OP, site, control, shape, *starred, *(tag for _, tag in pairs)))
    shape = shape_after_comparisons(operation, shape)
    entries = [(value, Tag((STORE, site, control, tag, RUN.time))) for value, tag in pairs]
    shadow_set(
        made, [entry for entry in reversed(entries) if _holds_identical(made, entry[0])], shape
    )
    synchronise(made, site, control, pairs)
    return made, Tag((NEW, site, control, None))


def _holds_identical(made: set[object], value: object) -> bool:
    return type(value) in SCALARS or any(element is value for element in set.__iter__(made))


def make_dict(
    site: int, control: Control, entries: Iterable[tuple[Pair, Pair]], shape: MaybeTag = None
) -> Pair:
    made: dict[object, object] = {}
    entries = tuple(entries)
    if shape is None:
        shape = Tag((OP, site, control, *(key[1] for key, _ in entries)))
    for key, value in entries:
        _, operation = run_out_of_sight(
            site, control, (key, value), operator.setitem, made, key[0], value[0]
        )
        shape = shape_after_comparisons(operation, shape)
    return shadow_new_dict(site, control, made, entries, shape)


def shadow_new_dict(
    site: int, control: Control, made: dict[object, object], entries: Iterable[tuple[Pair, Pair]],
    shape: MaybeTag,
) -> Pair:  # fmt: skip
    """The shadow of a dict that was just made."""
    entries = tuple(entries)
    RUN.time += 1
    shadow_mapping(made, [
        (key[0], value[0], key[1], Tag((STORE, site, control, value[1], RUN.time, key[1])))
        for key, value in entries
    ], shape)  # fmt: skip
    synchronise(made, site, control, [pair for entry in entries for pair in entry])
    return made, Tag((NEW, site, control, None))


_CONVERSIONS: dict[int, Callable[[Any], str]] = {115: str, 114: repr, 97: ascii}


def format_value(
    site: int, control: Control, operand: Pair, conversion: int, how: Pair | None
) -> Pair:
    """`{operand!r:how}` in an f-string."""
    form = how[0] if how is not None else ""

    def make() -> str:
        value = operand[0]
        if conversion in _CONVERSIONS:
            value = _CONVERSIONS[conversion](value)
        return format(value, form)

    text, operation = run_out_of_sight(site, control, (operand,), make)
    needs = deep_tags((operand,) if how is None else (operand, how))
    if type(operand[0]) in SCALARS and not operation.callbacks:
        return text, text_pieces.formatted_tag(
            site, control, operand, text, () if how is None else (how[1],)
        )
    return text, outcome_tag(operation, text, needs)


def join_pieces(site: int, control: Control, parts: Iterable[Pair]) -> Pair:
    """An f-string; its constant pieces have no tag yet."""
    parts = [(value, tag or Tag((CONST, site, control))) for value, tag in parts]
    text = "".join([value for value, _ in parts])
    return text, text_pieces.concatenation_tag(site, control, parts)


def make_slice(site: int, control: Control, *bounds: Pair | None) -> Pair:
    """`a:b:c`."""
    values = [bound[0] if bound is not None else None for bound in bounds]
    needs = tuple(bound[1] for bound in bounds if bound is not None)
    return slice(*values), Tag((OP, site, control, *needs))
