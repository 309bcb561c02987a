"""Generators and coroutines: what they give out and are sent, each time they go on."""

from __future__ import annotations

from collections.abc import Iterator
from types import AsyncGeneratorType, CoroutineType, FunctionType, GeneratorType
from typing import Any

from whence.langs.python.provenance.runtime.iteration import (
    iterator_of,
    loop_end,
    pairs_of,
    stepped,
)
from whence.langs.python.provenance.runtime.run_state import HERE, RUN
from whence.langs.python.provenance.runtime.shadow_memory import Candidates, everything
from whence.langs.python.provenance.runtime.type_inspection import SEQUENCES, Kinds, found_in, has
from whence.langs.python.provenance.tags import (
    ARG,
    CONST,
    OP,
    RET,
    Activation,
    Control,
    Pair,
    Tag,
)

_STEPPED = Kinds(GeneratorType, CoroutineType, AsyncGeneratorType)


def out(activation: Activation, site: int, control: Control, given: Pair) -> Any:
    """What a generator yields."""
    value, tag = given
    made = (RET, site, control, tag, activation)
    activation.gave(value, made)
    RUN.time += 1
    if RUN.on_out is not None:
        RUN.on_out(activation)
    operation = HERE.operation = activation.operation
    if operation is not None:
        operation.callbacks.append((value, made))
    elif activation.control[1] == 0:  # something out of sight has it
        RUN.loose = (OP, 0, None, made, RUN.loose)
    return value


def resumed(activation: Activation, site: int, control: Control, sent: Any) -> Pair:
    """What a generator is sent when it goes on."""
    activation.operation, HERE.operation = HERE.operation, None
    tag, activation.sent = activation.sent, None
    if sent is None and tag is None:
        return sent, (CONST, site, control)
    if tag is None and activation.operation is not None:
        operation = activation.operation
        tag = Candidates(site, control, operation.operands).tag(sent)
    return sent, (ARG, site, control, tag)


class _Delegate:
    """What `yield from` goes over, if it is none of the program's own: all has its tag."""

    def __init__(self, activation: Activation, pairs: Any, site: int, control: Control):
        self._activation = activation
        self._pairs = pairs
        self._where = site, control

    def __iter__(self) -> _Delegate:
        return self

    def __next__(self) -> Any:
        given = next(self._pairs)
        if self._activation.operation is not HERE.operation:
            self._activation.operation = HERE.operation
        return out(self._activation, *self._where, given)


class _Begun:
    """An iterator that was asked for already: `yield from` must not ask again."""

    __slots__ = ("_iterator",)

    def __init__(self, iterator: Iterator[Any]):
        self._iterator = iterator

    def __iter__(self) -> Iterator[Any]:
        return self._iterator


def delegate(activation: Activation, site: int, control: Control, given: Pair) -> Any:
    """What `yield from` really goes over."""
    HERE.operation = activation.operation
    if type(given[0]) in _STEPPED:
        return given[0]
    if type(given[0]) in SEQUENCES:
        return _Delegate(activation, pairs_of(site, control, given), site, control)
    iterator = iterator_of(site, control, given)
    kind = type(iterator[0])
    if has(kind, "send") or type(found_in(kind, "__next__")) is FunctionType:
        return _Begun(iterator[0])  # code of the program, which tells what it gives
    return _Delegate(activation, stepped(site, control, iterator, given), site, control)


def delegated(activation: Activation, site: int, control: Control, given: Pair, value: Any) -> Pair:
    """What `yield from` gives in the end."""
    activation.operation, HERE.operation = HERE.operation, None
    loop_end(site, control, given, changes=True)  # that there is no more was decided
    return value, _run_tag(site, control, given, value)


def _run_tag(site: int, control: Control, given: Pair, value: Any) -> Tag:
    run = RUN.run_of(given[0]) if type(given[0]) in _STEPPED else None
    if run is not None and run.activation is not None:
        return (RET, site, control, run.activation.result, run.activation, given[1])
    if value is None and RUN.loose is None:
        return (CONST, site, control)
    made = (OP, site, control, *everything((given,)), RUN.loose)
    return Candidates(site, control, (given,), made).tag(value)


def waiting(given: Pair) -> Any:
    """What is awaited."""
    return given[0]


def awaited(site: int, control: Control, given: Pair, value: Any) -> Pair:
    """What came of it."""
    HERE.operation, HERE.pending = None, None
    return value, _run_tag(site, control, given, value)
