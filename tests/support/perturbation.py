"""Checks slices: makes calls outside a slice go wrong, and compares the marked part.

A call goes wrong in three ways: it returns or yields another value, or a false one instead of a
true one, or it changes everything that it can reach. Calls that return booleans, None or numbers
come first: conditions are mostly influenced by them, and leave no other trace.
"""

from __future__ import annotations

import contextlib
import functools
import io
import random
from collections.abc import Iterator
from dataclasses import dataclass
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from marked_runs import Marked

from whence.langs.python.provenance.influence_slices import influencing_calls
from whence.langs.python.provenance.marked_parts import NoSuchPart, Step, criterion
from whence.langs.python.provenance.rewriter.rewriting_importer import Modules, run_source
from whence.langs.python.provenance.runtime import call_entry, generators
from whence.langs.python.provenance.runtime.run_state import RUN
from whence.langs.python.provenance.runtime.shadow_switch import SWITCH
from whence.langs.python.provenance.tags import Activation

_SHARED = (type, FunctionType, ModuleType, BuiltinFunctionType)
_DEPTH = 4


class _Endless(BaseException):
    """The run made too many calls after a value was changed."""


Address = tuple[tuple[str, int], ...]
"""For each call from the top down: its name, and its index among such calls of its caller."""


@dataclass(frozen=True)
class Mark:
    """A part of the result of a call."""

    call: Address
    steps: tuple[Step, ...]


def address(activation: Activation) -> Address:
    """Identifies a call in another run, in which other calls may make more or fewer calls."""
    parent = activation.parent
    if parent is None:
        return ()
    same = [each for each in parent.calls if each.name == activation.name]
    return (*address(parent), (activation.name, same.index(activation)))


def other(value: Any) -> Any:
    """A different value of the same type."""
    kind = type(value)
    if kind is bool:
        return not value
    if kind in {int, float}:
        return value + 17
    if kind is str:
        return value + "~"
    if kind is list:
        return [*reversed(value), 77]
    if kind is tuple:
        return tuple(reversed(value)) if len(value) > 1 else value
    if kind is dict:
        return {key: other(each) for key, each in value.items()}
    if kind is bytes:
        return value + b"~"
    if kind in {set, frozenset}:
        return value ^ {99}
    return 99 if value is None else value


def emptied(value: Any) -> Any:
    """A false value of the same type, or None."""
    return type(value)() if type(value) in {int, float, str, list, tuple, dict} else None


_DECIDING = (bool, type(None), int)
_WAYS = {"result": other, "false": emptied}


