"""Turns the log of one call into a tree of segments.

A *segment* is a part of the run: a statement, the test of a branch, the items of a loop, one round,
all rounds from one on, or a stretch of consecutive statements. It lasts from one event to another,
and the states at both are the states before and after it.

Invariant: a log with an event outside all segments is rejected. The events of a segment lie within
those of its parent; what no child covers, the segment did itself. Rounds are nested: the rest of a
loop after a round is a child of the segment that holds the round.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from enum import Enum
from itertools import groupby
from typing import Any

from whence.langs.python.zoom.function_body import CannotZoom, FunctionBody
from whence.langs.python.zoom.step_log import StepLog

_STEPPING = ("yield", "sent")


class SegmentKind(Enum):
    """What a segment is."""

    CALL = "call"
    STATEMENT = "statement"
    STRETCH = "stretch"
    TEST = "test"
    ITEMS = "items"
    ROUND = "round"
    ROUNDS = "rounds"
    REST = "rest"
    """Everything after the last logged event."""


class SegmentEnding(Enum):
    """How a segment ended, if it did not simply continue with the next one."""

    RETURN = "return"
    BREAK = "break"
    CONTINUE = "continue"
    RAISE = "raise"
    CUT = "cut"


@dataclass
class Segment:
    """A part of the run, from one event to another."""

    kind: SegmentKind
    number: int
    """The number of the statement: for a stretch its first, for parts of a loop the loop."""
    first: int
    end: int = -1
    children: list[Segment] = field(default_factory=list)
    ending: SegmentEnding | None = None
    round: int = 0
    last_round: int = 0
    value: int | None = None
    """What was returned or raised, or the value of a test or of the items of a loop."""
    parts: list[tuple[int, int]] = field(default_factory=list)
    """Expressions that it evaluated itself, and their values, by number."""
    rounds: list[int] = field(default_factory=list)
    """Which round it is in of each loop around it, the outermost first."""

    @property
    def last(self) -> int:
        """The number of the last statement, which differs from `number` for a stretch."""
        return self.children[-1].last if self.kind is SegmentKind.STRETCH else self.number


class _SegmentReader:
    """Parses the events by the structure of the function's text."""

    def __init__(self, log: StepLog, body: FunctionBody):
        self._log = log
        self._events = log.events
        self._body = body
        self._index = 0
        self._rounds: list[int] = []
        self._parts: list[tuple[int, int]] = []

    def call(self) -> Segment:
        """The whole call."""
        whole = Segment(SegmentKind.CALL, -1, 0)
        self._index = 1
        whole.children = self._block(-1)
        while self._kind() in ("raise", "left"):
            self._index += 1
        if self._index < len(self._events):
            raise CannotZoom("the log of its steps does not fit its text")
        whole.end = len(self._events) - 1
        self._end(whole)
        if self._log.is_cut:
            whole.ending = SegmentEnding.CUT
        return whole

    def _kind(self) -> str:
        return self._events[self._index][0] if self._index < len(self._events) else ""

    def _number(self) -> int:
        return int(self._events[self._index][1])

    def _block(self, parent: int) -> list[Segment]:
        """The statements of one block of a statement that ran."""
        segments: list[Segment] = []
        block = None
        while self._kind() == "at":
            statement = self._body.statements[self._number()]
            if statement.parent != parent:
                break
            if block is None:
                block = statement.block
            # Another block of the same statement, or the same block again, is the caller's.
            if statement.block != block or (segments and statement.number <= segments[-1].number):
                break
            segments.append(self._statement(statement.number))
        return segments

    def _statement(self, number: int) -> Segment:
        node = self._body.statements[number].node
        segment = Segment(SegmentKind.STATEMENT, number, self._index, rounds=list(self._rounds))
        self._index += 1
        if isinstance(node, ast.For | ast.AsyncFor | ast.While):
            self._loop(segment, isinstance(node, ast.While))
        else:
            self._own(segment)
            while self._is_inside(number):
                segment.children += self._block(number)
                self._own(segment)
        segment.end = self._log.after(self._index)
        if self._kind() == "done" and self._number() == number:
            self._index += 1
            return segment
        self._end(segment)
        self._jump(segment, node)
        if isinstance(node, ast.Break | ast.Continue):
            segment.end = segment.first  # before the next round has begun
        elif isinstance(node, ast.Return) and segment.ending is SegmentEnding.RETURN:
            segment.end = self._log.before(self._index)
        return segment

    def _is_inside(self, number: int) -> bool:
        return self._kind() == "at" and self._body.statements[self._number()].parent == number

    def _own(self, segment: Segment) -> None:
        """Consumes the events of a statement itself, not of the statements in it."""
        while self._index < len(self._events):
            kind, number, *rest = self._events[self._index]
            if kind == "part":
                self._parts.append((number, rest[0]))
            elif kind == "test" and number == segment.number:
                self._leaf(SegmentKind.TEST, segment)
                continue
            elif kind == "return" and number == segment.number:
                segment.value, segment.ending = rest[0], SegmentEnding.RETURN
            elif kind not in _STEPPING and not (kind == "caught" and number == segment.number):
                break
            self._index += 1
        segment.parts += self._parts
        self._parts = []

    def _leaf(self, kind: SegmentKind, above: Segment) -> None:
        """Adds the test of a branch or loop, or the items of a loop."""
        event = self._events[self._index]
        first = self._log.after(above.children[-1].end if above.children else above.first)
        leaf = Segment(kind, above.number, first, rounds=list(above.rounds))
        leaf.value, leaf.parts = event[2], self._parts
        self._parts = []
        leaf.end = self._index
        above.children.append(leaf)
        self._index += 1

    def _loop(self, segment: Segment, is_while: bool) -> None:
        """A loop. The rounds after one are nested beside it, in the same parent."""
        above, count = segment, 0
        chain = [segment]
        while self._index < len(self._events):
            kind, number = self._events[self._index][:2]
            if kind == "part":
                self._parts.append((number, self._events[self._index][2]))
                self._index += 1
            elif kind in _STEPPING:
                self._index += 1
            elif kind in ("test", "items") and number == segment.number:
                if kind == "test" and count:
                    above = self._rest_of(above, chain)
                self._leaf(SegmentKind.TEST if kind == "test" else SegmentKind.ITEMS, above)
            elif kind == "round" and number == segment.number:
                count += 1
                if count > 1 and not is_while:
                    above = self._rest_of(above, chain)
                self._one_round(segment, above, count)
            else:
                break
        above.parts += self._parts
        self._parts = []
        above.children += self._block(segment.number)  # the block of `else`
        self._close(chain, count)

    def _rest_of(self, above: Segment, chain: list[Segment]) -> Segment:
        rest = Segment(
            SegmentKind.ROUNDS, above.number, above.children[-1].end, rounds=above.rounds
        )
        above.children.append(rest)
        chain.append(rest)
        return rest

    def _one_round(self, loop: Segment, above: Segment, count: int) -> None:
        one = Segment(SegmentKind.ROUND, loop.number, self._index, round=count)
        one.rounds = [*loop.rounds, count]
        self._index += 1
        self._rounds.append(count)
        one.children = self._block(loop.number)
        self._rounds.pop()
        one.end = one.children[-1].end if one.children else one.first
        self._end(one)
        if one.ending is SegmentEnding.CONTINUE:
            one.ending = None
        above.children.append(one)

    def _close(self, chain: list[Segment], count: int) -> None:
        end = self._log.after(self._index)
        last = chain[-1]
        if len(chain) > 1 and len(last.children) == 1 and last.children[0].kind is SegmentKind.TEST:
            # Only the test that ended the loop is left.
            chain.pop()
            chain[-1].children[-1] = last.children[0]
        for index, segment in enumerate(chain):
            segment.end = end
            segment.last_round = count
            if index:
                segment.round = index + 1
        is_cut = self._index >= len(self._events)
        for segment in reversed(chain):
            self._end(segment)
            if is_cut and segment.ending is None:
                segment.ending = SegmentEnding.CUT
            if segment.ending is SegmentEnding.BREAK:
                segment.ending = None

    def _end(self, segment: Segment) -> None:
        """A segment without an ending of its own ended as the last jump in it did; only a `finally`
        can run after that."""
        if segment.ending is not None:
            return
        jump = next(
            (child for child in reversed(segment.children) if child.ending is not None), None
        )
        if jump is not None:
            segment.ending, segment.value = jump.ending, jump.value

    def _jump(self, segment: Segment, node: ast.stmt) -> None:
        if segment.ending is not None:
            return
        if isinstance(node, ast.Break):
            segment.ending = SegmentEnding.BREAK
        elif isinstance(node, ast.Continue):
            segment.ending = SegmentEnding.CONTINUE
        elif self._index >= len(self._events):
            segment.ending = SegmentEnding.CUT
        else:
            segment.ending, segment.value = SegmentEnding.RAISE, self._exception(segment)

    def _exception(self, segment: Segment) -> int | None:
        """The exception, which the next handler logs, if there is one."""
        for event in self._events[self._index :]:
            if event[0] in ("caught", "raise"):
                value = event[2] if event[0] == "raise" else self._caught(segment, event)
                return None if value is None else int(value)
            if event[0] in ("at", "done", "left"):
                return None  # a `with` has swallowed it
        return None

    def _caught(self, segment: Segment, event: list[Any]) -> int | None:
        """The caught exception; `except*` sees only a part of the raised group."""
        handling = self._body.statements[event[1]].node
        raising = self._body.statements[segment.number].node
        if isinstance(handling, ast.TryStar) and isinstance(raising, ast.Raise):
            for number, value in segment.parts:
                if self._body.expressions[number] is raising.exc:
                    return value
        return None if event[2] is None else int(event[2])


