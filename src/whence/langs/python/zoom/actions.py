"""A call as a sequence of *actions*: what it did, one thing after the other.

Every segment without parts is one action. What a compound one does besides its parts (binds the
item of a round, works out the subject of a `match`, enters a `with`) are others of its own.

Invariant: actions are in the order of time, and each change of a state lies in one of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from whence.langs.python.source.liveness import NONE, Names, certainly_bound
from whence.langs.python.source.scopes import DEFINITIONS, names_read, names_written
from whence.langs.python.zoom.function_body import FunctionBody
from whence.langs.python.zoom.segments import Segment, SegmentEnding, SegmentKind
from whence.langs.python.zoom.step_log import StepLog

_HEAP_WRITES = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.AugAssign, ast.Delete)


@dataclass(frozen=True)
class Action:
    """A thing that was done, between two events."""

    segment: Segment
    """Whose doing it is."""
    first: int
    end: int
    pieces: tuple[ast.AST, ...]
    """The pieces of the text that were run for it."""
    is_own: bool = False
    """Whether it is what a compound segment did besides its parts."""

    @property
    def is_choice(self) -> bool:
        """Whether it chose what was done next: a test, the items of a loop, what is matched."""
        if self.segment.kind in (SegmentKind.TEST, SegmentKind.ITEMS):
            return True
        return self.is_own and any(isinstance(each, ast.pattern) for each in self.pieces)


class Actions:
    """All actions of a call, and how segments lie in each other."""

    def __init__(self, whole: Segment, told: StepLog, body: FunctionBody):
        self._told, self._body = told, body
        self._named: dict[tuple[int, ...], Names] = {}
        self.parents: Mapping[int, Segment] = {
            id(child): each for each in _all_below(whole) for child in each.children
        }
        self.in_time = list(self._of(whole))

    def above(self, segment: Segment) -> Iterator[Segment]:
        """The segments that one lies in, the nearest first."""
        found = self.parents.get(id(segment))
        while found is not None:
            yield found
            found = self.parents.get(id(found))

    def node(self, segment: Segment) -> ast.stmt | None:
        """The statement that a segment is a part of; None for the call itself."""
        return self._body.statements[segment.number].node if segment.number >= 0 else None

    def bound(self, action: Action) -> Names:
        """The names that were bound by it for certain, as the text says."""
        if action.segment.ending is SegmentEnding.RAISE and not action.is_own:
            return NONE
        found = NONE
        for piece in action.pieces:
            if isinstance(piece, ast.stmt):
                found |= certainly_bound(piece)
            elif action.is_own and not isinstance(piece, ast.pattern):
                found |= names_written([piece])
        return found

    def named(self, action: Action) -> Names:
        """The names that it may have bound, as the text says."""
        key = tuple(map(id, action.pieces))
        if key not in self._named:
            self._named[key] = names_written(action.pieces)
        return self._named[key]

    def changed(self, action: Action) -> Names:
        """The variables that are not what they were."""
        states = self._told.states
        before, after = states[action.first], states[action.end]
        if before is after:
            return NONE
        found = {name for name in after if before.get(name) != after[name]}
        found |= before.keys() - after.keys()
        return frozenset(found) - self._of_next_round(action)

    def _of_next_round(self, action: Action) -> Names:
        """The item of a round that had begun when the state after an action was told."""
        kind, number = self._told.events[action.end][:2]
        if kind != "round" or action.is_own:
            return NONE
        return names_written([getattr(self._body.statements[number].node, "target", ast.Pass())])

    def _of(self, whole: Segment) -> Iterator[Action]:
        pending: list[Segment | Action] = [whole]
        while pending:
            each = pending.pop()
            if isinstance(each, Action):
                yield each
            elif each.children:
                pending += reversed(list(self._with_own(each)))
            elif each.number >= 0:
                yield Action(each, each.first, each.end, self._pieces(each))

    def _with_own(self, segment: Segment) -> Iterator[Segment | Action]:
        """The parts of a segment and what it did before, between and after them."""
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
    """What a compound statement runs besides its blocks."""
    match node:
        case ast.With() | ast.AsyncWith():
            return () if is_end else tuple(node.items)
        case ast.Match() if not is_end:
            guards = (each.guard for each in node.cases if each.guard is not None)
            return (node.subject, *guards, *(each.pattern for each in node.cases))
        case ast.Try() | ast.TryStar():
            return tuple(each.type for each in node.handlers if each.type is not None)
    return ()


def _all_below(whole: Segment) -> Iterator[Segment]:
    pending = [whole]
    while pending:
        each = pending.pop()
        yield each
        pending += each.children


def touched(node: ast.AST) -> Names:
    """The names that a piece of text may change as it stands: it binds them, stores into them, or
    calls their methods."""
    found = set(names_written([node]))
    for each in ast.walk(node):
        is_store = isinstance(each, ast.Attribute | ast.Subscript) and not isinstance(
            each.ctx, ast.Load
        )
        target = each.func if isinstance(each, ast.Call) else each if is_store else None
        base = None if target is None else base_of(target)
        if base is not None and not isinstance(target, ast.Name):
            found.add(base)
    return frozenset(found)


def base_of(node: ast.AST) -> str | None:
    """The variable that a chain of attributes and subscripts starts with."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def mentioned(node: ast.AST) -> Names:
    """All names in a piece of text."""
    return names_read([node]) | names_written([node])


def may_write(pieces: tuple[ast.AST, ...]) -> bool:
    """Whether something that no variable is bound to anew may be changed."""
    for piece in pieces:
        if isinstance(piece, ast.withitem):
            return True
        for each in ast.walk(piece):
            is_store = isinstance(each, ast.Attribute | ast.Subscript) and not isinstance(
                each.ctx, ast.Load
            )
            if is_store or isinstance(each, _HEAP_WRITES):
                return True
    return False


def jumps(node: ast.AST) -> frozenset[type[ast.stmt]]:
    """The ways in which a statement may lead elsewhere than to what follows it."""
    found: set[type[ast.stmt]] = set()
    pending: list[tuple[ast.AST, bool]] = [(node, False)]
    while pending:
        each, in_loop = pending.pop()
        if isinstance(each, DEFINITIONS):
            continue
        if isinstance(each, ast.Return | ast.Raise | ast.Assert):
            found.add(ast.Return)
        elif isinstance(each, ast.Break | ast.Continue) and not in_loop:
            found.add(type(each))
        is_loop = isinstance(each, ast.For | ast.AsyncFor | ast.While)
        pending += [(child, in_loop or is_loop) for child in ast.iter_child_nodes(each)]
    return frozenset(found)
