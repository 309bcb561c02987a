"""A call as a sequence of *actions*: the smallest things it did, in order of time.

A segment without children is one action. A compound segment has more of its own: it binds the item
of a round, evaluates the subject of a `match`, enters a `with`.

Invariant: every change of a state lies in exactly one action.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from whence.langs.python.source.liveness import NONE, Names, certainly_bound
from whence.langs.python.source.scopes import DEFINITIONS, names_read, names_written
from whence.langs.python.zoom.function_body import FunctionBody
from whence.langs.python.zoom.segments import Segment, SegmentEnding, SegmentKind
from whence.langs.python.zoom.step_log import StepLog

_HEAP_WRITES = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.AugAssign, ast.Delete)


@dataclass(frozen=True)
class Action:
    """One thing that was done, between two events."""

    segment: Segment
    """The segment that did it."""
    first: int
    end: int
    pieces: tuple[ast.AST, ...]
    """The syntax nodes that ran."""
    is_own: bool = False
    """Whether a compound segment did it, outside its children."""

    @property
    def is_choice(self) -> bool:
        """Whether it decided what ran next: a test, the items of a loop, a pattern."""
        if self.segment.kind in (SegmentKind.TEST, SegmentKind.ITEMS):
            return True
        return self.is_own and any(isinstance(piece, ast.pattern) for piece in self.pieces)


class Actions:
    """All actions of a call, and how its segments are nested."""

    def __init__(self, whole: Segment, log: StepLog, body: FunctionBody):
        self._log, self._body = log, body
        self._names_written = cache(names_written)
        self.parents: Mapping[int, Segment] = {
            id(child): segment for segment in _all_below(whole) for child in segment.children
        }
        self.in_time = list(self._actions_of(whole))

    def above(self, segment: Segment) -> Iterator[Segment]:
        """The segments around one, the nearest first."""
        parent = self.parents.get(id(segment))
        while parent is not None:
            yield parent
            parent = self.parents.get(id(parent))

    def node(self, segment: Segment) -> ast.stmt | None:
        """The statement that a segment belongs to; None for the call itself."""
        return self._body.statements[segment.number].node if segment.number >= 0 else None

    def bound(self, action: Action) -> Names:
        """The names that an action certainly bound."""
        if action.segment.ending is SegmentEnding.RAISE and not action.is_own:
            return NONE
        names = NONE
        for piece in action.pieces:
            if isinstance(piece, ast.stmt):
                names |= certainly_bound(piece)
            elif action.is_own and not isinstance(piece, ast.pattern):
                names |= names_written([piece])
        return names

    def named(self, action: Action) -> Names:
        """The names that an action may have bound."""
        return self._names_written(action.pieces)

    def changed(self, action: Action) -> Names:
        """The variables whose values differ before and after an action."""
        states = self._log.states
        before, after = states[action.first], states[action.end]
        if before is after:
            return NONE
        names = {name for name in after if before.get(name) != after[name]}
        names |= before.keys() - after.keys()
        return frozenset(names) - self._bound_for_next_round(action)

    def _bound_for_next_round(self, action: Action) -> Names:
        """The loop variables of the next round, which may be bound when the state is logged."""
        kind, number = self._log.events[action.end][:2]
        if kind != "round" or action.is_own:
            return NONE
        return names_written([getattr(self._body.statements[number].node, "target", ast.Pass())])

    def _actions_of(self, whole: Segment) -> Iterator[Action]:
        pending: list[Segment | Action] = [whole]
        while pending:
            entry = pending.pop()
            if isinstance(entry, Action):
                yield entry
            elif entry.children:
                pending += reversed(list(self._children_and_own_actions(entry)))
            elif entry.number >= 0:
                yield Action(entry, entry.first, entry.end, self._pieces(entry))

    def _children_and_own_actions(self, segment: Segment) -> Iterator[Segment | Action]:
        """The children of a segment and what it did before, between and after them."""
        last = segment.first
        for child in segment.children:
            yield from self._between(segment, child, last, child.first)
            yield child
            last = child.end
        yield from self._between(segment, None, last, segment.end)

    def _between(
        self, segment: Segment, child: Segment | None, first: int, end: int
    ) -> Iterator[Action]:
        node = self.node(segment)
        is_bound = child is not None and child.kind is SegmentKind.ROUND
        if is_bound and isinstance(node, ast.For | ast.AsyncFor):
            yield Action(segment, min(first, end - 1), end, (node.target,), is_own=True)
        elif first < end and segment.kind in (SegmentKind.STATEMENT, SegmentKind.ROUNDS):
            yield Action(segment, first, end, _own_pieces(node, child is None), is_own=True)

    def _pieces(self, segment: Segment) -> tuple[ast.AST, ...]:
        node = self.node(segment)
        if segment.kind is SegmentKind.TEST and isinstance(node, ast.If | ast.While):
            return (node.test,)
        if segment.kind is SegmentKind.ITEMS and isinstance(node, ast.For | ast.AsyncFor):
            return (node.iter,)
        return () if node is None else (node,)


def _own_pieces(node: ast.stmt | None, is_end: bool) -> tuple[ast.AST, ...]:
    """What a compound statement runs outside its blocks."""
    match node:
        case ast.With() | ast.AsyncWith():
            return () if is_end else tuple(node.items)
        case ast.Match() if not is_end:
            guards = (case.guard for case in node.cases if case.guard is not None)
            return (node.subject, *guards, *(case.pattern for case in node.cases))
        case ast.Try() | ast.TryStar():
            return tuple(handler.type for handler in node.handlers if handler.type is not None)
    return ()


def _all_below(whole: Segment) -> Iterator[Segment]:
    pending = [whole]
    while pending:
        segment = pending.pop()
        yield segment
        pending += segment.children


def touched(node: ast.AST) -> Names:
    """The names that some code may change: it binds them, stores into them, or calls their
    methods."""
    names = set(names_written([node]))
    for below in ast.walk(node):
        target = below.func if isinstance(below, ast.Call) else below if _is_store(below) else None
        base = None if target is None else base_of(target)
        if base is not None and not isinstance(target, ast.Name):
            names.add(base)
    return frozenset(names)


def _is_store(node: ast.AST) -> bool:
    """Whether an attribute or item is set or deleted."""
    return isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)


def base_of(node: ast.AST) -> str | None:
    """The variable that a chain of attributes and subscripts starts with."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def mentioned(node: ast.AST) -> Names:
    """All names in some code."""
    return names_read([node]) | names_written([node])


def may_write(pieces: tuple[ast.AST, ...]) -> bool:
    """Whether some code may change an object without binding a variable."""
    nodes = [node for piece in pieces for node in ast.walk(piece)]
    return any(_is_store(node) or isinstance(node, (*_HEAP_WRITES, ast.withitem)) for node in nodes)


def jumps(node: ast.AST) -> frozenset[type[ast.stmt]]:
    """How a statement may jump elsewhere than to what follows it."""
    kinds: set[type[ast.stmt]] = set()
    pending: list[tuple[ast.AST, bool]] = [(node, False)]
    while pending:
        below, in_loop = pending.pop()
        if isinstance(below, DEFINITIONS):
            continue
        if isinstance(below, ast.Return | ast.Raise | ast.Assert):
            kinds.add(ast.Return)
        elif isinstance(below, ast.Break | ast.Continue) and not in_loop:
            kinds.add(type(below))
        is_loop = isinstance(below, ast.For | ast.AsyncFor | ast.While)
        pending += [(child, in_loop or is_loop) for child in ast.iter_child_nodes(below)]
    return frozenset(kinds)
