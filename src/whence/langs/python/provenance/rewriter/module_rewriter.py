"""Rewrites a module into code that computes the same values, with tags beside them.

There are two ways. *Whole*: all of it carries tags. *Dual*: a function has both bodies and chooses
at each call (`@.off`), and the module's own statements run unchanged.
"""

from __future__ import annotations

import ast
from importlib.util import decode_source
from types import CodeType

from whence.langs.python.provenance.rewriter.rewriter_state import Wanted
from whence.langs.python.provenance.rewriter.statement_rewriter import StatementRewriter
from whence.langs.python.provenance.rewriter.syntax_nodes import (
    CONTROL,
    FRAME,
    at_location_of,
    constant,
    load_name,
    runtime_call,
    store_name,
    target_tuple,
)
from whence.langs.python.source.leading_statements import docstring_and_futures
from whence.langs.python.source.quiet_compile import compile_quietly


def rewrite_module(
    source: str | bytes, file: str, module: int, *, dual: bool = False, quiet: bool = False,
    wanted: Wanted = None, tree: ast.Module | None = None,
) -> CodeType:  # fmt: skip
    """The rewritten code of a module. `quiet`: its own statements carry no tags.

    `wanted` is the first line and name of the function with whose call the shadowing begins; `tree`
    is the syntax tree that runs, if pytest has changed it already.
    """
    text = source if isinstance(source, str) else decode_source(source)
    rewriter = StatementRewriter(text, file, module, dual=dual, wanted=wanted, tree=tree)
    body = rewriter.tree.body
    first = docstring_and_futures(body)
    rest = body[first:]
    made = rewriter.quiet_statements(rest) if quiet else _shadowed(rewriter, rest)
    new = ast.Module([*body[:first], *made], [])
    return compile_quietly(ast.fix_missing_locations(new), file)


def _shadowed(rewriter: StatementRewriter, body: list[ast.stmt]) -> list[ast.stmt]:
    inner = rewriter.body(body)
    enter: ast.stmt = ast.Assign(
        [target_tuple(store_name(FRAME), store_name(CONTROL))],
        runtime_call("enter_module", rewriter.module),
    )
    first: list[ast.stmt] = [enter]
    if rewriter.module_variables:
        names = [store_name(variable) for variable in rewriter.module_variables]
        first.append(ast.Assign(names, constant(None)))
    # Not `try`: in that, no import is lazy (3.15).
    whole = ast.With([ast.withitem(runtime_call("ModuleBody", load_name(FRAME)))], inner)
    location = body[0] if body else ast.Pass(lineno=1, col_offset=0)
    return [at_location_of(statement, location) for statement in [*first, whole]]
