"""What the body of a class gives it, read from its source: a recording knows only that it ran."""

from __future__ import annotations

import ast

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_LONG = 70
_MOST = 12


def class_at(source: str, line: int) -> ast.ClassDef | None:
    """The class whose definition, its decorators included, begins at a line."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef) and line in (
            node.lineno,
            *(each.lineno for each in node.decorator_list),
        ):
            return node
    return None


def outline(node: ast.ClassDef) -> list[str]:
    """A line for each attribute and method, as they are written, without what methods do."""
    found = []
    for each in _without_docstring(node):
        if isinstance(each, _Function):
            found += [f"@{ast.unparse(decorator)}" for decorator in each.decorator_list]
            word = "async def" if isinstance(each, ast.AsyncFunctionDef) else "def"
            found.append(f"{word} {each.name}({ast.unparse(each.args)})")
        elif isinstance(each, ast.ClassDef):
            found.append(f"class {each.name}")
        elif not isinstance(each, ast.Pass):
            found.append(" ".join(ast.unparse(each).split()))
    shown = [line if len(line) <= _LONG else line[: _LONG - 1] + "…" for line in found[:_MOST]]
    return shown + ([f"… and {len(found) - _MOST} more"] if len(found) > _MOST else [])


def only_defines(node: ast.ClassDef) -> bool:
    """Whether nothing is worked out in the body: methods, without decorators or defaults other than
    plain constants, and names that are only declared."""
    return all(_defines(each) for each in _without_docstring(node))


def _defines(node: ast.stmt) -> bool:
    if isinstance(node, ast.Pass) or (isinstance(node, ast.AnnAssign) and node.value is None):
        return True
    if not isinstance(node, _Function) or node.decorator_list:
        return False
    defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    return all(isinstance(each, ast.Constant) for each in defaults)


def _without_docstring(node: ast.ClassDef) -> list[ast.stmt]:
    first = node.body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return node.body[1:] if is_text else node.body
