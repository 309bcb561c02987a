"""Calls of what is not rewritten and has no model: the conservative default.

The result depends on all operands, on all that they hold, and on what the program's own code that
was called on the way returned. A result that is identical to something among these is that thing,
where identity says anything. What the call may have changed is read anew.
"""

from __future__ import annotations

import heapq
import os
import random
import sys
from collections import deque
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from whence.langs.python.objects.raw_class import BUILTIN_FUNCTIONS, is_builtin_function
from whence.langs.python.provenance.runtime.frame_variables import changed_in_frame
from whence.langs.python.provenance.runtime.function_traits import traits_of
from whence.langs.python.provenance.runtime.iterator_sources import IteratorSource, note_live_view
from whence.langs.python.provenance.runtime.kept_values import note_kept, passed_on_tag
from whence.langs.python.provenance.runtime.native_tagging import with_native
from whence.langs.python.provenance.runtime.opaque_holders import (
    is_opaque,
    note_held,
    note_may_hold,
    note_referents,
)
from whence.langs.python.provenance.runtime.run_state import RUN, THREAD, Operation
from whence.langs.python.provenance.runtime.shadow_memory import (
    Candidates,
    Shadow,
    absorb,
    deep_tags,
    shadow_existing,
    shadow_from_candidates,
    shadow_of,
    synchronise,
    tags_by_identity,
)
from whence.langs.python.provenance.runtime.tagged_operations import note_change_target
from whence.langs.python.provenance.runtime.text_pieces import printed_text
from whence.langs.python.provenance.runtime.type_inspection import IdentitySet, has_special_method
from whence.langs.python.provenance.runtime.world_state import note_world_write, world_tag
from whence.langs.python.provenance.tags import (
    AMBIG,
    NEW,
    OP,
    SCALARS,
    STORE,
    Control,
    MaybeTag,
    Pair,
    Tag,
)

Finish = Callable[["PreparedCall", Any], Pair]

_CONTAINERS = (list, dict, set, deque)
_METHODS = IdentitySet(*BUILTIN_FUNCTIONS, MethodType)
_STATELESS_MODULES = frozenset({
    "bisect", "copy", "dataclasses", "functools", "genericpath", "heapq", "json", "posixpath", "re",
    "statistics", "textwrap", "types", "typing",
})  # fmt: skip
"""Modules in Python whose functions keep nothing that another of them could return."""
_ANNOTATION_MODULES = frozenset({"dataclasses", "typing"})
"""Those that may evaluate annotations: the annotated object keeps the result."""
_COUNT = "how many arguments"
_WORLD_STATE = "the state of the world"

_SELECTING = {id(function): function for function in (
    heapq.heappop, heapq.heappush, heapq.heapify, heapq.heappushpop, heapq.heapreplace,
    random.choice, random.shuffle, random.sample,
)}  # fmt: skip
"""Functions that return or move their very operands, numbers included."""
_CHANGING = frozenset({
    "remove", "discard", "update", "intersection_update", "difference_update",
    "symmetric_difference_update", "pop", "popitem", "add", "append", "extend", "insert",
    "appendleft", "extendleft", "rotate", "setdefault", "move_to_end", "sort", "__setitem__",
    "__delitem__",
})  # fmt: skip
"""Methods that change a container, perhaps in a way that its items do not show: not at all, or
only their order."""


class PreparedCall:
    """A call that is about to be made: its values, and the function that finishes it."""

    __slots__ = (
        "arguments", "before", "called", "finish", "function", "in_sight", "keywords", "operation",
        "tag",
    )  # fmt: skip

    def __init__(
        self, called: Pair, arguments: tuple[Pair, ...], keywords: dict[str, Pair],
        finish: Finish, tag: MaybeTag = None,
    ):  # fmt: skip
        self.called = called
        self.function: Any = called[0]
        self.arguments: list[Any] = [value for value, _ in arguments]
        self.keywords: dict[str, Any] = {name: value for name, (value, _) in keywords.items()}
        self.finish = finish
        self.before = THREAD.operation
        self.operation: Operation | None = None
        self.tag = tag
        self.in_sight = False

    def begin(self, operation: Operation) -> PreparedCall:
        """Make this the operation that the thread is executing."""
        self.operation = THREAD.operation = operation
        THREAD.pending = None
        return self


