"""Rewrites one function so that the wanted call of it tells what its statements do.

The function gets a second body beside its own, which only the wanted call runs: every other call
runs what it always did. Names of what the second body calls begin with `@`, so that they clash with
nothing. A module is run once, so it has only the second one.

Invariant: the second body does what the first one does, in the same order and from the same frame;
what it tells of is told, never asked: no method of a value is called.
"""

from __future__ import annotations

import ast
import copy
from types import CodeType
from typing import Any

from whence.langs.python.source.quiet_compile import compile_quietly, parse_quietly
from whence.langs.python.source.scopes import FunctionNode
from whence.langs.python.zoom.function_body import (
    TEXTS,
    FunctionBody,
    find_function,
    is_logged,
)

ENTER, AT, DONE, ROUND, TEST, ITEMS, RETURNED, YIELDED, SENT, PART, CAUGHT, RAISED, LEFT = (
    f"@zoom.{name}"
    for name in (
        "enter", "at", "done", "round", "test", "items", "returned", "yielded", "sent", "part",
        "caught", "raised", "left",
    )
)  # fmt: skip
"""The names of what the second body calls."""
_JUMPS = (ast.Return, ast.Break, ast.Continue, ast.Raise)


def instrument(source: str | bytes, file: str, first_line: int, qualname: str) -> CodeType:
    """The code of a module in which one function can tell what it does."""
    tree = parse_quietly(source)
    owner = find_function(tree, first_line, qualname)
    plain = copy.deepcopy(owner)
    body = FunctionBody(owner, "")
    telling = _Telling(body)
    if isinstance(owner, ast.Module):
        first = _docstring_and_futures(owner.body)
        owner.body = [*owner.body[:first], *_watched(telling.block(owner.body[first:]))]
        owner.body.insert(first, ast.Expr(_call(ENTER)))
    else:
        _make_dual(owner, plain, telling)
    return compile_quietly(ast.fix_missing_locations(tree), file)


def _make_dual(owner: FunctionNode, plain: Any, telling: _Telling) -> None:
    """Documentation and declarations stand before both bodies, which are the same for both."""
    documented = 1 if ast.get_docstring(owner, clean=False) is not None else 0
    before = owner.body[:documented]
    told = telling.block(owner.body[documented:])
    declared: list[ast.stmt] = []
    usual = _without_declarations(plain.body[documented:], declared)
    told = _without_declarations(told, [])
    if not usual:
        usual = [ast.Pass()]
    choice = ast.If(_call(ENTER), _watched(told), usual)
    ast.copy_location(choice, owner.body[0])
    owner.body = [*before, *declared, choice]


def _watched(told: list[ast.stmt]) -> list[ast.stmt]:
    """The body with an eye on how it ends."""
    if not told:
        told = [ast.Pass()]
    ended = ast.ExceptHandler(None, None, [ast.Expr(_call(RAISED)), ast.Raise()])
    watched = ast.Try(told, [ended], [], [ast.Expr(_call(LEFT))])
    last = told[-1]
    for part in ast.walk(ended):
        ast.copy_location(part, last)
    return [ast.copy_location(watched, told[0])]


