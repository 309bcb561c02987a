"""The body of one function with its statements and expressions numbered.

The program's process logs statements by number, and the debugger reads that log. Invariant: the
same text gives the same numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from whence.langs.python.source.code_locations import first_line as first_line_of
from whence.langs.python.source.code_locations import functions
from whence.langs.python.source.scopes import COMPREHENSIONS, DEFINITIONS, FunctionNode

MODULE = "<module>"
TEXTS: tuple[type, ...] = (ast.JoinedStr, *filter(None, [getattr(ast, "TemplateStr", None)]))
"""`f"…"`, and from 3.14 on `t"…"`."""
LOGGED_AS_A_WHOLE = (*DEFINITIONS, *COMPREHENSIONS, *TEXTS)
"""Expressions of which only the final value is logged."""


class CannotZoom(Exception):
    """There is no body whose steps could be searched; says why."""


@dataclass(frozen=True, slots=True)
class NumberedStatement:
    """A statement of the body itself, not of a nested function."""

    number: int
    node: ast.stmt
    parent: int
    """The number of the statement around it, or -1."""
    block: str
    """The block of that statement: `body`, `orelse`, `handler` or `finalbody`."""


@dataclass
class FunctionBody:
    """The statements of a body and the expressions whose values are logged, by number."""

    owner: FunctionNode | ast.Module
    text: str
    statements: list[NumberedStatement] = field(default_factory=list)
    expressions: list[ast.expr] = field(default_factory=list)
    _heads: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Number them."""
        self._number(self.owner.body, -1, "body")

    def _number(self, block: list[ast.stmt], parent: int, name: str) -> None:
        for node in block:
            number = len(self.statements)
            self.statements.append(NumberedStatement(number, node, parent, name))
            for expression in expressions_of(node):
                self.expressions += logged_parts(expression)
            for inner, statements in blocks_of(node):
                self._number(statements, number, inner)

    @property
    def is_module(self) -> bool:
        """Whether it is the body of a module, whose variables are global."""
        return isinstance(self.owner, ast.Module)

    def nodes(self, first: int, last: int) -> list[ast.stmt]:
        """The consecutive statements of one block from number `first` to number `last`."""
        inside, parent = self.statements[first : last + 1], self.statements[first].parent
        return [statement.node for statement in inside if statement.parent == parent]

    def source(self, node: ast.expr | ast.stmt) -> str:
        """The text of an expression or statement."""
        return ast.get_source_segment(self.text, node) or ast.unparse(node)

    def head(self, node: ast.stmt) -> str:
        """The text of a statement without its blocks, on one line."""
        if id(node) not in self._heads:
            self._heads[id(node)] = self._head(node)
        return self._heads[id(node)]

    def _head(self, node: ast.stmt) -> str:
        inside = next((block for _, block in blocks_of(node) if block), None)
        if inside is None and not isinstance(node, DEFINITIONS):
            return " ".join(self.source(node).split())
        header = _header_end(node)
        lines = self._lines[node.lineno - 1 : header[0] if header else node.lineno]
        if header is not None:
            lines[-1] = lines[-1][: header[1]] + self._closing(*header)
        elif inside and inside[0].lineno == node.lineno:
            lines[-1] = lines[-1][: inside[0].col_offset]
        lines[0] = lines[0][node.col_offset :]
        text = " ".join(b" ".join(lines).decode().split())
        return text.partition(":  #")[0].removesuffix(":")

    def _closing(self, line: int, column: int) -> bytes:
        """The brackets that close between the end of an expression and the colon."""
        brackets = b""
        rest = self._lines[line - 1][column:]
        while b":" not in rest.partition(b"#")[0] and line < len(self._lines):
            brackets += b")" * rest.partition(b"#")[0].count(b")")
            rest = self._lines[line]
            line += 1
        return brackets + b")" * rest.partition(b":")[0].count(b")")

    @cached_property
    def _lines(self) -> list[bytes]:
        """The lines of the text as bytes, since `ast` counts columns in bytes."""
        return [line.encode() for line in self.text.split("\n")]


