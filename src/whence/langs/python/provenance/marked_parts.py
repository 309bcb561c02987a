"""A marked part of a call, at the moment when the call begins or ends.

Containers change later, so the mark is resolved at that moment: to the tag of the part, and to what
its position depends on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from whence.langs.python.provenance.runtime.run_state import RUN, Operation
from whence.langs.python.provenance.runtime.shadow_memory import (
    deep_tags,
    key_identity,
    shadow_for,
    shadow_of,
    synchronise,
)
from whence.langs.python.provenance.runtime.text_pieces import tag_at_offset
from whence.langs.python.provenance.runtime.type_inspection import class_attribute
from whence.langs.python.provenance.tags import (
    OP,
    PART,
    SCALARS,
    SEL,
    STORE,
    TEXT,
    Activation,
    MaybeTag,
    Tag,
)

_DEEP = 4
_raw_module = type.__dict__["__module__"].__get__
_raw_qualname = type.__dict__["__qualname__"].__get__
_TABLES = frozenset((("numpy", "ndarray"), ("pandas", "DataFrame"), ("pandas", "Series")))
Step = tuple[str, Any]
"""`("item", key)`, `("attribute", name)`, or `("text", (from, to))`: letters of it."""


@dataclass(frozen=True, slots=True)
class Place:
    """A step on the path to the part: which object, which key, and when it was stored."""

    tag: MaybeTag
    """Of the object."""
    shape: MaybeTag
    thing: object
    """The address of the object."""
    key: object
    written: int
    read: int
    """When the mark was resolved."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """The marked part of a call."""

    activation: Activation
    value: object
    tag: MaybeTag
    places: tuple[Place, ...]
    parts: tuple[MaybeTag, ...]
    """Of all that the part holds itself."""
    texts: tuple[MaybeTag, ...] = ()
    """Of the texts in which it is some letters: what else is in them decides where these are."""
    time: int = field(default_factory=lambda: RUN.time)
    """When it was marked: what was decided later does not matter."""


def letters(operation: Operation, text: str, offset: int) -> Criterion | None:
    """The criterion for the character at an offset of a string that an operation wrote."""
    tag: MaybeTag
    if operation.text is not None:
        tag = Tag((TEXT, operation.site, operation.control, operation.text))
    else:
        texts = (tag for value, tag in operation.operands if type(value) is str and value == text)
        tag = next(texts, None)
    letter_tag = tag_at_offset(tag, offset)
    if letter_tag is tag:
        return None
    return Criterion(operation.activation, None, letter_tag, (), (operation.control,))


def written(operations: Sequence[Operation]) -> Criterion:
    """What some operations wrote: it depends on all of their operands.

    If there was only one operand, it is what was written.
    """
    last = operations[-1]
    operands = tuple(
        pair
        for operation in operations
        for pair in (*operation.operands, *operation.callbacks)
        if not issubclass(type(pair[0]), ModuleType)  # whose function it is
    )
    needs = deep_tags(operands)
    tag: MaybeTag = Tag((OP, last.site, last.control, *needs))
    if len(operands) == 1 and operands[0][1] is not None:
        tag = Tag((SEL, last.site, last.control, operands[0][1], *needs))
    return Criterion(
        last.activation, None, tag, (), tuple(operation.control for operation in operations)
    )


class NoSuchPart(LookupError):
    """A mark leads nowhere; the message says where it ends."""


def criterion(
    activation: Activation, value: Any, tag: MaybeTag, steps: Sequence[Step]
) -> Criterion:
    """Resolve a mark into the parts of a value, as they are now."""
    places: list[Place] = []
    texts: list[MaybeTag] = []
    for kind, key in steps:
        if kind == "text":
            texts.append(tag)
            tag, value = tag_at_offset(tag, key[0]), value[slice(*key)]
            continue
        if _is_table(value):
            # What it holds is no object: the part is known only with the whole.
            tag = Tag((PART, 0, activation.control, tag, (kind, key)))
            break
        _settle(value, activation, 0)
        shadow = shadow_of(value)
        part = _part(value, kind, key)
        part_tag: MaybeTag = None
        if shadow is not None:
            part_tag = _part_tag(shadow, value, kind, key, part)
        if part_tag is None:
            part_tag = Tag((PART, 0, activation.control, tag, (kind, key)))
        written = part_tag.time if part_tag.kind == STORE else 0
        shape = shadow.shape if shadow is not None else None
        places.append(Place(tag, shape, id(value), key, written, RUN.time))
        value, tag = part, part_tag
    # A part that is a container is marked with all that it holds, as it is now.
    _settle(value, activation, _DEEP)
    parts = deep_tags(((value, tag),))
    return Criterion(activation, value, tag, tuple(places), parts, tuple(texts))


def _settle(value: object, activation: Activation, depth: int) -> None:
    """Synchronise an object and those that it holds with what code out of sight changed."""
    shadow = shadow_of(value)
    if shadow is None:
        return
    synchronise(value, 0, activation.control)
    if depth:
        for part, _ in list(shadow_for(value).parts()):
            if type(part) not in SCALARS:
                _settle(part, activation, depth - 1)


def _is_table(value: object) -> bool:
    """Whether it is an array of numpy, or a frame or series of pandas."""
    kind = type(value)
    module = _raw_module(kind)
    package = module.partition(".")[0] if type(module) is str else ""
    return (package, _raw_qualname(kind)) in _TABLES


def _part(value: Any, kind: str, key: Any) -> object:
    try:
        if kind == "attribute":
            return object.__getattribute__(value, key)
        for container in (dict, list, tuple):
            if issubclass(type(value), container):
                return container.__getitem__(value, key)
    except (AttributeError, KeyError, IndexError, TypeError):
        pass
    raise NoSuchPart(f"there is no {key!r} in a {type(value).__name__}")


def _part_tag(shadow: Any, value: object, kind: str, key: Any, part: object) -> MaybeTag:
    tag: MaybeTag = None
    if kind == "attribute":
        if shadow.attribute_values.get(key, shadow) is part:
            tag = shadow.attributes[key]
        elif issubclass(type(value), tuple) and key in class_attribute(type(value), "_fields", ()):
            return _part_tag(
                shadow, value, "item", class_attribute(type(value), "_fields").index(key), part
            )
    elif type(shadow.items) is list:
        index = key if key >= 0 else key + len(shadow.values)
        if index < len(shadow.values) and shadow.values[index] is part:
            tag = shadow.items[index]
    elif shadow.values is not None and shadow.values.get(key_identity(key), shadow) is part:
        tag = shadow.items[key_identity(key)]
    return tag
