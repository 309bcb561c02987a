"""Digests of compiled code: equal for equal code, wherever it is in a file.

Files are compiled here, never run.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from types import CodeType

from whence.langs.python.record.code_reader import is_transparent
from whence.regular_files import read_regular_file


def all_code(code: CodeType) -> Iterator[CodeType]:
    """A code object and all code objects nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from all_code(constant)


def content(code: CodeType, whole: bool = False) -> tuple[object, ...]:
    """Everything that determines what code does, without its location.

    Nested functions are only named unless `whole`.
    """
    constants = []
    for constant in code.co_consts:
        if not isinstance(constant, CodeType):
            constants.append(("constant", _constant_text(constant)))
        elif whole or is_transparent(constant):
            constants.append((constant.co_qualname, repr(content(constant, whole))))
        else:
            constants.append(("code", f"{constant.co_qualname} {constant.co_freevars}"))
    return (
        code.co_code, tuple(constants), code.co_names, code.co_varnames, code.co_freevars,
        code.co_cellvars, code.co_flags, code.co_argcount, code.co_posonlyargcount,
        code.co_kwonlyargcount, code.co_exceptiontable,
    )  # fmt: skip


def _constant_text(constant: object) -> str:
    """A constant as text, with the members of a frozenset sorted."""
    if isinstance(constant, tuple):
        return f"({', '.join(map(_constant_text, constant))})"
    if isinstance(constant, frozenset):
        return f"{{{', '.join(sorted(map(_constant_text, constant)))}}}"
    return f"{type(constant).__name__} {constant!r}"


def digests_of(file: str) -> dict[str, str]:
    """A digest of each function of a file, by qualified name.

    It begins with the version of Python, since each version compiles differently. A file that
    cannot be compiled has none.
    """
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    try:
        body = compile(read_regular_file(file), file, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return {}
    digests: dict[str, hashlib.blake2b] = {}
    for code in all_code(body):
        digest = digests.setdefault(code.co_qualname, hashlib.blake2b(digest_size=16))
        digest.update(repr(content(code)).encode())
    return {name: f"{version} {digest.hexdigest()}" for name, digest in digests.items()}