def read_segments(log: StepLog, body: FunctionBody) -> Segment:
    """The segments of a call, long stretches of statements halved again and again."""
    reader = _SegmentReader(log, body)
    whole = reader.call()
    _halve(whole, body)
    return whole


def _halve(segment: Segment, body: FunctionBody) -> None:
    """Group consecutive statements into stretches, so that no segment has many children."""
    pending = [segment]
    while pending:
        parent = pending.pop()
        parent.children = _halves(parent.children, body)
        pending += parent.children


def _halves(children: list[Segment], body: FunctionBody) -> list[Segment]:
    """The same children, with two stretches in place of many statements."""

    def block_of(segment: Segment) -> str:
        return body.statements[segment.number].block

    blocks = [list(group) for _, group in groupby(children, block_of)]
    if len(blocks) > 1 and all(child.kind is SegmentKind.STATEMENT for child in children):
        # Statements of a handler do not follow those of the body.
        return [_stretch(block) for block in blocks]
    before = [child for child in children if child.kind is not SegmentKind.STATEMENT]
    statements = [child for child in children if child.kind is SegmentKind.STATEMENT]
    if len(statements) <= 2 or children != before + statements:
        return children
    middle = _middle([max(1, statement.end - statement.first) for statement in statements])
    return [*before, _stretch(statements[:middle]), _stretch(statements[middle:])]


def _middle(weights: list[int]) -> int:
    """The index at which two non-empty sides weigh about the same."""
    total, left = sum(weights), 0
    best, difference = 1, total
    for index, weight in enumerate(weights[:-1], 1):
        left += weight
        if abs(total - 2 * left) < difference:
            best, difference = index, abs(total - 2 * left)
    return best


def _stretch(children: list[Segment]) -> Segment:
    if len(children) == 1:
        return children[0]
    first, last = children[0], children[-1]
    stretch = Segment(SegmentKind.STRETCH, first.number, first.first, last.end, children)
    stretch.ending, stretch.value, stretch.rounds = last.ending, last.value, first.rounds
    return stretch
