"""Judges a call that its own failed `assert` ended, from the source text.

An `assert` about parameters, at the head of a function, makes the call inadmissible. One about what
the function itself computed makes it wrong. Any other says nothing: a value may have come from the
caller or not.

Invariant: the failed `assert` is in the function of the call, at the recorded line. The calls that
it made are read only if there is such an `assert`.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from whence.langs.python.source.code_locations import header_lines
from whence.langs.python.source.scopes import FunctionNode, nodes_outside_definitions
from whence.langs.python.source.scopes import parameters as parameter_names
from whence.langs.python.source.source_parsing import parse_file
from whence.model.call import Call, OutcomeKind
from whence.model.verdict import Verdict


@dataclass
class AssertReader:
    """Reads source files, each once."""

    _trees: dict[str, ast.Module | None] = field(default_factory=dict)

    def judge(
        self,
        call: Call,
        raised: Callable[[], Iterable[Call] | None],
        absolute: Callable[[str], str],
    ) -> tuple[Verdict, str] | None:
        """The verdict on a call that its own failed `assert` ended, and the condition.

        `raised` gives the calls that it made and that raised; None if there are too many to read.
        """
        outcome, where = call.outcome, call.outcome.location
        if outcome.kind is not OutcomeKind.RAISED or where is None or where.line is None:
            return None
        if outcome.value is None or outcome.value.text != "AssertionError":
            return None
        function = self._function(absolute(where.file), call)
        failed = function and _assert_at(function, where.line, where.column)
        if not function or not failed:
            return None
        first, last = failed.lineno, failed.end_lineno or failed.lineno
        callees = raised()
        if callees is None:
            return None
        for callee in callees:
            site = callee.site
            if site and site.line and first <= site.line <= last:
                return None
        verdict = _verdict(function, failed)
        return verdict and (verdict, f"assert {ast.unparse(failed.test)}")

    def _function(self, file: str, call: Call) -> FunctionNode | None:
        if file not in self._trees:
            self._trees[file] = parse_file(file)
        tree, location = self._trees[file], call.function.location
        if tree is None or location is None:
            return None
        name = call.function.qualname.rpartition(".")[2]
        functions = (node for node in ast.walk(tree) if isinstance(node, FunctionNode))
        named = (function for function in functions if function.name == name)
        return next((one for one in named if location.line in header_lines(one)), None)


def _assert_at(function: FunctionNode, line: int, column: int | None) -> ast.Assert | None:
    """The `assert` at a location of a function, which is not in a nested function."""
    for node in _own_nodes(function):
        if isinstance(node, ast.Assert) and node.lineno <= line <= (node.end_lineno or line):
            same_line = node.lineno == line == node.end_lineno
            if not same_line or column is None or column >= node.col_offset:
                return node
    return None


def _own_nodes(function: FunctionNode) -> Iterator[ast.AST]:
    return nodes_outside_definitions(ast.iter_child_nodes(function))


def _verdict(function: FunctionNode, failed: ast.Assert) -> Verdict | None:
    names = {node.id for node in ast.walk(failed.test) if isinstance(node, ast.Name)}
    parameters = set(parameter_names(function.args))
    named = {name for name in names if not hasattr(builtins, name)}
    bound = {
        node.id
        for node in _own_nodes(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    if _is_at_head(function, failed):
        others = named - parameters
        # Besides its parameters it may name classes and constants, which do not vary.
        constant = all(name[:1].isupper() for name in others)
        return Verdict.INADMISSIBLE if named & parameters and constant else None
    computed = bound - _derived(function, parameters)
    return Verdict.WRONG if named & computed else None


def _is_at_head(function: FunctionNode, failed: ast.Assert) -> bool:
    for statement in function.body:
        if statement is failed:
            return True
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not is_text and not isinstance(statement, ast.Assert):
            return False
    return False


def _derived(function: FunctionNode, parameters: set[str]) -> set[str]:
    """The names that only ever hold a part of a parameter."""
    derived = set(parameters)
    sources: dict[str, set[str]] = {}
    target: ast.AST
    value: ast.AST
    for node in _own_nodes(function):
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            target, value = node.target, node.iter
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AugAssign | ast.NamedExpr):
            target, value = node.target, node
        else:
            continue
        simple = isinstance(value, ast.Name | ast.Attribute | ast.Subscript)
        inside = {inner.id for inner in ast.walk(value) if isinstance(inner, ast.Name)}
        is_loop = isinstance(node, ast.For | ast.AsyncFor | ast.comprehension)
        for inner in ast.walk(target):
            if isinstance(inner, ast.Name):
                held = inside if simple or is_loop else {*inside, ""}
                sources.setdefault(inner.id, set()).update(held)
    builtin = set(dir(builtins))
    for _ in range(len(sources) + 1):
        for name, held in sources.items():
            if held <= derived | builtin:
                derived.add(name)
            elif name in derived:
                derived.discard(name)
    return derived
