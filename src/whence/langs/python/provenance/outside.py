"""Calls of what is not rewritten and has no model: the conservative default.

The result depends on all operands, on all that they hold, and on what the program's own code that
was called on the way returned. A result that is identical to something among these is that thing,
where identity says anything. What the call may have changed is read anew.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from types import MethodType
from typing import Any

from whence.langs.python.provenance.iteration import Source
from whence.langs.python.provenance.shadows import (
    Candidates,
    adopt,
    everything,
    held_out_of_sight,
    hide,
    hides,
    is_container,
    note_behind,
    shadow_of,
    synchronise,
)
from whence.langs.python.provenance.state import HERE, RUN, Operation
from whence.langs.python.provenance.tags import NEW, OP, SCALARS, Control, Pair, Tag
from whence.langs.python.provenance.texts import printed

Finish = Callable[["Prepared", Any], Pair]

_COUNT = "how many arguments"

_SELECTING = {id(each): each for each in (
    heapq.heappop, heapq.heappush, heapq.heapify, heapq.heappushpop, heapq.heapreplace,
    random.choice, random.shuffle, random.sample,
)}  # fmt: skip
"""What gives back what it was given, and moves it about, even where it looks like a number."""


class Prepared:
    """A call that is about to be made: with which values, and what to do with its result."""

    __slots__ = (
        "arguments", "before", "called", "finish", "function", "in_sight", "keywords", "operation",
        "tag",
    )  # fmt: skip

    def __init__(
        self, function: Any, arguments: list[Any], keywords: dict[str, Any], finish: Finish,
        before: Operation | None,
    ):  # fmt: skip
        self.function = function
        self.arguments = arguments
        self.keywords = keywords
        self.finish = finish
        self.before = before
        self.operation: Operation | None = None
        self.called: Pair = (None, None)
        self.tag: Tag = None
        self.in_sight = False


def prepare_outside(
    site: int, control: Control, called: Pair, arguments: tuple[Pair, ...],
    keywords: dict[str, Pair], operands: tuple[Pair, ...],
) -> Prepared:  # fmt: skip
    """A call of what is out of sight."""
    prepared = Prepared(
        called[0], [each for each, _ in arguments],
        {name: each for name, (each, _) in keywords.items()}, finish_outside, HERE.operation,
    )  # fmt: skip
    prepared.called = called
    prepared.operation = Operation(site, control, (*operands, *keywords.values()))
    if called[0] is print:
        prepared.operation.text = printed(site, control, arguments, keywords)
    note_passed(prepared.operation)
    if type(called[0]) is MethodType:
        RUN.note_start(called[0], control[4])
    HERE.operation, HERE.pending = prepared.operation, None
    return prepared


def counts(stars: tuple[Tag, ...]) -> tuple[Pair, ...]:
    """How many arguments there are, as operands that nothing else is identical to."""
    return tuple((_COUNT, each) for each in stars)


def note_passed(operation: Operation) -> None:
    """Code out of sight may call the program later, from nowhere, with what it was given."""
    tags = tuple(tag for _, tag in operation.operands)
    RUN.passed = (OP, operation.site, operation.control, *tags, RUN.passed)


def finish_outside(prepared: Prepared, value: Any) -> Pair:
    """The tag of what it gave; what it was given is read anew."""
    operation = prepared.operation
    assert operation is not None
    selects = id(prepared.called[0]) in _SELECTING
    tag = outside_tag(operation, value, prepared.called[1], selects=selects)
    reread(operation, selects=selects)
    if RUN.on_outside is not None:
        RUN.on_outside(operation)
    return value, tag


def outside_tag(
    operation: Operation, value: Any, callee: Tag = None, *, selects: bool = False
) -> Tag:
    """The tag of what something out of sight gave."""
    site, control = operation.site, operation.control
    operands = (*operation.operands, *operation.callbacks)
    needs = (*everything(operands), *(each for each in (callee, RUN.loose) if each is not None))
    candidates = Candidates(site, control, operands, needs)
    if not is_container(value):
        return candidates.tag(value, selects=True) if selects else candidates.made
    if hides(value):
        for each, _ in operands:
            if each is not value and hides(each):
                note_behind(value, each)
    tag = candidates.tag(value)
    if tag is not None and tag[0] == OP:
        tag = (NEW, site, control, None, candidates.made)
        held_out_of_sight(value)
        if shadow_of(value) is None and not adopt(value, candidates) and hasattr(value, "__next__"):
            OpaqueSource(value, operands)
    return tag


class OpaqueSource(Source):
    """Of an iterator that something out of sight made: what it gives comes from its operands."""

    is_told = True

    def __init__(self, iterator: Any, operands: tuple[Pair, ...]):
        super().__init__(iterator, *operands)

    def tag(self, site: int, control: Control, value: Any) -> Tag:
        candidates = Candidates(site, control, (*self.behind, *self.told))
        if is_container(value) and shadow_of(value) is None:
            adopt(value, candidates)
        return candidates.tag(value)


def reread(operation: Operation, *, selects: bool = False) -> None:
    """Read anew what an operation may have changed: its operands and what they hold."""
    operands = (*operation.operands, *operation.callbacks)
    for value, _ in operation.operands:
        if type(value) in SCALARS:
            continue
        if hides(value):
            hide(value, operation.site, operation.control, operands)
        synchronise(value, operation.site, operation.control, operands, selects=selects)
        held_out_of_sight(value)
        shadow = shadow_of(value)
        if shadow is not None:
            for part, _ in list(shadow.parts()):
                if type(part) not in SCALARS:
                    synchronise(part, operation.site, operation.control, operands)
