"""What a call did to the objects that it could reach, as JSON, and its playback in another process.

Objects that existed before the call are named by their places, atoms by value, new objects by what
they hold. The JSON cannot make its reader run code: every class and function in it is one that the
program itself defined.

Invariant: playing effects leaves the objects as the call left them, or changes nothing at all.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from whence.langs.python.freezing.reachable_objects import (
    ObjectFinder,
    ObjectMissing,
    Place,
    ReachableObjects,
)
from whence.langs.python.objects.atoms import Json, decode_atom, encode_atom
from whence.langs.python.objects.object_content import (
    ObjectContent,
    ObjectShape,
    read_content,
    shape_of,
    write_content,
)
from whence.langs.python.objects.object_kinds import (
    CLASS,
    DEFAULTDICT,
    DICT,
    FROZENDICT,
    FROZENSET,
    ORDERED_DICT,
    SET,
    TUPLE,
    ProgramObject,
    read_whole_function,
)
from whence.langs.python.objects.object_walk import is_atom
from whence.langs.python.objects.raw_class import find_in_class, full_name, own_names

MAX_NEW_OBJECTS = 300_000
_OLD, _NEW = "o", "n"
Effects: TypeAlias = dict[str, Json]
"""What `EffectWriter` writes and `EffectPlayback` plays."""


class CannotFreeze(Exception):
    """Why the effects of a call cannot be played."""


# --- writing -------------------------------------------------------------------------------------


class EffectWriter:
    """Writes the effects of one call."""

    def __init__(self, before: ReachableObjects) -> None:
        self._before = before
        self._old: dict[int, int] = {}
        """The number of the place of an object that existed, by address."""
        self._places: list[Place] = []
        self._made: dict[int, int] = {}
        """The number of a new object, by address."""
        self._new_objects: list[tuple[ProgramObject, ObjectContent]] = []

    def write(
        self,
        changes: Sequence[tuple[int, ObjectContent]],
        result: ProgramObject,
        hash_numbers: Mapping[int, int],
    ) -> Effects:
        """The effects as JSON. `hash_numbers`: of the objects first hashed in the call, by address.

        (A plain object gets its hash when it is first hashed; a re-run must give the same.)
        """
        changed = [self._changed(number, content) for number, content in changes]
        encoded_result = self._reference(result)
        # Writing one may append more, which this loop then reaches.
        new = [self._new(value, content) for value, content in self._new_objects]
        self._check_dictionaries()
        remaining = self._remaining(hash_numbers)
        numbers = [[self._reference(value), number] for value, number in remaining]
        return {
            "changed": changed, "new": new, "result": encoded_result, "numbers": numbers,
            "old": self._places,
        }  # fmt: skip

    def _reference(self, value: ProgramObject) -> Json:
        if id(value) in self._old or self._before.found_in(value) is not None:
            return [_OLD, self._place(value)]
        if is_atom(value):
            return encode_atom(value)
        number = self._made.get(id(value))
        if number is None:
            number = self._made[id(value)] = len(self._new_objects)
            self._new_objects.append((value, _read_new(value)))
            if number > MAX_NEW_OBJECTS:
                raise CannotFreeze(f"it leaves more than {MAX_NEW_OBJECTS:,} new objects")
        return [_NEW, number]

    def _place(self, value: ProgramObject) -> int:
        """The number of an object's place, written after the places of all its holders."""
        work = [value]
        while work:
            top = work[-1]
            found_in = self._before.found_in(top)
            assert found_in is not None
            holder, step = found_in
            if id(top) in self._old:
                work.pop()
            elif holder is not None and id(holder) not in self._old:
                work.append(holder)
            else:
                holder_number = -1 if holder is None else self._old[id(holder)]
                self._old[id(top)] = len(self._places)
                self._places.append([holder_number, step, full_name(type(top))])
                work.pop()
        return self._old[id(value)]

    def _changed(self, number: int, now: ObjectContent) -> Json:
        value, before = self._before.at(number)
        class_name = full_name(type(value))
        if now.shape is not before.shape or now.attributes is not before.attributes:
            raise CannotFreeze(
                f"it replaces the class or the __dict__ of an object of {class_name}"
            )
        if now.shape.kind.write is None:
            raise CannotFreeze(f"it changes an object of {class_name}, which cannot be put back")
        now = _in_repeatable_order(value, before, now)
        return [self._reference(value), len(before.parts), *self._content(now)]

    def _new(self, value: ProgramObject, content: ObjectContent) -> Json:
        kind = content.shape.kind
        if kind.make_empty is None and kind.make_full is None:
            class_name = full_name(type(value))
            raise CannotFreeze(f"it leaves a new object of {class_name}, which cannot be made")
        if self._before.number(type(value)) is None:
            raise CannotFreeze("it makes a class")
        content = _in_repeatable_order(value, None, content)
        return [self._reference(type(value)), *self._content(content)]

    def _content(self, content: ObjectContent) -> list[Json]:
        for key in _keys(content):
            if not _is_plain_key(key):
                class_name = full_name(type(key))
                raise CannotFreeze(f"it hashes an object of {class_name} by code of the program")
        parts = [self._reference(part) for part in content.parts]
        return [content.label, parts, content.names, content.slots]

    def _check_dictionaries(self) -> None:
        """The `__dict__` of a new object must be its own."""
        for _, content in self._new_objects:
            held = content.attributes
            is_known = self._before.number(held) is not None or id(held) in self._made
            if held is not None and is_known:
                raise CannotFreeze("it makes an object that shares its attributes with another")

    def _remaining(self, hash_numbers: Mapping[int, int]) -> Iterator[tuple[ProgramObject, int]]:
        """The objects that still exist, of those that were first hashed in the call."""
        for address, hash_number in hash_numbers.items():
            number = self._before.number_at(address)
            if number is not None:
                yield self._before.at(number)[0], hash_number
            elif address in self._made:
                yield self._new_objects[self._made[address]][0], hash_number


