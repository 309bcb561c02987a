"""Statements that must stay first when a body is rewritten: docstrings, futures, declarations."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from whence.langs.python.source.scopes import DEFINITIONS


def docstring_and_futures(body: Sequence[ast.stmt]) -> int:
    """How many statements of a module must stay first."""
    count = 0
    for statement in body:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not (is_future or (is_text and not count)):
            break
        count += 1
    return count


class _Declarations(ast.NodeTransformer):
    """Moves `global` and `nonlocal` out of a body, since they must precede every use."""

    def __init__(self) -> None:
        self.declarations: list[ast.stmt] = []

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, DEFINITIONS):
            return node
        if isinstance(node, ast.Global | ast.Nonlocal):
            self.declarations.append(node)
            return ast.copy_location(ast.Pass(), node)
        return super().visit(node)  # type: ignore[no-any-return]


def without_declarations(body: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """A function's body without its `global` and `nonlocal` statements, and these."""
    transformer = _Declarations()
    return [transformer.visit(statement) for statement in body], transformer.declarations  # type: ignore[misc]
