"""Turns the rows that a tracer wrote into the columns that a search reads.

A tracer may write a call when it starts (callers first) or when it ends (callees first), so rows
come in any order; only siblings are in the order of their calls. This module finds each row's
parent, checks that the rows form one tree, and puts them in preorder.

Cost: O(n log n) for arbitrary ids, O(n) for consecutive ones. It makes no dictionary and no list of
nodes, only arrays, so that ten million rows in any order fit in about a gigabyte.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from whence.ports import Bytes, Columns, Floats, Int32s, Int64s

NO_PARENT = -1
MAX_CALLS = 2**31 - 2
"""More than fit into the columns, whose entries are 32 bits wide."""

_BLOCK = 1 << 16
_EXACT = 2.0**53
"""Below this a float holds every whole number."""

_Entry = TypeVar("_Entry", bound=np.generic)


class NotATree(Exception):
    """The rows do not form one tree; `row` is where that was noticed."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(problem)
        self.row = row
        self.problem = problem


@dataclass(slots=True)
class Rows:
    """The calls in the order in which they were written. `details` locate the rest of each call."""

    ids: array[int] = field(default_factory=lambda: array("q"))
    parents: array[int] = field(default_factory=lambda: array("q"))
    functions: array[int] = field(default_factory=lambda: array("i"))
    rules: array[int] = field(default_factory=lambda: array("i"))
    outcomes: array[int] = field(default_factory=lambda: array("B"))
    own: array[float] = field(default_factory=lambda: array("d"))
    equations: array[int] = field(default_factory=lambda: array("q"))
    efforts: array[int] = field(default_factory=lambda: array("i"))
    implicit: array[int] = field(default_factory=lambda: array("B"))
    details: array[int] = field(default_factory=lambda: array("q"))


@dataclass(slots=True)
class RowArrays:
    """The same as whole arrays, which are not copied."""

    ids: Int64s
    parents: Int64s | Int32s | array[int]
    functions: Int32s
    rules: Int32s
    outcomes: Bytes
    own: Floats
    equations: Int64s
    efforts: Int32s
    implicit: Bytes
    details: Int64s


@dataclass(frozen=True, slots=True)
class Linked:
    """Rows as columns, with the id and the detail of each position."""

    columns: Columns
    ids: Int64s
    details: Int64s


@dataclass(frozen=True, slots=True)
class TreeShape:
    """Rows in preorder: which row comes where (None: as they came), and the tree's columns."""

    order: Int32s | None
    parent: Int32s
    depth: Int32s
    end: Int32s


Arrange = Callable[[Int32s], TreeShape | None]
"""A faster way to compute the shape of a tree from each row's parent; None where it does not apply.
"""


def link(rows: Rows | RowArrays, arrange: Arrange | None = None) -> Linked:
    """Columns in preorder. Rows that do not form one tree raise `NotATree`.

    Empties the rows, unless `NotATree` is raised.
    """
    ids = _whole_column(rows.ids, np.int64)
    if len(ids) == 0:
        raise NotATree(0, "there is no call in it")
    if len(ids) > MAX_CALLS:
        raise NotATree(MAX_CALLS, f"there are more than {MAX_CALLS:,} calls")
    parents = _parent_rows(ids, _whole_column(rows.parents, np.int64))
    implicit = _whole_column(rows.implicit, np.uint8)
    _check_implicit(ids, parents, implicit)
    shape = (arrange(parents) if arrange is not None else None) or _arranged(parents)
    order, end = shape.order, shape.end
    del parents

    def arranged(name: str, dtype: type[_Entry]) -> npt.NDArray[_Entry]:
        values = _whole_column(getattr(rows, name), dtype)
        setattr(rows, name, array("b"))  # so that it is freed once it is arranged
        # A column of one number in memory is the same in every order.
        return values if order is None or values.strides == (0,) else values[order]

    del ids
    rows.parents = array("q")
    own = _shrunk(arranged("own", np.float64), 1.0)
    _check_weights(own)
    one_table = rows.rules is rows.functions
    function, rule = arranged("functions", np.int32), arranged("rules", np.int32)
    columns = Columns(
        parent=shape.parent,
        end=end,
        function=function,
        rule=function if one_table else rule,
        depth=shape.depth,
        outcome=arranged("outcomes", np.uint8),
        own=own,
        weight=subtree_sums(own, end),
        equation=arranged("equations", np.int64),
        effort=arranged("efforts", np.int32),
        implicit=_shrunk(arranged("implicit", np.uint8), 0),
    )
    return Linked(columns, arranged("ids", np.int64), arranged("details", np.int64))


def _whole_column(
    column: array[Any] | npt.NDArray[Any], dtype: type[_Entry]
) -> npt.NDArray[_Entry]:
    return np.frombuffer(column, dtype=dtype) if isinstance(column, array) else column


