"""Calls, on the callee's side: a function finds the tags of its arguments and returns its own.

A rewritten function finds the tags of its arguments in the *pending call*, which names its code. A
function that code out of sight calls (a key function, an `__eq__`) finds its arguments by identity
among the operands of the running operation, and its result becomes an input of that operation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from whence.langs.python.provenance.rewriter.syntax_nodes import CONTROL, RUNTIME_NAMES
from whence.langs.python.provenance.runtime.function_definitions import DEFAULTS, defaults_of
from whence.langs.python.provenance.runtime.native_tagging import with_native
from whence.langs.python.provenance.runtime.opaque_holders import scan_existing_objects
from whence.langs.python.provenance.runtime.run_state import (
    RUN,
    THREAD,
    Operation,
    PendingCall,
    entry_for_frame,
)
from whence.langs.python.provenance.runtime.shadow_memory import (
    Candidates,
    deep_tags,
    shadow_for,
    shadow_mapping,
    shadow_sequence,
)
from whence.langs.python.provenance.runtime.tagged_operations import (
    note_failure,
    note_unexplained_error,
)
from whence.langs.python.provenance.tags import (
    ARG,
    FRAME,
    FUNCTIONS,
    INPUT,
    LOST,
    NEW,
    OP,
    RET,
    SITES,
    Activation,
    Control,
    FunctionInfo,
    MaybeTag,
    Pair,
    Tag,
)

FAILED = object()
"""The value of a callback that raised."""


@with_native
def enter_function(
    number: int, values: tuple[object, ...], of_lambda: FrameType | None = None
) -> tuple[Any, ...]:
    """Begin a function: returns its activation, its control and the tags of its arguments."""
    info = FUNCTIONS[number]
    frame = of_lambda or sys._getframe(1)
    here = THREAD
    pending, here.pending = here.pending, None
    operation, here.operation = here.operation, None
    is_direct = False
    if info.is_stepped:
        pending = entry_for_frame(frame, RUN.starting.pop(id(frame), None))
    elif pending is not None and _matches_pending(pending, frame, values):
        is_direct = True
    else:
        pending = _expected_call(operation, frame, values)
    if info.is_stepped and pending is not None:
        parent = pending.control.activation  # the call that made it
    else:
        maker = RUN.maker_of(frame) if info.is_stepped else None
        parent = maker or RUN.frames.get(id(frame.f_back)) or nearest_activation(frame)
    RUN.number += 1
    RUN.time += 1
    activation = Activation(RUN.number, info, parent)
    RUN.activations.append(activation)
    RUN.frames[id(frame)] = activation
    activation.start = RUN.time
    activation.values = values
    if info.global_names or info.free_names:
        activation.roots = reachable_roots(info, frame)
    activation.operation = None if is_direct else operation
    if pending is not None:
        pending.activation = activation
        if pending.run is not None:
            pending.run.activation = activation
            activation.made = pending.run.number
        control = Tag((FRAME, pending.site, pending.control, pending.tag, activation))
        activation.guarded = parent.guarded or SITES[pending.site].is_guarded or info.is_stepped
        tags = bind_arguments(info, pending, values, control)
    elif operation is not None and operation.activation is parent:
        activation.guarded = True
        control = Tag((FRAME, operation.site, operation.control, None, activation))
        tags = identify_arguments(operation, control, values)
    else:
        control = Tag((FRAME, 0, parent.control, RUN.passed_out_of_sight, activation))
        activation.guarded = activation.number > 1
        if activation.number == 1:
            scan_existing_objects((*values, *activation.roots, *info.fixed))
        tags = [Tag((INPUT, 0, control, name)) for name in _names(info)]
    activation.control = control
    activation.arguments = tuple(tags)
    if RUN.on_enter is not None:
        RUN.on_enter(activation)
    return (activation, control, *tags)


@with_native
def identify_arguments(
    operation: Operation, control: Control, values: tuple[object, ...]
) -> list[MaybeTag]:
    """The tags of arguments that code out of sight passes: found among its operands."""
    candidates = Candidates(operation.site, control, (*operation.operands, *operation.callbacks))
    return [Tag((ARG, operation.site, control, candidates.tag(value))) for value in values]


def _matches_pending(pending: PendingCall, frame: FrameType, values: tuple[object, ...]) -> bool:
    """Whether the function that begins is the pending call: the same code and values."""
    if pending.code is not frame.f_code:
        return False
    if not pending.values or not values:
        return True
    return values[0] is pending.values[0] or type(values[0]) is tuple  # perhaps `*rest`


def _expected_call(
    operation: Operation | None, frame: FrameType, values: tuple[object, ...]
) -> PendingCall | None:
    """The pending call of an instance's `__new__` or `__init__`, if one is being created."""
    if operation is None or operation.expected is None:
        return None
    pending = operation.expected.pop(id(frame.f_code), None)
    if pending is None:
        return None
    if operation.callbacks:  # the result of `__new__` decides whether `__init__` is called
        decisions = (tag for _, tag in operation.callbacks)
        pending.tag = Tag((OP, pending.site, pending.control, pending.tag, *decisions))
    arguments = pending.values[1:]
    same = all(a is b for a, b in zip(arguments, values[1 : 1 + len(arguments)], strict=False))
    return pending if same or len(values) < len(pending.values) else None


