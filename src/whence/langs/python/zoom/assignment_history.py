"""Which action set a part of a variable last, and what it copied.

An action sets a part if its text binds the variable or stores into it, or if the logged values
before and after differ in that part; so a change over an alias is noticed too. A part beyond the
logged levels never counts as changed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from whence.langs.python.source.liveness import NONE, Names
from whence.langs.python.zoom.actions import Action, Actions, touched
from whence.langs.python.zoom.copied_parts import (
    ExpressionPart,
    KnownParts,
    VariablePart,
    denoted_part,
    item_of,
    lies_in,
    stored_part,
)
from whence.langs.python.zoom.segments import SegmentEnding, SegmentKind
from whence.langs.python.zoom.step_log import State, StepLog


@dataclass(frozen=True)
class Assignment:
    """An action that set a part, and the part that it copied, if any."""

    action: Action
    part: VariablePart
    copied: VariablePart | None


class AssignmentHistory:
    """How parts of the variables of one call got their values."""

    def __init__(self, log: StepLog, actions: Actions):
        self._log, self._actions = log, actions
        self._parts = KnownParts(log)

    def assignments(self, part: VariablePart, event: int) -> Iterator[Assignment]:
        """The action that set a part before an event, then the one that set what it copied, …"""
        wanted: VariablePart | None = part
        for action in reversed(self._actions.in_time):
            if wanted is None:
                return
            if action.end <= event and self.sets(action, wanted):
                assignment = Assignment(action, wanted, self.copied(action, wanted))
                wanted = assignment.copied
                yield assignment

    def sets(self, action: Action, part: VariablePart) -> bool:
        """Whether an action set a part."""
        if (
            part.name in self._actions.named(action)
            and action.segment.ending is not SegmentEnding.RAISE
        ):
            return True
        before, after = self._states(action)
        stored = any(into is not None and lies_in(part, into) for into in self._stored(action))
        return stored or self._parts.differs(before, after, part)

    def _stored(self, action: Action) -> Iterator[VariablePart | None]:
        """The parts that an assignment stores into."""
        key = self._parts.key(self._log.states[action.first])
        for piece in action.pieces:
            targets: list[ast.expr] = []
            if isinstance(piece, ast.Assign):
                targets = piece.targets
            elif isinstance(piece, ast.AugAssign | ast.AnnAssign):
                targets = [piece.target]
            for target in targets:
                if isinstance(target, ast.Attribute | ast.Subscript):
                    yield denoted_part(target, key)

    def copied(self, action: Action, part: VariablePart) -> VariablePart | None:
        """The part that an action copied when it set another, if it did."""
        before, after = self._states(action)
        put = self._put(action, part)
        source = None if put is None else put.source(self._parts.key(before))
        if source is None or self._parts.text(after, part) is None:
            return None
        return source if self._parts.text(before, source) == self._parts.text(after, part) else None

    def stored_expression(self, action: Action, part: VariablePart) -> ast.expr | None:
        """The expression whose value an action stored in a part."""
        put = self._put(action, part)
        key = self._parts.key(self._log.states[action.first])
        return None if put is None else put.opened(key).expression

    def adds_to(self, action: Action, part: VariablePart) -> bool:
        """Whether an action computed a part from its old value: `total += price`."""
        if any(isinstance(piece, ast.AugAssign) for piece in action.pieces):
            return part.name in touched(action.pieces[0])
        put = self._put(action, part)
        return put is not None and part.name in names(put.expression)

    def _put(self, action: Action, part: VariablePart) -> ExpressionPart | None:
        before = self._log.states[action.first]
        key = self._parts.key(before)
        node = self._actions.node(action.segment)
        if action.is_own and isinstance(node, ast.For):
            return item_of(node.target, node.iter, self._round_after(action), part, key)
        if action.is_own or not action.pieces:
            return None
        old = before.get(part.name)
        held = None if old is None else self._log.value(old)
        return stored_part(action.pieces[0], part, held, key)

    def keys(self, action: Action) -> Names:
        """The variables that an action uses as keys: `i` in `xs[i]`."""
        indices = (
            node.slice
            for piece in action.pieces
            for node in ast.walk(piece)
            if isinstance(node, ast.Subscript)
        )
        return NONE.union(*(names(index) for index in indices))

    def source(self, action: Action, put: ExpressionPart) -> VariablePart | None:
        """The part of a variable that a part of an expression's value copies."""
        state = self._log.states[action.first]
        origin = put.source(self._parts.key(state))
        return (
            origin if origin is not None and self._parts.text(state, origin) is not None else None
        )

    def _round_after(self, action: Action) -> int:
        rounds = (
            child.round
            for child in action.segment.children
            if child.kind is SegmentKind.ROUND and child.first == action.end
        )
        return next(rounds, 0)

    def _states(self, action: Action) -> tuple[State, State]:
        return self._log.states[action.first], self._log.states[action.end]


def names(node: ast.AST) -> Names:
    """The variables in an expression."""
    return frozenset(below.id for below in ast.walk(node) if isinstance(below, ast.Name))
