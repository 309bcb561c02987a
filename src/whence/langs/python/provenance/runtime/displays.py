"""What is made of parts: lists, tuples, sets, dicts, slices and texts with values in them."""

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
    """Pairs of which some came out of something starred; `shape`: of how many there are."""

    shape: MaybeTag


class StarredKeywords(dict[str, Pair]):
    """The same of arguments by name."""

    shape: MaybeTag


def star_shapes(arguments: tuple[Pair, ...], keywords: dict[str, Pair]) -> tuple[MaybeTag, ...]:
    """How many arguments there are depends on these."""
    found: tuple[MaybeTag, ...] = ()
    if type(arguments) is StarredArguments:
        found = (arguments.shape,)
    return (*found, keywords.shape) if type(keywords) is StarredKeywords else found


@with_native
def make_list(site: int, control: Control, pairs: Iterable[Pair], shape: MaybeTag = None) -> Pair:
    """`[…]`."""
    shape = pairs.shape if type(pairs) is StarredArguments else shape
    pairs = tuple(pairs)
    return _sequence(site, control, [each for each, _ in pairs], pairs, shape)


@with_native
def make_tuple(site: int, control: Control, pairs: Iterable[Pair], shape: MaybeTag = None) -> Pair:
    """`(…)`."""
    shape = pairs.shape if type(pairs) is StarredArguments else shape
    pairs = tuple(pairs)
    made = tuple([each for each, _ in pairs])
    if not made:
        return made, Tag((NEW, site, control, None, shape))
    return _sequence(site, control, made, pairs, shape)


def _sequence(
    site: int, control: Control, made: Any, pairs: tuple[Pair, ...], shape: MaybeTag
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
    made, operation = run_out_of_sight(site, control, pairs, set, [each for each, _ in pairs])
    RUN.time += 1
    if shape is None:
        shape = Tag((OP, site, control, *starred, *(tag for _, tag in pairs)))
    shape = shape_after_comparisons(operation, shape)
    entries = [(value, Tag((STORE, site, control, tag, RUN.time))) for value, tag in pairs]
    shadow_set(made, [each for each in reversed(entries) if _is_the_one(made, each[0])], shape)
    synchronise(made, site, control, pairs)
    return made, Tag((NEW, site, control, None))


def _is_the_one(made: set[Any], value: Any) -> bool:
    return type(value) in SCALARS or any(each is value for each in set.__iter__(made))


def make_dict(
    site: int, control: Control, entries: Iterable[tuple[Pair, Pair]], shape: MaybeTag = None
) -> Pair:
    """A dict of keys and values."""
    made: dict[Any, Any] = {}
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
    site: int, control: Control, made: dict[Any, Any], entries: Iterable[tuple[Pair, Pair]],
    shape: MaybeTag,
) -> Pair:  # fmt: skip
    """A dict that was just made of keys and values."""
    entries = tuple(entries)
    RUN.time += 1
    shadow_mapping(made, [
        (key[0], value[0], key[1], Tag((STORE, site, control, value[1], RUN.time, key[1])))
        for key, value in entries
    ], shape)  # fmt: skip
    synchronise(made, site, control, [each for entry in entries for each in entry])
    return made, Tag((NEW, site, control, None))


_CONVERSIONS: dict[int, Callable[[Any], str]] = {115: str, 114: repr, 97: ascii}


def format_value(
    site: int, control: Control, given: Pair, conversion: int, how: Pair | None
) -> Pair:
    """`{given!r:how}` in a text."""
    form = how[0] if how is not None else ""

    def make() -> str:
        value = given[0]
        if conversion in _CONVERSIONS:
            value = _CONVERSIONS[conversion](value)
        return format(value, form)

    text, operation = run_out_of_sight(site, control, (given,), make)
    needs = deep_tags((given,) if how is None else (given, how))
    if type(given[0]) in SCALARS and not operation.callbacks:
        return text, text_pieces.formatted_tag(
            site, control, given, text, () if how is None else (how[1],)
        )
    return text, outcome_tag(operation, text, needs)


def join_pieces(site: int, control: Control, parts: Iterable[Pair]) -> Pair:
    """A text with values in it; what stands between them has no tag yet."""
    parts = [(each, tag or Tag((CONST, site, control))) for each, tag in parts]
    text = "".join([each for each, _ in parts])
    return text, text_pieces.concatenation_tag(site, control, parts)


def make_slice(site: int, control: Control, *bounds: Pair | None) -> Pair:
    """`a:b:c`."""
    values = [each[0] if each is not None else None for each in bounds]
    needs = tuple(each[1] for each in bounds if each is not None)
    return slice(*values), Tag((OP, site, control, *needs))
