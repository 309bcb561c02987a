"""Which operation is at a span of source, and from which expressions it takes its operands.

The span is where an exception left a call. If the exception passed through a `finally` or past
handlers that did not catch it, that is not where it was raised, so nothing is said.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from whence.langs.python.source.scopes import COMPREHENSIONS, FUNCTIONS, names_written
from whence.model.primitive import RaisingOperand, RaisingOperation, Span

_LONGEST = 80
_TRIES = (ast.Try, ast.TryStar)
_GUARDS = (*_TRIES, ast.With, ast.AsyncWith)
_OPERATIONS = (ast.expr, ast.AugAssign, ast.Assert)


def span_of(node: ast.AST) -> Span:
    """The span of a node of a syntax tree; lines and columns count from 1."""
    at: ast.expr = node  # type: ignore[assignment]
    assert at.end_lineno is not None and at.end_col_offset is not None
    return at.lineno, at.col_offset + 1, at.end_lineno, at.end_col_offset + 1


def operation_at(tree: ast.Module, text: str, span: Span) -> RaisingOperation | None:
    """The operation at exactly this span; None if there is none, or if it is not certain that the
    exception came from it."""
    above = {below: node for node in ast.walk(tree) for below in ast.iter_child_nodes(node)}
    fitting = (node for node in ast.walk(tree) if isinstance(node, _OPERATIONS))
    operation = next((node for node in fitting if span_of(node) == span), None)
    if operation is None or _may_leave_from_elsewhere(operation, above):
        return None
    around = list(_around(operation, above))
    owner = next((node for node in around if isinstance(node, FUNCTIONS)), tree)
    inside = around[: around.index(owner)] if owner in around else around
    inner = {name for node in inside if isinstance(node, COMPREHENSIONS) for name in _binds(node)}
    operands = [
        RaisingOperand(_segment(text, node), span_of(node), names)
        for node in _operands(operation, above)
        if not isinstance(node, ast.Constant) and inner.isdisjoint(names := _names(node))
    ]
    is_guarded = any(isinstance(node, _GUARDS) for node in inside)
    return RaisingOperation(_segment(text, operation), tuple(operands), _rebinds(owner), is_guarded)


def _around(node: ast.AST, above: Mapping[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    """The nodes around a node, innermost first."""
    while (outer := above.get(node)) is not None:
        yield outer
        node = outer


def _may_leave_from_elsewhere(node: ast.AST, above: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether an exception may leave from here that was raised elsewhere."""
    for outer in _around(node, above):
        if isinstance(outer, FUNCTIONS):
            return False
        if isinstance(outer, ast.ExceptHandler):
            return True
        if isinstance(outer, _TRIES) and node in outer.finalbody:
            return True
        node = outer
    return False


def _operands(node: ast.AST, above: Mapping[ast.AST, ast.AST]) -> list[ast.expr]:
    match node:
        case ast.Name() | ast.Constant():
            return []
        case ast.Call():
            called = [node.func.value] if isinstance(node.func, ast.Attribute) else []
            operands = [*called, *node.args, *(keyword.value for keyword in node.keywords)]
        case ast.Tuple() | ast.List() if isinstance(node.ctx, ast.Store):
            whole = above.get(node)
            operands = [whole.value] if isinstance(whole, ast.Assign) else []
        case ast.Assert(test=test):
            operands = _operands(test, above) or [test]
        case ast.Subscript(value=value, slice=ast.Slice() as part):
            ends = (part.lower, part.upper, part.step)
            operands = [value, *(end for end in ends if end is not None)]
        case _:
            operands = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    return [operand.value if isinstance(operand, ast.Starred) else operand for operand in operands]


def _names(node: ast.AST) -> tuple[str, ...]:
    """The variables of an expression, without those of its lambdas and comprehensions."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, (ast.Lambda, *COMPREHENSIONS)):
        return ()
    below = (name for below in ast.iter_child_nodes(node) for name in _names(below))
    return tuple(dict.fromkeys(below))


def _binds(node: ast.AST) -> set[str]:
    """What a comprehension binds for itself."""
    targets = [below.target for below in ast.walk(node) if isinstance(below, ast.comprehension)]
    return set(names_written(targets))


def _rebinds(owner: ast.AST) -> frozenset[str]:
    body = [owner.body] if isinstance(owner, ast.Lambda) else getattr(owner, "body", [])
    elsewhere = (node for node in ast.walk(owner) if isinstance(node, ast.Nonlocal | ast.Global))
    return names_written(body).union(*(declaration.names for declaration in elsewhere))


def _segment(text: str, node: ast.AST) -> str:
    """The text of a node on one line, cut where it is long."""
    segment = " ".join((ast.get_source_segment(text, node) or ast.unparse(node)).split())
    return segment if len(segment) <= _LONGEST else segment[: _LONGEST - 1] + "…"
