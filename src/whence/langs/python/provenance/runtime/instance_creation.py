"""Creating instances: calls of classes.

The interpreter calls the program's `__new__` and `__init__`; they are recognised by their code, so
that their arguments are known exactly. If a class's `__init__` was generated (dataclasses, named
tuples), the parameter names say which attribute each argument became.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from whence.langs.python.provenance.runtime.function_definitions import is_rewritten
from whence.langs.python.provenance.runtime.function_traits import is_computing_type
from whence.langs.python.provenance.runtime.kept_values import note_kept
from whence.langs.python.provenance.runtime.object_contents import stored_attributes
from whence.langs.python.provenance.runtime.opaque_holders import is_program_class, note_held
from whence.langs.python.provenance.runtime.out_of_sight_calls import (
    PreparedCall,
    count_operands,
    note_passed,
    out_of_sight_tag,
    resynchronise,
)
from whence.langs.python.provenance.runtime.run_state import RUN, Operation, PendingCall
from whence.langs.python.provenance.runtime.shadow_memory import (
    Candidates,
    shadow_for,
    shadow_of,
    shadow_sequence,
)
from whence.langs.python.provenance.runtime.type_inspection import class_attribute, stored_length
from whence.langs.python.provenance.runtime.world_state import (
    may_change_world,
    note_world_write,
    region_of,
)
from whence.langs.python.provenance.tags import NEW, SCALARS, STORE, Control, MaybeTag, Pair, Tag

_ANY = object()
_TYPE_CALL = type.__dict__["__call__"]


def prepare_instance(
    site: int, control: Control, called: Pair, arguments: tuple[Pair, ...],
    keywords: dict[str, Pair], stars: tuple[MaybeTag, ...],
) -> PreparedCall:  # fmt: skip
    """A call of a class."""
    kind, tag = called
    made: MaybeTag = Tag((NEW, site, control, None, tag))
    prepared = PreparedCall(called, arguments, keywords, _finish, made)
    operation = Operation(site, control, (*arguments, *keywords.values(), *count_operands(stars)))
    if class_attribute(type(kind), "__call__") is _TYPE_CALL:
        operation.expected = {}
        for name, first in (("__new__", tag), ("__init__", made)):
            function = _class_function(kind, name)
            if is_rewritten(function):
                pending = operation.expected[id(function.__code__)] = PendingCall(
                    function, tag, site, control, [first, *(tag for _, tag in arguments)],
                    [_ANY, *prepared.arguments], {key: tag for key, (_, tag) in keywords.items()},
                )  # fmt: skip
                pending.starred = stars
    note_passed(operation)
    prepared.in_sight = bool(operation.expected)
    return prepared.begin(operation)


def _class_function(kind: Any, name: str) -> Any:
    """The function that a class has under a name, without binding it."""
    function = class_attribute(kind, name)
    return function.__func__ if type(function) is staticmethod else function


def _finish(prepared: PreparedCall, value: Any) -> Pair:
    operation = prepared.operation
    assert operation is not None
    kind = prepared.called[0]
    init = _class_function(kind, "__init__")
    expected = operation.expected or {}
    ran = type(init) is FunctionType and id(init.__code__) not in expected
    if type(value) is not kind or operation.expected is None or not (ran and prepared.in_sight):
        region = region_of(kind) if not is_program_class(kind) else None
        tag = out_of_sight_tag(operation, value, prepared.called[1])
        if region is not None and may_change_world(kind):
            note_world_write(region, tag)
        if type(value) not in SCALARS and not is_computing_type(kind):
            note_kept(operation)
        if type(value) is kind and kind not in SCALARS:
            _shadow_by_signature(prepared, operation, value, init, _class_function(kind, "__new__"))
        resynchronise(operation)
        return value, tag
    for returned, tag in reversed(operation.callbacks):
        if returned is value:  # what a `__new__` of the program's own returned
            return value, tag
    if issubclass(type(value), BaseException):
        _shadow_exception_args(operation, prepared, value)
    return value, prepared.tag


def _shadow_by_signature(
    prepared: PreparedCall, operation: Operation, value: Any, init: object, new: object
) -> None:
    """What became of each argument, by the names of the parameters."""
    arguments = _arguments_by_name(prepared, operation, init, new)
    if issubclass(type(value), BaseException):
        _shadow_exception_args(operation, prepared, value)
    fields = class_attribute(type(value), "_fields")
    RUN.time += 1
    if (
        issubclass(type(value), tuple)
        and issubclass(type(fields), tuple)
        and len(fields) == stored_length(value)
    ):
        shadow = shadow_of(value)
        if shadow is not None and type(shadow.items) is list:
            for number, name in enumerate(fields):
                if name in arguments and arguments[name][0] is shadow.values[number]:
                    shadow.items[number] = _store_tag(operation, arguments[name][1])
        return
    candidates = Candidates(operation.site, operation.control, operation.operands)
    for name, part in stored_attributes(value).items():
        shadow = shadow_for(value)
        if name in arguments and arguments[name][0] is part:
            tag = arguments[name][1]
        elif shadow.attribute_values.get(name, _ANY) is part:
            continue
        else:
            tag = candidates.tag(part)
        shadow.attributes[name] = _store_tag(operation, tag)
        shadow.attribute_values[name] = part
        note_held(value, part)


def _store_tag(operation: Operation, tag: MaybeTag) -> MaybeTag:
    return Tag((STORE, operation.site, operation.control, tag, RUN.time))


def _arguments_by_name(
    prepared: PreparedCall, operation: Operation, init: object, new: object
) -> dict[str, Pair]:
    """The arguments by the parameters' names."""
    function = init if type(init) is FunctionType else new
    count = len(prepared.arguments)
    arguments: dict[str, Pair] = dict(
        zip(prepared.keywords, operation.operands[count:], strict=False)
    )
    if type(function) is FunctionType:
        code = function.__code__
        names = code.co_varnames[1 : code.co_argcount]
        arguments.update(zip(names, operation.operands[:count], strict=False))
    return arguments


def _shadow_exception_args(
    operation: Operation, prepared: PreparedCall, value: BaseException
) -> None:
    """An exception's `args`."""
    args = value.args
    arguments = operation.operands[: len(prepared.arguments)]
    shadow = shadow_for(value)
    RUN.time += 1
    if len(args) == len(arguments) and all(
        a is b for a, (b, _) in zip(args, arguments, strict=True)
    ):
        shadow_sequence(args, [_store_tag(operation, tag) for _, tag in arguments], None)
    shadow.attributes["args"] = _store_tag(operation, prepared.tag)
    shadow.attribute_values["args"] = args
