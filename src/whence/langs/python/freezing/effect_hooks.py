"""In the process of a re-run: records what some calls do, or does it instead of them.

A call whose effects are recorded runs; what it left is compared with what was there before. A
frozen call does not run: its effects are played on the objects of this process, and its recorded
result is returned. Where that is impossible the call runs, which is always right.

Invariant: after a frozen call everything is as the call would have left it: objects, the numbers of
calls, and the hashes that plain objects will get.
"""

from __future__ import annotations

import _thread
import dis
import inspect
import json
import os
import sys
import time
import types
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from whence.langs.python.freezing import call_effects, reachable_objects
from whence.langs.python.freezing.call_effects import (
    CannotFreeze,
    EffectPlayback,
    Effects,
    EffectWriter,
)
from whence.langs.python.freezing.process_state import first_change, process_state
from whence.langs.python.freezing.reachable_objects import (
    FarObjects,
    ObjectMissing,
    ReachableObjects,
)
from whence.langs.python.objects import class_slots, kind_table, object_content, object_walk
from whence.langs.python.objects.object_content import ObjectContent
from whence.langs.python.objects.object_kinds import (
    CLASS,
    CODE,
    FUNCTION,
    MODULE,
    ProgramObject,
    variables_of_module,
)
from whence.langs.python.objects.object_walk import TooManyObjects
from whence.langs.python.objects.raw_class import find_in_class
from whence.langs.python.record import _identity, _recorder
from whence.langs.python.record.journal import _interposition
from whence.langs.python.record.user_code import UserCode

MAX_SECONDS = 60.0
"""Later calls are not looked at."""
_HALF_PLAYED = 70
"""The exit status of a process in which effects were played in part."""
_FREED = "an object is freed in it, which the program may notice"
_Result = TypeVar("_Result")


def start(order_path: str, user_code: UserCode) -> None:
    """Do what the order in a file says, from here on. The recorder must have been started."""
    for module in (
        call_effects, reachable_objects, class_slots, kind_table, object_content, object_walk
    ):  # fmt: skip
        module.__dict__["id"] = _interposition.address  # the builtin goes through the journal
    with open(order_path, encoding="utf-8") as file:  # noqa: PTH123
        order = json.load(file)
    if order["do"] == "note":
        recorder = EffectRecorder(order["calls"], order["to"], user_code)
        _watch(recorder.calls, recorder.call_begins, recorder.call_ends)
        return
    with open(order["from"], encoding="utf-8") as file:  # noqa: PTH123
        lines = dict(line.split("\t", 1) for line in file)
    player = EffectPlayer({int(ordinal): line for ordinal, line in lines.items()}, order["to"])
    _watch(player.lines, player.call_begins, lambda value, returned, frame: None)


def _watch(
    calls: Iterable[int], begins: Callable[..., object], ends: Callable[..., object]
) -> None:
    _recorder.freeze(tuple(sorted(calls)), _unnoticed(begins), _unnoticed(ends))


def _unnoticed(function: Callable[..., _Result]) -> Callable[..., _Result]:
    """Keep what a hook does out of the journal and out of the hashes of the program's objects."""

    def hook(*arguments: object) -> _Result:
        inside, aside = _interposition.inside(True), _identity.aside(True)
        try:
            return function(*arguments, sys._getframe(1))
        finally:
            _identity.aside(aside)
            _interposition.inside(inside)

    return hook


def _append(path: str, ordinal: int, effects: Effects) -> None:
    with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123
        file.write(f"{ordinal}\t{json.dumps(effects, separators=(',', ':'))}\n")