def prepare_out_of_sight(
    site: int, control: Control, called: Pair, arguments: tuple[Pair, ...],
    keywords: dict[str, Pair], operands: tuple[Pair, ...],
) -> PreparedCall:  # fmt: skip
    """A call of code out of sight."""
    operation = Operation(site, control, (*operands, *keywords.values()))
    if called[0] is os.getenv:
        operation.operands += ((os.environ, None),)
    elif called[0] is print:
        if sys.stdout is not RUN.stdout and "file" not in keywords:
            operation.operands += ((sys.stdout, None),)
        operation.text = printed_text(site, control, arguments, keywords)
    note_passed(operation)
    if type(called[0]) is MethodType:
        RUN.note_start(called[0], control.activation)
    return PreparedCall(called, arguments, keywords, finish_out_of_sight).begin(operation)


def count_operands(stars: tuple[MaybeTag, ...]) -> tuple[Pair, ...]:
    """How many arguments there are, as operands that nothing else is identical to."""
    return tuple((_COUNT, star) for star in stars)


def note_passed(operation: Operation) -> None:
    """Note that code out of sight may later call the program with what it received."""
    tags = [tag for _, tag in operation.operands]
    RUN.passed_out_of_sight = Tag(
        (OP, operation.site, operation.control, *tags, RUN.passed_out_of_sight)
    )


def finish_out_of_sight(prepared: PreparedCall, value: object) -> Pair:
    """The result with its tag; the operands are read again."""
    operation = prepared.operation
    assert operation is not None
    function = prepared.called[0]
    selects = id(function) in _SELECTING
    traits = traits_of(function)
    if traits.region is not None:
        operation.operands += ((_WORLD_STATE, world_tag(traits.region)),)
    tag = out_of_sight_tag(operation, value, prepared.called[1], selects)
    if traits.changes_world and traits.region is not None:
        note_world_write(traits.region, tag)
    if not selects and not traits.computes:
        tag = passed_on_tag(operation, value, tag)
        note_kept(operation)
    resynchronise(operation, selects)
    is_change = type(function) in _METHODS and function.__name__ in _CHANGING
    if is_change or not traits.computes:
        _note_replaced(operation)
    if is_change:
        _reshape(operation)
    if _may_remember(function, operation):
        RUN.has_absorbed = True
    if RUN.on_outside is not None:
        RUN.on_outside(operation)
    return value, tag


def _may_remember(function: Any, operation: Operation) -> bool:
    """Whether other functions of its module may later return what this call received."""
    if type(function) is FunctionType:
        module = function.__module__
        return module not in _STATELESS_MODULES or (
            module in _ANNOTATION_MODULES and bool(operation.callbacks)
        )
    if type(function) is MethodType:
        # A class remembers its virtual subclasses: `Shape.register(Square)`.
        return getattr(function.__func__, "__module__", "") == "abc"
    return (
        is_builtin_function(type(function))
        and function.__module__ != "time"
        and traits_of(function).changes_world
    )


@with_native
def out_of_sight_tag(
    operation: Operation, value: object, callee: MaybeTag = None, selects: bool = False
) -> MaybeTag:
    """The tag of the result of an operation out of sight."""
    site, control = operation.site, operation.control
    operands = (*operation.operands, *operation.callbacks)
    others = (tag for tag in (callee, RUN.stray_results) if tag is not None)
    made = Tag((OP, site, control, *deep_tags(operands), *others))
    RUN.passed_out_of_sight = Tag((OP, site, control, made, RUN.passed_out_of_sight))
    if selects or type(value) not in SCALARS:
        return out_of_sight_result(operation, value, made, selects)
    return made