class _Declarations(ast.NodeTransformer):
    """Takes `global` and `nonlocal` out of a body: they may not come after a use."""

    def __init__(self, found: list[ast.stmt]):
        self._found = found

    def visit_Global(self, node: ast.Global) -> ast.stmt:
        self._found.append(node)
        return ast.copy_location(ast.Pass(), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.stmt:
        self._found.append(node)
        return ast.copy_location(ast.Pass(), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node


def _without_declarations(block: list[ast.stmt], found: list[ast.stmt]) -> list[ast.stmt]:
    taken = _Declarations(found)
    return [taken.visit(each) for each in block]


def _docstring_and_futures(body: list[ast.stmt]) -> int:
    """How many statements have to stay at the beginning of a module."""
    count = 0
    for place, each in enumerate(body):
        is_text = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
        if (place == 0 and is_text) or (
            isinstance(each, ast.ImportFrom) and each.module == "__future__"
        ):
            count = place + 1
        else:
            break
    return count


class _Telling:
    """Puts what tells into statements."""

    def __init__(self, body: FunctionBody):
        self._numbers = {id(each.node): each.number for each in body.statements}
        self._parts = _Parts({id(each): number for number, each in enumerate(body.expressions)})

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """The statements, each with what tells that it begins and that it is done."""
        out: list[ast.stmt] = []
        for node in statements:
            if isinstance(node, ast.Global | ast.Nonlocal):
                out.append(node)  # it is for the compiler: nothing happens there
                continue
            number = self._numbers[id(node)]
            out.append(_stated(node, AT, number))
            out.append(self._statement(node, number))
            if not isinstance(node, _JUMPS):
                out.append(_stated(node, DONE, number))
        return out

    def _statement(self, node: ast.stmt, number: int) -> ast.stmt:
        match node:
            case ast.Return():
                node.value = _told(RETURNED, number, self._expression(node.value))
            case ast.If() | ast.While():
                node.test = _told(TEST, number, self._expression(node.test))
                self._blocks(node, number)
            case ast.For() | ast.AsyncFor():
                node.iter = _told(ITEMS, number, self._expression(node.iter))
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
                node.targets = [self._expression(each) for each in node.targets]
            case ast.AugAssign() | ast.AnnAssign() if node.value is not None:
                node.value = self._expression(node.value)
                node.target = self._expression(node.target)
            case ast.Expr():
                node.value = self._expression(node.value)
            case ast.Delete():
                node.targets = [self._expression(each) for each in node.targets]
            case ast.Assert():
                node.test = self._expression(node.test)
            case ast.Raise():
                node.exc = None if node.exc is None else self._expression(node.exc)
                node.cause = None if node.cause is None else self._expression(node.cause)
        return node

    def _blocks(self, node: Any, number: int) -> None:
        begun = [] if isinstance(node, ast.If) else [_stated(node.body[0], ROUND, number)]
        node.body = [*begun, *self.block(node.body)]
        node.orelse = self.block(node.orelse)

    def _try(self, node: ast.Try | ast.TryStar, number: int) -> None:
        node.body = self.block(node.body)
        for handler in node.handlers:
            caught = _stated(handler.body[0], CAUGHT, number)
            handler.body = [caught, *self.block(handler.body)]
        node.orelse = self.block(node.orelse)
        if node.finalbody:
            caught = _stated(node.finalbody[0], CAUGHT, number)
            node.finalbody = [caught, *self.block(node.finalbody)]

    def _expression(self, node: ast.expr | None) -> Any:
        return ast.Constant(None) if node is None else self._parts.visit(node)


class _Parts(ast.NodeTransformer):
    """Puts what tells around the parts of an expression."""

    def __init__(self, numbers: dict[int, int]):
        self._numbers = numbers

    def visit(self, node: ast.AST) -> Any:
        """The expression, told of if it has a number."""
        number = self._numbers.get(id(node))
        if isinstance(node, ast.Yield):
            value = ast.Constant(None) if node.value is None else self.visit(node.value)
            given = _placed(_call(YIELDED, value), node)
            return _placed(_call(SENT, ast.Yield(given)), node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node.func.value = self.visit(node.func.value)
            node.args = [self.visit(each) for each in node.args]
            node.keywords = [self.visit(each) for each in node.keywords]
        elif isinstance(node, ast.Call):
            node.args = [self.visit(each) for each in node.args]
            node.keywords = [self.visit(each) for each in node.keywords]
        elif not isinstance(
            node,
            (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, *TEXTS),
        ):
            self.generic_visit(node)
        if number is None or not (isinstance(node, ast.expr) and is_logged(node)):
            return node
        return _placed(_call(PART, ast.Constant(number), node), node)


def _call(name: str, *given: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(given), [])


def _told(name: str, number: int, value: ast.expr) -> ast.expr:
    return _placed(_call(name, ast.Constant(number), value), value)


def _stated(place: ast.stmt, name: str, number: int) -> ast.stmt:
    """Something told, in the first line of a statement."""
    said = ast.Expr(_call(name, ast.Constant(number)))
    said.lineno = said.end_lineno = place.lineno
    said.col_offset = said.end_col_offset = place.col_offset
    return ast.fix_missing_locations(said)


def _placed(made: ast.expr, node: ast.AST) -> ast.expr:
    """What is made of an expression, where that stands; what is in it has its own place."""
    return ast.fix_missing_locations(ast.copy_location(made, node))
