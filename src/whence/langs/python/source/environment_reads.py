"""The variables of the environment that code reads by name, from source alone.

Knows `os.environ` and `os.getenv` under these names, and names that are literals or module
variables that hold one. What is computed counts as unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from whence.langs.python.source.definitions import ModuleDefinitions, literal

_READING = ("get", "pop", "setdefault", "__getitem__", "__contains__")


def environment_reads(code: ast.AST, module: ModuleDefinitions) -> set[str]:
    """The names of the variables that a piece of a module's code reads."""
    names = {_text(name, module) for node in ast.walk(code) for name in _names(node)}
    return {name for name in names if name and "=" not in name and "\0" not in name}


def _names(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions that name a variable in one node."""
    match node:
        case ast.Subscript(value, name, ast.Load()) if _is_environ(value):
            yield name
        case ast.Call(ast.Attribute(value, method), [name, *_]) if _is_environ(value):
            if method in _READING:
                yield name
        case ast.Call(function, [name, *_]) if _last(function) == "getenv":
            yield name
        case ast.Compare(name, [ast.In() | ast.NotIn()], [value]) if _is_environ(value):
            yield name


def _is_environ(node: ast.expr) -> bool:
    return _last(node) == "environ"


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _text(name: ast.expr, module: ModuleDefinitions) -> str:
    if isinstance(name, ast.Name):
        values = module.variables.get(name.id, [])
        value = literal(values[0]) if len(values) == 1 else None
    else:
        value = literal(name)
    return value if isinstance(value, str) else ""