def nearest_activation(frame: FrameType) -> Activation:
    """The caller of a call: the nearest rewritten frame on the stack, or the call that started
    the thread. For a generator expression, the call that contains it.
    """
    outer = frame.f_back
    while outer is not None:
        activation = RUN.frames.get(id(outer)) or RUN.expression_of(outer)
        if activation is not None:
            return activation
        outer = outer.f_back
    return RUN.started_by()


def _names(info: FunctionInfo) -> list[str]:
    names = [*info.positional, *info.keyword_only]
    return names + ["*"] * info.has_rest + ["**"] * info.has_named_rest


def reachable_roots(info: FunctionInfo, frame: FrameType) -> tuple[object, ...]:
    """The objects that a function reaches through closures and module variables."""
    roots = [frame.f_globals.get(name) for name in info.global_names]
    if info.free_names:
        variables = frame.f_locals
        roots += [variables.get(name) for name in info.free_names]
    return tuple(roots)


def _changed_defaults(pending: PendingCall) -> MaybeTag:
    function = pending.defined
    holders = (function, function.__defaults__, function.__kwdefaults__)
    needs = deep_tags((holder, None) for holder in holders)
    return Tag((LOST, pending.site, pending.control, *needs, RUN.passed_out_of_sight))


@with_native
def bind_arguments(
    info: FunctionInfo, pending: PendingCall, values: tuple[Any, ...], control: Control
) -> list[MaybeTag]:
    """The tags of the arguments of a call, as the language binds them to parameters."""
    site, argument_tags, named = pending.site, pending.tags, pending.keyword_tags
    stars = pending.starred
    if len(argument_tags) == len(info.positional) == len(values):
        return [Tag((ARG, site, control, tag, *stars)) for tag in argument_tags]
    definition = DEFAULTS.get(id(pending.defined))
    defaults, named_defaults = (
        (definition[1], definition[2]) if definition is not None else ((), {})
    )
    if definition is not None:
        now = defaults_of(pending.defined)
        if len(now) != len(definition[3]) or any(
            a is not b for a, b in zip(now, definition[3], strict=True)
        ):  # others were set since
            changed = _changed_defaults(pending)
            defaults = (changed,) * len(pending.defined.__defaults__ or ())
            named_defaults = dict.fromkeys(pending.defined.__kwdefaults__ or (), changed)
    tags: list[MaybeTag] = []
    count = len(info.positional)
    for number, name in enumerate(info.positional):
        if number < len(argument_tags):
            tag = argument_tags[number]
        elif name in named:
            tag = named[name]
        else:
            index = number - (count - len(defaults))
            tag = defaults[index] if 0 <= index < len(defaults) else None
        tags.append(Tag((ARG, site, control, tag, *stars)))
    for name in info.keyword_only:
        tag = named[name] if name in named else named_defaults.get(name)
        tags.append(Tag((ARG, site, control, tag, *stars)))
    rest = count + len(info.keyword_only)
    if info.has_rest:
        more: list[MaybeTag] = [Tag((ARG, site, control, tag)) for tag in argument_tags[count:]]
        if len(more) == len(values[rest]) and more:
            shadow_sequence(values[rest], more, Tag((OP, site, control, *stars)) if stars else None)
        tags.append(Tag((NEW, site, control, None, *stars)))
        rest += 1
    if info.has_named_rest:
        entries = [
            (key, value, None, Tag((ARG, site, control, named.get(key))))
            for key, value in values[rest].items()
        ]
        shadow_mapping(values[rest], entries, Tag((OP, site, control, *stars)) if stars else None)
        tags.append(Tag((NEW, site, control, None, *stars)))
    return tags


