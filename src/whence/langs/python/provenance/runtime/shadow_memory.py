"""The tags of what objects hold: one for each item, key and attribute, and one for the shape.

The *shape* of a container is which places it has: appending, deleting, sorting change it, and the
item at a place depends on it. A shadow is always verified: it keeps the values that its tags are
for, and a tag is used only if the object still holds that very value. If not, code that is not
rewritten has changed the object; it is read again, by identity.

No code of the program runs here: contents are read past overridden methods, and keys of the
program's own types are compared by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from whence.langs.python.provenance.runtime.native_tagging import with_native
from whence.langs.python.provenance.runtime.object_contents import (
    SEQUENCE_TYPES,
    SET_TYPES,
    SHARED_TYPES,
    instance_dict,
    sequence_items,
    set_elements,
    stored_attributes,
)
from whence.langs.python.provenance.runtime.opaque_holders import (
    is_opaque,
    note_held,
    note_may_hold,
    region_of_object,
)
from whence.langs.python.provenance.runtime.run_state import RUN
from whence.langs.python.provenance.runtime.type_inspection import stored_length
from whence.langs.python.provenance.runtime.world_state import (
    is_immutable_type,
    note_world_write,
    world_tag,
)
from whence.langs.python.provenance.tags import (
    AMBIG,
    LOAD,
    LOST,
    OP,
    PART,
    SCALARS,
    SEL,
    STORE,
    WHOLE,
    Control,
    MaybeTag,
    Pair,
    Tag,
    needs_of,
)

_BY_IDENTITY = object()
_DEEP = 4


class Shadow:
    """The tags of an object's parts. `items` is a list of tags, or a dict of them by key."""

    __slots__ = (
        "address", "again", "attribute_values", "attributes", "items", "keys", "object", "read",
        "shape", "values",
    )  # fmt: skip

    def __init__(self, thing: Any):
        self.object = thing
        self.items: Any = None
        self.values: Any = None
        self.keys: dict[Any, MaybeTag] = {}
        self.attributes: dict[str, MaybeTag] = {}
        self.attribute_values: dict[str, Any] = {}
        self.shape: MaybeTag = None
        self.address = id(thing)
        self.read: MaybeTag = None
        """The tag of the first complete read with these parts."""
        self.again: MaybeTag = None
        """The tag of the latest complete read with the same parts."""

    def tags(self) -> Iterator[MaybeTag]:
        """All tags of the shadow."""
        yield self.shape
        if self.items is not None:
            yield from self.items if type(self.items) is list else self.items.values()
            yield from self.keys.values()
        yield from self.attributes.values()

    def parts(self) -> Iterator[Pair]:
        """The object's parts."""
        if type(self.items) is list:
            yield from zip(self.values, self.items, strict=False)
        elif self.items is not None:
            for key, value in self.values.items():
                yield value, self.items[key]
        for name, value in self.attribute_values.items():
            yield value, self.attributes[name]


def shadow_of(thing: object) -> Shadow | None:
    """The shadow of an object, if it has one."""
    return RUN.shadows.get(id(thing))


def new_shadow(thing: object) -> Shadow:
    """A new, empty shadow that replaces any other."""
    made = RUN.shadows[id(thing)] = Shadow(thing)
    return made


def shadow_for(thing: object) -> Shadow:
    """The shadow of an object, made if it has none."""
    return RUN.shadows.get(id(thing)) or new_shadow(thing)


def key_identity(key: object) -> Any:
    """What identifies a key: the key itself if comparing it runs no code of the program."""
    return key if is_plain_key(key) else (_BY_IDENTITY, id(key))


def is_plain_key(key: Any) -> bool:
    """Whether comparing a key, or taking its hash, runs no code of the program."""
    kind = type(key)
    return kind in SCALARS or (kind is tuple and all(is_plain_key(item) for item in key))


