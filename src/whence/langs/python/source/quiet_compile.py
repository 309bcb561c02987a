"""Parses and compiles in a program's process what the program itself would not: without a warning.

The compiler warns of doubtful code: an escape that means nothing, `is` with a literal, from 3.14 on
a `return` in `finally`. A program gets these warnings when its own text is compiled. If what whence
makes of that text warned too, they would come twice, and where warnings are errors a re-run would
end. So for that time a filter stands before all others.

It is put there by hand. `warnings.catch_warnings` counts as a change of the filters, after which
warnings of the program that were shown once are shown again.

Invariant: the filters are afterwards what they were, and nobody can tell that they were not.
"""

from __future__ import annotations

import _warnings
import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

_IGNORED = ("ignore", None, Warning, None, 0)


def parsed(source: str | bytes, file: str = "<unknown>") -> ast.Module:
    """The syntax tree of a text."""
    with _unwarned():
        return ast.parse(source, file)


def compiled(tree: ast.Module, file: str) -> CodeType:
    """The code of a module that was made of another."""
    with _unwarned():
        return compile(tree, file, "exec", dont_inherit=True)


@contextmanager
def _unwarned() -> Iterator[None]:
    owner: Any = sys.modules.get("warnings") or _warnings
    filters = getattr(owner, "filters", None)
    if type(filters) is not list:
        yield
        return
    filters.insert(0, _IGNORED)
    try:
        yield
    finally:
        place = next(place for place, each in enumerate(filters) if each is _IGNORED)
        del filters[place]