@with_native
def return_value(activation: Activation, control: Control, site: int, result: Pair) -> Any:
    """Note the result of a function, and return it."""
    activation.result = Tag((RET, site, control, result[1], activation))
    activation.value = result[0]
    return result[0]


def raise_from(activation: Activation, control: Control, error: BaseException) -> None:
    """Note that a function ends with an exception."""
    note_current_error(activation, control, error)
    activation.result = None
    activation.failure = Tag((RET, 0, control, shadow_for(error).shape, activation))


def note_current_error(activation: Activation, control: Control, error: BaseException) -> None:
    """If an operation of this call just failed, note it as the source of the exception."""
    operation = THREAD.operation
    if operation is not None and operation.activation is activation:
        note_failure(operation, error)
    else:
        note_unexplained_error(control, error)
    THREAD.pending = None


@with_native
def leave_function(activation: Activation) -> None:
    """End a function."""
    run = RUN
    run.time += 1
    activation.end = run.time
    run.frames.pop(id(sys._getframe(1)), None)
    end_activation(activation)


def end_activation(activation: Activation) -> None:
    """End an activation and return to what ran before."""
    operation = THREAD.operation = activation.operation
    if operation is not None:
        if activation.result is not None:
            operation.callbacks.append((activation.value, activation.result))
        elif activation.failure is not None:  # `hasattr` and others catch it
            operation.callbacks.append((FAILED, activation.failure))
    elif activation.control.site == 0:
        RUN.stray_results = Tag(
            (OP, 0, None, activation.result, activation.failure, RUN.stray_results)
        )
    if RUN.on_leave is not None:
        RUN.on_leave(activation)


def run_lambda(
    number: int, site: int, values: tuple[object, ...], body: Callable[..., Pair]
) -> Any:
    """Run the body of a lambda expression."""
    frame = sys._getframe(1)
    activation, control, *tags = enter_function(number, values, frame)
    try:
        return return_value(activation, control, site, body(control, *tags))
    except BaseException as error:
        raise_from(activation, control, error)
        raise
    finally:
        RUN.time += 1
        activation.end = RUN.time
        RUN.frames.pop(id(frame), None)
        end_activation(activation)


def enter_module(module: int) -> tuple[Activation, Control]:
    """Begin a module that carries tags: it counts as part of the run itself."""
    RUN.note_namespace(sys._getframe(1).f_globals, module)
    return RUN.root, RUN.root.control


class ModuleBody:
    """Stands around the statements of a module: notes an exception with which they end."""

    __slots__ = ("_activation", "_namespace")

    def __init__(self, activation: Activation) -> None:
        self._activation = activation
        self._namespace = sys._getframe(1).f_globals

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, exception: BaseException | None, __: object) -> None:
        """Also delete the rewriter's variables from the module."""
        namespace = self._namespace
        if exception is not None:
            raise_from(self._activation, namespace[CONTROL], exception)
        for name in [variable for variable in namespace if variable.startswith(RUNTIME_NAMES)]:
            del namespace[name]