def _read_new(value: ProgramObject) -> ObjectContent:
    if type(value) is not types.FunctionType:
        return read_content(value)
    label, parts = read_whole_function(value)
    return ObjectContent(shape_of(types.FunctionType), label, tuple(parts))


def _keys(content: ObjectContent) -> Sequence[ProgramObject]:
    """What the object hashes."""
    kind, own = content.shape.kind, content.own_parts
    if kind in (DICT, ORDERED_DICT, FROZENDICT):
        return own[::2]
    if kind is DEFAULTDICT:
        return own[1::2]
    return own if kind in (SET, FROZENSET) else ()


_builtin_hashes = frozenset(
    id(own_names(cls)["__hash__"])
    for cls in (object, int, float, complex, str, bytes, type, enum.Enum, types.FunctionType)
    if "__hash__" in own_names(cls)
)


def _is_plain_key(key: ProgramObject) -> bool:
    """Whether hashing and comparing it runs no code of the program."""
    pending = [key]
    while pending:
        value = pending.pop()
        if is_atom(value):
            continue
        content = read_content(value)
        kind = content.shape.kind
        hash_method = find_in_class(type(value), "__hash__")
        base = tuple if kind is TUPLE else frozenset
        if kind in (TUPLE, FROZENSET) and hash_method is own_names(base)["__hash__"]:
            pending += content.parts
        elif id(hash_method) not in _builtin_hashes:
            return False
    return True


def _in_repeatable_order(
    value: ProgramObject, before: ObjectContent | None, now: ObjectContent
) -> ObjectContent:
    """The same content with its parts in an order in which it can be written again."""
    kind, own = now.shape.kind, now.own_parts
    if kind is CLASS and before is not None:
        kept = [name for name in before.label if name in now.label]
        if [*kept, *(name for name in now.label if name not in kept)] != now.label:
            raise CannotFreeze("it redefines names of a class")
    if kind not in (SET, FROZENSET) or not all(map(_is_plain_key, own)):
        return now
    old = () if before is None else before.parts[: len(before.parts) - len(before.names)]
    if {*map(id, old)} - {*map(id, own)}:
        raise CannotFreeze("it takes something out of a set")
    for order in _orders(old, own):
        # Both are filled one by one, which decides their order and size in memory.
        again = frozenset(order) if kind is FROZENSET else set(order)
        is_same = list(map(id, again)) == list(map(id, own))
        if is_same and (kind is FROZENSET or set.__sizeof__(value) == again.__sizeof__()):
            return now._replace(parts=(*order, *now.parts[len(own) :]))
    raise CannotFreeze("it leaves a set in an order that cannot be reproduced")


