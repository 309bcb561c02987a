"""All objects that can be reached while a call runs, as they are when it begins, and what changes.

What is *near* can be reached from the call's arguments, its function, the frames that it stands on
and the program's own modules; what else there is, only by way of other modules. Each object is
found again in another run by its place: from where it is reached, and which part of which it is.

Invariant: two runs that went the same way up to a call find the same objects at the same places.
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from whence.langs.python.objects.atoms import ATOMS
from whence.langs.python.objects.object_content import Content, tell
from whence.langs.python.objects.object_kinds import CLASS, UNKNOWN, variables_of_module
from whence.langs.python.record import _recorder, frame_values

MOST = 1_000_000
"""More objects are not looked at."""
_OURS = "whence"
_FUNCTION, _CODE, _VARIABLE, _MODULE = "function", "code", "variable", "module"
_OTHER = "other"
_atoms = frozenset(map(id, ATOMS))
_told_apart = frozenset(map(id, (str, bytes, int, float)))
"""Atoms of which two may be equal and not one."""
_FIRST_SMALL, _LAST_SMALL = -5, 256
"""Whole numbers of which there is only one."""

Root = list[Any]
"""Where one begins to look."""
Place = Sequence[Any]
"""Of an object: which of those before it it is a part of, as which, and its class; or -1, a root,
and its class."""
IsUsers = Callable[[types.ModuleType], bool]


class TooLarge(Exception):
    """There is too much to be looked at."""


def is_atom(value: Any) -> bool:
    """Whether it is nothing but its value. (A class may have a hash of its own.)"""
    return id(type(value)) in _atoms


def type_name(value: Any) -> str:
    """What tells a class, as far as it must be told."""
    kind = type(value)
    known = _names.get(id(kind))
    if known is None:
        module, name = (type.__dict__[each].__get__(kind) for each in ("__module__", "__name__"))
        is_named = type(module) is str and module != "builtins"
        known = _names[id(kind)] = (kind, f"{module}.{name}" if is_named else str(name))
    return known[1]


_names: dict[int, tuple[type, str]] = {}
"""Of classes by their address, for a class may have a hash of its own."""


def _frames(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def variables_of(frame: types.FrameType) -> Iterator[tuple[str, Any]]:
    """The variables of a frame that are set."""
    code = frame.f_code
    for name in dict.fromkeys((*code.co_varnames, *code.co_cellvars, *code.co_freevars)):
        value = frame_values.variable(frame, name)
        if value is not frame_values.UNBOUND:
            yield name, value


class _Walk:
    """Objects in the order in which they are found, each with where it is found first."""

    def __init__(self, is_left_out: Callable[[Any], bool]) -> None:
        self.objects: list[Any] = []
        self.contents: list[Content] = []
        self.index: dict[int, int] = {}
        self.atoms: dict[int, tuple[int, int] | Root] = {}
        """Where atoms stand that the program may know by which object they are."""
        self._came: list[tuple[int, int] | Root] = []
        self._is_left_out = is_left_out

    def enter(self, value: Any, came: tuple[int, int] | Root) -> None:
        address = id(value)
        if address in self.index or self._is_left_out(value):
            return
        self.index[address] = len(self.objects)
        self.objects.append(value)
        self._came.append(came)

    def go_on(self) -> None:
        """To all that can be reached."""
        objects, contents, enter = self.objects, self.contents, self.enter
        at = len(contents)
        while at < len(objects):
            if at > MOST:
                raise TooLarge
            value = objects[at]
            content = tell(value)
            contents.append(content)
            for step, part in enumerate((*content.parts, type(value))):
                if id(type(part)) not in _atoms:
                    enter(part, (at, step))
                elif id(type(part)) in _told_apart:
                    self.atoms.setdefault(id(part), (at, step))
            at += 1

    def changes(self) -> Iterator[tuple[int, Content]]:
        """What holds something else now than it did."""
        for number, before in enumerate(self.contents):
            if before.can_change:
                now = tell(self.objects[number])
                if not before.is_now(now):
                    yield number, now

    def came(self, value: Any) -> tuple[int, int] | Root | None:
        """Where an object is found first, an atom too if it may matter which it is."""
        if is_atom(value):
            return self.atoms.get(id(value))
        number = self.index.get(id(value))
        return None if number is None else self._came[number]


class Modules:
    """What can be reached from modules that are not the program's: kept as long as it stays."""

    def __init__(self, is_users: IsUsers) -> None:
        self.is_users = is_users
        self._known: _Walk | None = None

    def users(self) -> Iterator[tuple[str, types.ModuleType]]:
        """The program's own modules."""
        return (each for each in _modules() if self.is_users(each[1]))

    def walk(self) -> _Walk:
        """All these objects as they are now."""
        if self._known is None or not self.are_the_same():
            self._known = self._walked()
            self._references = _references(self._known)
            self._state = _state(self._known)
            self._sum = _recorder.references(self._references)
        return self._known

    def are_the_same(self) -> bool:
        """Whether each of them holds what it did."""
        assert self._known is not None
        same = _recorder.references(self._references) == self._sum
        return bool(same) and all(each.is_now(tell(value)) for value, each in self._state)

    def _walked(self) -> _Walk:
        left_out: set[int] = set()
        roots = []
        for name, module in _modules(ours=True):
            if name.partition(".")[0] == _OURS or self.is_users(module):
                left_out |= {id(module), id(variables_of_module(module))}
            else:
                roots.append((module, [_MODULE, name]))
        found = _Walk(lambda value: id(value) in left_out or type(value) is types.CodeType)
        for module, root in roots:
            found.enter(module, root)
        found.go_on()
        return found


