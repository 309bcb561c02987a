"""Describes a code object as a CODE record has it, from what the compiler left in it.

Apart from `user_code`, which decides whether there is anything to describe. Every backend calls
it the first time that it meets a code object and keeps the answer.

Invariant: only the code object and the name of its module are looked at; nothing is run.
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
# The number of the name is the argument, shifted by what else is packed into it.
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
"""Which of the interpreter's common constants NotImplementedError is (3.14)."""
# Whether the operation names two variables at once, of which the first 16 have numbers that fit.
_REBINDING = tuple(
    (name, name.count("FAST") > 1)
    for name in (
        "STORE_FAST", "DELETE_FAST", "STORE_DEREF", "DELETE_DEREF", "STORE_FAST_MAYBE_NULL",
        "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "LOAD_FAST_AND_CLEAR",
    )
    # Above are names that only the compiler uses.
    if opcode.opmap.get(name, 256) < 256
)  # fmt: skip
# Every class body reads it for its `__module__`: a word of the compiler, not of the program.
_READ_BY_EVERY_CLASS = "__name__"


class PythonCodeReader:
    """Tells user code from other code, and describes it."""

    def __init__(self, user_code: UserCode, *, with_reads: bool = True):
        """`with_reads`: also what it reads besides its arguments, closure and module variables."""
        self._user_code = user_code
        self._with_reads = with_reads

    def describe(self, code: CodeType, namespace: dict[str, Any]) -> CodeDescription | None:
        """The description of user code that runs in a namespace; None for all other code."""
        if not self._user_code.owns(code, namespace):
            return None
        flags = _flags(code)
        # A module's variables are its own: it makes them all, and reads none from elsewhere.
        reads_variables = self._with_reads and not flags & MODULE_BODY
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
            global_names=global_names(code) if reads_variables else (),
            line_table=code.co_linetable,
            transparent=transparent or counted,
            counted=counted,
        )


def is_transparent(code: CodeType) -> bool:
    """Whether what it calls are calls of the function in which it stands."""
    return (
        code.co_name in _COMPREHENSIONS
        or code.co_name.startswith(_TYPE_PARAMETERS)
        or _puts_off(code)
    )


def _puts_off(code: CodeType) -> bool:
    """Whether it works out annotations, an alias or a bound of a type when they are asked for."""
    if sys.version_info < (3, 14) or code.co_posonlyargcount != 1:
        return False
    if code.co_varnames[0] == ".format":  # of an alias, a bound or a default
        return True
    if code.co_name != "__annotate__":
        return False
    # Other functions may have that name: not this way to raise an exception, which the compiler
    # alone has.
    instructions = code.co_code
    raising = _uses(opcode.opmap["LOAD_COMMON_CONSTANT"], instructions[::2], instructions)
    return any(argument == _NOT_IMPLEMENTED for _, argument in raising)


def _flags(code: CodeType) -> int:
    flags = sum(ours for theirs, ours in _COMPILER_FLAGS if code.co_flags & theirs)
    if code.co_name == "<module>":
        return flags | MODULE_BODY
    if code.co_name == "<lambda>":
        return flags | LAMBDA
    # Of all other code, only a class body keeps its variables in a mapping.
    return flags if code.co_flags & inspect.CO_OPTIMIZED else flags | CLASS_BODY


def _parameters(code: CodeType) -> tuple[str, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:count]


def global_names(code: CodeType) -> tuple[str, ...]:
    """The module variables that code names, its comprehensions included, in order of use."""
    found: dict[str, None] = {}
    _collect_names(code, found)
    return tuple(found)


def _collect_names(code: CodeType, found: dict[str, None]) -> None:
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
            found[name] = None
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and is_transparent(constant):
            _collect_names(constant, found)


def rebound_names(code: CodeType) -> frozenset[str]:
    """The variables of its own that code binds anew or deletes, as plain ones or in cells."""
    instructions = code.co_code
    operations = instructions[::2]
    found = set()
    for name, several in _REBINDING:
        for _, argument in _uses(opcode.opmap[name], operations, instructions):
            numbers = (argument >> 4, argument & 15) if several else (argument,)
            found |= {_variable(code, number) for number in numbers}
    return frozenset(found)


def _variable(code: CodeType, number: int) -> str:
    """The name of a variable by its place: plain ones, cells that are no parameters, free ones."""
    cells = tuple(name for name in code.co_cellvars if name not in code.co_varnames)
    return (*code.co_varnames, *cells, *code.co_freevars)[number]


def _uses(operation: int, operations: bytes, instructions: bytes) -> Iterator[tuple[int, int]]:
    """Where an operation stands, and its whole argument.

    `co_code` has the plain operations whatever the interpreter has specialised, and zeroes where
    its caches are: no operation that is looked for here is numbered 0.
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
