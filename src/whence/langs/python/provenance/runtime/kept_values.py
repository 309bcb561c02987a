"""Where a value may come from that code out of sight returned: made there, or passed on.

Code out of sight may return what it received in this call, or what it kept from an earlier one: a
queue, a context variable, a cache. An object is recognised by its identity. A plain value (a
number, a text) is the same wherever it comes from: all equal ones that code out of sight received
are candidates, and so is the expression itself.
"""

from __future__ import annotations

from typing import Any

from whence.langs.python.provenance.runtime.function_traits import is_computing_type
from whence.langs.python.provenance.runtime.opaque_holders import is_opaque
from whence.langs.python.provenance.runtime.run_state import RUN, Operation
from whence.langs.python.provenance.runtime.shadow_memory import identical_tags, shadow_of
from whence.langs.python.provenance.tags import (
    AMBIG,
    COPIES,
    INPUT,
    NEW,
    OP,
    PART,
    SCALARS,
    SEL,
    STORE,
    Control,
    MaybeTag,
    Pair,
    Tag,
    needs_of,
)

MOST_CANDIDATES = 8
_MOST_KEPT = 500_000
_LEVELS = 3
_TOO_MANY = (None,)
"""As candidates: the origin is unknown."""
# --- what was kept -------------------------------------------------------------------------------


class _Index:
    """The tags of all that code out of sight received, by value."""

    def __init__(self) -> None:
        self._tags: dict[Any, list[MaybeTag]] = {}
        self._read = 0
        self._visited: dict[int, MaybeTag] = {}
        self._size = 0

    def tags(self, value: object) -> tuple[MaybeTag, ...]:
        """The tags of an object, or of all equal plain values."""
        operations = RUN.kept_operations
        while self._read < len(operations):
            entry = operations[self._read]
            self._read += 1
            if type(entry) is tuple:
                value_and_tag: Pair = entry
                self._add(value_and_tag[0], value_and_tag[1], 0)
                continue
            for kept, tag in (*entry.operands, *entry.callbacks):
                self._add(kept, tag, _LEVELS)
        if self._size > _MOST_KEPT:
            return _TOO_MANY
        tags = self._tags.get(_key(value), ())
        return tuple(tags) if len(tags) <= MOST_CANDIDATES else _TOO_MANY

    def _add(self, value: object, tag: MaybeTag, depth: int) -> None:
        is_plain = id(type(value)) in _PLAIN
        if tag is not None:
            key = (type(value), value) if is_plain else id(value)
            tags = self._tags.get(key)
            if tags is None:
                self._tags[key] = [tag]
                self._size += 1
            elif len(tags) <= MOST_CANDIDATES and not _has(tags, tag):
                tags.append(tag)
                self._size += 1
        if is_plain or not depth or self._size > _MOST_KEPT:
            return
        shadow = RUN.shadows.get(id(value))
        if shadow is None or self._visited.get(id(value), shadow) is shadow.shape:
            return
        self._visited[id(value)] = shadow.shape
        for part, part_tag in list(shadow.parts()):
            self._add(part, part_tag, depth - 1)


def _has(tags: list[MaybeTag], tag: MaybeTag) -> bool:
    return any(known is tag for known in tags)


_PLAIN = SCALARS.addresses


def _key(value: object) -> object:
    return (type(value), value) if type(value) in SCALARS else id(value)


def note_kept(operation: Operation) -> None:
    """Note that code out of sight may have kept the operands of an operation."""
    RUN.kept_operations.append(operation)


def kept_tags(value: object) -> tuple[MaybeTag, ...]:
    """The tags under which code out of sight received an object or an equal plain value."""
    if not RUN.kept_operations:
        return ()
    if RUN.kept_index is None:
        RUN.kept_index = _Index()
    return RUN.kept_index.tags(value)  # type: ignore[no-any-return]


# --- what was returned ---------------------------------------------------------------------------


def passed_on_tag(operation: Operation, value: object, tag: MaybeTag) -> MaybeTag:
    """The tag of a value that code out of sight returned, or of a part that it read.

    `tag` says that the operation made it.
    """
    if type(value) in SCALARS:
        choices = _choices(operation, value)
        return _one_of(operation.site, operation.control, (*choices, tag), tag) if choices else tag
    if tag is None or tag.kind != NEW:
        return tag
    kept = kept_tags(value)
    if len(kept) == 1 and kept[0] is not None:
        return Tag((SEL, operation.site, operation.control, kept[0], tag))
    if kept:
        return _one_of(operation.site, operation.control, kept, tag)
    _refine_parts(operation, value)
    return tag


def _one_of(site: int, control: Control, choices: tuple[MaybeTag, ...], made: MaybeTag) -> MaybeTag:
    different = tuple({id(choice): choice for choice in choices}.values())
    if len(different) > MOST_CANDIDATES:
        different = (None, made)
    return Tag((AMBIG, site, control, different, made))


def _choices(operation: Operation, value: object) -> tuple[MaybeTag, ...]:
    """What a plain value may be a copy of, besides the result of the operation itself."""
    operands = (*operation.operands, *operation.callbacks)
    identical = identical_tags(operands, value)
    choices: list[MaybeTag] = [tag for tag in identical if tag is not None]
    choices += kept_tags(value)
    for operand, tag in operation.operands:
        if is_opaque(operand) and not is_computing_type(type(operand)):
            choices += made_for(operand, tag)
    return tuple(choices)


def made_for(holder: object, tag: MaybeTag) -> list[MaybeTag]:
    """The tags of the operations that may have made what an opaque object holds: the one that
    created it, and those that changed it.
    """
    choices: list[MaybeTag] = [tag] if tag is not None else []
    shadow = shadow_of(holder)
    shape = shadow.shape if shadow is not None else None
    while shape is not None and shape.kind == OP and len(choices) <= MOST_CANDIDATES:
        choices.append(shape)
        needs = needs_of(shape)
        shape = needs[0] if needs else None
    return choices


def _refine_parts(operation: Operation, value: object) -> None:
    """Of a new container: its plain values may be kept ones."""
    shadow = shadow_of(value)
    if shadow is None or not RUN.kept_operations:
        return
    if type(shadow.items) is list:
        tags: Any = shadow.items
        places: Any = enumerate(shadow.values)
    elif shadow.items is not None:
        tags, places = shadow.items, shadow.values.items()
    else:
        tags, places = shadow.attributes, shadow.attribute_values.items()
    for place, part in list(places):
        tag = tags[place]
        is_made = tag is not None and tag.kind == STORE and tag.source.kind == OP
        kept = kept_tags(part) if is_made and type(part) in SCALARS else ()
        if kept:
            where = operation.site, operation.control
            source = _one_of(*where, (*kept, tag.source), tag.source)
            tags[place] = Tag((STORE, operation.site, operation.control, source, tag.time))


def part_of_opaque(
    site: int, control: Control, owner: Pair, value: object, part: MaybeTag
) -> MaybeTag:
    """The tag of a part of an opaque object: made with the object, or later, or put there."""
    if type(value) not in SCALARS or is_computing_type(type(owner[0])):
        return part
    kept = kept_tags(value)
    if _is_input(owner[1]):
        return _one_of(site, control, (*kept, part), part) if kept else part
    here: MaybeTag = Tag((OP, site, control, part))
    return _one_of(site, control, (*kept, *made_for(*owner), here), here)


def _is_input(tag: MaybeTag) -> bool:
    """Whether an object was given to the shadowed call: its parts are those of a parameter."""
    while tag is not None and (tag.kind in COPIES or tag.kind == PART):
        tag = tag.source
    return tag is not None and tag.kind == INPUT
