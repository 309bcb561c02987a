"""Sources: what is known of iterators and views.

Iterators stay the program's own or the interpreter's. A source beside one knows the tag of its last
value.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from operator import length_hint
from types import MappingProxyType
from typing import Any

from whence.langs.python.provenance.runtime.native_tagging import with_native
from whence.langs.python.provenance.runtime.run_state import RUN
from whence.langs.python.provenance.runtime.shadow_memory import (
    Candidates,
    key_identity,
    part_tag,
    shadow_for,
    shadow_of,
    shadow_sequence,
    synchronise,
)
from whence.langs.python.provenance.runtime.type_inspection import IdentitySet, stored_length
from whence.langs.python.provenance.tags import LOAD, NEW, STORE, Control, MaybeTag, Pair, Tag

_NONE = object()


class IteratorSource:
    """Knows the tag of the last value of an iterator."""

    __slots__ = ("behind", "callbacks", "is_advance_noted", "iterator")

    heeds_callbacks = False
    """Whether callbacks decide which values the iterator gives and when it ends. If so, each
    influences all later values."""

    def __init__(self, iterator: object, *behind: Pair):
        self.iterator = iterator
        self.behind = behind
        """What it iterates over."""
        self.callbacks: list[Pair] = []
        """What callbacks returned to it for its last value."""
        self.is_advance_noted = False
        """Whether it is noted what decides how far it runs."""
        RUN.sources[id(iterator)] = (iterator, self)

    def tag(self, site: int, control: Control, value: object) -> MaybeTag:
        """The tag of the value that was just given."""
        raise NotImplementedError


SOURCES: dict[int, Callable[[Any, Pair], IteratorSource]] = {}
"""Makes the source of an iterator over an instance of a type, by the type's address."""


def source_of(iterator: object) -> object:
    """The source of an iterator or view."""
    entry = RUN.sources.get(id(iterator))
    return entry[1] if entry is not None and entry[0] is iterator else None


class SequenceSource(IteratorSource):
    """The source of an iterator over a list or tuple, forwards or backwards."""

    __slots__ = ("is_backwards", "owner")

    def __init__(self, iterator: object, owner: Pair, *, backwards: bool = False):
        super().__init__(iterator, owner)
        self.owner = owner
        self.is_backwards = backwards

    def tag(self, site: int, control: Control, value: object) -> MaybeTag:
        left = length_hint(self.iterator)
        index = left if self.is_backwards else stored_length(self.owner[0]) - left - 1
        return sequence_item_tag(site, control, self.owner, index, value)


class KeySource(IteratorSource):
    """The source of an iterator over a dict or a set."""

    def tag(self, site: int, control: Control, value: object) -> MaybeTag:
        return key_tag(site, control, self.behind[0], value)


class ViewSource(IteratorSource):
    """The source of an iterator over the values or items of a dict."""

    def __init__(self, iterator: object, owner: Pair, kind: str, keys: Iterator[object]):
        super().__init__(iterator, owner)
        self._kind = kind
        self._keys = keys
        """An iterator over the same dict, advanced in step."""

    def tag(self, site: int, control: Control, value: Any) -> MaybeTag:
        [owner] = self.behind
        if self._kind == "items":
            key, part = value
            tags = key_tag(site, control, owner, key), entry_tag(site, control, owner, key, part)
            return tuple_tag(site, control, value, tags)
        return entry_tag(site, control, owner, next(self._keys, _NONE), value)


class DictView:
    """The dict behind a view."""

    def __init__(self, owner: Pair, kind: str):
        self.owner = owner
        self.behind = (owner,)
        self.kind = kind


class LiveView:
    """The objects behind one that stores nothing itself and shows their current contents."""

    def __init__(self, thing: object, behind: tuple[Pair, ...]):
        self.behind = behind
        RUN.sources[id(thing)] = (thing, self)


_MAPPINGS: tuple[dict[object, object], ...] = ({}, OrderedDict())
_VIEWS = [
    view for mapping in _MAPPINGS for view in (mapping.keys(), mapping.values(), mapping.items())
]
_LIVE_VIEWS = IdentitySet(MappingProxyType, memoryview, *map(type, _VIEWS))


def note_live_view(thing: object, behind: tuple[Pair, ...]) -> None:
    """Note the objects behind a live view, if this is one."""
    if type(thing) in _LIVE_VIEWS and source_of(thing) is None:
        LiveView(thing, tuple(pair for pair in behind if pair[0] is not thing))


def tuple_tag(site: int, control: Control, value: object, tags: tuple[MaybeTag, ...]) -> MaybeTag:
    """The tag of a tuple that an iterator made from values with these tags."""
    RUN.time += 1
    shadow_sequence(value, [Tag((STORE, site, control, tag, RUN.time)) for tag in tags], None)
    return Tag((NEW, site, control, None))


@with_native
def sequence_item_tag(
    site: int, control: Control, owner: Pair, index: int, value: object
) -> MaybeTag:
    """The tag of an item of a sequence."""
    thing, tag = owner
    shadow = RUN.shadows.get(id(thing))
    if shadow is None or type(shadow.items) is not list:
        return part_tag(site, control, owner, ("item", index), value)
    if not 0 <= index < len(shadow.values) or shadow.values[index] is not value:
        synchronise(thing, site, control)
        shadow = shadow_for(thing)
        if not 0 <= index < len(shadow.values) or shadow.values[index] is not value:
            return Candidates(site, control, (owner,)).tag(value)
    return Tag(
        (LOAD, site, control, shadow.items[index], RUN.time, id(thing), index, tag, shadow.shape)
    )


def key_tag(site: int, control: Control, owner: Pair, key: object) -> MaybeTag:
    """The tag of a key of a dict, or of an element of a set."""
    thing, tag = owner
    shadow = shadow_of(thing)
    if shadow is None or type(shadow.items) is not dict:
        return part_tag(site, control, owner, ("key", key), key)
    identity = key_identity(key)
    tags = shadow.keys if issubclass(type(thing), dict) else shadow.items
    return Tag(
        (LOAD, site, control, tags.get(identity), RUN.time, id(thing), key, tag, shadow.shape)
    )


def entry_tag(site: int, control: Control, owner: Pair, key: object, value: object) -> MaybeTag:
    """The tag of the value that a dict has for one of its keys."""
    thing, tag = owner
    shadow = shadow_of(thing)
    if shadow is None or shadow.values is None:
        return part_tag(site, control, owner, ("item", key), value)
    identity = key_identity(key)
    if shadow.values.get(identity, _NONE) is not value:
        synchronise(thing, site, control)
        shadow = shadow_for(thing)
    if shadow.values is None or shadow.values.get(identity, _NONE) is not value:
        return part_tag(site, control, owner, ("item", key), value)
    return Tag((
        LOAD, site, control, shadow.items[identity], RUN.time, id(thing), key, tag, shadow.shape,
        shadow.keys.get(identity),
    ))  # fmt: skip
