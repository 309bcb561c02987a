"""Recognizes statements that only copy a part of a value.

After `kept.append(y)`, `kept[2]` is a copy of `y`; after `return kept, seen`, `result[0][2]` is a
copy of `kept[2]`. A statement counts as a copy only if its text is plain and the logged values
agree. Anything else created the part.
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
"""Gives the written value of a variable that is used as a key."""


class KnownParts:
    """Looks up parts of variables in logged states."""

    def __init__(self, log: StepLog):
        self._log = log

    def text(self, state: State, part: VariablePart) -> str | None:
        """A part as text; None if it is missing or unknown."""
        value = self.value(state, part)
        return None if value is None else show(value, FULL)

    def value(self, state: State, part: VariablePart) -> Value | None:
        """A part of a variable in a state."""
        number = state.get(part.name)
        if number is None:
            return None
        try:
            return self._log.value(number).part(part.steps)
        except UsageError:
            return None

    def is_known(self, state: State, part: VariablePart) -> bool:
        """Whether it is known what a part was, or that it was missing."""
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
        """Whether a part is known to differ between two states."""
        if before.get(part.name) == after.get(part.name):
            return False
        if not (self.is_known(before, part) and self.is_known(after, part)):
            return False
        return self.text(before, part) != self.text(after, part)

    def key(self, state: State) -> Named:
        """The lookup of keys in one state."""
        return lambda name: self.text(state, VariablePart(name))


@dataclass(frozen=True, slots=True)
class ExpressionPart:
    """A part of an expression's value, which was stored in a part of a variable."""

    expression: ast.expr
    steps: Steps

    def opened(self, key: Named) -> ExpressionPart:
        """The same part, seen from the item inside a tuple, list or dict display."""
        match self.expression:
            case ast.Tuple(elts=items) | ast.List(elts=items):
                index = _place(self.steps)
                if index is None or index >= len(items) or _is_starred(items[: index + 1]):
                    return self
                return ExpressionPart(items[index], self.steps[1:]).opened(key)
            case ast.Dict(keys=keys, values=values) if self.steps:
                for entry_key, value in reversed(list(zip(keys, values, strict=True))):
                    step = None if entry_key is None else _step(entry_key, key)
                    if step is None:
                        return self  # `**` or a computed key may hold the part
                    if step == self.steps[0]:
                        return ExpressionPart(value, self.steps[1:]).opened(key)
            case ast.NamedExpr(value=inner):
                return ExpressionPart(inner, self.steps).opened(key)
        return self

    def source(self, key: Named) -> VariablePart | None:
        """The part of a variable that it copies."""
        opened = self.opened(key)
        denoted = denoted_part(opened.expression, key)
        return denoted and VariablePart(denoted.name, (*denoted.steps, *opened.steps))


def denoted_part(expression: ast.expr, key: Named) -> VariablePart | None:
    """The part that an expression or an assignment target denotes, if that is known."""
    match expression:
        case ast.Name(id=name):
            return VariablePart(name)
        case ast.Attribute(value=inner, attr=name):
            step: str | None = f".{name}"
        case ast.Subscript(value=inner, slice=index):
            step = _step(index, key)
        case _:
            return None
    owner = denoted_part(inner, key)
    return None if owner is None or step is None else VariablePart(owner.name, (*owner.steps, step))


def stored_part(
    node: ast.AST, part: VariablePart, before: Value | None, key: Named
) -> ExpressionPart | None:
    """What a statement stored in a part of a variable. `before`: the old value of the variable."""
    match node:
        case ast.Assign(targets=targets, value=value):
            candidates = [_unpack(target, value, part, key) for target in targets]
            return next((candidate for candidate in candidates if candidate is not None), None)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            return _unpack(target, value, part, key)
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=receiver, attr="append"), args=[item])
        ):
            into = denoted_part(receiver, key)
            if into is not None and _is_next(into, part, before):
                return ExpressionPart(item, part.steps[len(into.steps) + 1 :])
    return None


def _is_next(into: VariablePart, part: VariablePart, before: Value | None) -> bool:
    """Whether a part is the position after the last item of a list."""
    if not lies_in(part, into) or before is None:
        return False
    try:
        held = before.part(into.steps)
    except UsageError:
        return False
    index = _place(part.steps[len(into.steps) :])
    return held.kind is Kind.LIST and index == len(held.parts) + held.omitted


def _unpack(
    target: ast.expr, value: ast.expr, part: VariablePart, key: Named
) -> ExpressionPart | None:
    """What an assignment stored in a part of its target."""
    if isinstance(target, ast.Tuple | ast.List):
        if _is_starred(target.elts):
            return None
        for index, inner in enumerate(target.elts):
            into = denoted_part(inner, key)
            if into is not None and lies_in(part, into):
                return ExpressionPart(value, (f"[{index}]", *part.steps[len(into.steps) :]))
        return None
    into = denoted_part(target, key)
    if into is None or not lies_in(part, into):
        return None
    return ExpressionPart(value, part.steps[len(into.steps) :])


def item_of(
    target: ast.expr, items: ast.expr, number: int, part: VariablePart, key: Named
) -> ExpressionPart | None:
    """The part of the items that a loop variable holds; rounds are counted from 1."""
    match items, target:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner]), ast.Tuple(elts=[_, item]):
            items, target = inner, item
    return _unpack(target, ast.Subscript(items, ast.Constant(number - 1)), part, key)


def lies_in(part: VariablePart, into: VariablePart) -> bool:
    """Whether one part is another or lies inside it."""
    return part.name == into.name and part.steps[: len(into.steps)] == into.steps


def _step(index: ast.expr, key: Named) -> str | None:
    """A subscript as a step of a path; None if its value is not known."""
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
