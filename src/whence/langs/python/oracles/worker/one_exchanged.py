"""Runs a program with one function of the reference: does this function alone make it right?

Only the code of the function is taken from there, when its module is compiled. Everything else is
the program's own.
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


def exchange_on_load(
    file: str, other: str, qualname: str
) -> Callable[[bytes | str, str], CodeType]:
    """Exchange the function in all modules that are imported; a compiler that does it, too."""
    with open(other, "rb") as source:
        theirs = compile(source.read(), file, "exec", dont_inherit=True)
    named = [code for code in all_code(theirs) if code.co_qualname == qualname]

    def exchange(code: CodeType) -> CodeType:
        if os.path.abspath(code.co_filename) != file:
            return code
        own = [inner for inner in all_code(code) if inner.co_qualname == qualname]
        if len(own) != len(named):
            return code
        # Where several functions have the name, each is exchanged by the one in its place.
        pairs = zip(own, named, strict=True)
        return _with_parts(code, {id(one): _own_part(one, two) for one, two in pairs})

    loaded = SourceLoader.get_code

    def get_code(loader: Any, name: str) -> CodeType | None:
        code: CodeType | None = loaded(loader, name)
        return code and exchange(code)

    SourceLoader.get_code = get_code
    return lambda source, name: exchange(compile_plainly(source, name))


def _own_part(one: CodeType, other: CodeType) -> CodeType:
    """Other code instead of some code, but with the functions inside that it had.

    The code itself if that is not possible.
    """
    if one.co_freevars != other.co_freevars or not takes_same_arguments(one, other):
        return one
    ours, theirs = (list(_functions_inside(code)) for code in (one, other))
    if list(map(_interface, ours)) != list(map(_interface, theirs)):
        return one
    return _with_parts(other, {id(two): one for one, two in zip(ours, theirs, strict=True)})


def _functions_inside(code: CodeType) -> Iterator[CodeType]:
    """The functions and classes that code makes; comprehensions are part of it."""
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
