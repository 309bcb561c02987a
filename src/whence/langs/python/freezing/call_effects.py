"""What a call did to the objects that it could reach, as JSON, and doing it in another process.

Objects that were there before are told by their places, atoms by value, objects that the call made
by what they hold. Nothing is said in the words of a file that could make a reader run code: a class
or a function is always one that the program itself has made.

Invariant: what is played leaves the objects as the call left them, or nothing is done at all.
"""

from __future__ import annotations

import enum
import json
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from whence.langs.python.freezing.reachable_objects import (
    Finder,
    Heap,
    NotThere,
    Place,
    is_atom,
    type_name,
)
from whence.langs.python.objects.atoms import value_of, value_text
from whence.langs.python.objects.class_slots import above, own_names
from whence.langs.python.objects.object_content import Content, Shape, put, shape_of, tell
from whence.langs.python.objects.object_kinds import (
    CLASS,
    DEFAULTING,
    DICT,
    FROZENSET,
    ORDERED,
    SET,
    TUPLE,
    whole_function,
)

MOST_MADE = 300_000
"""More new objects than these are not noted."""
_OLD, _NEW = "o", "n"


class Refused(Exception):
    """Why the effects of a call cannot be played."""


# --- noting --------------------------------------------------------------------------------------


class Noted:
    """The effects of one call, written down."""

    def __init__(self, heap: Heap) -> None:
        self._heap = heap
        self._old: dict[int, int] = {}
        """Of objects that were there, by address, which they are."""
        self._places: list[Place] = []
        self._made: dict[int, int] = {}
        self._objects: list[Any] = []
        self._pending: list[tuple[Any, Content]] = []

    def of(
        self, changes: Sequence[tuple[int, Content]], result: Any, numbers: Mapping[int, int]
    ) -> dict[str, Any]:
        """As JSON; `numbers` are those of objects that were first hashed in the call."""
        changed = [self._changed(number, content) for number, content in changes]
        given = self._reference(result)
        new = [self._new(value, content) for value, content in self._all_pending()]
        self._check_dictionaries()
        numbered = [
            [self._reference(value), number]
            for value, number in self._alive(numbers)
        ]  # fmt: skip
        return {
            "changed": changed, "new": new, "result": given, "numbers": numbered,
            "old": self._places,
        }  # fmt: skip

    def _reference(self, value: Any) -> Any:
        if id(value) in self._old or self._heap.origin(value) is not None:
            return [_OLD, self._place(value)]
        if is_atom(value):
            return value_text(value)
        number = self._made.get(id(value))
        if number is None:
            number = self._made[id(value)] = len(self._objects)
            self._objects.append(value)
            self._pending.append((value, _told_whole(value)))
            if number > MOST_MADE:
                raise Refused(f"it leaves more than {MOST_MADE:,} new objects")
        return [_NEW, number]

    def _place(self, value: Any) -> int:
        """Which of the objects that were there one is; what it is found in is one before it."""
        work = [value]
        while work:
            top = work[-1]
            origin = self._heap.origin(top)
            assert origin is not None
            holder, step = origin
            if id(top) in self._old:
                work.pop()
            elif holder is not None and id(holder) not in self._old:
                work.append(holder)
            else:
                above = -1 if holder is None else self._old[id(holder)]
                self._old[id(top)] = len(self._places)
                self._places.append([above, step, type_name(top)])
                work.pop()
        return self._old[id(value)]

    def _all_pending(self) -> Iterator[tuple[Any, Content]]:
        at = 0
        while at < len(self._pending):
            yield self._pending[at]
            at += 1

    def _changed(self, number: int, now: Content) -> list[Any]:
        value, before = self._heap.at(number)
        kind = now.shape.kind
        what = type_name(value)
        if now.shape is not before.shape or now.held is not before.held:
            raise Refused(f"it makes something else of an object of {what}")
        if kind.put is None:
            raise Refused(f"it changes an object of {what}, which cannot be put back")
        now = _in_order(value, before, now)
        return [self._reference(value), len(before.parts), *self._content(now)]

    def _new(self, value: Any, content: Content) -> list[Any]:
        kind = content.shape.kind
        if kind.blank is None and kind.whole is None:
            raise Refused(f"it leaves a new object of {type_name(value)}, which cannot be made")
        if self._heap.number(type(value)) is None:
            raise Refused("it makes a class")
        content = _in_order(value, None, content)
        return [self._reference(type(value)), *self._content(content)]

    def _content(self, content: Content) -> list[Any]:
        for key in _keys(content):
            if not _is_plain_key(key):
                raise Refused(f"it hashes an object of {type_name(key)} by code of the program")
        parts = [self._reference(part) for part in content.parts]
        return [content.label, parts, content.names, content.slots]

    def _check_dictionaries(self) -> None:
        """The `__dict__` of a new object is its own."""
        for _, content in self._pending:
            held = content.held
            if held is not None and (self._heap.number(held) is not None or id(held) in self._made):
                raise Refused("it makes an object that shares its attributes with another")

    def _alive(self, numbers: Mapping[int, int]) -> Iterator[tuple[Any, int]]:
        """Objects that are left, of those that have a number since."""
        for address, number in numbers.items():
            known = self._heap.near.index.get(address)
            known = self._heap.far_number(address) if known is None else known
            if known is not None:
                yield self._heap.at(known)[0], number
            elif address in self._made:
                yield self._objects[self._made[address]], number