@with_native
def absorb(thing: object, site: int, control: Control, operands: Iterable[Pair]) -> None:
    """Note that an object may have kept any of these operands, or something made of them.

    So may any other opaque object that it received: a writer writes to its file.
    """
    RUN.has_absorbed = True
    operands = tuple(operands)
    absorbed = Tag((OP, site, control, *deep_tags(operands)))
    for operand, _ in operands:
        if operand is thing:
            continue
        note_held(thing, operand)
        if is_opaque(operand):
            note_may_hold(thing, operand)
    note_world_change(thing, absorbed)
    reached = {id(thing): thing}
    pending = [thing]
    while pending:
        holder = pending.pop()
        shadow = shadow_for(holder)
        shadow.shape = Tag((OP, site, control, shadow.shape, absorbed))
        for other in RUN.behind.get(id(holder), (None, {}))[1].values():
            if id(other) not in reached:
                reached[id(other)] = other
                pending.append(other)


def note_world_change(thing: object, tag: MaybeTag) -> None:
    """Note that an operation on an opaque object may have changed the world."""
    region = region_of_object(thing)
    if region is not None and not is_immutable_type(type(thing)):
        note_world_write(region, tag)


@with_native
def part_tag(
    site: int, control: Control, owner: Pair, step: tuple[str, object], value: object,
    needs: tuple[MaybeTag, ...] = (),
) -> MaybeTag:  # fmt: skip
    """The tag of a part, read just now, of an object without a shadow."""
    thing, tag = owner
    note_held(thing, value)
    RUN.kept_alive[id(thing)] = thing
    part = Tag((PART, site, control, tag, step))
    return Tag((LOAD, site, control, part, RUN.time, id(thing), step[1], tag, *needs))


# --- making shadows ------------------------------------------------------------------------------


@with_native
def shadow_sequence(thing: object, tags: list[MaybeTag], shape: MaybeTag) -> Shadow:
    """The shadow of a sequence whose items have these tags."""
    made = new_shadow(thing)
    made.values = sequence_items(thing)
    made.items = tags
    made.shape = shape
    for value in made.values:
        note_held(thing, value)
    return made


def shadow_mapping(
    thing: object, entries: Iterable[tuple[object, object, MaybeTag, MaybeTag]], shape: MaybeTag
) -> Shadow:
    """The shadow of a dict; an entry is a key, a value, and the tags of both."""
    made = new_shadow(thing)
    made.items, made.values = {}, {}
    made.shape = shape
    for key, value, key_tag, tag in entries:
        identity = key_identity(key)
        made.items[identity], made.values[identity] = tag, value
        made.keys[identity] = key_tag
        note_held(thing, value)
        note_held(thing, key)
    return made


def shadow_set(thing: object, entries: Iterable[Pair], shape: MaybeTag) -> Shadow:
    """The shadow of a set."""
    made = new_shadow(thing)
    made.items, made.values = {}, {}
    made.shape = shape
    for value, tag in entries:
        identity = key_identity(value)
        made.items[identity], made.values[identity] = tag, value
        note_held(thing, value)
    return made


def shadow_existing(site: int, control: Control, owner: Pair) -> Shadow:
    """The shadow of an object that existed before: all it holds are parts of the object."""
    thing, tag = owner

    def part(kind: str, key: object, value: object) -> MaybeTag:
        return Tag((PART, site, control, tag, (kind, key)))

    return _shadow_contents(thing, stored_attributes(thing), part, tag)


def _shadow_contents(
    thing: Any, attributes: dict[str, object], tag_of: Callable[[str, Any, Any], MaybeTag],
    shape: MaybeTag,
) -> Shadow:  # fmt: skip
    """The shadow of all that an object holds; `tag_of` receives kind, key and value of a part."""
    if issubclass(type(thing), SEQUENCE_TYPES):
        items = enumerate(sequence_items(thing))
        made = shadow_sequence(thing, [tag_of("item", n, item) for n, item in items], shape)
    elif issubclass(type(thing), dict):
        entries = list(dict.items(thing))
        made = shadow_mapping(
            thing, [(k, v, tag_of("key", k, k), tag_of("item", k, v)) for k, v in entries], shape
        )
    elif issubclass(type(thing), SET_TYPES):
        values = set_elements(thing)
        made = shadow_set(thing, [(value, tag_of("key", value, value)) for value in values], shape)
    else:
        made = new_shadow(thing)
    for name, value in attributes.items():
        made.attributes[name] = tag_of("attribute", name, value)
        made.attribute_values[name] = value
        note_held(thing, value)
    return made


# --- what code that is not rewritten made or changed ---------------------------------------------


