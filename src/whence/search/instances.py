"""The calls of one function below the top as a table, as the filter of DDS retains them.

Calls with the same inputs are one *instance*, made where the first of them was; later ones only
refer to it. Calls that were judged are *frozen*: they are shown wherever they were used, whatever
function is looked at, and what they led to is not. An instance stands below the nearest instance
that led to it, and of several the one that was used last comes first.

Which calls were used is found by array operations, and only calls that make a row are read. The
table is bounded (`MOST`): beyond that, calls are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from whence.model.call import OutcomeKind
from whence.model.verdict import Verdict
from whence.ports import Columns, Int64s, Tree
from whence.search.space import SearchSpace
from whence.tree.readable_call import readable_call

MOST = 500
"""At most this many instances are retained."""
_TWINS = 300
"""At most this many calls are searched for one with the same inputs."""
_FINE = (Verdict.RIGHT, Verdict.INADMISSIBLE)


@dataclass(frozen=True, slots=True)
class CallInstance:
    """A row of the table: the call at a position, how deep it stands, and how it got there."""

    position: int
    depth: int
    number: int
    """Which instance of the function it is, in the order of first calls; 0 for the top."""
    again: bool = False
    """It was shown already, with what it led to."""
    frozen: bool = False


@dataclass(slots=True)
class _Cell:
    position: int
    number: int
    frozen: bool
    used: list[_Cell] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class InstanceTable:
    """The retained instances in the order in which they are shown, the top first."""

    rows: tuple[CallInstance, ...]
    left_out: int
    """How many calls of the function there was no room for."""


def retained_instances(suspects: SearchSpace, function: int) -> InstanceTable:
    """All instances of a function below the top."""
    columns = suspects.columns
    top = _Cell(suspects.top, 0, frozen=False)
    frozen = _frozen(suspects)
    wanted = columns.function[suspects.top + 1 : suspects.stop] == function
    positions = suspects.top + 1 + np.flatnonzero(wanted)
    positions = np.union1d(positions, frozen)
    is_frozen = np.isin(positions, frozen)
    cells = _Cells(suspects.tree)
    cells.enter(top, function)
    inside: list[_Cell] = [top]
    over, left_out = suspects.top, 0
    for position, stays in zip(positions.tolist(), is_frozen.tolist(), strict=True):
        if position < over:  # below an instance that was looked up
            continue
        while position >= columns.end[inside[-1].position]:
            inside.pop()
        cell, is_new = cells.find(position, frozen=stays)
        if cell is None:
            left_out += 1
            continue
        if not any(used is cell for used in inside[-1].used):
            inside[-1].used.append(cell)
        if stays or not is_new:
            over = int(columns.end[position])
        else:
            inside.append(cell)
    return InstanceTable(tuple(_rows(top)), left_out)


def _rows(top: _Cell) -> Iterator[CallInstance]:
    """Latest first; what was shown before is not opened again."""
    shown: set[int] = set()
    left = [(top, 0)]
    while left:
        cell, depth = left.pop()
        again = id(cell) in shown
        shown.add(id(cell))
        yield CallInstance(
            cell.position, depth, cell.number, again and not cell.frozen, cell.frozen
        )
        if not again:
            left += [(inner, depth + 1) for inner in cell.used]


class _Cells:
    """The instances so far: by equation, which costs nothing, then by inputs."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._by_equation: dict[int, _Cell] = {}
        self._by_inputs: dict[object, _Cell] = {}
        self._count = 0

    def enter(self, top: _Cell, function: int) -> None:
        """The top is an instance too, if it is a call of the function."""
        if self._tree.columns.function[top.position] == function:
            key = inputs(self._tree, top.position)
            if key is not None:
                self._by_inputs[key] = top

    def find(self, position: int, *, frozen: bool) -> tuple[_Cell | None, bool]:
        """The instance of a call, and whether it is new; None if there is no room."""
        equation = int(self._tree.columns.equation[position])
        cell = self._by_equation.get(equation)
        if cell is not None:
            return cell, False
        if len(self._by_equation) >= MOST:
            return None, False
        key = None if frozen else inputs(self._tree, position)
        cell = None if key is None else self._by_inputs.get(key)
        is_new = cell is None
        if cell is None:
            self._count += not frozen
            cell = _Cell(position, 0 if frozen else self._count, frozen)
            if key is not None:
                self._by_inputs[key] = cell
        self._by_equation[equation] = cell
        return cell, is_new


def inputs(tree: Tree, position: int) -> object:
    """What tells a call from others of its function before it ran; None if nothing does."""
    call, problem = readable_call(tree, position)
    if problem or not (call.arguments or call.reads):
        return None
    return int(tree.columns.function[position]), call.arguments, call.reads


def ended_twin(tree: Tree, position: int, ended: Int64s) -> int:
    """A call that ended with the inputs of one that was stopped, if there is any."""
    if tree.columns.outcome[position] != OutcomeKind.NOT_TERMINATED:
        return position
    key = inputs(tree, position)
    same = (int(other) for other in ended[:_TWINS] if inputs(tree, int(other)) == key)
    return position if key is None else next(same, position)


def _frozen(suspects: SearchSpace) -> Int64s:
    """The calls that were judged right, or should never have been made, and the one that raised
    what the top raised, if its own code cannot be at fault."""
    columns = suspects.columns
    acquitted = [judged.position for judged in suspects.history if judged.verdict in _FINE]
    equations = np.unique(columns.equation[np.array(acquitted, dtype=np.int64)])
    area = columns.equation[suspects.top + 1 : suspects.stop]
    below = suspects.top + 1 + np.flatnonzero(np.isin(area, equations))
    path = failing_path(columns, suspects.top)
    last = path[-1:] if columns.outcome[suspects.top] == OutcomeKind.RAISED else path[:0]
    trusted = [position for position in last.tolist() if suspects.is_trusted(position)]
    return np.union1d(below, np.array(trusted, dtype=np.int64))


def failing_path(columns: Columns, top: int) -> Int64s:
    """From the top down to where it raised, or to the last call of its function that did not end.

    The top alone, if it ended as calls do.
    """
    kind = int(columns.outcome[top])
    path = [top]
    if kind not in (OutcomeKind.RAISED, OutcomeKind.NOT_TERMINATED):
        return np.array(path, dtype=np.int64)
    like = top + 1 + np.flatnonzero(columns.outcome[top + 1 : int(columns.end[top])] == kind)
    # For each call the last one that it made and that came to the same kind of end.
    last = dict(zip(columns.parent[like].tolist(), like.tolist(), strict=True))
    while path[-1] in last:
        path.append(last[path[-1]])
    if kind == OutcomeKind.NOT_TERMINATED:
        while columns.function[path[-1]] != columns.function[top]:
            path.pop()
    return np.array(path, dtype=np.int64)
