"""The operands of a failed assertion and the expressions that created them, from source alone.

Knows `assert`, the methods of `unittest.TestCase`, and `raises` blocks in which nothing was raised.
This runs in the process of the failed test, so it imports little and evaluates nothing.

A name is followed to its assignment only if the statements between that and the assertion run one
after another.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from whence.langs.python.source.code_locations import first_line
from whence.langs.python.source.definitions import NOT_LITERAL, literal
from whence.langs.python.source.scopes import DEFINITIONS, FunctionNode, parameters
from whence.langs.python.source.source_parsing import parse_source
from whence.model.symptom import AssertionOperand

Span = tuple[int, int, int, int]
_ABOUT_ARGUMENTS = {
    "all", "any", "bool", "callable", "hasattr", "isinstance", "issubclass", "len", "set", "sorted",
}  # fmt: skip
"""Builtins whose arguments count as operands instead of the result."""
_COMPARED = ("", "Dict", "List", "MultiLine", "Sequence", "Set", "Tuple")
_EQUAL = {f"assert{kind}Equal" for kind in _COMPARED}
_RAISES = ("raises", "assertRaises", "assertRaisesRegex")
_COLLECTING = {"dict", "frozenset", "len", "list", "set", "sorted", "str", "sum", "tuple"}
"""Builtins whose only argument is followed instead of the result."""
_SETTINGS = {"msg", "message", "places", "delta", "countEqual"}
"""Keywords of assert methods that are no operands."""
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def operands_at(
    source: str, line: int, *, not_raised: bool = False
) -> tuple[AssertionOperand, ...]:
    """The operands of the assertion at a line; `not_raised`: it is about a missing exception."""
    module = parse_source(source)
    for statement in _statements_at(module, line):
        operands = list(_parts(statement, not_raised))
        if operands:
            return tuple(
                AssertionOperand(ast.get_source_segment(source, node) or "", span=_span(node))
                for node in operands
            )
    return ()


def statement_at(source: str, line: int) -> str:
    """The source of the innermost statement at a line; of a block only its first line."""
    module = parse_source(source)
    statements = _statements_at(module, line)
    if not statements:
        return ""
    lines = source.splitlines()[statements[0].lineno - 1 : statements[0].end_lineno]
    if hasattr(statements[0], "body"):
        del lines[statements[0].body[0].lineno - statements[0].lineno or 1 :]
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[indent:] for line in lines)


def _parts(statement: ast.stmt, not_raised: bool) -> Iterator[ast.expr]:
    if not_raised:
        if isinstance(statement, ast.With | ast.AsyncWith) and len(statement.body) == 1:
            only = statement.body[0]
            if isinstance(only, ast.Expr | ast.Assign):
                yield only.value
        elif isinstance(statement, ast.Expr):
            yield from _method_parts(statement.value)
    elif isinstance(statement, ast.Assert):
        yield from _test_parts(statement.test)
    elif isinstance(statement, ast.Expr):
        yield from _method_parts(statement.value)


def _test_parts(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _test_parts(test.operand)
    elif isinstance(test, ast.Compare):
        yield test.left
        yield from test.comparators
    elif isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _test_parts(value)
    elif isinstance(test, ast.Call) and _last_name(test.func) in _ABOUT_ARGUMENTS:
        yield from test.args
    else:
        yield test


def _method_parts(value: ast.expr) -> Iterator[ast.expr]:
    """The arguments of `self.assertEqual(first, second)` and its like."""
    if isinstance(value, ast.Call) and _last_name(value.func).lower().startswith("assert"):
        yield from value.args[:2]
        for keyword in value.keywords:
            if keyword.arg not in _SETTINGS and keyword.arg is not None:
                yield keyword.value


def expected_of(
    source: str, line: int, operands: Sequence[AssertionOperand], wrong: AssertionOperand
) -> str:
    """What an operand should be if it is wrong and the other is right.

    A literal, `raises` with the name of the exception that is missing, or nothing.
    """
    module = parse_source(source)
    others = [operand for operand in operands if operand is not wrong]
    statements = _statements_at(module, line)
    due = next(filter(None, map(_due_exception, statements)), "")
    if due and not others:
        return f"raises {due}"
    if len(others) != 1 or not statements or not _is_equality(statements[0]):
        return ""
    for text in (others[0].expression, others[0].value):
        if text and "..." not in text and literal(text) is not NOT_LITERAL:
            return " ".join(text.split())
    return ""


def _due_exception(statement: ast.stmt) -> str:
    """The exception that a block such as `with pytest.raises(ValueError):` waits for."""
    items = statement.items if isinstance(statement, ast.With | ast.AsyncWith) else []
    call = items[0].context_expr if len(items) == 1 else None
    if isinstance(call, ast.Call) and _last_name(call.func) in _RAISES and call.args:
        return _last_name(call.args[0])
    return ""


def _is_equality(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assert):
        test = statement.test
        return isinstance(test, ast.Compare) and [type(op) for op in test.ops] == [ast.Eq]
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and _last_name(call.func) in _EQUAL


@dataclass(frozen=True, slots=True)
class OperandSource:
    """The expression that created an operand, or why it is not known."""

    span: Span | None = None
    called: str = ""
    """The name of the function that it calls or the attribute that it reads."""
    from_literals: bool = False
    """Whether it is a call whose arguments are all literals."""
    by_name: str = ""
    """The variable that it was assigned to, if the operand is a variable."""
    lambda_line: int | None = None
    """The line of the `lambda` that the test calls by that name."""
    parameter: str = ""
    """The parameter of the test that the operand is."""
    collected_by: str = ""
    """The builtin that turns its result into a list, a length or the like."""
    part_of: OperandSource | None = None
    """What created the object that it belongs to, in case it ran no recorded code itself."""
    unknown: str = ""
    within: Span | None = None
    """The span of an expression that calls nothing itself: perhaps one of its parts does."""


def maker(source: str, line: int, operand: AssertionOperand) -> OperandSource:
    """The call or attribute whose value the operand is."""
    module = parse_source(source)
    nodes = (node for node in ast.walk(module) if isinstance(node, ast.expr)) if module else ()
    match = next((node for node in nodes if _span(node) == operand.span), None)
    if not module or not match or ast.get_source_segment(source, match) != operand.expression:
        return OperandSource(unknown="its source has changed since it was recorded")
    return _source_of_operand(module, line, match)


def _source_of_operand(module: ast.Module, line: int, expression: ast.expr) -> OperandSource:
    if not isinstance(expression, ast.Name):
        return _source_of_expression(module, line, expression)
    name = expression.id
    assigned = _assignment(module, line, name)
    if isinstance(assigned, str):
        is_parameter = assigned == _is_parameter(name)
        return OperandSource(unknown=assigned, parameter=name if is_parameter else "")
    return replace(_source_of_expression(module, line, assigned), from_literals=False, by_name=name)


def _source_of_expression(module: ast.Module, line: int, expression: ast.expr) -> OperandSource:
    inner = expression.value if isinstance(expression, ast.Await) else expression
    if isinstance(inner, ast.Call):
        called = _last_name(inner.func)
        if called in _COLLECTING and len(inner.args) == 1 and not inner.keywords:
            inner_source = _source_of_expression(module, line, inner.args[0])
            if inner_source.span is not None or inner_source.within is not None:
                return replace(inner_source, collected_by=called)
        if not called:
            return OperandSource(unknown="what it calls has no name", within=_span(inner))
        function = _assignment(module, line, called) if isinstance(inner.func, ast.Name) else ""
        line_of_lambda = function.lineno if isinstance(function, ast.Lambda) else None
        literals = _has_literal_arguments(module, inner) and line_of_lambda is None
        of: OperandSource | None = None
        if isinstance(inner.func, ast.Attribute):
            of = replace(_source_of_operand(module, line, inner.func.value), from_literals=False)
        return OperandSource(_span(inner), called, literals, lambda_line=line_of_lambda, part_of=of)
    if isinstance(inner, ast.Attribute | ast.Subscript):
        name = inner.attr if isinstance(inner, ast.Attribute) else "__getitem__"
        whole = _source_of_operand(module, line, inner.value)
        return OperandSource(_span(inner), name, part_of=replace(whole, from_literals=False))
    if isinstance(inner, ast.Constant):
        return OperandSource(unknown="it is a literal in the test")
    return OperandSource(unknown="it is not the result of one call", within=_span(inner))


def decorators(source: str, line: int) -> list[str] | None:
    """The decorators of the function at a line, by their last names; None if there is none."""
    module = parse_source(source)
    for node in ast.walk(module) if module else ():
        if isinstance(node, FunctionNode) and line in (node.lineno, first_line(node)):
            return [_last_name(decorator) for decorator in node.decorator_list]
    return None


# --- where a name was assigned -------------------------------------------------------------------


def _assignment(module: ast.Module, line: int, name: str) -> ast.expr | str:
    """The expression that was last assigned to a name before a line, or why it is not known."""
    blocks = _blocks_down_to(module, line)
    declared = (n for n in ast.walk(module) if isinstance(n, ast.Nonlocal | ast.Global))
    if any(name in declaration.names for declaration in declared):
        return f"{name} is assigned in more than one way before the assertion"
    for block, index, container in reversed(blocks):
        for statement in reversed(block[:index]):
            if not _binds(statement, name):
                continue
            target = _plain_target(statement)
            if target == name and isinstance(statement, ast.Assign | ast.AnnAssign):
                return statement.value or "it is declared and not assigned"
            return f"{name} is assigned in more than one way before the assertion"
        if isinstance(container, FunctionNode):
            if name in parameters(container.args):
                return _is_parameter(name)
            break
        if isinstance(container, _LOOPS) and _binds(container, name):
            return f"{name} is assigned in a loop"
        if container is not None and _binds(container, name):
            return f"{name} is assigned in more than one way before the assertion"
    return f"where {name} comes from is not in the test"


def _is_parameter(name: str) -> str:
    return f"{name} is a parameter of the test"


Block = tuple[list[ast.stmt], int, ast.stmt | None]


def _blocks_down_to(module: ast.Module, line: int) -> list[Block]:
    """The blocks around a line, outermost first: statements, index and containing statement."""
    blocks: list[Block] = []
    body: list[ast.stmt] = module.body
    container: ast.stmt | None = None
    while True:
        index = next((n for n, statement in enumerate(body) if _contains(statement, line)), None)
        if index is None:
            return blocks
        blocks.append((body, index, container))
        container = body[index]
        inner = [
            block
            for name in ("body", "orelse", "finalbody", "handlers", "cases")
            for block in [getattr(container, name, None)]
            if isinstance(block, list)
        ]
        body = next((b for b in inner if any(_contains(node, line) for node in b)), [])
        if body and not isinstance(body[0], ast.stmt):  # an `except` or a `case`
            body = next(statement for statement in body if _contains(statement, line)).body


def _contains(node: ast.AST, line: int) -> bool:
    first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    if isinstance(node, ast.match_case):
        first, last = node.pattern.lineno, node.body[-1].end_lineno
    return first is not None and last is not None and first <= line <= last


def _binds(statement: ast.stmt, name: str) -> bool:
    """Whether the name is assigned, deleted or imported anywhere in a statement."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            return True
        if isinstance(node, ast.alias) and name in (node.asname, node.name):
            return True
        if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name == name:
            return True
        if isinstance(node, DEFINITIONS):
            if getattr(node, "name", None) == name:
                return True
            continue  # names inside are another function's
        stack.extend(ast.iter_child_nodes(node))
    return False


