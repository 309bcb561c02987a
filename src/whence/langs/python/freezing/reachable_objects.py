"""All objects that a call can reach, as they are when it begins, and which of them change.

*Near* objects are reached from the call's arguments, its function, the frames below it and the
program's own modules; *far* objects only through other modules. Another run finds an object again
by its place: the root or holder from which it is reached, and as which part.

Invariant: two runs that did the same up to a call find the same objects at the same places.
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Callable, Iterator, Sequence

from whence.langs.python.objects.atoms import Json
from whence.langs.python.objects.object_content import ObjectContent, read_content
from whence.langs.python.objects.object_kinds import CLASS, ProgramObject, variables_of_module
from whence.langs.python.objects.object_walk import ObjectWalk, Root, is_atom
from whence.langs.python.objects.raw_class import full_name
from whence.langs.python.record import _recorder, frame_values

_OURS = "whence"
_FUNCTION, _CODE, _VARIABLE, _MODULE = "function", "code", "variable", "module"
_OTHER = "other"
_FIRST_SMALL, _LAST_SMALL = -5, 256
"""Integers of which the interpreter has only one object each."""

Place = Sequence[Json]
"""Where an object is: the number of its holder among the places before it, as which part, and its
class; or -1, a root, and its class."""


def _frames(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def variables_of(frame: types.FrameType) -> Iterator[tuple[str, ProgramObject]]:
    """The variables of a frame that have a value."""
    code = frame.f_code
    for name in dict.fromkeys((*code.co_varnames, *code.co_cellvars, *code.co_freevars)):
        value = frame_values.variable(frame, name)
        if value is not frame_values.UNBOUND:
            yield name, value


def _loaded_modules(*, ours: bool = False) -> Iterator[tuple[str, types.ModuleType]]:
    for name, module in list(sys.modules.items()):
        if not issubclass(type(module), types.ModuleType) or type(name) is not str:
            continue
        if ours or not _is_ours(name):
            yield name, module


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == _OURS


class FarObjects:
    """What can be reached from modules that are not the program's; walked again when it changed."""

    def __init__(self, is_users_module: Callable[[types.ModuleType], bool]) -> None:
        self.is_users_module = is_users_module
        self._walk: ObjectWalk | None = None

    def user_modules(self) -> Iterator[tuple[str, types.ModuleType]]:
        """The program's own modules."""
        return (item for item in _loaded_modules() if self.is_users_module(item[1]))

    def walk(self) -> ObjectWalk:
        """All far objects as they are now."""
        if self._walk is None or not self.are_unchanged():
            self._walk = self._new_walk()
            self._holders = _holders_of_references(self._walk)
            self._stateful = [
                (value, content)
                for value, content in zip(self._walk.objects, self._walk.contents, strict=True)
                if content.shape.kind.has_state and not content.shape.kind.is_cache
            ]
            """The objects that hold more than references."""
            self._checksum = _recorder.references(self._holders)
        return self._walk

    def are_unchanged(self) -> bool:
        """Whether each of them holds what it held."""
        assert self._walk is not None
        if _recorder.references(self._holders) != self._checksum:
            return False
        return all(content.is_same(read_content(value)) for value, content in self._stateful)

    def _new_walk(self) -> ObjectWalk:
        left_out: set[int] = set()
        roots: list[tuple[types.ModuleType, Root]] = []
        for name, module in _loaded_modules(ours=True):
            if _is_ours(name) or self.is_users_module(module):
                left_out |= {id(module), id(variables_of_module(module))}
            else:
                roots.append((module, [_MODULE, name]))
        walk = ObjectWalk(lambda value: id(value) in left_out or type(value) is types.CodeType)
        for module, root in roots:
            walk.enter(module, root)
        walk.walk()
        return walk


def _holders_of_references(walk: ObjectWalk) -> tuple[ProgramObject, ...]:
    """The objects whose references can change, with the dicts that hold their attributes."""
    holders: list[ProgramObject] = []
    for value, content in zip(walk.objects, walk.contents, strict=True):
        if content.can_change and not content.shape.kind.is_cache:
            holders.append(value)
            if content.attributes is not None:
                holders.append(content.attributes)
            elif content.shape.kind is CLASS:
                holders += [part for part in gc.get_referents(value) if type(part) is dict]
    return tuple(holders)


