"""Walks all objects that can be reached, in an order that is the same in every run.

Invariant: two runs that did the same so far find the same objects in the same order, each first as
the same part of the same holder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from whence.langs.python.objects.atoms import ATOM_IDS
from whence.langs.python.objects.object_content import ObjectContent, read_content
from whence.langs.python.objects.object_kinds import ProgramObject

MAX_OBJECTS = 1_000_000
Root = list[Any]
"""Where a walk starts, as JSON."""
FoundAt = tuple[int, int] | Root
"""The number of the holder and of its part; or a root."""
_WITH_IDENTITY = frozenset(map(id, (str, bytes, int, float)))
"""Atoms of which two can be equal and not identical."""


class TooManyObjects(Exception):
    """More objects can be reached than a walk visits."""


def is_atom(value: ProgramObject) -> bool:
    """Whether a value has no parts and no state of its own."""
    return id(type(value)) in ATOM_IDS


class ObjectWalk:
    """Objects in the order in which they are found, each with where it is found first."""

    def __init__(self, is_left_out: Callable[[ProgramObject], bool]) -> None:
        self.objects: list[ProgramObject] = []
        self.contents: list[ObjectContent] = []
        self.index: dict[int, int] = {}
        """The number of each object, by address."""
        self.atoms: dict[int, FoundAt] = {}
        """Where atoms are found whose identity the program may know."""
        self._found_at: list[FoundAt] = []
        self._is_left_out = is_left_out

    def enter(self, value: ProgramObject, found_at: FoundAt) -> None:
        """Add an object that was found; `walk` then visits its parts."""
        address = id(value)
        if address in self.index or self._is_left_out(value):
            return
        self.index[address] = len(self.objects)
        self.objects.append(value)
        self._found_at.append(found_at)

    def walk(self) -> None:
        """Visit all that can be reached from the objects that were entered."""
        objects, contents, enter = self.objects, self.contents, self.enter
        at = len(contents)
        while at < len(objects):
            if at > MAX_OBJECTS:
                raise TooManyObjects
            value = objects[at]
            content = read_content(value)
            contents.append(content)
            for step, part in enumerate((*content.parts, type(value))):
                if id(type(part)) not in ATOM_IDS:
                    enter(part, (at, step))
                elif id(type(part)) in _WITH_IDENTITY:
                    self.atoms.setdefault(id(part), (at, step))
            at += 1

    def changes(self) -> Iterator[tuple[int, ObjectContent]]:
        """The objects whose content is not what it was during the walk, by number."""
        for number, before in enumerate(self.contents):
            if before.can_change:
                now = read_content(self.objects[number])
                if not before.is_same(now):
                    yield number, now

    def found_at(self, value: ProgramObject) -> FoundAt | None:
        """Where an object is found first, or an atom whose identity may matter."""
        if is_atom(value):
            return self.atoms.get(id(value))
        number = self.index.get(id(value))
        return None if number is None else self._found_at[number]
