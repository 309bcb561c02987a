"""Who calls whom among the functions of the suspects: the search space S_F of DDS.

Apart from the strategy because it knows nothing of answers. Edges are what the text of the program
says, in its order, and after them the calls that were made and that no text names (a method found
at run time, a library that calls back); where there is no text, the calls alone.

Invariant: whatever calls were made below the top are edges, so that a function is out of reach
only if no suspect of it was reached in another way. Cost: one pass over the area for the calls;
reaching all functions takes a step for each.
"""

from __future__ import annotations

import numpy as np

from whence.ports import Int64s, Suspects

_SMALL = 1 << 22
"""Up to this many pairs of functions, an array has a cell for each."""


class FunctionGraph:
    """The functions by their numbers; `order` is the order of the text, seen from the root."""

    def __init__(self, suspects: Suspects) -> None:
        columns = suspects.columns
        self.root = int(columns.function[suspects.top])
        self._callees = _edges(suspects)
        self._masks = {
            caller: sum(1 << callee for callee in callees)
            for caller, callees in self._callees.items()
        }
        self.order = self._breadth_first()

    def reached(self, start: int, without: int = 0) -> int:
        """The functions that can be reached from one, itself included, as bits.

        `without`: the bits of functions that block the path.
        """
        reached, fresh = 0, (1 << start) & ~without
        while fresh:
            reached |= fresh
            after = 0
            while fresh:
                lowest = fresh & -fresh
                fresh ^= lowest
                after |= self._masks.get(lowest.bit_length() - 1, 0)
            fresh = after & ~reached & ~without
        return reached

    def _breadth_first(self) -> list[int]:
        """Level by level from the root, each level in the order of the text."""
        order = [self.root]
        visited = {self.root}
        for function in order:  # which grows meanwhile
            for callee in self._callees.get(function, ()):
                if callee not in visited:
                    visited.add(callee)
                    order.append(callee)
        return order


def _edges(suspects: Suspects) -> dict[int, dict[int, None]]:
    """For each function those that it may call, in order."""
    edges: dict[int, dict[int, None]] = {}
    functions = suspects.tree.functions
    pairs = _function_pairs(suspects)
    if suspects.graph is not None:
        concerned = {int(suspects.columns.function[suspects.top])}
        concerned.update(number for pair in pairs for number in pair)
        for caller in sorted(concerned):
            named = suspects.graph.callees(functions[caller], functions) or ()
            edges[caller] = dict.fromkeys(named)
    for caller, callee in pairs:
        edges.setdefault(caller, {})[callee] = None
    return edges


def _function_pairs(suspects: Suspects) -> list[tuple[int, int]]:
    """The pairs of functions of which one called the other below the top, in order of time."""
    columns = suspects.columns
    area = slice(suspects.top + 1, suspects.stop)
    count = len(suspects.tree.functions)
    callers = columns.function[columns.parent[area]].astype(np.int64)
    pairs: Int64s = callers * count + columns.function[area]
    if count * count <= _SMALL:
        first = np.full(count * count, -1, dtype=np.int64)
        # Of several the last one written stays, which is the first call.
        first[pairs[::-1]] = np.arange(len(pairs) - 1, -1, -1)
        present = np.flatnonzero(first >= 0)
        present = present[np.argsort(first[present], kind="stable")]
    else:
        present, at = np.unique(pairs, return_index=True)
        present = present[np.argsort(at, kind="stable")]
    return [divmod(pair, count) for pair in present.tolist()]
