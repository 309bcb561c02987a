"""The results of comprehensions, dict displays and generator expressions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from whence.langs.python.objects.raw_class import name_of
from whence.langs.python.provenance.runtime.displays import (
    StarredArguments,
    StarredEntries,
    make_dict,
    make_list,
    make_set,
    shadow_new_dict,
)
from whence.langs.python.provenance.runtime.iteration import (
    entry_pairs,
    is_plain_dict,
    spread_entries,
)
from whence.langs.python.provenance.runtime.run_state import RUN, THREAD
from whence.langs.python.provenance.runtime.tagged_operations import (
    run_out_of_sight,
    shape_after_comparisons,
    shape_tag,
    test_and_note,
)
from whence.langs.python.provenance.tags import (
    NEW,
    OP,
    SEL,
    Control,
    GeneratorRun,
    MaybeTag,
    Pair,
    Tag,
)


def display_dict(site: int, control: Control, entries: Iterable[tuple[Pair | None, Pair]]) -> Pair:
    """A dict display. A key of None stands for `**value`."""
    made: dict[object, object] = {}
    flat: list[tuple[Pair, Pair]] = []
    starred: list[MaybeTag] = []
    for key, value in entries:
        if key is None:
            flat += _spread_into(site, control, made, value, starred)
            starred += (value[1], shape_tag(value[0]))
        else:
            _, operation = run_out_of_sight(
                site, control, (key, value), operator.setitem, made, key[0], value[0]
            )
            flat.append((key, value))
            starred.append(shape_after_comparisons(operation, None))
    shape = Tag((OP, site, control, *starred, *(key[1] for key, _ in flat)))
    return shadow_new_dict(site, control, made, flat, shape)


def _spread_into(
    site: int, control: Control, made: dict[object, object], mapping: Pair, shapes: list[MaybeTag]
) -> list[tuple[Pair, Pair]]:
    """`**mapping` in a dict display; a mapping of the program is iterated once."""
    more = mapping[0]
    refusal = f"'{name_of(type(more))}' object is not a mapping"
    if not is_plain_dict(more):
        return spread_entries(site, control, mapping, refusal, made)
    _, operation = run_out_of_sight(site, control, (mapping,), made.update, more)
    shapes.append(shape_after_comparisons(operation, None))
    return entry_pairs(site, control, mapping)


def test_condition(site: int, control: Control, condition: Pair) -> Control:
    """Test a condition of a comprehension; one that fails drops an element."""
    decided = Tag((*test_and_note(site, control, condition), control.dropped))
    if not decided.outcome and control.dropped is not None:
        RUN.note_dropped(control.dropped, decided)
    return decided


def condition_rounds(site: int, control: Control, condition: Pair) -> tuple[Control, ...]:
    """The same as a loop of one round or none, where no variable may be bound."""
    decided = test_condition(site, control, condition)
    return (decided,) if decided.outcome else ()


Made = list[tuple[Any, Control]]
"""What each round made, a pair, an entry, or several of them, and the control of the round."""


def _comprehension_shape(
    site: int, control: Control, dropped: list[MaybeTag], source: Pair, made: Made
) -> MaybeTag:
    rounds = {id(tag): tag for _, tag in made}
    starred = [each.shape for each, _ in made if type(each) in (StarredArguments, StarredEntries)]
    needs = (source[1], shape_tag(source[0]), *rounds.values(), *starred, *dropped)
    return Tag((OP, site, control, *needs))


def _in_round(site: int, control: Control, element: Pair, round_: Control) -> Pair:
    if round_ is control:
        return element
    return element[0], Tag((SEL, site, round_, element[1]))


def _elements(site: int, control: Control, made: Made) -> list[Pair]:
    """The elements of all rounds, one after the other."""
    elements: list[Pair] = []
    for each, round_ in made:
        pairs = each if type(each) is StarredArguments else (each,)
        elements += [_in_round(site, control, pair, round_) for pair in pairs]
    return elements


def list_comprehension(
    site: int, control: Control, dropped: list[MaybeTag], source: Pair, made: Made
) -> Pair:
    """`[… for … in …]`."""
    shape = _comprehension_shape(site, control, dropped, source, made)
    return make_list(site, control, _elements(site, control, made), shape)


def set_comprehension(
    site: int, control: Control, dropped: list[MaybeTag], source: Pair, made: Made
) -> Pair:
    """`{… for … in …}`."""
    shape = _comprehension_shape(site, control, dropped, source, made)
    return make_set(site, control, _elements(site, control, made), shape)


def dict_comprehension(
    site: int, control: Control, dropped: list[MaybeTag], source: Pair, made: Made
) -> Pair:
    """`{…: … for … in …}`."""
    shape = _comprehension_shape(site, control, dropped, source, made)
    entries = [
        (key, _in_round(site, control, value, round_))
        for each, round_ in made
        for key, value in (each if type(each) is StarredEntries else (each,))
    ]
    keys = tuple(key[1] for key, _ in entries)
    return make_dict(site, control, entries, Tag((OP, site, control, shape, *keys)))


def generator_expression(
    site: int, control: Control, dropped: list[MaybeTag], source: Pair, made: object
) -> Pair:
    """`(… for … in …)`: the generator itself."""
    run = GeneratorRun()
    run.dropped = dropped
    RUN.note_run(made, run)
    RUN.note_expression(made, control.activation)
    return made, Tag((NEW, site, control, None, source[1], shape_tag(source[0])))


def yield_from_expression(site: int, control: Control, element: Pair) -> object:
    """Note a value of a generator expression, and return it."""
    value, tag = element
    if THREAD.operation is not None:
        THREAD.operation.callbacks.append((value, Tag((SEL, site, control, tag))))
    return value


def comprehension_here(
    maker: Callable[..., Pair], site: int, control: Control, source: Pair,
    make: Callable[[list[MaybeTag], Pair], Any],
) -> Pair:  # fmt: skip
    """A comprehension where no variable may be bound."""
    dropped: list[MaybeTag] = []
    return maker(site, control, dropped, source, make(dropped, source))