def _told_whole(value: Any) -> Content:
    if type(value) is not types.FunctionType:
        return tell(value)
    label, parts = whole_function(value)
    return Content(shape_of(types.FunctionType), label, tuple(parts))


def _keys(content: Content) -> Sequence[Any]:
    kind = content.shape.kind
    own = content.parts[: len(content.parts) - len(content.names) - len(content.slots)]
    if kind in (DICT, ORDERED):
        return own[::2]
    if kind is DEFAULTING:
        return own[1::2]
    return own if kind in (SET, FROZENSET) else ()


_own_hashes = frozenset(
    id(own_names(kind)["__hash__"])
    for kind in (object, int, float, complex, str, bytes, type, enum.Enum, types.FunctionType)
    if "__hash__" in own_names(kind)
)


def _is_plain_key(key: Any) -> bool:
    """Whether no code of the program is run where it is hashed and compared."""
    pending = [key]
    while pending:
        each = pending.pop()
        if is_atom(each):
            continue
        content = tell(each)
        kind = content.shape.kind
        if kind in (TUPLE, FROZENSET) and _inherited(each, "__hash__") is _hash_of(kind):
            pending += content.parts
        elif id(_inherited(each, "__hash__")) not in _own_hashes:
            return False
    return True


def _hash_of(kind: Any) -> Any:
    return own_names(tuple if kind is TUPLE else frozenset)["__hash__"]


def _inherited(value: Any, name: str) -> Any:
    for kind in above(type(value)):
        if name in own_names(kind):
            return own_names(kind)[name]
    return None


def _in_order(value: Any, before: Content | None, now: Content) -> Content:
    """The same with its parts in an order in which it can be put together again."""
    kind = now.shape.kind
    own = now.parts[: len(now.parts) - len(now.names) - len(now.slots)]
    if kind is CLASS and before is not None:
        kept = [name for name in before.label if name in now.label]
        if [*kept, *(name for name in now.label if name not in kept)] != now.label:
            raise Refused("it defines names of a class anew")
    if kind not in (SET, FROZENSET) or not all(map(_is_plain_key, own)):
        return now
    old = () if before is None else before.parts[: len(before.parts) - len(before.names)]
    if {*map(id, old)} - {*map(id, own)}:
        raise Refused("it takes something out of a set")
    for order in _orders(old, own):
        again: Any = set()
        for each in order:
            again.add(each)
        again = frozenset(order) if kind is FROZENSET else again
        same = list(map(id, again)) == list(map(id, own))
        if same and (kind is FROZENSET or set.__sizeof__(value) == set.__sizeof__(again)):
            return now._replace(parts=(*order, *now.parts[len(own) :]))
    raise Refused("it leaves a set in an order that cannot be had again")


