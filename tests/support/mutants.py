"""Programs that are wrong in one place: the mutations of a source text."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.Add,
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A program that differs from another one in one place."""

    source: str
    function: str
    """The qualified name of the function that was changed; `<module>` for what stands in none."""
    what: str


def mutants(source: str) -> Iterator[Mutant]:
    """All mutations, one at a time."""
    tree = ast.parse(source)
    places = list(_places(tree, "<module>"))
    for number, (function, node) in enumerate(places):
        for variant in range(2):
            changed = copy.deepcopy(tree)
            target = list(_places(changed, "<module>"))[number][1]
            what = _mutate(target, variant)
            if what:
                ast.fix_missing_locations(changed)
                line = getattr(node, "lineno", 0)
                yield Mutant(ast.unparse(changed), function, f"line {line}: {what}")


def _places(node: ast.AST, function: str, local: bool = False) -> Iterator[tuple[str, ast.AST]]:
    """All nodes below one, each with the function that it is code of."""
    inner, is_function = function, isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if is_function or isinstance(node, ast.ClassDef):
        prefix = "" if function == "<module>" else f"{function}.{'<locals>.' if local else ''}"
        inner, local = f"{prefix}{node.name}", is_function  # type: ignore[attr-defined]
        for part in node.body:  # type: ignore[attr-defined]
            yield inner, part
            yield from _places(part, inner, local)
        return
    for child in ast.iter_child_nodes(node):
        yield inner, child
        yield from _places(child, inner, local)


def _mutate(node: ast.AST, variant: int) -> str:
    """Change a node; what was done, or nothing."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        node.value += 1 if variant == 0 else -1
        return "a number"
    if variant:
        return ""
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _OPERATORS:
        node.op = _OPERATORS[type(node.op)]()
        return "an operator"
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        node.ops[0] = _COMPARISONS[type(node.ops[0])]()
        return "a comparison"
    if isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return "and, or"
    if isinstance(node, ast.If | ast.For) and len(node.body) > 1:
        del node.body[0 if isinstance(node, ast.For) else -1]
        return "a statement dropped"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        node.value = ast.Constant(None)
        return "a call dropped"
    if isinstance(node, ast.Return) and node.value is not None:
        node.value = ast.Constant(None)
        return "returns nothing"
    return ""
