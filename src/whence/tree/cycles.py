"""Calls that led to an equal call of themselves: why a run that was stopped may never end.

Of a run that did not end, the calls that it was in when it was stopped form a path. If one of them
has the same function and the same inputs (arguments and the state that it read) as one further up,
it will most likely go the same way again. Only as far as values were recorded, and unless something
else changed in between, such as the time: so it is said what was seen, not that it is so.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from whence.model.call import Binding, Call, OutcomeKind
from whence.model.value import Limits
from whence.ports import Tree
from whence.tree.readable_call import readable_call

_MOST_CALLS = 3000
"""So many calls at the lower end of the path are compared: where it goes round it still does."""
_NAMED = 6
_BRIEF = Limits(depth=2, parts=4, characters=80)


@dataclass(frozen=True, slots=True)
class Cycle:
    """Calls by their ids: the first and the last are equal, each made the next one."""

    path: tuple[int, ...]

    @property
    def calls(self) -> int:
        """How many calls it takes to come round."""
        return len(self.path) - 1


def find_cycle(tree: Tree) -> Cycle | None:
    """The first two equal calls among those that did not end, one below the other."""
    path = pending_path(tree)[-_MOST_CALLS:]
    first_index: dict[tuple[int, tuple[Binding, ...], tuple[Binding, ...]], int] = {}
    for index, position in enumerate(path):
        call, problem = readable_call(tree, position)
        if problem or not _is_known(call):
            continue
        key = int(tree.columns.function[position]), call.arguments, call.reads
        if key in first_index:
            return Cycle(
                tuple(tree.id(position) for position in path[first_index[key] : index + 1])
            )
        first_index[key] = index
    return None


def pending_path(tree: Tree) -> list[int]:
    """The positions of the calls that a run was in when it stopped, from the top down."""
    columns = tree.columns
    path: list[int] = []
    for position in np.flatnonzero(columns.outcome == OutcomeKind.NOT_TERMINATED).tolist():
        while path and position >= int(columns.end[path[-1]]):
            path.pop()
        path.append(position)
    broken = [index for index, (one, next_) in enumerate(pairwise(path), 1)
              if int(columns.parent[next_]) != one]  # fmt: skip
    return path[broken[-1] :] if broken else path


def _is_known(call: Call) -> bool:
    """Whether something tells it from other calls: of one without inputs nothing is known."""
    return bool(call.arguments or call.reads)


def told(tree: Tree, cycle: Cycle) -> str:
    """A sentence for a person."""
    positions = [tree.position(node) for node in cycle.path]
    call, _ = readable_call(tree, positions[0])
    names = [tree.functions[int(tree.columns.function[position])].short() for position in positions]
    if len(names) > _NAMED:
        names = [*names[: _NAMED - 2], f"… {len(names) - _NAMED + 1} more", names[-1]]
    return (
        f"It goes round: {call.left(_BRIEF)} led to a call of itself with the same inputs, as far "
        f"as they are recorded (calls {cycle.path[0]:,} and {cycle.path[-1]:,}: "
        f"{' → '.join(names)})."
    )