def _modules(*, ours: bool = False) -> Iterator[tuple[str, types.ModuleType]]:
    for name, module in list(sys.modules.items()):
        if not issubclass(type(module), types.ModuleType) or type(name) is not str:
            continue
        if ours or name.partition(".")[0] != _OURS:
            yield name, module


def _references(walk: _Walk) -> tuple[Any, ...]:
    """What has to be looked at to see whether an object refers to others than before."""
    found: list[Any] = []
    for value, content in zip(walk.objects, walk.contents, strict=True):
        if content.can_change and not content.shape.kind.is_memory:
            found.append(value)
            if content.held is not None:
                found.append(content.held)
            elif content.shape.kind is CLASS:
                found += [each for each in gc.get_referents(value) if type(each) is dict]
    return tuple(found)


def _state(walk: _Walk) -> list[tuple[Any, Content]]:
    """What has more than objects that it refers to."""
    return [
        (value, content)
        for value, content in zip(walk.objects, walk.contents, strict=True)
        if content.shape.kind.has_state and not content.shape.kind.is_memory
    ]


class Heap:
    """The objects as a call begins: the far ones first, then the near ones."""

    def __init__(self, frame: types.FrameType, modules: Modules, *others: Any) -> None:
        self._modules = modules
        self._far = far = modules.walk()
        ours = {id(each) for name, each in _modules(ours=True) if name.partition(".")[0] == _OURS}
        self.near = near = _Walk(
            lambda value: id(value) in far.index or id(value) in ours or is_atom(value)
        )
        self.given = [value for _, value in variables_of(frame)]
        """What the call was given."""
        near.enter(frame_values.function(frame), [_FUNCTION])
        for depth, each in enumerate(_frames(frame)):
            near.enter(each.f_code, [_CODE, depth])
            for name, value in variables_of(each):
                near.enter(value, [_VARIABLE, depth, name])
                if is_atom(value):
                    near.atoms.setdefault(id(value), [_VARIABLE, depth, name])
        for value in others:
            near.enter(value, [_OTHER])
        for name, module in modules.users():
            near.enter(module, [_MODULE, name])
        near.go_on()

    @property
    def unseen(self) -> str:
        """A near object that cannot be looked into: its class; nothing if there is none."""
        for content in self.near.contents:
            if content.shape.kind is UNKNOWN:
                return content.shape.of.__qualname__
        return ""

    def number(self, value: Any) -> int | None:
        """Of an object that was there."""
        near = self.near.index.get(id(value))
        return self.far_number(id(value)) if near is None else near

    def far_number(self, address: int) -> int | None:
        """Of one that is not near, below zero."""
        far = self._far.index.get(address)
        return None if far is None else -1 - far

    def at(self, number: int) -> tuple[Any, Content]:
        """An object, and what it held."""
        walk, at = self._where(number)
        return walk.objects[at], walk.contents[at]

    def origin(self, value: Any) -> tuple[Any, Any] | None:
        """What an object that was there is found in, and as which part; or None, and where it is
        reached from."""
        if type(value) is int and _FIRST_SMALL <= value <= _LAST_SMALL:
            return None
        for walk in (self.near, self._far):
            came = walk.came(value)
            if came is not None:
                is_part = isinstance(came, tuple)
                return (walk.objects[came[0]], came[1]) if is_part else (None, came)
        return None

    def _where(self, number: int) -> tuple[_Walk, int]:
        return (self._far, -1 - number) if number < 0 else (self.near, number)

    def changes(self) -> Iterator[tuple[int, Content]]:
        """What holds something else now than it did."""
        yield from self.near.changes()
        if not self._modules.are_the_same():
            for number, now in self._far.changes():
                # What a library remembers it finds out again, and gives the same.
                if not now.shape.kind.is_memory:
                    yield -1 - number, now

    def all(self) -> Iterator[tuple[Any, Content]]:
        """All objects, and what they held."""
        for walk in (self.near, self._far):
            yield from zip(walk.objects, walk.contents, strict=True)


class NotThere(Exception):
    """Nothing, or something else, is found at a place."""


class Finder:
    """Finds objects where they were, as a call begins."""

    def __init__(self, frame: types.FrameType) -> None:
        self._frames = list(_frames(frame))
        self._told: dict[int, Content] = {}

    def all(self, places: Sequence[Place]) -> list[Any]:
        """The objects at some places, each of which may be in one before it."""
        found: list[Any] = []
        for above, step, name in places:
            if above < 0:
                value = self._root(step)
            else:
                holder = found[above]
                parts = self._content(holder).parts
                if step > len(parts):
                    raise NotThere("other objects are there")
                value = type(holder) if step == len(parts) else parts[step]
            if type_name(value) != name:
                raise NotThere("other objects are there")
            found.append(value)
        return found

    def _content(self, value: Any) -> Content:
        told = self._told.get(id(value))
        if told is None:
            told = self._told[id(value)] = tell(value)
        return told

    def _root(self, root: Sequence[Any]) -> Any:
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
        raise NotThere("other objects are there")