class Candidates:
    """Where a value may come from that code out of sight returned."""

    def __init__(
        self, site: int, control: Control, operands: Iterable[Pair], made: MaybeTag = None
    ):
        self.site, self.control = site, control
        self.operands = tuple(operands)
        self.made = made or Tag((OP, site, control, *deep_tags(self.operands)))
        """The tag of anything that they influenced: one for all, since they may be many."""
        self._tags_by_address: dict[int, list[MaybeTag]] | None = None

    def tag(self, value: object, *, selects: bool = False) -> MaybeTag:
        """The tag of a value: a copy of the one it is identical to, if identity is significant."""
        made = self.made
        if self._tags_by_address is None:
            self._tags_by_address = tags_by_identity(self.operands)
        tags = self._tags_by_address.get(id(value))
        if tags is None:
            return made
        hits = list({id(tag): tag for tag in tags}.values())
        # Numbers, short texts, functions and the empty tuple are the same wherever they come from.
        shared = type(value) in SCALARS or issubclass(type(value), SHARED_TYPES)
        is_identifying = not shared and not (type(value) is tuple and not value)
        if len(hits) == 1 and (is_identifying or selects):
            return Tag((SEL, self.site, self.control, hits[0], made))
        choices = tuple(hits) if is_identifying or selects else (*hits, made)
        return Tag((AMBIG, self.site, self.control, choices, made))


@with_native
def tags_by_identity(operands: tuple[Pair, ...]) -> dict[int, list[MaybeTag]]:
    """The tags of operands and of what they hold, two levels deep, by the addresses of values."""
    tags: dict[int, list[MaybeTag]] = {}

    def add(value: object, tag: MaybeTag, depth: int, visited: set[int]) -> None:
        tags.setdefault(id(value), []).append(tag)
        shadow = shadow_of(value) if type(value) not in SCALARS else None
        if shadow is None or not depth or id(value) in visited:
            return
        visited.add(id(value))
        for part, part_tag in list(shadow.parts()):
            add(part, part_tag, depth - 1, visited)

    for value, tag in operands:
        add(value, tag, 2, set())
    return tags


@with_native
def identical_tags(operands: tuple[Pair, ...], value: object) -> list[MaybeTag]:
    """The tags of one value among operands and what they hold, two levels deep."""
    tags = tags_by_identity(operands).get(id(value), ())
    return list({id(tag): tag for tag in tags}.values())


@with_native
def deep_tags(operands: Iterable[Pair]) -> tuple[MaybeTag, ...]:
    """The tags of operands and of all they hold."""
    tags: list[MaybeTag] = []
    visited: set[int] = set()
    for value, tag in operands:
        tags.append(tag)
        if type(value) not in SCALARS:
            _collect(value, tags, visited, _DEEP)
    return tuple(tag for tag in tags if tag is not None)


def whole_tag(shadow: Shadow) -> MaybeTag:
    """The tag of having read all that an object holds, now."""
    tags = tuple(tag for tag in shadow.tags() if tag is not None)
    read, now = shadow.read, RUN.time
    if read is None or not _same(tags, needs_of(read)):
        shadow.read = shadow.again = Tag((WHOLE, 0, None, now, shadow.address, *tags))
    elif shadow.again is None or shadow.again.time != now:
        shadow.again = Tag((WHOLE, 0, None, now, shadow.address, read))
    return shadow.again


def _collect(value: object, tags: list[MaybeTag], visited: set[int], depth: int) -> None:
    if id(value) in visited:
        return
    visited.add(id(value))
    if RUN.world and not issubclass(type(value), SHARED_TYPES):
        tags.append(world_tag(region_of_object(value)))
    source = RUN.sources.get(id(value))
    if source is not None and source[0] is value:
        for source_value, tag in source[1].behind:  # what an iterator or a view goes over
            tags.append(tag)
            _collect(source_value, tags, visited, depth)
    shadow = shadow_of(value)
    if shadow is None or shadow.items is None:
        _collect_space(value, tags, visited, depth)
    if shadow is None:
        return
    tags.append(whole_tag(shadow))
    if depth:
        for part, _ in list(shadow.parts()):
            if type(part) not in SCALARS:
                _collect(part, tags, visited, depth - 1)