def _header_end(node: ast.stmt) -> tuple[int, int] | None:
    """Where the header expression of a compound statement ends, if it has just one."""
    match node:
        case ast.If(test=header) | ast.While(test=header) | ast.Match(subject=header):
            pass
        case ast.For(iter=header) | ast.AsyncFor(iter=header):
            pass
        case _:
            return None
    return header.end_lineno or header.lineno, header.end_col_offset or 0


def blocks_of(node: ast.stmt) -> Iterator[tuple[str, list[ast.stmt]]]:
    """The blocks of a compound statement, in the order of the text."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    if isinstance(node, ast.Match):
        for case in node.cases:
            yield "body", case.body
        return
    if isinstance(node, ast.Try | ast.TryStar):
        yield "body", node.body
        for handler in node.handlers:
            yield "handler", handler.body
        yield "orelse", node.orelse
        yield "finalbody", node.finalbody
        return
    for name in ("body", "orelse"):
        yield name, getattr(node, name, [])


def expressions_of(node: ast.stmt) -> list[ast.expr]:
    """The expressions that a statement itself evaluates, in order of evaluation."""
    match node:
        case ast.Assign() | ast.AugAssign():
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return [node.value, *targets]
        case ast.AnnAssign():
            return [] if node.value is None else [node.value, node.target]
        case ast.Expr() | ast.Return():
            return [] if node.value is None else [node.value]
        case ast.Delete():
            return list(node.targets)
        case ast.Assert() | ast.If() | ast.While():
            return [node.test]
        case ast.Raise():
            return [value for value in (node.exc, node.cause) if value is not None]
        case ast.For() | ast.AsyncFor():
            return [node.iter]
        case ast.With() | ast.AsyncWith():
            return [item.context_expr for item in node.items]
        case ast.Match():
            return [node.subject, *(case.guard for case in node.cases if case.guard is not None)]
    return []


def logged_parts(expression: ast.expr) -> Iterator[ast.expr]:
    """The parts of an expression whose values are logged, inner ones first."""
    for child in _inner(expression):
        yield from logged_parts(child)
    if is_logged(expression):
        yield expression


def _inner(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, LOGGED_AS_A_WHOLE):
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        # The bound method says nothing to a reader.
        yield node.func.value
        rest: list[ast.AST] = [*node.args, *node.keywords]
    elif isinstance(node, ast.Call):
        rest = [*node.args, *node.keywords]
    else:
        rest = list(ast.iter_child_nodes(node))
    for child in rest:
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.keyword):
            yield child.value


def is_logged(node: ast.expr) -> bool:
    """Whether the value of an expression is logged. Names are part of the state, constants are
    obvious, and a yield is an event of its own."""
    if isinstance(node, ast.Attribute | ast.Subscript):
        return isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Call):
        is_super = isinstance(node.func, ast.Name) and node.func.id == "super"
        return not is_super
    if isinstance(node, ast.UnaryOp):
        return not isinstance(node.operand, ast.Constant)
    return isinstance(node, (
        ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.NamedExpr, ast.Await, ast.ListComp,
        ast.SetComp, ast.DictComp, ast.YieldFrom, *TEXTS,
    ))  # fmt: skip


def find_body(text: str, first_line: int, qualname: str) -> FunctionBody:
    """The body of the function with this name and first line."""
    tree = ast.parse(text)
    return FunctionBody(find_function(tree, first_line, qualname), text)


def find_function(tree: ast.Module, first_line: int, qualname: str) -> FunctionNode | ast.Module:
    """The function with this name and first line, or the module itself."""
    if qualname == MODULE:
        return tree
    matches = [
        node
        for name, node in functions(tree)
        if name == qualname and first_line_of(node) == first_line
    ]
    if len(matches) == 1:
        return matches[0]
    if qualname.endswith("<lambda>"):
        raise CannotZoom("a lambda is one expression: it has no statements to go into")
    if any(
        isinstance(node, ast.ClassDef) and first_line_of(node) == first_line
        for node in ast.walk(tree)
    ):
        raise CannotZoom("zoom does not go into the body of a class")
    raise CannotZoom(f"the text of {qualname} is no longer where it was")
