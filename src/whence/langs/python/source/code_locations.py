"""Finds the definition in a syntax tree that a code object was compiled from.

A recording knows code by its qualified name and its first line, as the compiler counts: decorators
belong to what they decorate.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from whence.langs.python.source.scopes import FunctionNode


def first_line(node: ast.AST) -> int:
    """The line that code begins with: that of its first decorator. A module begins with line 1."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    line: int = getattr(node, "lineno", 1)
    return min([line, *(decorator.lineno for decorator in decorators)])


def header_lines(node: FunctionNode | ast.ClassDef) -> list[int]:
    """The lines of a definition's name and of its decorators."""
    return [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, FunctionNode]]:
    """All functions in a text, with their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, FunctionNode):
            yield prefix + node.name, node
            yield from functions(node, f"{prefix}{node.name}.<locals>.")
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")
        else:
            yield from functions(node, prefix)
