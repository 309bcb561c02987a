"""Generators and coroutines: what they yield and receive at each step."""

from __future__ import annotations

from collections.abc import Iterator
from types import AsyncGeneratorType, CoroutineType, FunctionType, GeneratorType
from typing import Any

from whence.langs.python.provenance.runtime.iteration import (
    iterate_pairs,
    iterator_of,
    loop_end,
    step_iterator,
)
from whence.langs.python.provenance.runtime.kept_values import passed_on_tag
from whence.langs.python.provenance.runtime.out_of_sight_calls import out_of_sight_result
from whence.langs.python.provenance.runtime.run_state import RUN, THREAD, Operation
from whence.langs.python.provenance.runtime.shadow_memory import Candidates, deep_tags
from whence.langs.python.provenance.runtime.type_inspection import (
    SEQUENCES,
    IdentitySet,
    class_attribute,
    has_special_method,
)
from whence.langs.python.provenance.tags import (
    ARG,
    CONST,
    OP,
    RET,
    SCALARS,
    Activation,
    Control,
    MaybeTag,
    Pair,
    Tag,
)

_STEPPED = IdentitySet(GeneratorType, CoroutineType, AsyncGeneratorType)


def yield_value(activation: Activation, site: int, control: Control, yielded: Pair) -> object:
    """Note the value that a generator yields, and return it."""
    value, tag = yielded
    made = Tag((RET, site, control, tag, activation))
    activation.note_yield(value, made)
    RUN.time += 1
    if RUN.on_out is not None:
        RUN.on_out(activation)
    operation = THREAD.operation = activation.operation
    if operation is not None:
        operation.callbacks.append((value, made))
        RUN.kept_operations.append((value, made))
    elif activation.control.site == 0:  # something out of sight has it
        RUN.kept_operations.append((value, made))
        RUN.stray_results = Tag((OP, 0, None, made, RUN.stray_results))
    return value


def resume_with(activation: Activation, site: int, control: Control, sent: object) -> Pair:
    """The value that a generator receives when it resumes."""
    activation.operation, THREAD.operation = THREAD.operation, None
    tag, activation.sent = activation.sent, None
    if sent is None and tag is None:
        return sent, Tag((CONST, site, control))
    if tag is None and activation.operation is not None:
        operation = activation.operation
        tag = Candidates(site, control, operation.operands).tag(sent)
    return sent, Tag((ARG, site, control, tag))


class _Delegate:
    """Iterates for `yield from` over something that is not the program's, noting each tag."""

    def __init__(self, activation: Activation, pairs: Any, site: int, control: Control):
        self._activation = activation
        self._pairs = pairs
        self._where = site, control

    def __iter__(self) -> _Delegate:
        return self

    def __next__(self) -> object:
        yielded = next(self._pairs)
        if self._activation.operation is not THREAD.operation:
            self._activation.operation = THREAD.operation
        return yield_value(self._activation, *self._where, yielded)


class _ExistingIterator:
    """An iterator that already exists: `yield from` must not ask for it again."""

    __slots__ = ("_iterator",)

    def __init__(self, iterator: Iterator[object]):
        self._iterator = iterator

    def __iter__(self) -> Iterator[object]:
        return self._iterator


def delegate(activation: Activation, site: int, control: Control, source: Pair) -> object:
    """What `yield from` iterates over."""
    THREAD.operation = activation.operation
    if type(source[0]) in _STEPPED:
        return source[0]
    if type(source[0]) in SEQUENCES:
        return _Delegate(activation, iterate_pairs(site, control, source), site, control)
    iterator = iterator_of(site, control, source)
    kind = type(iterator[0])
    if has_special_method(kind, "send") or type(class_attribute(kind, "__next__")) is FunctionType:
        return _ExistingIterator(iterator[0])  # code of the program, which notes its own tags
    return _Delegate(activation, step_iterator(site, control, iterator, source), site, control)


def end_delegation(
    activation: Activation, site: int, control: Control, source: Pair, value: object
) -> Pair:
    """The value of a `yield from` expression."""
    activation.operation, THREAD.operation = THREAD.operation, None
    loop_end(site, control, source, changes=True)  # that there is no more was decided
    return value, _run_tag(site, control, source, value)


def _run_tag(site: int, control: Control, source: Pair, value: object) -> MaybeTag:
    run = RUN.run_of(source[0]) if type(source[0]) in _STEPPED else None
    if run is not None and run.activation is not None:
        return Tag((RET, site, control, run.activation.result, run.activation, source[1]))
    if value is None and RUN.stray_results is None:
        return Tag((CONST, site, control))
    made = Tag((OP, site, control, *deep_tags((source,)), RUN.stray_results))
    operation = Operation(site, control, (source,))
    tag = made if type(value) in SCALARS else out_of_sight_result(operation, value, made, False)
    return passed_on_tag(operation, value, tag)


def await_result(site: int, control: Control, awaited: Pair, value: object) -> Pair:
    """The value of an `await` expression."""
    THREAD.operation, THREAD.pending = None, None
    return value, _run_tag(site, control, awaited, value)