class EffectRecorder:
    """Records what calls do. Each comes with its number of calls, its code and its line.

    Objects are kept alive while a call is watched. If one would have been freed in the call, and
    the program would have noticed, this run differs from the recording; then nothing more is
    recorded.
    """

    def __init__(
        self, calls: Sequence[tuple[int, int, str, int]], to: str, user_code: UserCode
    ) -> None:
        self.calls = {ordinal: (made, name, line) for ordinal, made, name, line in calls}
        self._to = to
        self._user_code = user_code
        self._is_users: dict[int, bool] = {}
        self._far_objects = FarObjects(self._is_users_module)
        self._seconds = 0.0
        self._before: ReachableObjects | None = None
        self._is_over = False

    def call_begins(self, ordinal: int, _: bool, frame: types.FrameType) -> bool:
        """Walk all that the call can reach; return whether the hook for its end is wanted."""
        if self._is_over:
            return False
        began = time.perf_counter()
        self._ordinal, self._frame = ordinal, frame
        try:
            reason = self._walk_reachable(frame)
        except Exception as problem:
            reason = _unexpected(problem)
        if reason:
            _append(self._to, ordinal, {"refused": reason})
            self._before = None
        self._began = time.perf_counter()
        self._seconds += self._began - began
        return not reason

    def _walk_reachable(self, frame: types.FrameType) -> str:
        """Why the effects of the call cannot be recorded; empty if they can."""
        _, name, line = self.calls[self._ordinal]
        if (frame.f_code.co_qualname, frame.f_code.co_firstlineno) != (name, line):
            return f"{frame.f_code.co_qualname} is called in its place"
        if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            return "it is the body of a module or class"
        if self._seconds > MAX_SECONDS:
            return "there are too many calls to be looked at"
        try:
            self._before = ReachableObjects(frame, self._far_objects)
        except TooManyObjects:
            return "it can reach too many objects"
        opaque = self._before.opaque_class
        if opaque:
            return f"it can reach an object of {opaque}, which cannot be looked into"
        self._process_state = process_state()
        self._calls_before = _count_calls()
        self._first_hash = _identity.position()
        return "other threads run" if _thread._count() else ""

    def call_ends(self, value: ProgramObject, returned: bool, frame: types.FrameType) -> None:
        """Write what the call did."""
        ended = time.perf_counter()
        before, self._before = self._before, None
        effects: Effects
        try:
            if before is None:
                return
            effects = self._effects(before, value, returned=returned)
            effects["seconds"] = ended - self._began
        except _FreedNoticeably as reason:
            self._is_over = True
            effects = {"refused": str(reason), "over": True}
        except CannotFreeze as reason:
            effects = {"refused": str(reason)}
        except Exception as problem:
            effects = {"refused": _unexpected(problem)}
        _append(self._to, self._ordinal, effects)
        self._frame = None
        self._seconds += time.perf_counter() - ended

    def _effects(
        self, before: ReachableObjects, value: ProgramObject, *, returned: bool
    ) -> Effects:
        calls = _count_calls() - self._calls_before
        change = first_change(self._process_state, process_state())
        if change:
            raise CannotFreeze(change)
        if not returned:
            raise CannotFreeze("it raises something")
        recorded_calls, *code = self.calls[self._ordinal]
        if calls != recorded_calls:
            raise _FreedNoticeably(_FREED)
        assert self._frame is not None
        if not _can_return(self._frame.f_code, value):
            raise CannotFreeze("its code gives nothing but constants")
        changes = list(before.changes())
        self._check_freed(before, changes, value)
        numbers = _identity.numbered(self._first_hash)
        effects = EffectWriter(before).write(changes, value, numbers)
        hashed = [self._first_hash, _identity.position()]
        return {**effects, "code": code, "calls": calls, "hashed": hashed}

    def _check_freed(
        self,
        before: ReachableObjects,
        changes: Sequence[tuple[int, ObjectContent]],
        value: ProgramObject,
    ) -> None:
        """The program must not notice the end of an object that is freed in the call."""
        if not changes:
            return
        environment = getattr(os.environ, "_data", None)
        if any(before.at(number)[0] is environment for number, _ in changes):
            raise CannotFreeze("it changes the environment of processes")
        noticed = [thing for thing, content in before.all() if _freeing_is_noticed(thing, content)]
        if not noticed or self._frame is None or self._frame.f_back is None:
            return
        after = ReachableObjects(self._frame.f_back, self._far_objects, value)
        arguments = {id(argument) for argument in before.arguments}
        for thing in noticed:
            if after.number(thing) is None and id(thing) not in arguments:
                raise _FreedNoticeably(f"{_FREED}: of {type(thing).__qualname__}")

    def _is_users_module(self, module: types.ModuleType) -> bool:
        is_users = self._is_users.get(id(module))
        if is_users is None:
            variables = variables_of_module(module)
            name, file = dict.get(variables, "__name__"), dict.get(variables, "__file__")
            is_users = name == "__main__" or (
                type(name) is str and type(file) is str and self._user_code.owns_module(name, file)
            )
            self._is_users[id(module)] = is_users
        return is_users

    _ordinal = 0
    _began = 0.0
    _frame: types.FrameType | None = None


class _FreedNoticeably(CannotFreeze):
    """An object would have been freed, and the program would have noticed."""


def _unexpected(problem: Exception) -> str:
    return f"it could not be looked at ({type(problem).__name__}: {problem})"


def _count_calls() -> int:
    state = _recorder.state()
    return int(state["calls"]) + int(state["skipped"])


def _freeing_is_noticed(value: ProgramObject, content: ObjectContent) -> bool:
    """Whether the program may notice that an object is freed."""
    kind = content.shape.kind
    if kind in (CLASS, FUNCTION, MODULE, CODE):
        return False
    has_method = find_in_class(type(value), "__del__") is not None
    return kind.has_finalizer or has_method or weakref.getweakrefcount(value) > 0


def _can_return(code: types.CodeType, value: ProgramObject) -> bool:
    """Whether the code has an instruction that can return this."""
    if sys.version_info < (3, 12):
        return True
    return any(
        instruction.opname == "RETURN_VALUE"
        or (
            instruction.opname == "RETURN_CONST"
            and instruction.argval is value
            and (instruction.arg or 0) < 256
        )
        for instruction in dis.get_instructions(code)
    )


class EffectPlayer:
    """Plays what calls did, each from a line of JSON."""

    def __init__(self, lines: Mapping[int, str], to: str) -> None:
        self.lines = lines
        self._to = to

    def call_begins(
        self, ordinal: int, can_skip: bool, frame: types.FrameType
    ) -> tuple[ProgramObject, int] | None:
        """Play a call; its result and the number of its calls, or None if it must run."""
        effects: Effects = json.loads(self.lines[ordinal])
        first_hash, next_hash = effects["hashed"]
        try:
            if not can_skip:
                raise ObjectMissing("it lies too deep in a recursion")
            code = frame.f_code
            if effects["code"] != [code.co_qualname, code.co_firstlineno]:
                raise ObjectMissing(f"{code.co_qualname} is called in its place")
            if _identity.position() != first_hash:
                raise ObjectMissing("other objects were hashed before it")
            playback = EffectPlayback(effects, frame, _identity.give)
        except ObjectMissing as reason:
            _append(self._to, ordinal, {"not": str(reason)})
            return None
        try:
            result = playback.play()
            _identity.go_on(next_hash)
        except BaseException as problem:  # the process cannot go on like this
            _append(self._to, ordinal, {"not": f"its effects cannot be played ({problem!r})"})
            os._exit(_HALF_PLAYED)
        _append(self._to, ordinal, {"played": True})
        return result, effects["calls"]
