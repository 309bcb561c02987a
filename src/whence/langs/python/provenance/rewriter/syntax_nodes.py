"""Builders of syntax nodes, and questions that the rewriter asks about syntax.

No program can write the names that are made here: `__@__` is the runtime (`@` for short elsewhere),
`_@…` are the rewriter's own variables (with an underscore first, so that `import *` and `dir`
filters skip them), and `$x` holds the tag of the variable `x`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from whence.langs.python.source.scopes import COMPREHENSIONS, FUNCTIONS, own_nodes, walk

RUNTIME = "__@__"
CONTROL = "_@C"
FRAME = "_@F"
RUNTIME_NAMES = ("_@", "$")
"""The prefixes of the rewriter's names."""

_LOAD = ast.Load()
_STORE = ast.Store()
Node = TypeVar("Node", bound=ast.AST)


def load_name(name: str) -> ast.expr:
    return ast.Name(name, _LOAD)


def store_name(name: str) -> ast.expr:
    return ast.Name(name, _STORE)


def constant(value: object) -> ast.expr:
    return ast.Constant(value)  # type: ignore[arg-type]


def tuple_node(*elements: ast.expr) -> ast.expr:
    return ast.Tuple(list(elements), _LOAD)


def target_tuple(*elements: ast.expr) -> ast.expr:
    return ast.Tuple(list(elements), _STORE)


def tuple_item(value: ast.expr, index: int) -> ast.expr:
    return ast.Subscript(value, constant(index), _LOAD)


def runtime_name(name: str) -> ast.expr:
    return ast.Attribute(load_name(RUNTIME), name, _LOAD)


def runtime_call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(runtime_name(name), list(arguments), [])


def named_expression(name: str, value: ast.expr) -> ast.expr:
    return ast.NamedExpr(store_name(name), value)  # type: ignore[arg-type]


def assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([store_name(name)], value)


def thunk(value: ast.expr, *parameters: str) -> ast.expr:
    arguments = [ast.arg(parameter) for parameter in parameters]
    return ast.Lambda(ast.arguments([], arguments, None, [], [], None, []), value)


def test_outcome_of(test: ast.expr) -> ast.expr:
    return ast.Attribute(test, "outcome", _LOAD)


def shadow_name(name: str) -> str:
    """The variable that holds the tag of a variable."""
    return "$" + name


def at_location_of(node: Node, like: ast.AST) -> Node:
    """The node, with the location of another wherever it has none."""
    location = {name: getattr(like, name, None) for name in ast.expr._attributes}
    pending: list[ast.AST] = [node]
    while pending:
        part = pending.pop()
        if "lineno" in part._attributes:
            if hasattr(part, "lineno"):
                continue
            vars(part).update(location)
        for name in part._fields:
            value = getattr(part, name, None)
            if isinstance(value, list):
                pending += [element for element in value if isinstance(element, ast.AST)]
            elif isinstance(value, ast.AST):
                pending.append(value)
    return node


def copy_node(node: Node, of_part: Callable[[ast.AST], Any] | None = None) -> Node:
    """A copy of a node; `of_part` replaces its parts."""
    of_part = of_part or copy_node

    def of(value: object) -> object:
        if isinstance(value, ast.AST):
            return of_part(value)
        return [of(element) for element in value] if isinstance(value, list) else value

    made = type(node).__new__(type(node))  # without setting fields
    vars(made).update((name, of(value)) for name, value in vars(node).items())
    return made


# --- questions -----------------------------------------------------------------------------------

_LEAVING = (ast.Return, ast.Raise, ast.Assert)
_CHANGING_METHODS = {
    "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update",
    "setdefault", "popitem", "add", "discard", "appendleft", "popleft", "extendleft", "rotate",
    "push", "write",
}  # fmt: skip
_CHANGES_ANYTHING = frozenset({"setattr", "delattr", "exec", "eval", "vars", "globals", "locals"})


def may_leave(statements: Sequence[ast.stmt], *, of_loop: bool = False) -> bool:
    """Whether control may leave the statements before their end.

    `of_loop`: they are the body of a loop, so `break` and `continue` do not count.
    """
    return any(_leaves(statement, of_loop) for statement in statements)


def _leaves(statement: ast.stmt, in_loop: bool) -> bool:
    if isinstance(statement, _LEAVING):
        return True
    if isinstance(statement, (ast.Break, ast.Continue)):
        return not in_loop
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return False
    is_loop = isinstance(statement, (ast.For, ast.AsyncFor, ast.While))
    for name in ("body", "orelse", "finalbody"):
        inside = in_loop or (is_loop and name == "body")
        if may_leave(getattr(statement, name, []), of_loop=inside):
            return True
    branches = [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]
    return any(may_leave(branch.body, of_loop=in_loop) for branch in branches)


def may_change_state(statements: Iterable[ast.AST]) -> bool:
    """Whether it makes a difference beyond their variables if the statements run."""
    return any(_is_change(node) for statement in statements for node in own_nodes(statement))


_CHANGING = (
    ast.Call, ast.Yield, ast.YieldFrom, ast.Await, ast.AugAssign, ast.Global, ast.For, ast.AsyncFor,
    ast.Attribute, ast.Subscript, ast.Starred, ast.In, ast.NotIn, *COMPREHENSIONS,
)  # fmt: skip
"""What may change state: reading may create a missing entry or run a property, and iteration
advances an iterator."""


def _is_change(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):  # evaluated only for its effect: `a >> b`
        return not isinstance(node.value, ast.Constant)
    if isinstance(node, (ast.Tuple, ast.List)):
        return isinstance(node.ctx, ast.Store)
    return isinstance(node, _CHANGING)


def is_stepped(node: ast.AST) -> bool:
    """Whether a function is a generator."""
    body = node.body  # type: ignore[attr-defined]
    roots = body if isinstance(body, list) else [body]
    return any(
        isinstance(node, (ast.Yield, ast.YieldFrom)) for root in roots for node in own_nodes(root)
    )


def suspends(node: ast.AST) -> bool:
    """Whether evaluating it may suspend the function, or needs its frame."""
    return any(
        isinstance(inner, (ast.Yield, ast.YieldFrom, ast.Await))
        or (isinstance(inner, ast.Name) and inner.id in {"super", "__class__"})
        or (isinstance(inner, ast.comprehension) and inner.is_async)
        for inner in walk(node)
    )


def may_set(body: Iterable[ast.AST]) -> tuple[frozenset[str], bool, bool]:
    """What code may change: which attributes, whether items, whether anything."""
    attributes: set[str] = set()
    items = anything = False
    for root in body:
        for node in walk(root):
            if isinstance(node, ast.Attribute):
                if not isinstance(node.ctx, ast.Load) or node.attr == "f_locals":
                    attributes.add(node.attr)
                anything |= node.attr == "__dict__"
            elif isinstance(node, (ast.Subscript, ast.AugAssign)):
                items |= isinstance(node, ast.AugAssign) or not isinstance(node.ctx, ast.Load)
            elif isinstance(node, ast.Call):
                called = node.func
                items |= isinstance(called, ast.Attribute) and called.attr in _CHANGING_METHODS
                anything |= isinstance(called, ast.Name) and called.id in _CHANGES_ANYTHING
    return frozenset(attributes), items, anything
