"""In the process of a re-run: notes what some calls do, or does it in their place.

A call that is noted is made; what it left is compared with what there was. A call that is frozen is
not made: its effects are played on the objects that are there, and what came of it is given back.
Where that cannot be it is made after all, which is always right.

Invariant: after a frozen call all is as it would be: objects, numbers of calls, and the hashes that
plain objects will get.
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
from typing import Any

from whence.langs.python.freezing import call_effects, reachable_objects
from whence.langs.python.freezing.call_effects import Noted, Played, Refused, as_line
from whence.langs.python.freezing.process_state import difference, surroundings
from whence.langs.python.freezing.reachable_objects import Heap, Modules, NotThere, TooLarge
from whence.langs.python.objects import class_slots, object_content
from whence.langs.python.objects.class_slots import above, own_names
from whence.langs.python.objects.object_content import Content
from whence.langs.python.objects.object_kinds import (
    CLASS,
    CODE,
    FUNCTION,
    MODULE,
    variables_of_module,
)
from whence.langs.python.record import _identity, _recorder
from whence.langs.python.record.journal import _interposition
from whence.langs.python.record.user_code import UserCode

MOST_SECONDS = 60.0
"""So long calls are looked at; those that come later are not."""
_BROKEN = 70
_ENDS = "an object whose end is noticed ends"


def start(order: str, user_code: UserCode) -> None:
    """Do what a file says, from here on; the recorder has been started."""
    for module in (call_effects, reachable_objects, class_slots, object_content):
        module.__dict__["id"] = _interposition.address  # which is not in the journal
    with open(order, encoding="utf-8") as file:  # noqa: PTH123
        told = json.load(file)
    if told["do"] == "note":
        noting = Noting(told["calls"], told["to"], user_code)
        _watch(noting.calls, noting.entered, noting.left)
        return
    with open(told["from"], encoding="utf-8") as file:  # noqa: PTH123
        lines = dict(line.split("\t", 1) for line in file)
    playing = Playing({int(number): text for number, text in lines.items()}, told["to"])
    _watch(playing.lines, playing.entered, _nothing)


def _watch(
    calls: Iterable[int], entered: Callable[..., object], left: Callable[..., object]
) -> None:
    _recorder.freeze(tuple(sorted(calls)), _aside(entered), _aside(left))


def _nothing(*_: Any) -> None:
    pass


def _aside(function: Callable[..., Any]) -> Callable[..., Any]:
    """The journal and the hashes of the program know nothing of it."""

    def called(*given: Any) -> Any:
        inside, aside = _interposition.inside(True), _identity.aside(True)
        try:
            return function(*given, sys._getframe(1))
        finally:
            _identity.aside(aside)
            _interposition.inside(inside)

    return called


def _append(path: str, ordinal: int, told: Mapping[str, Any]) -> None:
    with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123
        file.write(f"{ordinal}\t{as_line(told)}")


class Noting:
    """Notes what calls do, each told with how many calls it made and the code that it ran.

    What is looked at is held meanwhile. If something would have ended in the call, and somebody
    would have heard of that, the run is not what it was: then nothing more is noted.
    """

    def __init__(
        self, calls: Sequence[tuple[int, int, str, int]], to: str, user_code: UserCode
    ) -> None:
        self.calls = {ordinal: (made, name, line) for ordinal, made, name, line in calls}
        self._to = to
        self._user_code = user_code
        self._users: dict[int, bool] = {}
        self._modules = Modules(self._is_users)
        self._spent = 0.0
        self._heap: Heap | None = None
        self._is_over = False

    def entered(self, ordinal: int, _: bool, frame: types.FrameType) -> bool:
        """A call begins; whether its end is wanted."""
        if self._is_over:
            return False
        began = time.perf_counter()
        self._ordinal, self._frame = ordinal, frame
        try:
            why = self._look(frame)
        except Exception as problem:
            why = _own_fault(problem)
        if why:
            _append(self._to, ordinal, {"refused": why})
            self._heap = None
        self._began = time.perf_counter()
        self._spent += self._began - began
        return not why

    def _look(self, frame: types.FrameType) -> str:
        _, name, line = self.calls[self._ordinal]
        if (frame.f_code.co_qualname, frame.f_code.co_firstlineno) != (name, line):
            return f"{frame.f_code.co_qualname} is called in its place"
        if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            return "it is the body of a module or class"
        if self._spent > MOST_SECONDS:
            return "there are too many calls to be looked at"
        try:
            self._heap = Heap(frame, self._modules)
        except TooLarge:
            return "it can reach too many objects"
        if self._heap.unseen:
            return f"it can reach an object of {self._heap.unseen}, which cannot be looked into"
        self._around = surroundings()
        self._made = _made_calls()
        self._first = _identity.position()
        return "other threads run" if _thread._count() else ""

    def left(self, value: Any, returned: bool, frame: types.FrameType) -> None:
        """The call ends."""
        ended = time.perf_counter()
        heap, self._heap = self._heap, None
        told: dict[str, Any]
        try:
            if heap is None:
                return
            told = self._effects(heap, value, returned=returned)
            told["seconds"] = ended - self._began
        except _Heard as why:
            self._is_over = True
            told = {"refused": str(why), "over": True}
        except Refused as why:
            told = {"refused": str(why)}
        except Exception as problem:
            told = {"refused": _own_fault(problem)}
        _append(self._to, self._ordinal, told)
        self._frame = None
        self._spent += time.perf_counter() - ended

    def _effects(self, heap: Heap, value: Any, *, returned: bool) -> dict[str, Any]:
        calls = _made_calls() - self._made
        what = difference(self._around, surroundings())
        if what:
            raise Refused(what)
        if not returned:
            raise Refused("it raises something")
        if calls != self.calls[self._ordinal][0]:
            raise _Heard(f"{_ENDS} in it")
        assert self._frame is not None
        if not _can_give(self._frame.f_code, value):
            raise Refused("its code gives nothing but constants")
        code = self.calls[self._ordinal][1:]
        changes = list(heap.changes())
        self._check_ends(heap, changes, value)
        numbers = _identity.numbered(self._first)
        told = Noted(heap).of(changes, value, numbers)
        return {**told, "code": code, "calls": calls, "hashed": [self._first, _identity.position()]}

    def _check_ends(self, heap: Heap, changes: Sequence[tuple[int, Content]], value: Any) -> None:
        """What dies in a call must do so unheard."""
        if not changes:
            return
        environment = getattr(os.environ, "_data", None)
        if any(heap.at(number)[0] is environment for number, _ in changes):
            raise Refused("it changes the environment of processes")
        heard = [each for each, content in heap.all() if _ends_heard(each, content)]
        if not heard or self._frame is None or self._frame.f_back is None:
            return
        after = Heap(self._frame.f_back, self._modules, value)
        given = {id(each) for each in heap.given}
        for each in heard:
            if after.number(each) is None and id(each) not in given:
                raise _Heard(f"{_ENDS} in it: of {type(each).__qualname__}")

    def _is_users(self, module: types.ModuleType) -> bool:
        known = self._users.get(id(module))
        if known is None:
            held = variables_of_module(module)
            name, file = dict.get(held, "__name__"), dict.get(held, "__file__")
            known = name == "__main__" or (
                type(name) is str and type(file) is str and self._user_code.owns_module(name, file)
            )
            self._users[id(module)] = known
        return known

    _ordinal = 0
    _began = 0.0
    _frame: types.FrameType | None = None


class _Heard(Refused):
    """Something would have ended."""


def _own_fault(problem: Exception) -> str:
    return f"it could not be looked at ({type(problem).__name__}: {problem})"


def _made_calls() -> int:
    state = _recorder.state()
    return int(state["calls"]) + int(state["skipped"])


def _ends_heard(value: Any, content: Content) -> bool:
    """Whether somebody may notice that an object is gone."""
    kind = content.shape.kind
    if kind in (CLASS, FUNCTION, MODULE, CODE):
        return False
    return (
        kind.is_heard
        or any("__del__" in own_names(each) for each in above(type(value)))
        or (weakref.getweakrefcount(value) > 0)
    )


def _can_give(code: types.CodeType, value: Any) -> bool:
    """Whether there is a way out of the code with this."""
    if sys.version_info < (3, 12):
        return True
    return any(
        each.opname == "RETURN_VALUE"
        or (each.opname == "RETURN_CONST" and each.argval is value and (each.arg or 0) < 256)
        for each in dis.get_instructions(code)
    )


class Playing:
    """Plays what calls did, each from a line of JSON."""

    def __init__(self, lines: Mapping[int, str], to: str) -> None:
        self.lines = lines
        self._to = to

    def entered(
        self, ordinal: int, can_give: bool, frame: types.FrameType
    ) -> tuple[Any, int] | None:
        """A call begins; what comes of it, and how many calls it makes."""
        told = json.loads(self.lines[ordinal])
        first, following = told["hashed"]
        try:
            if not can_give:
                raise NotThere("it lies too deep in a recursion")
            code = frame.f_code
            if told["code"] != [code.co_qualname, code.co_firstlineno]:
                raise NotThere(f"{code.co_qualname} is called in its place")
            if _identity.position() != first:
                raise NotThere("other objects were hashed before it")
            played = Played(told, frame, _identity.give)
        except NotThere as why:
            _append(self._to, ordinal, {"not": str(why)})
            return None
        try:
            result = played.play()
            _identity.go_on(following)
        except BaseException as problem:  # half of it is done
            _append(self._to, ordinal, {"not": f"its effects cannot be played ({problem!r})"})
            os._exit(_BROKEN)
        _append(self._to, ordinal, {"played": True})
        return result, told["calls"]