def _collect_space(value: object, tags: list[MaybeTag], visited: set[int], depth: int) -> None:
    """Collect the tags of an object's dictionary, if the program accessed it, or the fact that no
    attribute was set."""
    run = RUN.runs.get(id(value))
    if run is not None:
        tags.append(run[1].position)
    elif not issubclass(type(value), SHARED_TYPES):
        space = shadow_of_dict(value)
        if space is not None:
            _collect(space.object, tags, visited, depth)
        elif shadow_of(value) is None and not is_opaque(value):
            opaque_type = RUN.opaque_types.get(id(type(value)))  # plain values are not in it
            if opaque_type is not None and opaque_type[2]:
                RUN.kept_alive[id(value)] = value
                tags.append(Tag((WHOLE, 0, None, RUN.time, id(value))))


def shadow_of_dict(thing: object) -> Shadow | None:
    """The shadow of an instance's dictionary, if the program accessed it."""
    attributes = instance_dict(thing) if type(thing) not in SCALARS else None
    return RUN.shadows.get(id(attributes)) if attributes is not None else None


def shadow_from_candidates(
    thing: Any, candidates: Candidates, *, selects: bool = False, depth: int = 2
) -> bool:
    """Make the shadow of an object that code out of sight made or changed, if it can have one."""
    site, control = candidates.site, candidates.control

    def stored(kind: str, key: object, value: object) -> MaybeTag:
        source = candidates.tag(value, selects=selects)
        return Tag((STORE, site, control, source, RUN.time))

    if issubclass(type(thing), SHARED_TYPES):
        return False
    RUN.time += 1
    attributes = stored_attributes(thing)
    if not attributes and not issubclass(type(thing), (*SEQUENCE_TYPES, dict, *SET_TYPES)):
        return False
    shadow = _shadow_contents(thing, attributes, stored, candidates.made)
    if depth:
        for value, _ in list(shadow.parts()):
            if type(value) not in SCALARS and shadow_of(value) is None:
                shadow_from_candidates(value, candidates, selects=selects, depth=depth - 1)
    return True


@with_native
def matches_object(shadow: Shadow) -> bool:
    """Whether an object holds what its shadow says."""
    thing = shadow.object
    if issubclass(type(thing), SEQUENCE_TYPES):
        if not _same(sequence_items(thing), shadow.values or ()):
            return False
    elif issubclass(type(thing), dict):
        expected = shadow.values
        if expected is None or stored_length(thing) != len(expected):
            return False
        for key, value in dict.items(thing):
            stored = expected.get(key_identity(key), _BY_IDENTITY)
            if stored is not value:
                return False
    elif issubclass(type(thing), SET_TYPES):
        expected = shadow.values
        return expected is not None and len(expected) == stored_length(thing)
    if shadow.attributes and not issubclass(type(thing), SHARED_TYPES):
        now = stored_attributes(thing)
        expected = shadow.attribute_values
        return len(now) == len(expected) and all(
            name in expected and expected[name] is value for name, value in now.items()
        )
    return True


def _same(left: Iterable[object], right: Iterable[object]) -> bool:
    left, right = list(left), list(right)
    return len(left) == len(right) and all(a is b for a, b in zip(left, right, strict=True))


def synchronise(
    thing: object, site: int, control: Control, operands: Iterable[Pair] = (), selects: bool = False
) -> None:
    """Read an object again if it no longer holds what its shadow says."""
    shadow = shadow_of(thing)
    if shadow is None or matches_object(shadow):
        return
    RUN.lost += 1
    before = tuple(shadow.tags())
    old = list(shadow.parts())
    operands = tuple(operands)
    needs = deep_tags((*operands, (thing, None)))
    made: MaybeTag = Tag((OP, site, control, *needs))
    if not operands:  # changed out of sight, by code that received it before
        made = Tag((LOST, site, control, *needs, RUN.passed_out_of_sight, RUN.stray_results))
    candidates = Candidates(site, control, (*old, *operands), made)
    shadow_from_candidates(thing, candidates, selects=selects, depth=0)
    fresh = shadow_for(thing)
    if not operands:
        fresh.shape = Tag(
            (LOST, site, control, *before, RUN.passed_out_of_sight, RUN.stray_results)
        )
    else:
        fresh.shape = Tag((OP, site, control, shadow.shape, fresh.shape))
