"""What the local variables of a body are set to, according to its text."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from whence.langs.python.source.values_out_of_sight import Binding, How

_FILLS = frozenset({"add", "append", "appendleft", "extend", "insert", "setdefault", "update"})


def local_bindings(nodes: Sequence[ast.AST]) -> list[Binding]:
    """The ways in which the nodes of a body set its variables."""
    return [binding for node in nodes for binding in _bindings(node)]


def _bindings(node: ast.AST) -> Iterator[Binding]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _targets(target, node.value, How.IS)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
        if node.value is not None:
            yield from _targets(node.target, node.value, How.IS)
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        yield from _targets(node.target, node.iter, How.ITEM)
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from _targets(node.optional_vars, node.context_expr, How.PART)
    elif isinstance(node, ast.ExceptHandler) and node.name and node.type is not None:
        yield Binding(node.name, How.PART, node.type)
    elif isinstance(node, ast.Match):
        for part in ast.walk(node):
            if isinstance(part, ast.MatchAs | ast.MatchStar) and part.name:
                yield Binding(part.name, How.PART, node.subject)
            elif isinstance(part, ast.MatchMapping) and part.rest:
                yield Binding(part.rest, How.PART, node.subject)
    elif isinstance(node, ast.Call):
        yield from _filled(node)


def _targets(target: ast.expr, value: ast.expr, how: How) -> Iterator[Binding]:
    if isinstance(target, ast.Name):
        yield Binding(target.id, how, value)
    elif isinstance(target, ast.Starred):
        yield from _targets(target.value, value, How.PART)
    elif isinstance(target, ast.Tuple | ast.List):
        pairs = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
        if how is How.IS and pairs and isinstance(value, ast.Tuple | ast.List):
            for part, own in zip(target.elts, value.elts, strict=True):
                yield from _targets(part, own, How.IS)
        else:
            for part in target.elts:
                yield from _targets(part, value, How.ITEM if how is How.IS else How.PART)
    elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        yield Binding(target.value.id, How.HOLDS, value)


def _filled(node: ast.Call) -> Iterator[Binding]:
    """Variables that a call changes: a container that it fills, or an argument."""
    function = node.func
    name = ast.unparse(function).rpartition(".")[2]
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        yield Binding(function.value.id, How.LEFT_BY, called=name)
        if name in _FILLS:
            for argument in arguments:
                yield Binding(function.value.id, How.HOLDS, argument)
    for argument in arguments:
        if isinstance(argument, ast.Name):
            yield Binding(argument.id, How.LEFT_BY, called=name)
