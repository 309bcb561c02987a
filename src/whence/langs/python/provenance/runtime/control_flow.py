"""Exceptions, `with`, `match` and classes: control flow that is not a plain test."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from whence.langs.python.objects.raw_class import qualname_of
from whence.langs.python.provenance.rewriter.syntax_nodes import RUNTIME_NAMES, shadow_name
from whence.langs.python.provenance.runtime.call_entry import note_current_error
from whence.langs.python.provenance.runtime.call_sites import call_with_tags
from whence.langs.python.provenance.runtime.run_state import RUN, THREAD, Operation
from whence.langs.python.provenance.runtime.shadow_memory import (
    Candidates,
    deep_tags,
    shadow_for,
    shadow_from_candidates,
    shadow_mapping,
    shadow_of,
)
from whence.langs.python.provenance.runtime.tagged_operations import tags_in_frame
from whence.langs.python.provenance.runtime.type_inspection import (
    IdentitySet,
    class_attribute,
    has_special_method,
)
from whence.langs.python.provenance.tags import (
    BOUND,
    CTL,
    EXC,
    NEW,
    OP,
    SEL,
    STORE,
    Activation,
    Control,
    GeneratorRun,
    MaybeTag,
    Pair,
    Tag,
)

_CAPTURED = IdentitySet(list, dict)


def current_time() -> int:
    return RUN.time


def back_in_call(activation: Activation) -> None:
    """Note that control is back in a call, perhaps through an exception."""
    error = sys.exc_info()[1]
    if error is not None:
        note_current_error(activation, activation.control, error)
        THREAD.operation = None


def attempt(site: int, control: Control, attempted: Pair) -> Pair:
    """A value that was computed inside `try` or `with`: that this raised no exception decides what
    follows.
    """
    tag = attempted[1]
    if tag is not None:
        control.activation.note_decision(RUN.time, Tag((OP, site, control, tag)))
    return attempted


def enter_handler(activation: Activation, site: int, control: Control, started: int) -> Control:
    """The control of a handler: it depends on the exception, and on the calls since `started` that
    raised none.
    """
    error = sys.exc_info()[1]
    assert error is not None
    note_current_error(activation, control, error)
    THREAD.operation = None
    needs = _results_since(activation, started)
    if RUN.stray_results is not None:  # calls may have decided what `except` names
        needs.append(RUN.stray_results)
    why = shadow_for(error).shape
    if needs:
        why = Tag((OP, site, control, why, *needs))
    decided = Tag((CTL, site, control, why, control.activation, True))
    decided.activation.note_decision(RUN.time, decided)
    return decided


def exception_tag(site: int, control: Control) -> MaybeTag:
    """The tag of the exception that is being handled."""
    error = sys.exc_info()[1]
    shadow = shadow_of(error)
    return Tag((SEL, site, control, shadow.shape if shadow is not None else None))


def after_try(site: int, control: Control, handled: Control | None, started: int) -> Control:
    """The control after `try`: what was assigned there depends on how it went."""
    if handled is not None:
        return handled
    why = Tag((OP, site, control, *_results_since(control.activation, started)))
    return Tag((CTL, site, control, why, control.activation, False))


def _results_since(activation: Activation, started: int) -> list[MaybeTag]:
    """The tags of what the calls returned that a call made since some time."""
    needs: list[MaybeTag] = []
    for made in reversed(activation.calls):
        if made.start < started:
            break
        needs.append(made.result)
    return needs


def raise_value(site: int, control: Control, exception: Pair) -> object:
    """The exception that `raise` raises."""
    value, tag = exception
    if issubclass(type(value), type) and issubclass(value, BaseException):
        value, tag = call_with_tags(site, control, exception, (), {})
    if issubclass(type(value), BaseException):
        shadow = shadow_for(value)
        shadow.shape = Tag((EXC, site, control, tag, tag))
    return value


# --- with ----------------------------------------------------------------------------------------


class ContextManager:
    """The context manager that `with` uses: its methods are called with tags."""

    _NAMES = ("__enter__", "__exit__")

    def __init__(self, activation: Activation, site: int, control: Control, manager: Pair):
        self._where = site, control
        self._activation = activation
        self._enter, self._exit = (self._method(manager, name) for name in self._NAMES)

    def _method(self, manager: Pair, name: str) -> Pair:
        kind = type(manager[0])
        method = class_attribute(kind, name)
        if method is None:
            raise TypeError(_not_a_manager(kind, name, self._NAMES[1])) from None
        bound = (
            method.__get__(manager[0], kind)
            if has_special_method(type(method), "__get__")
            else method
        )
        return bound, Tag((BOUND, *self._where, name, manager[1]))

    def __enter__(self) -> Pair:
        return call_with_tags(*self._where, self._enter, (), {})

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> object:  # fmt: skip
        if error is not None:
            note_current_error(self._activation, self._where[1], error)
            THREAD.operation = None
        shadow = shadow_of(error) if error is not None else None
        tag = shadow.shape if shadow is not None else None
        arguments = ((kind, tag), (error, tag), (traceback, tag))
        value, why = call_with_tags(*self._where, self._exit, arguments, {})
        if error is not None:  # whether what follows is run
            needs = Tag((OP, *self._where, why, tag))
            decided = Tag((CTL, *self._where, needs, self._activation, True))
            self._activation.note_decision(RUN.time, decided)
        return value


def _not_a_manager(kind: type, missing: str, last: str) -> str:
    name = qualname_of(kind)
    if sys.version_info < (3, 14):
        what = "asynchronous context manager" if "a" in missing[2:3] else "context manager"
        method = f" (missed {last} method)" if missing == last else ""
        return f"'{name}' object does not support the {what} protocol{method}"
    return f"'{name}' object does not support the context manager protocol"


class AsyncContextManager(ContextManager):
    """The same for `async with`."""

    _NAMES = ("__aenter__", "__aexit__")

    async def __aenter__(self) -> Pair:
        entered = call_with_tags(*self._where, self._enter, (), {})
        return await entered[0], entered[1]

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> object:  # fmt: skip
        arguments = ((kind, None), (error, None), (traceback, None))
        return await call_with_tags(*self._where, self._exit, arguments, {})[0]


# --- match ---------------------------------------------------------------------------------------


def match_subject(site: int, control: Control, subject: Pair) -> Control:
    """The control of everything that depends on which pattern matches."""
    operation = THREAD.operation = Operation(site, control, (subject,))
    run = GeneratorRun()
    run.callbacks = operation.callbacks  # of the program's code that the patterns will call
    why = Tag((OP, site, control, *deep_tags((subject,)), Tag((NEW, site, control, run))))
    decided = Tag((CTL, site, control, why, control.activation, True))
    decided.activation.note_decision(RUN.time, decided)
    return decided


def capture_tag(site: int, control: Control, value: object, subject: Pair) -> MaybeTag:
    """The tag of a value that a pattern captured."""
    operation = THREAD.operation
    callbacks = operation.callbacks if operation is not None and operation.site == site else ()
    candidates = Candidates(site, control, (subject, *callbacks))
    tag = candidates.tag(value)
    if type(value) in _CAPTURED and tag is candidates.made and shadow_of(value) is None:
        shadow_from_candidates(value, candidates, depth=0)  # `*rest` and `**more` are made here
    return tag


def end_match() -> None:
    """After the patterns: they call no more code of the program."""
    THREAD.operation = None


# --- classes and names ---------------------------------------------------------------------------


_NOTHING = object()


def begin_class(site: int, control: Control) -> object:
    """Before a class body: what its statements call influences the class."""
    # What its statements read is unknown: if they fail, everything visible may be why.
    operands = tuple((_NOTHING, tag) for tag in tags_in_frame(sys._getframe(1)))
    operation, before = Operation(site, control, operands), THREAD.operation
    THREAD.operation = operation
    return operation, before


def end_class(opened: Any, made: object) -> MaybeTag:
    """After a class body: returns the tag of the class."""
    operation, before = opened
    THREAD.operation = before
    needs = deep_tags(operation.callbacks)
    tag = Tag((NEW, operation.site, operation.control, None, *needs))
    shadow_for(made).shape = tag  # `__init_subclass__` may have set attributes
    return tag


def frame_names(site: int, control: Control, names: Any) -> Pair:
    """The result of `locals()`, `vars()` or `dir()` in a function: the program's variables only."""
    tags = tags_in_frame(sys._getframe(1))
    shape: MaybeTag = Tag((OP, site, control, *tags))
    if type(names) is list:
        own_names = [name for name in names if not name.startswith(RUNTIME_NAMES)]
        return own_names, shape
    own = {name: value for name, value in names.items() if not name.startswith(RUNTIME_NAMES)}
    RUN.time += 1
    entries = [
        (name, value, None, Tag((STORE, site, control, names.get(shadow_name(name)), RUN.time)))
        for name, value in own.items()
    ]
    shadow_mapping(own, entries, shape)
    return own, Tag((NEW, site, control, None, shape))
