"""What a class body defines, read from its source: a recording knows only that it ran."""

from __future__ import annotations

import ast

from whence.langs.python.source.code_locations import header_lines
from whence.langs.python.source.scopes import FunctionNode
from whence.langs.python.source.source_parsing import parse_source

_LONG = 70
_MOST = 12


def class_at(source: str, line: int) -> ast.ClassDef | None:
    """The class whose name or one of whose decorators is in this line."""
    tree = parse_source(source)
    nodes = () if tree is None else ast.walk(tree)
    classes = (node for node in nodes if isinstance(node, ast.ClassDef))
    return next((node for node in classes if line in header_lines(node)), None)


def outline(node: ast.ClassDef) -> list[str]:
    """A line for each attribute and method, without the bodies of methods."""
    lines = []
    for statement in _without_docstring(node):
        if isinstance(statement, FunctionNode):
            lines += [f"@{ast.unparse(decorator)}" for decorator in statement.decorator_list]
            word = "async def" if isinstance(statement, ast.AsyncFunctionDef) else "def"
            lines.append(f"{word} {statement.name}({ast.unparse(statement.args)})")
        elif isinstance(statement, ast.ClassDef):
            lines.append(f"class {statement.name}")
        elif not isinstance(statement, ast.Pass):
            lines.append(" ".join(ast.unparse(statement).split()))
    shown = [line if len(line) <= _LONG else line[: _LONG - 1] + "…" for line in lines[:_MOST]]
    return shown + ([f"… and {len(lines) - _MOST} more"] if len(lines) > _MOST else [])


def only_defines(node: ast.ClassDef) -> bool:
    """Whether the body computes nothing: it has only methods, without decorators or computed
    defaults, and names that are only declared."""
    return all(_defines(statement) for statement in _without_docstring(node))


def _defines(node: ast.stmt) -> bool:
    if isinstance(node, ast.Pass) or (isinstance(node, ast.AnnAssign) and node.value is None):
        return True
    if not isinstance(node, FunctionNode) or node.decorator_list:
        return False
    defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    return all(isinstance(default, ast.Constant) for default in defaults)


def _without_docstring(node: ast.ClassDef) -> list[ast.stmt]:
    first = node.body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return node.body[1:] if is_text else node.body
