"""Whether code does the same as other code, wherever it stands in a file.

Used on both sides: to know what differs between versions, and to exchange it.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType
from typing import Any

from whence.langs.python.record.code_reader import is_transparent


def all_codes(code: CodeType) -> Iterator[CodeType]:
    """The code and all that stands in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from all_codes(constant)


def digest(code: CodeType, whole: bool = False) -> tuple[Any, ...]:
    """All that code does. Functions that stand in it are only named, if not `whole`."""
    constants = []
    for constant in code.co_consts:
        if not isinstance(constant, CodeType):
            constants.append(("constant", _written(constant)))
        elif whole or is_transparent(constant):
            constants.append((constant.co_qualname, repr(digest(constant, whole))))
        else:
            constants.append(("code", f"{constant.co_qualname} {constant.co_freevars}"))
    return (
        code.co_code, tuple(constants), code.co_names, code.co_varnames, code.co_freevars,
        code.co_cellvars, code.co_flags, code.co_argcount, code.co_posonlyargcount,
        code.co_kwonlyargcount, code.co_exceptiontable,
    )  # fmt: skip


def _written(constant: object) -> str:
    """A constant as a text; the members of a frozenset have no order."""
    if isinstance(constant, tuple):
        return f"({', '.join(map(_written, constant))})"
    if isinstance(constant, frozenset):
        return f"{{{', '.join(sorted(map(_written, constant)))}}}"
    return f"{type(constant).__name__} {constant!r}"