def _plain_target(statement: ast.stmt) -> str | None:
    """The name in `name = value`."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target: ast.expr = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign):
        target = statement.target
    else:
        return None
    return target.id if isinstance(target, ast.Name) else None


# --- nodes by line, span and name ----------------------------------------------------------------


def _statements_at(module: ast.Module | None, line: int) -> list[ast.stmt]:
    """The statements around a line, innermost first."""
    nodes = ast.walk(module) if module else ()
    statements = [n for n in nodes if isinstance(n, ast.stmt) and _contains(n, line)]
    return statements[::-1]  # `walk` goes level by level


def _span(node: ast.expr) -> Span:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def _last_name(expression: ast.expr) -> str:
    if isinstance(expression, ast.Call):
        expression = expression.func
    if isinstance(expression, ast.Name):
        return expression.id
    return expression.attr if isinstance(expression, ast.Attribute) else ""


def _has_literal_arguments(module: ast.Module, call: ast.Call) -> bool:
    """Whether all arguments of a call are constants: its input is what the test's author wrote."""
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    if any(literal(argument) is NOT_LITERAL for argument in arguments):
        return False
    if isinstance(call.func, ast.Name):
        return True
    imported = {
        alias.asname or alias.name
        for node in module.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return (
        isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id in imported
    )
