"""An `assert` that failed, read from the source text: whose fault is it?

One at the head of a function that is about its parameters says what the function may be given: the
call is inadmissible. One about what the function itself has worked out says that it went wrong. Of
all others nothing is known: a value may have come from the caller or not.

Invariant: the failed `assert` is the call's own, and stands in the file as it did.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from whence.model.call import Call, OutcomeKind
from whence.model.verdict import Verdict

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class AssertReader:
    """Reads source files, each once."""

    _trees: dict[str, ast.Module | None] = field(default_factory=dict)

    def judge(
        self, call: Call, callees: Sequence[Call], absolute: Callable[[str], str]
    ) -> tuple[Verdict, str] | None:
        """The verdict on a call that left by a failed `assert` of its own, and the condition."""
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
        for callee in callees:
            site = callee.site
            raised = callee.outcome.kind is OutcomeKind.RAISED
            if raised and site and site.line and first <= site.line <= last:
                return None
        verdict = _verdict(function, failed)
        return verdict and (verdict, f"assert {ast.unparse(failed.test)}")

    def _function(self, file: str, call: Call) -> _Function | None:
        if file not in self._trees:
            try:
                self._trees[file] = ast.parse(Path(file).read_bytes())
            except (OSError, SyntaxError, ValueError, RecursionError):
                self._trees[file] = None
        tree, location = self._trees[file], call.function.location
        if tree is None or location is None:
            return None
        name = call.function.qualname.rpartition(".")[2]
        for node in ast.walk(tree):
            if isinstance(node, _Function) and node.name == name:
                lines = [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]
                if location.line in lines:
                    return node
        return None


def _assert_at(function: _Function, line: int, column: int | None) -> ast.Assert | None:
    """The `assert` at a location of a function, which is not in a nested function."""
    for node in _own(function):
        if isinstance(node, ast.Assert) and node.lineno <= line <= (node.end_lineno or line):
            same_line = node.lineno == line == node.end_lineno
            if not same_line or column is None or column >= node.col_offset:
                return node
    return None


def _own(function: ast.AST) -> list[ast.AST]:
    own: list[ast.AST] = []
    pending = list(ast.iter_child_nodes(function))
    while pending:
        node = pending.pop()
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            own.append(node)
            pending += ast.iter_child_nodes(node)
    return own


def _verdict(function: _Function, failed: ast.Assert) -> Verdict | None:
    names = {node.id for node in ast.walk(failed.test) if isinstance(node, ast.Name)}
    arguments = function.args
    parameters = {
        argument.arg
        for argument in (
            *arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs,
            *filter(None, (arguments.vararg, arguments.kwarg)),
        )
    }  # fmt: skip
    named = {name for name in names if not hasattr(builtins, name)}
    bound = {
        node.id
        for node in _own(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    if _is_at_head(function, failed):
        others = named - parameters
        # Besides its parameters it may name classes and constants, which do not vary.
        constant = all(name[:1].isupper() for name in others)
        return Verdict.INADMISSIBLE if named & parameters and constant else None
    worked_out = bound - _derived(function, parameters)
    return Verdict.WRONG if named & worked_out else None


def _is_at_head(function: _Function, failed: ast.Assert) -> bool:
    for statement in function.body:
        if statement is failed:
            return True
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not is_text and not isinstance(statement, ast.Assert):
            return False
    return False


def _derived(function: _Function, parameters: set[str]) -> set[str]:
    """The names that only ever hold a part of a parameter."""
    derived = set(parameters)
    sources: dict[str, set[str]] = {}
    target: ast.AST
    value: ast.AST
    for node in _own(function):
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