def out_of_sight_result(
    operation: Operation, value: object, made: MaybeTag, selects: bool
) -> MaybeTag:
    """The same for a result that may be one of the operands, or a part of one."""
    site, control = operation.site, operation.control
    operands = (*operation.operands, *operation.callbacks)
    candidates = Candidates(site, control, operands, made)
    if type(value) in SCALARS:
        return candidates.tag(value, selects=selects)
    if is_opaque(value):
        for operand, _ in operands:
            note_held(value, operand)
            if operand is not value and is_opaque(operand):
                note_may_hold(value, operand)
    tag = candidates.tag(value)
    if tag is not None and tag.kind == OP:
        tag = Tag((NEW, site, control, None, made))
        note_referents(value)
        note_live_view(value, operands)
        if (
            shadow_of(value) is None
            and not shadow_from_candidates(value, candidates)
            and has_special_method(type(value), "__next__")
        ):
            OpaqueSource(value, *operands)
    return tag


class OpaqueSource(IteratorSource):
    """The source of an iterator that code out of sight made: its values come from the operands."""

    heeds_callbacks = True

    def tag(self, site: int, control: Control, value: object) -> MaybeTag:
        operands = (*self.behind, *self.callbacks)
        made = Tag((OP, site, control, *deep_tags(operands), RUN.stray_results))
        candidates = Candidates(site, control, operands, made)
        if type(value) not in SCALARS and shadow_of(value) is None:
            shadow_from_candidates(value, candidates)
        return candidates.tag(value)


@with_native
def resynchronise(operation: Operation, selects: bool = False) -> None:
    """Read again what an operation may have changed: its operands and what they hold."""
    operands = (*operation.operands, *operation.callbacks)
    for value, tag in operation.operands:
        if type(value) in SCALARS:
            continue
        note_change_target(operation.control, tag)
        if is_opaque(value):
            absorb(value, operation.site, operation.control, operands)
        synchronise(value, operation.site, operation.control, operands, selects)
        changed_in_frame(operation.site, operation.control, value)
        note_referents(value)
        shadow = shadow_of(value)
        if shadow is not None:
            _reread_parts(shadow, operation, operands, 2 if is_opaque(value) else 0)


def _reshape(operation: Operation) -> None:
    """Note that the shape of a container depends on all operands."""
    site, control = operation.site, operation.control
    owner = operation.operands[0] if operation.operands else (None, None)
    if not issubclass(type(owner[0]), _CONTAINERS):
        return
    shadow = shadow_of(owner[0]) or shadow_existing(site, control, owner)
    needs = deep_tags((*operation.operands[1:], *operation.callbacks))
    shadow.shape = Tag((OP, site, control, shadow.shape, owner[1], *needs))


def _note_replaced(operation: Operation) -> None:
    """Note that a place of an operand may have received a value which is identical to the one that
    it had: comparing by identity does not show that.
    """
    if len(operation.operands) + len(operation.callbacks) < 2:
        return
    for owner, _ in operation.operands:
        shadow = shadow_of(owner) if issubclass(type(owner), _CONTAINERS) else None
        if shadow is None:
            continue
        others = [pair for pair in operation.operands if pair[0] is not owner]
        hits = tags_by_identity((*others, *operation.callbacks))
        if not hits:
            continue
        is_list = type(shadow.items) is list
        places = enumerate(shadow.values) if is_list else (shadow.values or {}).items()
        for place, value in list(places):
            tags = [tag for tag in hits.get(id(value), ()) if tag is not None]
            before = shadow.items[place]
            if tags and before is not None and before.kind != AMBIG:
                time = before.time if before.kind == STORE else RUN.time
                choices = (before, *tags)
                source = Tag((AMBIG, operation.site, operation.control, choices))
                shadow.items[place] = Tag((STORE, operation.site, operation.control, source, time))


def _reread_parts(
    shadow: Shadow, operation: Operation, operands: tuple[Pair, ...], depth: int
) -> None:
    for part, _ in list(shadow.parts()):
        if type(part) not in SCALARS:
            synchronise(part, operation.site, operation.control, operands)
            inner = shadow_of(part)
            if depth and inner is not None:
                _reread_parts(inner, operation, operands, depth - 1)
