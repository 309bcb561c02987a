"""Describes a code object as a CODE record does.

Separate from `user_code`, which decides whether code is described at all. A backend calls it once
for each code object, and keeps the result.

Invariant: only the code object and the name of its module are read; nothing is run.
"""

from __future__ import annotations

import inspect
import opcode
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any

from whence.langs.python.record.backend import CodeDescription
from whence.langs.python.record.user_code import UserCode, module_name
from whence.langs.python.trace.trace_format import (
    ASYNC_GENERATOR,
    CLASS_BODY,
    COROUTINE,
    GENERATOR,
    LAMBDA,
    MODULE_BODY,
    STAR_ARGS,
    STAR_KWARGS,
)

_COMPILER_FLAGS = (
    (inspect.CO_VARARGS, STAR_ARGS),
    (inspect.CO_VARKEYWORDS, STAR_KWARGS),
    (inspect.CO_GENERATOR, GENERATOR),
    (inspect.CO_COROUTINE, COROUTINE),
    (inspect.CO_ASYNC_GENERATOR, ASYNC_GENERATOR),
)
_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
# The scope of the type parameters of `def f[T]` (3.12): it only makes the function or class.
_TYPE_PARAMETERS = "<generic parameters of "

_EXTENDED_ARG = opcode.opmap["EXTENDED_ARG"]
_LOAD_CONST = opcode.opmap["LOAD_CONST"]
_STORE_NAME = opcode.opmap["STORE_NAME"]
# The argument holds the number of the name, shifted by the bits that hold something else.
_GLOBAL_NAMES = tuple(
    (opcode.opmap[name], shift)
    for name, shift in (("LOAD_GLOBAL", 1), ("STORE_GLOBAL", 0), ("DELETE_GLOBAL", 0))
)
_CLASS_NAMES = tuple(
    (opcode.opmap[name], 0)
    for name in ("LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
    if name in opcode.opmap
)
_NOT_IMPLEMENTED = 1
"""The number of NotImplementedError among the interpreter's common constants (3.14)."""
# With each: whether its argument holds two variables, four bits each.
_REBINDING = tuple(
    (name, name.count("FAST") > 1)
    for name in (
        "STORE_FAST", "DELETE_FAST", "STORE_DEREF", "DELETE_DEREF", "STORE_FAST_MAYBE_NULL",
        "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "LOAD_FAST_AND_CLEAR",
    )
    # Operations from 256 on exist only inside the compiler.
    if opcode.opmap.get(name, 256) < 256
)  # fmt: skip
# The compiler makes every class body read it for `__module__`.
_READ_BY_EVERY_CLASS = "__name__"


class PythonCodeReader:
    """Distinguishes user code from other code, and describes it."""

    def __init__(self, user_code: UserCode, *, with_reads: bool = True):
        """`with_reads`: include the free variables and module variables that code reads."""
        self._user_code = user_code
        self._with_reads = with_reads

    def describe(self, code: CodeType, namespace: dict[str, Any]) -> CodeDescription | None:
        """The description of user code that runs in a namespace; None for all other code."""
        if not self._user_code.owns(code, namespace):
            return None
        flags = _flags(code)
        names: tuple[str, ...] = ()
        if self._with_reads:
            names = inputs_of_body(code) if flags & MODULE_BODY else global_names(code)
        transparent = is_transparent(code)
        counted = not transparent and not self._user_code.keeps(code, namespace)
        return CodeDescription(
            flags=flags,
            file=code.co_filename,
            module=module_name(namespace),
            qualname=code.co_qualname,
            first_line=code.co_firstlineno,
            parameters=_parameters(code),
            free_variables=code.co_freevars if self._with_reads else (),
            global_names=names,
            line_table=code.co_linetable,
            transparent=transparent or counted,
            counted=counted,
        )


def is_transparent(code: CodeType) -> bool:
    """Whether its calls count as calls of the function that contains it."""
    return (
        code.co_name in _COMPREHENSIONS
        or code.co_name.startswith(_TYPE_PARAMETERS)
        or _is_lazy_annotation(code)
    )


def _is_lazy_annotation(code: CodeType) -> bool:
    """Whether the compiler made it to evaluate annotations, a type alias or a bound when needed."""
    if sys.version_info < (3, 14) or code.co_posonlyargcount != 1:
        return False
    if code.co_varnames[0] == ".format":  # of an alias, a bound or a default
        return True
    if code.co_name != "__annotate__":
        return False
    # A function of the program may have that name, but only the compiler raises an exception by
    # this instruction.
    instructions = code.co_code
    raising = _uses(opcode.opmap["LOAD_COMMON_CONSTANT"], instructions[::2], instructions)
    return any(argument == _NOT_IMPLEMENTED for _, argument in raising)


def _flags(code: CodeType) -> int:
    flags = sum(ours for theirs, ours in _COMPILER_FLAGS if code.co_flags & theirs)
    if code.co_name == "<module>":
        return flags | MODULE_BODY
    if code.co_name == "<lambda>":
        return flags | LAMBDA
    # Of the remaining code, only a class body keeps its variables in a mapping.
    return flags if code.co_flags & inspect.CO_OPTIMIZED else flags | CLASS_BODY


def _parameters(code: CodeType) -> tuple[str, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:count]


def global_names(code: CodeType) -> tuple[str, ...]:
    """The module variables that code names, its comprehensions included, in order of use."""
    names: dict[str, None] = {}
    _collect_names(code, names)
    return tuple(names)


def _collect_names(code: CodeType, names: dict[str, None]) -> None:
    instructions = code.co_code
    operations = instructions[::2]
    wanted = _GLOBAL_NAMES
    if not code.co_flags & inspect.CO_OPTIMIZED:
        wanted += _CLASS_NAMES
    numbers = sorted(
        (place, argument >> shift)
        for operation, shift in wanted
        for place, argument in _uses(operation, operations, instructions)
    )
    for _, number in numbers:
        name = code.co_names[number]
        if name != _READ_BY_EVERY_CLASS:
            names[name] = None
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and is_transparent(constant):
            _collect_names(constant, names)


def inputs_of_body(code: CodeType) -> tuple[str, ...]:
    """The variables that the body of a module reads before it binds them, in order of use.

    A module that is imported makes all its variables itself. A cell of a notebook, and code that is
    passed to `exec`, may use those that were there before.
    """
    instructions = code.co_code
    operations = instructions[::2]
    reads = [
        (place, code.co_names[argument >> shift])
        for operation, shift in (*_GLOBAL_NAMES[:1], *_CLASS_NAMES)
        for place, argument in _uses(operation, operations, instructions)
    ]
    for place, number in _uses(_LOAD_CONST, operations, instructions):
        constant = code.co_consts[number]
        if isinstance(constant, CodeType) and is_transparent(constant):
            reads += [(place, name) for name in global_names(constant)]
    bound: dict[str, int] = {}
    for place, number in _uses(_STORE_NAME, operations, instructions):
        bound.setdefault(code.co_names[number], place)
    names = (name for place, name in sorted(reads) if place < bound.get(name, place + 1))
    return tuple(dict.fromkeys(name for name in names if not name.startswith("__")))


def rebound_names(code: CodeType) -> frozenset[str]:
    """The local variables, plain ones or cells, that code rebinds or deletes."""
    instructions = code.co_code
    operations = instructions[::2]
    names = set()
    for name, several in _REBINDING:
        for _, argument in _uses(opcode.opmap[name], operations, instructions):
            numbers = (argument >> 4, argument & 15) if several else (argument,)
            names |= {_variable(code, number) for number in numbers}
    return frozenset(names)


def _variable(code: CodeType, number: int) -> str:
    """The name of a variable by its number: plain ones, cells that are no parameters, free ones."""
    cells = tuple(name for name in code.co_cellvars if name not in code.co_varnames)
    return (*code.co_varnames, *cells, *code.co_freevars)[number]


def _uses(operation: int, operations: bytes, instructions: bytes) -> Iterator[tuple[int, int]]:
    """The places at which an operation occurs, each with its whole argument.

    `co_code` has the original operations, not the specialised ones, and zeroes for the inline
    caches; no operation that is searched here has the number 0.
    """
    place = operations.find(operation)
    while place >= 0:
        argument = instructions[2 * place + 1]
        before, shift = place - 1, 8
        while before >= 0 and operations[before] == _EXTENDED_ARG:
            argument |= instructions[2 * before + 1] << shift
            before, shift = before - 1, shift + 8
        yield place, argument
        place = operations.find(operation, place + 1)
