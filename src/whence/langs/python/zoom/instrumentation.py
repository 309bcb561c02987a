"""Rewrites one function so that the target call logs what its statements do.

The function gets a second, instrumented body that only the target call runs; every other call runs
the original one. The hooks that it calls are constants of the code, so no name of them is visible
to the program. A module runs once, so it has only the instrumented body.

Invariant: the instrumented body does what the original does, in the same order and from the same
frame, and calls no method of a value to log it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

from whence.langs.python.source.leading_statements import (
    docstring_and_futures,
    without_declarations,
)
from whence.langs.python.source.pytest_modules import Asserts
from whence.langs.python.source.quiet_compile import compile_quietly, parse_quietly
from whence.langs.python.source.scopes import FunctionNode
from whence.langs.python.zoom.function_body import (
    LOGGED_AS_A_WHOLE,
    FunctionBody,
    find_function,
    is_logged,
)

ENTER, AT, DONE, ROUND, TEST, ITEMS, RETURNED, YIELDED, SENT, PART, CAUGHT, RAISED, LEFT, BODY = (
    f"@zoom.{name}"
    for name in (
        "enter", "at", "done", "round", "test", "items", "returned", "yielded", "sent", "part",
        "caught", "raised", "left", "body",
    )
)  # fmt: skip
"""The texts that stand for the hooks in the compiled code until `with_hooks` replaces them."""
_JUMPS = (ast.Return, ast.Break, ast.Continue, ast.Raise)


def instrument(
    source: str | bytes, file: str, first_line: int, qualname: str, asserts: Asserts | None = None
) -> CodeType:
    """The code of a module in which one function can log its steps.

    `asserts` rewrites the assertions of a test module; those of the instrumented body stay as they
    are written.
    """
    written = find_function(parse_quietly(source), first_line, qualname)
    tree = parse_quietly(source)
    if asserts is not None:
        asserts(tree, source if isinstance(source, bytes) else source.encode(), file)
    owner = find_function(tree, first_line, qualname)
    instrumenter = _Instrumenter(FunctionBody(written, ""))
    if isinstance(owner, ast.Module):
        first = docstring_and_futures(written.body)
        body = _in_context(instrumenter.block(written.body[first:]))
        owner.body = [*written.body[:first], ast.Expr(_call(ENTER)), body]
    else:
        _make_dual(owner, written, instrumenter)
    return compile_quietly(ast.fix_missing_locations(tree), file)


def with_hooks(code: CodeType, hooks: Mapping[str, Callable[..., object]]) -> CodeType:
    """The instrumented code with the hooks in place of the texts that stand for them."""
    constants = tuple(
        with_hooks(constant, hooks)
        if isinstance(constant, CodeType)
        else hooks.get(constant, constant)
        if type(constant) is str
        else constant
        for constant in code.co_consts
    )
    is_same = all(one is other for one, other in zip(constants, code.co_consts, strict=True))
    return code if is_same else code.replace(co_consts=constants)


def _make_dual(
    owner: FunctionNode, written: FunctionNode | ast.Module, instrumenter: _Instrumenter
) -> None:
    """Gives the function both bodies. The docstring and declarations stand before them."""
    documented = 1 if ast.get_docstring(owner, clean=False) is not None else 0
    usual, declared = without_declarations(owner.body[documented:])
    logged, _ = without_declarations(instrumenter.block(written.body[documented:]))
    choice = ast.If(_call(ENTER), _watch_ending(logged), usual or [ast.Pass()])
    ast.copy_location(choice, owner.body[0])
    owner.body = [*owner.body[:documented], *declared, choice]


def _watch_ending(body: list[ast.stmt]) -> list[ast.stmt]:
    """The body inside a `try` that logs how it ends."""
    body = body or [ast.Pass()]
    raised = ast.ExceptHandler(None, None, [ast.Expr(_call(RAISED)), ast.Raise()])
    whole = ast.Try(body, [raised], [], [ast.Expr(_call(LEFT))])
    for part in ast.walk(raised):
        ast.copy_location(part, body[-1])
    return [ast.copy_location(whole, body[0])]


def _in_context(body: list[ast.stmt]) -> ast.stmt:
    """The same for the body of a module, inside a `with`: in a `try` no import is lazy (3.15)."""
    body = body or [ast.Pass()]
    whole = ast.With([ast.withitem(_call(BODY))], body)
    return ast.copy_location(whole, body[0])


class _Instrumenter:
    """Adds hooks to statements."""

    def __init__(self, body: FunctionBody):
        self._numbers = {id(statement.node): statement.number for statement in body.statements}
        self._parts = _Parts(
            {id(expression): number for number, expression in enumerate(body.expressions)}
        )

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """The statements, each between hooks that log its beginning and its end."""
        out: list[ast.stmt] = []
        for node in statements:
            if isinstance(node, ast.Global | ast.Nonlocal):
                out.append(node)  # a directive to the compiler, not a step
                continue
            number = self._numbers[id(node)]
            out.append(_hook_statement(node, AT, number))
            out.append(self._statement(node, number))
            if not isinstance(node, _JUMPS):
                out.append(_hook_statement(node, DONE, number))
        return out

    def _statement(self, node: ast.stmt, number: int) -> ast.stmt:
        match node:
            case ast.Return():
                node.value = _logged(RETURNED, number, self._expression(node.value))
            case ast.If() | ast.While():
                node.test = _logged(TEST, number, self._expression(node.test))
                self._blocks(node, number)
            case ast.For() | ast.AsyncFor():
                node.iter = _logged(ITEMS, number, self._expression(node.iter))
                self._blocks(node, number)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    item.context_expr = self._expression(item.context_expr)
                node.body = self.block(node.body)
            case ast.Match():
                node.subject = self._expression(node.subject)
                for case in node.cases:
                    if case.guard is not None:
                        case.guard = self._expression(case.guard)
                    case.body = self.block(case.body)
            case ast.Try() | ast.TryStar():
                self._try(node, number)
            case ast.Assign():
                node.value = self._expression(node.value)
                node.targets = [self._expression(target) for target in node.targets]
            case ast.AugAssign() | ast.AnnAssign() if node.value is not None:
                node.value = self._expression(node.value)
                node.target = self._expression(node.target)
            case ast.Expr():
                node.value = self._expression(node.value)
            case ast.Delete():
                node.targets = [self._expression(target) for target in node.targets]
            case ast.Assert():
                node.test = self._expression(node.test)
            case ast.Raise():
                node.exc = None if node.exc is None else self._expression(node.exc)
                node.cause = None if node.cause is None else self._expression(node.cause)
        return node

    def _blocks(self, node: Any, number: int) -> None:
        begun = [] if isinstance(node, ast.If) else [_hook_statement(node.body[0], ROUND, number)]
        node.body = [*begun, *self.block(node.body)]
        node.orelse = self.block(node.orelse)

    def _try(self, node: ast.Try | ast.TryStar, number: int) -> None:
        node.body = self.block(node.body)
        for handler in node.handlers:
            caught = _hook_statement(handler.body[0], CAUGHT, number)
            handler.body = [caught, *self.block(handler.body)]
        node.orelse = self.block(node.orelse)
        if node.finalbody:
            caught = _hook_statement(node.finalbody[0], CAUGHT, number)
            node.finalbody = [caught, *self.block(node.finalbody)]

    def _expression(self, node: ast.expr | None) -> Any:
        return ast.Constant(None) if node is None else self._parts.visit(node)


class _Parts(ast.NodeTransformer):
    """Wraps parts of an expression in hooks."""

    def __init__(self, numbers: dict[int, int]):
        self._numbers = numbers

    def visit(self, node: ast.AST) -> Any:
        """The expression, in a hook if it has a number."""
        number = self._numbers.get(id(node))
        if isinstance(node, ast.Yield):
            value = ast.Constant(None) if node.value is None else self.visit(node.value)
            yielded = _at_location_of(_call(YIELDED, ast.Constant(-1), value), node)
            return _at_location_of(_call(SENT, ast.Constant(-1), ast.Yield(yielded)), node)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                node.func.value = self.visit(node.func.value)
            node.args = [self.visit(argument) for argument in node.args]
            node.keywords = [self.visit(keyword) for keyword in node.keywords]
        elif not isinstance(node, LOGGED_AS_A_WHOLE):
            self.generic_visit(node)
        if number is None or not (isinstance(node, ast.expr) and is_logged(node)):
            return node
        return _at_location_of(_call(PART, ast.Constant(number), node), node)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Constant(name), list(arguments), [])


def _logged(name: str, number: int, value: ast.expr) -> ast.expr:
    return _at_location_of(_call(name, ast.Constant(number), value), value)


def _hook_statement(node: ast.stmt, name: str, number: int) -> ast.stmt:
    """A call of a hook, located at the first character of a statement."""
    statement = ast.Expr(_call(name, ast.Constant(number)))
    statement.lineno = statement.end_lineno = node.lineno
    statement.col_offset = statement.end_col_offset = node.col_offset
    return ast.fix_missing_locations(statement)


def _at_location_of(expression: ast.expr, node: ast.AST) -> ast.expr:
    """The new expression with the location of the one that it replaces."""
    return ast.fix_missing_locations(ast.copy_location(expression, node))
