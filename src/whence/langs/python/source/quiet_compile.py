"""Parses and compiles in the program's process without causing a warning.

The compiler warns about doubtful code: an invalid escape, `is` with a literal, from 3.14 on a
`return` in `finally`. The program gets these warnings when its own text is compiled. If whence's
rewritten text warned too, they would appear twice, and where warnings are errors a re-run would
end. So a filter that ignores them is inserted before all others for that time.

The filter is inserted by hand: `warnings.catch_warnings` counts as a change of the filters, after
which warnings that the program has shown once are shown again.

Invariant: afterwards the filters are as before, and the program cannot notice the change.
"""

from __future__ import annotations

import _warnings
import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType

_IGNORE = ("ignore", None, Warning, None, 0)


def parse_quietly(source: str | bytes, file: str = "<unknown>") -> ast.Module:
    """The syntax tree of a source."""
    with _no_warnings():
        return ast.parse(source, file)


def compile_quietly(tree: ast.Module, file: str) -> CodeType:
    """The code of a rewritten module."""
    with _no_warnings():
        return compile(tree, file, "exec", dont_inherit=True)


@contextmanager
def _no_warnings() -> Iterator[None]:
    owner: object = sys.modules.get("warnings") or _warnings
    filters = getattr(owner, "filters", None)
    if type(filters) is not list:
        yield
        return
    filters.insert(0, _IGNORE)
    try:
        yield
    finally:
        del filters[next(index for index, entry in enumerate(filters) if entry is _IGNORE)]
