"""Template strings: `t"…"`, from 3.14 on.

The interpreter makes the template; its tags are kept beside it. A template holds a tuple of strings
and a tuple of interpolations, which have a value and a format. All of them have tags, like the
items of any tuple and the attributes of any object.
"""

from __future__ import annotations

from typing import Any

from whence.langs.python.objects.newer_types import TEMPLATES
from whence.langs.python.provenance.runtime.iterator_sources import (
    SOURCES,
    IteratorSource,
    sequence_item_tag,
)
from whence.langs.python.provenance.runtime.opaque_holders import note_held
from whence.langs.python.provenance.runtime.run_state import RUN
from whence.langs.python.provenance.runtime.shadow_memory import (
    new_shadow,
    part_tag,
    shadow_of,
    shadow_sequence,
)
from whence.langs.python.provenance.tags import (
    CONST,
    LOAD,
    NEW,
    STORE,
    Control,
    MaybeTag,
    Pair,
    Tag,
)

_TEXTS, _VALUES = "strings", "interpolations"


def template(
    site: int, control: Control, made: Any, parts: tuple[tuple[Pair, Pair | None], ...]
) -> Pair:
    """A template that was just made from these values and formats."""
    RUN.time += 1
    new: MaybeTag = Tag((NEW, site, control, None))
    fixed: MaybeTag = Tag((CONST, site, control))
    texts, values = made.strings, made.interpolations
    shadow_sequence(texts, [fixed] * len(texts), None)
    for value, (operand, how) in zip(values, parts, strict=True):
        _note_attributes(value, {
            "value": Tag((STORE, site, control, operand[1], RUN.time)),
            "format_spec": fixed if how is None else Tag((STORE, site, control, how[1], RUN.time)),
            "expression": fixed, "conversion": fixed,
        })  # fmt: skip
    if values:
        shadow_sequence(values, [new] * len(values), None)
    _note_attributes(made, {_TEXTS: new, _VALUES: new})
    return made, new


def _note_attributes(thing: object, tags: dict[str, MaybeTag]) -> None:
    shadow = new_shadow(thing)
    for name, tag in tags.items():
        value = getattr(thing, name)
        shadow.attributes[name], shadow.attribute_values[name] = tag, value
        note_held(thing, value)


def all_values(site: int, control: Control, owner: Pair, values: tuple[object, ...]) -> MaybeTag:
    """The tag of `owner.values`, a tuple that was just made."""
    held_there = _attribute(site, control, owner, _VALUES)
    tags: list[MaybeTag] = []
    for index, interpolation in enumerate(held_there[0]):
        tag = sequence_item_tag(site, control, held_there, index, interpolation)
        value = _attribute(site, control, (interpolation, tag), "value")
        tags.append(Tag((STORE, site, control, value[1], RUN.time)))
    if values:
        shadow_sequence(values, tags, None)
    return Tag((NEW, site, control, None, owner[1]))


def _attribute(site: int, control: Control, owner: Pair, name: str) -> Pair:
    thing, tag = owner
    value = getattr(thing, name)
    shadow = shadow_of(thing)
    if shadow is None or name not in shadow.attributes:
        return value, part_tag(site, control, owner, ("attribute", name), value)
    source = shadow.attributes[name]
    return value, Tag((LOAD, site, control, source, RUN.time, id(thing), name, tag, shadow.shape))


class TemplateSource(IteratorSource):
    """The source of an iterator over a template: its non-empty strings and interpolations."""

    def tag(self, site: int, control: Control, value: object) -> MaybeTag:
        name = _TEXTS if type(value) is str else _VALUES
        parts = _attribute(site, control, self.behind[0], name)
        # Equal texts may be one object: any of them will do, since all were written there.
        index = next(index for index, part in enumerate(parts[0]) if part is value)
        return sequence_item_tag(site, control, parts, index, value)


SOURCES.update((id(template_type), TemplateSource) for template_type in TEMPLATES[:1])