def _held(value: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The places of an object: a container, a key, and what is there."""
    if type(value) is list:
        yield from ((value, place, each) for place, each in enumerate(value))
    elif type(value) is dict:
        yield from ((value, key, each) for key, each in list(value.items()))
    elif not isinstance(value, _SHARED) and hasattr(value, "__dict__"):
        yield from ((vars(value), name, each) for name, each in list(vars(value).items()))


def change_heap(activation: Activation) -> None:
    """Change all that a call could have changed."""
    seen: set[int] = set()
    pending = [(each, 0) for each in activation.values]
    while pending:
        value, depth = pending.pop()
        if id(value) in seen or depth > _DEPTH:
            continue
        seen.add(id(value))
        if type(value) is tuple:
            pending += [(each, depth + 1) for each in value]
        for owner, key, each in _held(value):
            pending.append((each, depth + 1))
            changed = other(each)
            if changed is not each:
                owner[key] = changed


def shown(value: Any, depth: int = 0) -> Any:
    """A value as text, without running its code."""
    if depth > _DEPTH:
        return "…"
    if type(value) in {list, tuple}:
        return [type(value).__name__, *(shown(each, depth + 1) for each in value)]
    if type(value) in {set, frozenset}:
        return sorted(map(repr, value))
    if isinstance(value, dict):
        return {str(key): shown(each, depth + 1) for key, each in dict.items(value)}
    if isinstance(value, _SHARED):
        return value.__name__
    if hasattr(value, "__dict__"):
        held = {name: shown(each, depth + 1) for name, each in vars(value).items()}
        return [type(value).__name__, held]
    has_plain_repr = getattr(type(value), "__repr__") is object.__repr__  # noqa: B009
    if has_plain_repr or callable(value) or hasattr(value, "__next__"):
        return type(value).__name__
    return repr(value)


class _Run:
    """A run with a mark, in which one call may go wrong."""

    def __init__(self, mark: Mark | None, wrong: int = 0, how: str = "", limit: int = 200_000):
        self.mark = mark
        self.wrong = wrong
        self.how = how
        self.limit = limit
        self.found: Any = None
        self.shown: Any = None
        self.marks: list[Mark] = []

    def on_enter(self, activation: Activation) -> None:
        if activation.number > self.limit:
            raise _Endless

    def on_leave(self, activation: Activation) -> None:
        mark = self.mark
        if activation.result is None:
            return
        if mark is None:
            paths = _paths(activation.value, 2)
            self.marks += [Mark(address(activation), path) for path in paths]
            return
        if activation.name != mark.call[-1][0] or address(activation) != mark.call:
            return
        with contextlib.suppress(NoSuchPart):
            self.found = criterion(activation, activation.value, activation.result, mark.steps)
            self.shown = shown(self.found.value)

    def run(self, source: str) -> bool:
        """Whether it came to its end."""

        return_, out_ = call_entry.return_value, generators.yield_value

        def changed(activation: Activation, given: Any) -> Any:
            if activation.number == self.wrong and self.how in _WAYS:
                return _WAYS[self.how](given[0]), given[1]
            return given

        def returned(activation: Activation, control: Any, site: int, given: Any) -> Any:
            return return_(activation, control, site, changed(activation, given))

        def out(activation: Activation, site: int, control: Any, given: Any) -> Any:
            return out_(activation, site, control, changed(activation, given))

        def leave(activation: Activation) -> None:
            if activation.number == self.wrong and self.how == "heap":
                change_heap(activation)
            call_entry.end_activation(activation)

        names: Any = SWITCH.names
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
            patch.setattr(names, "return_value", returned)
            patch.setattr(call_entry, "return_value", returned)  # what lambda expressions return
            patch.setattr(names, "yield_value", out)
            patch.setattr(names, "leave_function", _leaving(leave))
            try:
                run_source(_code(source), on_enter=self.on_enter, on_leave=self.on_leave)
            except (Exception, SystemExit, _Endless):
                return False
        return True


@functools.lru_cache(maxsize=4)
def _code(source: str) -> CodeType:
    return Modules(dual=False).code(source, "program.py")


def _leaving(leave: Any) -> Any:
    import sys

    def left(activation: Activation) -> None:
        RUN.time += 1
        activation.end = RUN.time
        RUN.frames.pop(id(sys._getframe(1)), None)
        leave(activation)

    return left


def some_marks(source: str, count: int, seed: int = 0) -> list[Mark]:
    """Marks on parts of results, chosen at random."""
    run = _Run(None)
    run.run(source)
    numbers = random.Random(seed)
    return numbers.sample(run.marks, min(count, len(run.marks)))


def paths(source: str, function: str) -> list[tuple[Step, ...]]:
    """The ways to what the first call of a function returns, and to its parts."""
    run = _Run(Mark(((function, 0),), ()))
    assert run.run(source), "the program came to its end"
    assert run.found is not None
    return _paths(run.found.value, 1)


def _paths(value: Any, depth: int) -> list[tuple[Step, ...]]:
    found: list[tuple[Step, ...]] = [()]
    if not depth:
        return found
    parts: list[tuple[Step, Any]] = []
    if type(value) in {list, tuple}:
        parts = [(("item", place), each) for place, each in enumerate(value[:4])]
    elif type(value) is dict:
        keys = [key for key in value if type(key) in {int, str}][:4]
        parts = [(("item", key), value[key]) for key in keys]
    elif not isinstance(value, _SHARED) and hasattr(value, "__dict__"):
        parts = [(("attribute", name), each) for name, each in list(vars(value).items())[:4]]
    for step, part in parts:
        found += [(step, *rest) for rest in _paths(part, depth - 1)]
    return found


@dataclass(frozen=True)
class Checked:
    """The calls outside the slice of a mark that changed its part, and how many were tried."""

    violations: tuple[str, ...]
    tried: int
    inside: int
    calls: int


def check(source: str, mark: Mark, width: int = 3, most: int = 40) -> Checked:
    """Make calls outside the slice of a mark go wrong, one by one."""
    base = _Run(mark)
    base.run(source)
    assert base.found is not None, "the mark was found again"
    marked: Activation = base.found.activation
    before = base.shown
    inside = {each.number for each in influencing_calls(base.found, width)}
    others = [
        each
        for each in RUN.activations
        if each.function is not None
        and each.number not in inside
        and each is not marked
        and 0 <= each.end <= marked.end
    ]
    names = {each.number: each.name for each in others}
    total = len(RUN.activations)
    random.Random(str(mark)).shuffle(others)
    others.sort(key=lambda each: type(each.value) not in _DECIDING)
    numbers = [each.number for each in others[:most]]
    wrong: list[str] = []
    for number in numbers:
        for how in (*_WAYS, "heap"):
            again = _Run(mark, number, how, limit=20 * total + 1000)
            again.run(source)
            if again.found is None:
                continue  # the marked call was not reached
            after = again.shown
            if after != before:
                wrong.append(f"{names[number]} {number} ({how}): {before} became {after}")
    return Checked(tuple(wrong), 3 * len(numbers), len(inside), total)


__all__ = ["Checked", "Mark", "Marked", "check", "paths", "some_marks"]


def check_form(source: str) -> None:
    """Of each part of what a program's `main` returns: no call outside its widest slice changes it,
    and some are inside."""
    inside = 0
    for path in paths(source, "main"):
        mark = Mark((("main", 0),), path)
        checked = check(source, mark, most=12)
        assert checked.violations == (), mark
        inside += checked.inside
    assert inside, "something is in the slices"
