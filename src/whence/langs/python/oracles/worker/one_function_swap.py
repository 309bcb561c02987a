"""Replaces one function of a program by that of the reference: does this alone repair it?

Only the code of the function is replaced, when its module is compiled. Everything else is the
program's own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from whence.langs.python.debuggee.run_as_python import compile_plainly
from whence.langs.python.oracles.worker.function_defaults import takes_same_arguments
from whence.langs.python.oracles.worker.swap_code import SourceLoader
from whence.langs.python.record.code_reader import is_transparent
from whence.langs.python.source.code_digest import all_code


def swap_one_on_load(
    file: str, other: str, qualname: str
) -> Callable[[bytes | str, str], CodeType]:
    """Replace the function in all modules that are imported; returns a compiler that does so."""
    with open(other, "rb") as source:
        theirs = compile(source.read(), file, "exec", dont_inherit=True)

    def exchange(code: CodeType) -> CodeType:
        if os.path.abspath(code.co_filename) != file:
            return code
        return with_function_of(code, theirs, qualname) or code

    loaded = SourceLoader.get_code

    def get_code(loader: Any, name: str) -> CodeType | None:
        code: CodeType | None = loaded(loader, name)
        return code and exchange(code)

    SourceLoader.get_code = get_code
    return lambda source, name: exchange(compile_plainly(source, name))


def with_function_of(code: CodeType, theirs: CodeType, qualname: str) -> CodeType | None:
    """A module with one function of another version; None if it does not fit.

    What a function captures is decided by the functions around it and inside it. If that differs,
    they can only be exchanged together.
    """
    outermost = qualname.partition(".<locals>")[0]
    return _exchanged(code, theirs, qualname, _body_alone) or _exchanged(
        code, theirs, outermost, _with_inner
    )


def _exchanged(
    code: CodeType,
    theirs: CodeType,
    qualname: str,
    choose: Callable[[CodeType, CodeType], CodeType | None],
) -> CodeType | None:
    """A module in which the functions of a name are exchanged; None if one cannot be.

    Where several functions have the name, each is exchanged by the one in its place.
    """
    own, other = (
        [inner for inner in all_code(module) if inner.co_qualname == qualname]
        for module in (code, theirs)
    )
    if len(own) != len(other):
        return None
    parts: dict[int, CodeType] = {}
    for one, two in zip(own, other, strict=True):
        chosen = choose(one, two)
        if chosen is None:
            return None
        parts[id(one)] = chosen
    return _with_parts(code, parts)


def _with_inner(one: CodeType, other: CodeType) -> CodeType | None:
    """The other code with its inner functions, if it takes the same arguments and variables."""
    fits = one.co_freevars == other.co_freevars and takes_same_arguments(one, other)
    return other if fits else None


def _body_alone(one: CodeType, other: CodeType) -> CodeType | None:
    """The other code with the own inner functions, if both define the same ones."""
    ours, theirs = (list(_functions_inside(code)) for code in (one, other))
    if _with_inner(one, other) is None or list(map(_interface, ours)) != list(
        map(_interface, theirs)
    ):
        return None
    return _with_parts(other, {id(two): one for one, two in zip(ours, theirs, strict=True)})


def _functions_inside(code: CodeType) -> Iterator[CodeType]:
    """The functions and classes that code defines; comprehensions are part of the code."""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            if is_transparent(part):
                yield from _functions_inside(part)
            else:
                yield part


def _interface(code: CodeType) -> tuple[str, tuple[str, ...]]:
    return code.co_qualname, code.co_freevars


def _with_parts(code: CodeType, parts: dict[int, CodeType]) -> CodeType:
    """Code in which some code inside it is replaced."""
    if id(code) in parts:
        return parts[id(code)]
    constants = tuple(
        _with_parts(part, parts) if isinstance(part, CodeType) else part for part in code.co_consts
    )
    if all(one is other for one, other in zip(constants, code.co_consts, strict=True)):
        return code
    return code.replace(co_consts=constants)