def _check_weights(own: Floats) -> None:
    """Refuse weights that have no finite sum: strategies compare sums."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(np.sum(own))
    if not np.isfinite(total) or float(own.min()) < 0:
        raise NotATree(0, "the weights of its calls do not add up to a number")


def subtree_sums(own: Floats, end: Int32s) -> Floats:
    """For each call the sum of `own` over its subtree: a difference of two prefix sums.

    Exact for whole weights that sum up to less than 2**53; else off by the rounding of the total,
    but never less than a call's own weight, and exactly that for a call without callees.
    """
    if own.strides == (0,):  # one number in memory, so the sums are multiples
        return (end - np.arange(len(end), dtype=np.int32)) * own[:1]
    prefix = np.zeros(len(own) + 1)
    np.cumsum(own, out=prefix[1:])
    sums: Floats = prefix[end] - prefix[:-1]
    if prefix[-1] < _EXACT and bool(np.all(own == np.floor(own))):
        return sums
    leaf = end == np.arange(1, len(end) + 1, dtype=np.int32)
    return np.where(leaf, own, np.maximum(sums, own))


def _shrunk(column: npt.NDArray[_Entry], value: float) -> npt.NDArray[_Entry]:
    """The column, without taking memory if all entries are this value."""
    if column.strides != (0,) and bool(np.all(column == value)):
        return np.broadcast_to(column.dtype.type(value), column.shape)
    return column


def without_implicit(count: int) -> Bytes:
    """The `implicit` column of a tree without implicit calls, which takes no memory."""
    return np.broadcast_to(np.uint8(0), (count,))


def _parent_rows(ids: Int64s, parents: Int64s | Int32s) -> Int32s:
    """Each row's parent as a row number."""
    count = len(ids)
    roots = np.flatnonzero(parents == NO_PARENT)
    if len(roots) != 1:
        if len(roots) == 0:
            raise NotATree(0, "every call has a parent, so there is no call to start from")
        raise NotATree(
            int(roots[1]),
            f"call {ids[roots[1]]} has no parent, and neither has call {ids[roots[0]]}; "
            "a tree starts from one call",
        )
    if consecutive(ids):
        rows = parents if ids[0] == 0 else parents - int(ids[0])
        missing = (rows < 0) | (rows >= count)
    else:
        by_id = np.argsort(ids, kind="stable")
        ordered = ids[by_id]
        twice = np.flatnonzero(ordered[1:] == ordered[:-1])
        if len(twice):
            row = int(by_id[twice[0] + 1])
            raise NotATree(row, f"call {ids[row]} stands here for the second time")
        rows = np.searchsorted(ordered, parents)
        np.minimum(rows, count - 1, out=rows)
        missing = ordered[rows] != parents
        rows = by_id[rows]
    missing[roots[0]] = False
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise NotATree(
            row, f"call {ids[row]} names call {parents[row]} as its parent; there is none"
        )
    if rows[roots[0]] != NO_PARENT:
        rows[roots[0]] = NO_PARENT
    return rows.astype(np.int32, copy=False)


def consecutive(ids: Int64s) -> bool:
    """Whether each id is one more than the id before."""
    first, count = int(ids[0]), len(ids)
    if int(ids[-1]) - first != count - 1:
        return False
    return all(
        np.array_equal(block, np.arange(first + start, first + start + len(block)))
        for start in range(0, count, _BLOCK)
        for block in [ids[start : start + _BLOCK]]
    )


def _check_implicit(ids: Int64s, parents: Int32s, implicit: Bytes) -> None:
    if not implicit.any():
        return
    below = (implicit[parents] != 0) & (parents != NO_PARENT)
    if below.any():
        row = int(np.flatnonzero(below)[0])
        raise NotATree(
            row, f"call {ids[row]} stands below call {ids[parents[row]]}, which is implicit"
        )


def _arranged(parents: Int32s) -> TreeShape:
    """The shape of a tree whose rows came in any order."""
    in_order = _preorder_shape(parents)
    if in_order is not None:
        return TreeShape(None, parents, *in_order)
    order = _preorder(parents)
    new_position = np.empty_like(order)
    new_position[order] = np.arange(len(order), dtype=np.int32)
    parents = parents[order]
    parents[1:] = new_position[parents[1:]]
    del new_position
    in_order = _preorder_shape(parents)
    assert in_order is not None
    return TreeShape(order, parents, *in_order)


def _preorder_shape(parents: Int32s) -> tuple[Int32s, Int32s] | None:
    """Depths and subtree ends, or None if the rows are not in preorder."""
    if parents[0] != NO_PARENT:
        return None
    count = len(parents)
    depth = array("i", bytes(4 * count))
    end = array("i", bytes(4 * count))
    open_calls = [0]
    for row, parent in enumerate(parents.data[1:], 1):
        while open_calls and open_calls[-1] != parent:
            end[open_calls.pop()] = row
        if not open_calls:
            return None
        depth[row] = len(open_calls)
        open_calls.append(row)
    for call in open_calls:
        end[call] = count
    return np.frombuffer(depth, dtype=np.int32), np.frombuffer(end, dtype=np.int32)


def _preorder(parents: Int32s) -> Int32s:
    """The rows in preorder; a row that the root does not lead to is on or below a cycle."""
    count = len(parents)
    nobody = array("i", [-1])
    # The root's own "siblings" hang on an entry past the last row, which -1 happens to select.
    first, following = nobody * (count + 1), nobody * count
    row = count
    for parent in parents.data[::-1]:
        row -= 1
        following[row] = first[parent]
        first[parent] = row
    order = array("i")
    row = first[-1]
    unfinished: list[int] = []
    while row >= 0:
        order.append(row)
        if following[row] >= 0:
            unfinished.append(following[row])
        row = first[row]
        if row < 0 and unfinished:
            row = unfinished.pop()
    if len(order) < count:
        raise NotATree(_on_a_cycle(parents, order), "this call is its own ancestor")
    return np.frombuffer(order, dtype=np.int32)


def _on_a_cycle(parents: Int32s, reached: array[int]) -> int:
    """A row that is its own ancestor, given the rows that the root leads to."""
    visited = np.zeros(len(parents), dtype=bool)
    visited[np.frombuffer(reached, dtype=np.int32)] = True
    row = int(np.flatnonzero(~visited)[0])
    while not visited[row]:
        visited[row] = True
        row = int(parents[row])
    return row
