"""Which steps of a call could have influenced a part of a variable: a backward dynamic slice.

Going back in time from where the part was seen, an action is in the slice if it set what is looked
for, by its text or by the logged values; what it read is looked for from there on (Korel and Laski
1988). The choices that led to an action are in the slice too, and so are those that prevented
something: a branch not taken that would have changed it, a jump that did not happen.

Slices are never complete, since only the first levels of values are logged. Steps in none of them
are searched last.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import chain

from whence.langs.python.source.liveness import NONE, Names
from whence.langs.python.zoom.actions import (
    Action,
    Actions,
    jumps,
    may_write,
    mentioned,
    touched,
)
from whence.langs.python.zoom.assignment_history import AssignmentHistory
from whence.langs.python.zoom.copied_parts import VariablePart
from whence.langs.python.zoom.segments import Segment, SegmentEnding, SegmentKind
from whence.langs.python.zoom.step_variables import StepVariables


class Width(Enum):
    """How much a slice includes."""

    PART = 1
    """Follows one part through plain copies; ignores changes of other parts of the variable."""
    VARIABLES = 2
    """Changes of the whole variable, and of all variables that are read on the way."""
    OBJECTS = 3
    """Also everything that may have written to an object over an unknown alias."""


@dataclass(frozen=True)
class Seed:
    """What a slice starts from: a part of a variable at an event, or one action, or what the action
    made of that part."""

    place: int
    part: VariablePart | None = None
    action: Action | None = None


class StepSlices:
    """Computes slices of one call."""

    def __init__(self, actions: Actions, variables: StepVariables, histories: AssignmentHistory):
        self._actions, self._variables, self._histories = actions, variables, histories
        self.read_by = cache(self._read_by)
        """What some code reads; a call may read all variables that nested functions use."""
        self.touched, self.mentioned, self.jumps = cache(touched), cache(mentioned), cache(jumps)

    def slice(self, seed: Seed, width: Width) -> tuple[list[Segment], list[Segment]]:
        """The segments with an action in the slice, and all segments around them."""
        return _BackwardSlice(self, seed, width).collect()

    def _read_by(self, pieces: tuple[ast.AST, ...]) -> Names:
        lasting = self._variables.lasting if any(map(_calls, pieces)) else NONE
        return self._variables.read_by(pieces) | lasting


class _BackwardSlice:
    """One slice: goes back through the actions and collects those that are in it."""

    def __init__(self, slices: StepSlices, seed: Seed, width: Width):
        self._slices, self._width = slices, width
        self._actions, self._histories = slices._actions, slices._histories
        self._seed = seed
        is_whole = width is not Width.PART
        self._part = None if is_whole else seed.part
        self._names: set[str] = {seed.part.name} if is_whole and seed.part is not None else set()
        self._own: dict[int, Segment] = {}
        self._holding: dict[int, Segment] = {}

    def collect(self) -> tuple[list[Segment], list[Segment]]:
        for action in reversed(self._actions.in_time):
            if action is self._seed.action:
                self._take(action, learn=self._seed.part is None)
            elif action.end <= self._seed.place and self._is_in(action):
                self._take(action)
        return list(self._own.values()), list(self._holding.values())

    def _is_in(self, action: Action) -> bool:
        if action.is_choice and self._is_governing(action):
            return True
        if action.segment.ending is SegmentEnding.RAISE and self._is_caught(action):
            return True
        if self._width is Width.OBJECTS and may_write(action.pieces):
            return True
        if self._names & (self._actions.named(action) | self._actions.changed(action)):
            return True
        return self._part is not None and self._histories.sets(action, self._part)

    def _is_governing(self, action: Action) -> bool:
        """Whether a choice caused or prevented something in the slice."""
        segment = action.segment
        owner = segment if action.is_own else self._actions.parents[id(segment)]
        node = self._actions.node(segment)
        if node is None or id(owner) in self._holding or self._could_change(node):
            return True
        return any(self._is_after(segment, jump) for jump in self._slices.jumps(node))

    def _is_after(self, segment: Segment, jump: type[ast.stmt]) -> bool:
        """Whether a jump would have skipped something in the slice, or did."""
        if jump is ast.Return:
            return bool(self._holding)
        for above in self._actions.above(segment):
            if above.kind is not SegmentKind.ROUND:
                continue
            loop = self._actions.node(above)
            around = above if jump is ast.Continue else self._actions.parents[id(above)]
            return id(around) in self._holding or (loop is not None and self._could_change(loop))
        return False

    def _is_caught(self, action: Action) -> bool:
        """Whether an exception caused or prevented something in the slice."""
        for above in self._actions.above(action.segment):
            node = self._actions.node(above)
            if isinstance(node, ast.Try | ast.TryStar | ast.With | ast.AsyncWith):
                return id(above) in self._holding or self._could_change(node)
        return bool(self._holding)

    def _could_change(self, node: ast.AST) -> bool:
        is_wide = self._width is Width.OBJECTS
        names = self._slices.mentioned(node) if is_wide else self._slices.touched(node)
        return bool(names & self._names) or (self._part is not None and self._part.name in names)

    def _take(self, action: Action, *, learn: bool = True) -> None:
        self._own.setdefault(id(action.segment), action.segment)
        for segment in chain([action.segment], self._actions.above(action.segment)):
            if id(segment) in self._holding:
                break
            self._holding[id(segment)] = segment
        if not learn:
            self._names |= self._slices.read_by(action.pieces) & self._histories.keys(action)
            return
        self._names -= self._actions.bound(action)
        if self._part is None or not self._histories.sets(action, self._part):
            self._names |= self._slices.read_by(action.pieces)
            return
        part, self._part = self._part, self._histories.copied(action, self._part)
        keys = self._slices.read_by(action.pieces) & self._histories.keys(action)
        put = self._histories.stored_expression(action, part)
        # Other parts of the same objects do not influence it.
        if self._part is not None:
            self._names |= keys - {self._part.name, part.name}
        elif put is not None:
            self._names |= keys | self._slices.read_by((put,))
        else:
            self._names |= self._slices.read_by(action.pieces)


def _calls(node: ast.AST) -> bool:
    return any(isinstance(below, ast.Call | ast.Await) for below in ast.walk(node))