def _orders(old: Sequence[Any], members: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """In which the members of a set may have come to it; plain objects in that of their hashes."""
    known = {*map(id, old)}
    new = [each for each in members if id(each) not in known]
    yield members
    yield [*old, *new]
    yield [*old, *sorted(new, key=hash)]
    yield [*old, *reversed(new)]
    yield sorted(members, key=hash)


# --- playing -------------------------------------------------------------------------------------


class Played:
    """The effects of a call that is about to begin, made ready; `NotThere` if it is another one."""

    def __init__(
        self, told: Mapping[str, Any], frame: types.FrameType,
        give: Callable[[Any, int], object],
    ) -> None:  # fmt: skip
        self._told = told
        self._old = Finder(frame).all(told["old"])
        for at, count, *_ in told["changed"]:
            if len(tell(self._old[at[1]]).parts) != count:
                raise NotThere("other objects are there")
        self._give = give
        self._shapes = [shape_of(self._old[of[1]]) for of, *_ in told["new"]]
        self._new: list[Any] = [None] * len(self._shapes)
        self._numbers = {each[1]: number for each, number in told["numbers"] if _is_new(each)}
        """Of new objects, by which they are."""

    def play(self) -> Any:
        """Do it; what comes of the call."""
        for told, number in self._told["numbers"]:
            if not _is_new(told):
                self._give(self._value(told), number)
        self._make()
        new = zip(self._new, self._shapes, (each[1:] for each in self._told["new"]), strict=True)
        changed = [
            (self._old[at[1]], shape_of(type(self._old[at[1]])), rest)
            for at, _, *rest in self._told["changed"]
        ]
        everything = [*new, *changed]
        # What is hashed may be hashed by what it holds.
        for keyed in (False, True):
            for value, shape, content in everything:
                if shape.kind.is_keyed is keyed:
                    self._put(value, shape, content)
        return self._value(self._told["result"])

    def _make(self) -> None:
        """Blank ones first; those that hold something from the start after what they hold."""
        late = []
        for number, (shape, (_, label, *_)) in enumerate(
            zip(self._shapes, self._told["new"], strict=True)
        ):
            if shape.kind.blank is not None:
                self._made(number, shape.kind.blank(shape.of, label))
            else:
                late.append(number)
        done = set(range(len(self._new))).difference(late)
        for first in late:
            work = [first]
            while work:
                number = work[-1]
                parts = self._told["new"][number][2]
                missing = [each[1] for each in parts if _is_new(each) and each[1] not in done]
                if missing and number not in done:
                    work += missing
                    continue
                work.pop()
                if number not in done:
                    self._whole(number)
                    done.add(number)

    def _made(self, number: int, value: Any) -> None:
        self._new[number] = value
        if number in self._numbers:
            self._give(value, self._numbers[number])

    def _whole(self, number: int) -> None:
        shape, (_, label, parts, names, slots) = self._shapes[number], self._told["new"][number]
        own = parts[: len(parts) - len(names) - len(slots)]
        assert shape.kind.whole is not None
        self._made(number, shape.kind.whole(shape.of, label, [self._value(each) for each in own]))

    def _value(self, told: Any) -> Any:
        if isinstance(told, list) and told[0] == _OLD:
            return self._old[told[1]]
        if _is_new(told):
            return self._new[told[1]]
        return value_of(told)

    def _put(self, value: Any, shape: Shape, told: Sequence[Any]) -> None:
        label, parts, names, slots = told
        held = tuple(self._value(each) for each in parts)
        put(value, Content(shape, label, held, tuple(names), tuple(slots)))


def _is_new(told: Any) -> bool:
    return isinstance(told, list) and bool(told) and told[0] == _NEW


def as_line(told: Mapping[str, Any]) -> str:
    """One line of a file."""
    return json.dumps(told, separators=(",", ":")) + "\n"