def _orders(
    old: Sequence[ProgramObject], members: Sequence[ProgramObject]
) -> Iterator[Sequence[ProgramObject]]:
    """Orders in which the members may have been added to a set."""
    old_ids = {*map(id, old)}
    new = [member for member in members if id(member) not in old_ids]
    yield members
    yield [*old, *new]
    yield [*old, *sorted(new, key=hash)]
    yield [*old, *reversed(new)]
    yield sorted(members, key=hash)


# --- playing -------------------------------------------------------------------------------------


class EffectPlayback:
    """The effects of a call that is about to begin; `ObjectMissing` if it is another call."""

    def __init__(
        self,
        effects: Effects,
        frame: types.FrameType,
        set_hash_number: Callable[[ProgramObject, int], object],
    ) -> None:
        self._effects = effects
        self._old = ObjectFinder(frame).find_all(effects["old"])
        for at, count, *_ in effects["changed"]:
            if len(read_content(self._old[at[1]]).parts) != count:
                raise ObjectMissing("other objects are there")
        self._set_hash_number = set_hash_number
        self._shapes = [shape_of(self._old[cls[1]]) for cls, *_ in effects["new"]]
        self._new: list[ProgramObject] = [None] * len(self._shapes)
        self._new_hash_numbers = {
            reference[1]: number for reference, number in effects["numbers"] if _is_new(reference)
        }

    def play(self) -> ProgramObject:
        """Do what the call did; return its result."""
        for reference, number in self._effects["numbers"]:
            if not _is_new(reference):
                self._set_hash_number(self._value(reference), number)
        self._make_new_objects()
        contents = (content for _, *content in self._effects["new"])
        new = zip(self._new, self._shapes, contents, strict=True)
        changed = [
            (self._old[at[1]], shape_of(type(self._old[at[1]])), content)
            for at, _, *content in self._effects["changed"]
        ]
        everything = [*new, *changed]
        # Keys last: a hash may depend on what the key holds.
        for is_keyed in (False, True):
            for value, shape, content in everything:
                if shape.kind.is_keyed is is_keyed:
                    self._write(value, shape, content)
        return self._value(self._effects["result"])

    def _make_new_objects(self) -> None:
        """Empty ones first; an immutable one after all that it holds."""
        immutable = []
        new = zip(self._shapes, self._effects["new"], strict=True)
        for number, (shape, (_, label, *_)) in enumerate(new):
            if shape.kind.make_empty is not None:
                self._add(number, shape.kind.make_empty(shape.of, label))
            else:
                immutable.append(number)
        done = set(range(len(self._new))).difference(immutable)
        for first in immutable:
            work = [first]
            while work:
                number = work[-1]
                parts = self._effects["new"][number][2]
                missing = [part[1] for part in parts if _is_new(part) and part[1] not in done]
                if missing and number not in done:
                    work += missing
                    continue
                work.pop()
                if number not in done:
                    self._make_full(number)
                    done.add(number)

    def _add(self, number: int, value: ProgramObject) -> None:
        self._new[number] = value
        if number in self._new_hash_numbers:
            self._set_hash_number(value, self._new_hash_numbers[number])

    def _make_full(self, number: int) -> None:
        _, label, parts, names, slots = self._effects["new"][number]
        shape = self._shapes[number]
        own = parts[: len(parts) - len(names) - len(slots)]
        assert shape.kind.make_full is not None
        values = [self._value(part) for part in own]
        self._add(number, shape.kind.make_full(shape.of, label, values))

    def _value(self, reference: Json) -> ProgramObject:
        if isinstance(reference, list) and reference[0] == _OLD:
            return self._old[reference[1]]
        if _is_new(reference):
            return self._new[reference[1]]
        return decode_atom(reference)

    def _write(self, value: ProgramObject, shape: ObjectShape, content: Sequence[Json]) -> None:
        label, parts, names, slots = content
        values = tuple(self._value(part) for part in parts)
        write_content(value, ObjectContent(shape, label, values, tuple(names), tuple(slots)))


def _is_new(reference: Json) -> bool:
    return isinstance(reference, list) and bool(reference) and reference[0] == _NEW
