"""Finds calls that led to an equal call of themselves: why a stopped run may never end.

The calls that were running when a run was stopped form a path. If one of them has the same function
and the same inputs (arguments and the state that it read) as one further up, it will most likely
repeat. That is only as far as values were recorded, and unless something else changed in between,
such as the time: so whence reports what it saw, not that it is so.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from whence.model.call import Binding, OutcomeKind
from whence.model.value import Limits
from whence.ports import Tree
from whence.tree.readable_call import readable_call

_MOST_CALLS = 3000
"""How many calls at the lower end of the path are compared: an endless recursion still repeats
there."""
_NAMED = 6
_BRIEF = Limits(depth=2, parts=4, characters=80)


@dataclass(frozen=True, slots=True)
class Cycle:
    """The ids of calls of which each made the next; the first and the last are equal."""

    path: tuple[int, ...]


def find_cycle(tree: Tree) -> Cycle | None:
    """The first two equal calls among those that did not end, one below the other."""
    path = pending_path(tree)[-_MOST_CALLS:]
    first_index: dict[tuple[int, tuple[Binding, ...], tuple[Binding, ...]], int] = {}
    for index, position in enumerate(path):
        call, problem = readable_call(tree, position)
        if problem or not (call.arguments or call.reads):
            continue  # nothing tells it from other calls of its function
        key = int(tree.columns.function[position]), call.arguments, call.reads
        if key in first_index:
            return Cycle(
                tuple(tree.id(position) for position in path[first_index[key] : index + 1])
            )
        first_index[key] = index
    return None


def pending_path(tree: Tree) -> list[int]:
    """The positions of the calls that were running when the run stopped, from the top down."""
    columns = tree.columns
    path: list[int] = []
    for position in np.flatnonzero(columns.outcome == OutcomeKind.NOT_TERMINATED).tolist():
        while path and position >= int(columns.end[path[-1]]):
            path.pop()
        path.append(position)
    broken = [index for index, (one, next_) in enumerate(pairwise(path), 1)
              if int(columns.parent[next_]) != one]  # fmt: skip
    return path[broken[-1] :] if broken else path


def describe_cycle(tree: Tree, cycle: Cycle) -> str:
    """The cycle as a sentence for a person."""
    positions = [tree.position(node) for node in cycle.path]
    call, _ = readable_call(tree, positions[0])
    names = [tree.functions[int(tree.columns.function[position])].short() for position in positions]
    if len(names) > _NAMED:
        names = [*names[: _NAMED - 2], f"… {len(names) - _NAMED + 1} more", names[-1]]
    return (
        f"It loops: {call.left(_BRIEF)} led to a call of itself with the same inputs, as far "
        f"as they are recorded (calls {cycle.path[0]:,} and {cycle.path[-1]:,}: "
        f"{' → '.join(names)})."
    )
