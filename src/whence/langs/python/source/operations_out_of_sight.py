"""The operations of a text that run methods of their operands without a call expression."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from whence.langs.python.source.values_out_of_sight import operands


@dataclass(frozen=True)
class Operation:
    """An operation: its text, and the expressions whose classes decide what it runs."""

    text: str
    operands: tuple[ast.expr, ...]
    attribute: str = ""
    """The attribute that is read, set or deleted."""
    is_deep: bool = False
    """Whether it runs methods of what its operands hold as well: comparison, formatting."""
    iterates: bool = False
    """Whether it takes items of its operands, or waits for them."""
    looks_up: bool = False
    """Whether it looks for a key in its operand."""


def operation_of(node: ast.AST) -> Operation | None:
    """The operation that a node is; None if it runs no method of an operand."""
    if isinstance(node, ast.Attribute):
        return Operation(ast.unparse(node), (node.value,), attribute=node.attr)
    if isinstance(node, ast.BinOp):
        is_deep = isinstance(node.op, ast.Mod)  # which formats
        return Operation(ast.unparse(node), tuple(operands(node)), is_deep=is_deep)
    if isinstance(node, ast.UnaryOp):
        return Operation(ast.unparse(node), (node.operand,))
    if isinstance(node, ast.Compare):
        if all(isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops):
            return None
        return Operation(ast.unparse(node), tuple(operands(node)), is_deep=True, looks_up=True)
    if isinstance(node, ast.AugAssign):
        target = ast.parse(ast.unparse(node.target), mode="eval").body
        if isinstance(node.target, ast.Name):
            target = node.target
        return Operation(ast.unparse(node), (target, node.value))
    if isinstance(node, ast.Subscript):
        keys = () if isinstance(node.slice, ast.Slice) else (node.slice,)
        return Operation(ast.unparse(node), (node.value, *keys), looks_up=True)
    if isinstance(node, ast.FormattedValue):
        return Operation("f'{" + ast.unparse(node.value) + "}'", (node.value,), is_deep=True)
    return _of_statement(node) or _of_truth(node)


def _of_statement(node: ast.AST) -> Operation | None:
    if isinstance(node, ast.withitem):
        return Operation(f"with {ast.unparse(node.context_expr)}", (node.context_expr,))
    if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        return Operation(f"for … in {ast.unparse(node.iter)}", (node.iter,), iterates=True)
    if isinstance(node, ast.YieldFrom):
        return Operation(ast.unparse(node), (node.value,), iterates=True)
    if isinstance(node, ast.Await):
        return Operation(ast.unparse(node), (node.value,), iterates=True)
    if isinstance(node, ast.Starred) and isinstance(node.ctx, ast.Load):
        return Operation(ast.unparse(node), (node.value,), iterates=True)
    if isinstance(node, ast.keyword) and node.arg is None:
        return Operation(f"**{ast.unparse(node.value)}", (node.value,), iterates=True)
    if isinstance(node, ast.Dict):
        keys = tuple(key for key in node.keys if key is not None)
        unpacked = [value for key, value in zip(node.keys, node.values, strict=True) if key is None]
        return Operation(ast.unparse(node), (*keys, *unpacked), iterates=bool(unpacked))
    if isinstance(node, ast.Set):
        return Operation(ast.unparse(node), tuple(node.elts))
    if isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Tuple | ast.List) for target in node.targets
    ):
        text = f"{ast.unparse(node.targets[0])} = {ast.unparse(node.value)}"
        return Operation(text, (node.value,), iterates=True)
    if isinstance(node, ast.Match):
        return Operation(f"match {ast.unparse(node.subject)}", (node.subject,), is_deep=True)
    if isinstance(node, ast.Delete):
        names = tuple(target for target in node.targets if isinstance(target, ast.Name))
        return Operation(ast.unparse(node), names) if names else None
    return None


def _of_truth(node: ast.AST) -> Operation | None:
    """An operation that asks whether a value is true."""
    if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        return Operation(f"if {ast.unparse(node.test)}", (node.test,))
    if isinstance(node, ast.BoolOp):
        return Operation(ast.unparse(node), tuple(node.values[:-1]))
    return None
