"""Names the steps of a call: their lines, their text, and the rule that is blamed for them.

Apart from `step_source`, because nothing here depends on what the step did when it ran.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from whence.langs.python.zoom.function_body import FunctionBody
from whence.langs.python.zoom.segments import Segment, SegmentKind
from whence.model.call import Function, Location, Rule
from whence.tree.column_tree import ColumnTree
from whence.tree.readable_call import function_at

_LONGEST_TEXT = 60
LEAVES = (SegmentKind.TEST, SegmentKind.ITEMS)
"""Segments that are one expression."""


class StepLabels:
    """The labels of one call's steps."""

    def __init__(self, body: FunctionBody, recorded: ColumnTree, call: int, file: str):
        self._body, self._file = body, file
        self._owner = function_at(recorded, recorded.position(call))

    def node(self, segment: Segment) -> ast.stmt:
        """The statement that a segment is a part of."""
        return self._body.statements[segment.number].node

    def lines(self, segment: Segment) -> tuple[int, int]:
        """The first and the last line of a segment."""
        node = self.node(segment)
        if segment.kind in LEAVES:
            header = header_of(node)
            return header.lineno, header.end_lineno or header.lineno
        if segment.kind in (SegmentKind.ROUND, SegmentKind.ROUNDS):
            inside: list[ast.stmt] = getattr(node, "body", [node])
            first = inside[0].lineno if segment.kind is SegmentKind.ROUND else node.lineno
            return first, inside[-1].end_lineno or first
        last = self._body.statements[segment.last].node
        return node.lineno, last.end_lineno or node.lineno

    def label(self, segment: Segment) -> str:
        """Where a segment is, in which rounds it ran, and its text."""
        where, text = self._place_and_text(segment)
        if segment.kind is SegmentKind.ROUND:
            where = f"{where}, round {_rounds(segment.rounds)}"
        elif segment.kind is SegmentKind.ROUNDS:
            count = segment.last_round - segment.round + 1
            which = f"round {segment.round}" if count == 1 else f"rounds {segment.round} to "
            which += "" if count == 1 else str(segment.last_round)
            around = f" (in round {_rounds(segment.rounds)})" if segment.rounds else ""
            where = f"{where}, {which}{around}"
        elif segment.rounds:
            where = f"{where}, in round {_rounds(segment.rounds)}"
        return f"{where}: {text}" if text else where

    def _place_and_text(self, segment: Segment) -> tuple[str, str]:
        """The lines of a segment and its text, which are the same in every round."""
        if segment.kind is SegmentKind.REST:
            return "what came after that", ""
        first, last = self.lines(segment)
        where = f"line {first}" if first == last else f"lines {first} to {last}"
        node = self.node(segment)
        if segment.kind in LEAVES:
            text = self._body.source(header_of(node))
        elif segment.kind in (SegmentKind.ROUND, SegmentKind.ROUNDS, SegmentKind.STRETCH):
            text = ""
        else:
            text = self._body.head(node)
        text = " ".join(text.split())
        return where, text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"

    def rule(self, segment: Segment) -> tuple[Function, Rule]:
        """What is blamed for a step: its lines as a function and a rule."""
        owner = self._owner
        lines_text, _ = self._place_and_text(segment)
        if segment.kind in (SegmentKind.ROUND, SegmentKind.ROUNDS):
            lines_text += f" ({segment.kind.value})"
        first, last = self.lines(segment)
        where = Location(self._file, first)
        name = f"{owner.name}, {lines_text}"
        function = Function(name, f"{owner.short()}, {lines_text}", owner.module, where)
        lines = self._body.text.splitlines()[first - 1 : last]
        return function, Rule(name, name, where, "\n".join(lines))


def header_of(node: ast.stmt) -> ast.expr:
    """The expression that a compound statement begins with."""
    header: ast.expr = getattr(node, "test", None) or getattr(node, "iter", None) or ast.Constant(0)
    return header


def _rounds(rounds: Iterable[int]) -> str:
    """Of nested loops the outermost first."""
    return ".".join(map(str, rounds))
