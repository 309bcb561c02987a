"""Where a part of a value was put by a statement that only copies it.

`kept.append(y)` makes `kept[2]` of `y`, `return kept, seen` makes `result[0][2]` of `kept[2]`. Only
what is plain in the text and agrees with the values that were seen is a copy: anything else made
the part.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from whence.errors import UsageError
from whence.langs.python.zoom.step_log import State, StepLog
from whence.model.value import FULL, Kind, Steps, Value, show


@dataclass(frozen=True, slots=True)
class VariablePart:
    """A part of a variable."""

    name: str
    steps: Steps = ()


Named = Callable[[str], str | None]
"""How the value of a variable that is used as a key is written."""


class KnownParts:
    """What is known of parts of variables."""

    def __init__(self, log: StepLog):
        self._log = log

    def text(self, state: State, part: VariablePart) -> str | None:
        """How a part is written; None if it is not there, or not known."""
        found = self.value(state, part)
        return None if found is None else show(found, FULL)

    def value(self, state: State, part: VariablePart) -> Value | None:
        """A part of a variable as it was."""
        number = state.get(part.name)
        if number is None:
            return None
        try:
            return self._log.value(number).part(part.steps)
        except UsageError:
            return None

    def is_known(self, state: State, part: VariablePart) -> bool:
        """Whether it is known what a part was, or that there was none."""
        number = state.get(part.name)
        value = None if number is None else self._log.value(number)
        for step in part.steps:
            if value is None:
                return True
            inner = dict(value.parts).get(step)
            if inner is None and (value.omitted or value.kind is Kind.SHARED):
                return False
            value = inner
        return True

    def differs(self, before: State, after: State, part: VariablePart) -> bool:
        """Whether a part is not what it was, as far as that is known."""
        if before.get(part.name) == after.get(part.name):
            return False
        if not (self.is_known(before, part) and self.is_known(after, part)):
            return False
        return self.text(before, part) != self.text(after, part)

    def key(self, state: State) -> Named:
        """How variables are written as keys, at one state."""
        return lambda name: self.text(state, VariablePart(name))


@dataclass(frozen=True, slots=True)
class ExpressionPart:
    """That a part of a variable is a part of what an expression came to."""

    expression: ast.expr
    steps: Steps

    def opened(self, key: Named) -> ExpressionPart:
        """The same of the item of a tuple, list or dict that is written out."""
        match self.expression:
            case ast.Tuple(elts=items) | ast.List(elts=items):
                place = _place(self.steps)
                if place is None or place >= len(items) or _is_starred(items[: place + 1]):
                    return self
                return ExpressionPart(items[place], self.steps[1:]).opened(key)
            case ast.Dict(keys=keys, values=values) if self.steps:
                for each, value in reversed(list(zip(keys, values, strict=True))):
                    step = None if each is None else _step(each, key)
                    if step is None:
                        return self  # what `**` brings, or a key that is worked out, may be the one
                    if step == self.steps[0]:
                        return ExpressionPart(value, self.steps[1:]).opened(key)
            case ast.NamedExpr(value=inner):
                return ExpressionPart(inner, self.steps).opened(key)
        return self

    def source(self, key: Named) -> VariablePart | None:
        """The part of a variable that it is a copy of."""
        opened = self.opened(key)
        found = named(opened.expression, key)
        return None if found is None else VariablePart(found.name, (*found.steps, *opened.steps))


def named(expression: ast.expr, key: Named) -> VariablePart | None:
    """The part that an expression, or the target of an assignment, names, if that is known."""
    match expression:
        case ast.Name(id=name):
            return VariablePart(name)
        case ast.Attribute(value=inner, attr=name):
            step: str | None = f".{name}"
        case ast.Subscript(value=inner, slice=index):
            step = _step(index, key)
        case _:
            return None
    found = named(inner, key)
    return None if found is None or step is None else VariablePart(found.name, (*found.steps, step))


def part_put_by(
    node: ast.AST, part: VariablePart, before: Value | None, key: Named
) -> ExpressionPart | None:
    """What a statement put where a part of a variable is. `before`: the variable as it was."""
    match node:
        case ast.Assign(targets=targets, value=value):
            found = [_unpacked(target, value, part, key) for target in targets]
            return next((match for match in found if match is not None), None)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            return _unpacked(target, value, part, key)
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=receiver, attr="append"), args=[item])
        ):
            into = named(receiver, key)
            if into is not None and _is_next(into, part, before):
                return ExpressionPart(item, part.steps[len(into.steps) + 1 :])
    return None


def _is_next(into: VariablePart, part: VariablePart, before: Value | None) -> bool:
    """Whether a part is in the place behind the last item of a list."""
    if not lies_in(part, into) or before is None:
        return False
    try:
        held = before.part(into.steps)
    except UsageError:
        return False
    place = _place(part.steps[len(into.steps) :])
    return held.kind is Kind.LIST and place == len(held.parts) + held.omitted


def _unpacked(
    target: ast.expr, value: ast.expr, part: VariablePart, key: Named
) -> ExpressionPart | None:
    """Of an assignment: what was put where a part of its target is."""
    if isinstance(target, ast.Tuple | ast.List):
        if _is_starred(target.elts):
            return None
        for place, inner in enumerate(target.elts):
            into = named(inner, key)
            if into is not None and lies_in(part, into):
                return ExpressionPart(value, (f"[{place}]", *part.steps[len(into.steps) :]))
        return None
    into = named(target, key)
    if into is None or not lies_in(part, into):
        return None
    return ExpressionPart(value, part.steps[len(into.steps) :])


def item_of(
    target: ast.expr, items: ast.expr, number: int, part: VariablePart, key: Named
) -> ExpressionPart | None:
    """Of what the item of a round of a loop is a part; rounds are counted from 1."""
    match items, target:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner]), ast.Tuple(elts=[_, item]):
            items, target = inner, item
    return _unpacked(target, ast.Subscript(items, ast.Constant(number - 1)), part, key)


def lies_in(part: VariablePart, into: VariablePart) -> bool:
    """Whether one part is another or lies in it."""
    return part.name == into.name and part.steps[: len(into.steps)] == into.steps


def _step(index: ast.expr, key: Named) -> str | None:
    """A subscript as a step of a path."""
    if isinstance(index, ast.Constant) and isinstance(index.value, int | str):
        return None if isinstance(index.value, int) and index.value < 0 else f"[{index.value!r}]"
    if isinstance(index, ast.Name):
        written = key(index.id)
        return None if written is None else f"[{written}]"
    return None


def _place(steps: Steps) -> int | None:
    number = steps[0][1:-1] if steps else ""
    return int(number) if number.isdigit() else None


def _is_starred(items: list[ast.expr]) -> bool:
    return any(isinstance(item, ast.Starred) for item in items)