class ReachableObjects:
    """All objects as a call begins. Near ones have numbers from 0, far ones below 0."""

    def __init__(
        self, frame: types.FrameType, far_objects: FarObjects, *others: ProgramObject
    ) -> None:
        self._far_objects = far_objects
        self._far = far = far_objects.walk()
        ours = {id(module) for name, module in _loaded_modules(ours=True) if _is_ours(name)}
        self.near = near = ObjectWalk(
            lambda value: id(value) in far.index or id(value) in ours or is_atom(value)
        )
        self.arguments = [value for _, value in variables_of(frame)]
        near.enter(frame_values.function(frame), [_FUNCTION])
        for depth, below in enumerate(_frames(frame)):
            near.enter(below.f_code, [_CODE, depth])
            for name, value in variables_of(below):
                near.enter(value, [_VARIABLE, depth, name])
                if is_atom(value):
                    near.atoms.setdefault(id(value), [_VARIABLE, depth, name])
        for value in others:
            near.enter(value, [_OTHER])
        for name, module in far_objects.user_modules():
            near.enter(module, [_MODULE, name])
        near.walk()

    @property
    def opaque_class(self) -> str:
        """The class of a near object that cannot be seen in full; empty if there is none."""
        for content in self.near.contents:
            if content.shape.kind.is_opaque:
                return content.shape.of.__qualname__
        return ""

    def number(self, value: ProgramObject) -> int | None:
        """The number of an object that existed when the call began."""
        return self.number_at(id(value))

    def number_at(self, address: int) -> int | None:
        """The number of the object at an address."""
        near = self.near.index.get(address)
        if near is not None:
            return near
        far = self._far.index.get(address)
        return None if far is None else -1 - far

    def at(self, number: int) -> tuple[ProgramObject, ObjectContent]:
        """An object, and what it held when the call began."""
        walk, at = (self._far, -1 - number) if number < 0 else (self.near, number)
        return walk.objects[at], walk.contents[at]

    def found_in(self, value: ProgramObject) -> tuple[ProgramObject, Json] | None:
        """The holder of an object that existed, and as which part; or None and its root."""
        if type(value) is int and _FIRST_SMALL <= value <= _LAST_SMALL:
            return None
        for walk in (self.near, self._far):
            found_at = walk.found_at(value)
            if found_at is not None:
                if isinstance(found_at, tuple):
                    return walk.objects[found_at[0]], found_at[1]
                return None, found_at
        return None

    def changes(self) -> Iterator[tuple[int, ObjectContent]]:
        """The objects that hold something else now, by number."""
        yield from self.near.changes()
        if not self._far_objects.are_unchanged():
            for number, now in self._far.changes():
                # A library computes again what its cache lost, with the same result.
                if not now.shape.kind.is_cache:
                    yield -1 - number, now

    def all(self) -> Iterator[tuple[ProgramObject, ObjectContent]]:
        """All objects, and what they held when the call began."""
        for walk in (self.near, self._far):
            yield from zip(walk.objects, walk.contents, strict=True)


class ObjectMissing(Exception):
    """No object, or another one, is at a place."""


class ObjectFinder:
    """Finds objects by their places, as a call begins."""

    def __init__(self, frame: types.FrameType) -> None:
        self._frames = list(_frames(frame))
        self._contents: dict[int, ObjectContent] = {}

    def find_all(self, places: Sequence[Place]) -> list[ProgramObject]:
        """The objects at some places; a holder comes before its parts."""
        objects: list[ProgramObject] = []
        for holder_number, step, class_name in places:
            if holder_number < 0:
                value = self._root(step)
            else:
                holder = objects[holder_number]
                parts = self._content(holder).parts
                if step > len(parts):
                    raise ObjectMissing("other objects are there")
                value = type(holder) if step == len(parts) else parts[step]
            if full_name(type(value)) != class_name:
                raise ObjectMissing("other objects are there")
            objects.append(value)
        return objects

    def _content(self, value: ProgramObject) -> ObjectContent:
        content = self._contents.get(id(value))
        if content is None:
            content = self._contents[id(value)] = read_content(value)
        return content

    def _root(self, root: Sequence[Json]) -> ProgramObject:
        try:
            match root:
                case [str(kind)] if kind == _FUNCTION:
                    return frame_values.function(self._frames[0])
                case [str(kind), int(depth)] if kind == _CODE:
                    return self._frames[depth].f_code
                case [str(kind), int(depth), str(name)] if kind == _VARIABLE:
                    return frame_values.variable(self._frames[depth], name)
                case [str(kind), str(name)] if kind == _MODULE:
                    return sys.modules[name]
        except (IndexError, KeyError):
            pass
        raise ObjectMissing("other objects are there")
