"""Trees for tests and benchmarks, of any size and shape, with calls made up on demand."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from whence.errors import CannotExpand
from whence.model.call import Binding, Call, Function, Location, Outcome, OutcomeKind, Rule
from whence.model.value import atom
from whence.ports import Columns, Floats, Int32s
from whence.tree.build import subtree_sums, without_implicit
from whence.tree.column_tree import ColumnTree


@dataclass(frozen=True)
class MadeUpCalls:
    """Calls `f3(x=17) → 18` for as many ids as one likes."""

    def call(self, detail: int, function: Function, rule: Rule) -> Call:
        """The call with this number."""
        result = Outcome(OutcomeKind.RETURNED, atom(str(detail + 1)))
        return Call(function, rule, result, (Binding("x", atom(str(detail))),))

    def expand(self, detail: int, levels: int) -> ColumnTree:
        """Nothing is hidden."""
        raise CannotExpand("a made-up tree is complete")


def tree_from_parents(
    parents: Sequence[int],
    rules: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
    equations: Sequence[int] | None = None,
) -> ColumnTree:
    """A tree whose calls stand in preorder; `parents[0]` is -1. Ids are positions."""
    parent = np.array(parents, dtype=np.int32)
    count = len(parent)
    end = np.arange(1, count + 1, dtype=np.int32)
    depth = np.zeros(count, dtype=np.int32)
    for position in range(count - 1, 0, -1):
        caller = parent[position]
        end[caller] = max(end[caller], end[position])
    for position in range(1, count):
        depth[position] = depth[parent[position]] + 1
    return tree_from_shape(parent, end, depth, rules, weights, equations)


def tree_from_shape(
    parent: Int32s,
    end: Int32s,
    depth: Int32s,
    rules: Sequence[int] | Int32s | None = None,
    weights: Sequence[float] | Floats | None = None,
    equations: Sequence[int] | None = None,
) -> ColumnTree:
    """A tree from its shape; each call has its own rule and equation unless they are given."""
    count = len(parent)
    rule = np.array(rules if rules is not None else np.arange(count), dtype=np.int32)
    own = (
        np.broadcast_to(np.float64(1.0), (count,))
        if weights is None
        else np.array(weights, dtype=np.float64)
    )
    equation = np.array(equations if equations is not None else np.arange(count), dtype=np.int64)
    kinds = int(rule.max()) + 1
    functions = [
        Function(f"made.f{n}", f"f{n}", "made", Location("made.py", n + 1)) for n in range(kinds)
    ]
    columns = Columns(
        parent=parent,
        end=end,
        function=rule,
        rule=rule,
        depth=depth,
        outcome=np.zeros(count, dtype=np.uint8),
        own=own,
        weight=subtree_sums(own, end),
        equation=equation,
        effort=np.full(count, 40, dtype=np.int32),
        implicit=without_implicit(count),
    )
    return ColumnTree(
        columns=columns,
        functions=functions,
        rules=[Rule(f.name, f.name, f.location) for f in functions],
        sources=(MadeUpCalls(),),
        details=np.arange(count, dtype=np.int64),
        source_of=np.broadcast_to(np.uint8(0), (count,)),
    )


def random_parents(random_number: random.Random, count: int, shape: str = "random") -> list[int]:
    """Parents of a random tree in preorder: `random`, `deep`, `wide` or `binary`."""
    parents, path = [-1], [0]
    for position in range(1, count):
        keep = {
            "random": lambda: random_number.randint(1, len(path)),
            "deep": lambda: len(path) if random_number.random() < 0.9 else len(path) // 2 or 1,
            "wide": lambda: 1 if random_number.random() < 0.8 else min(2, len(path)),
            "binary": lambda: random_number.randint(max(1, len(path) - 2), len(path)),
        }[shape]()
        del path[keep:]
        parents.append(path[-1])
        path.append(position)
    return parents


@dataclass(frozen=True)
class HidingCalls:
    """A source that has a whole tree and shows `levels` of it at a time."""

    whole: ColumnTree
    misjudge: Callable[[int, float], float]
    gives_again: bool = True

    def call(self, detail: int, function: Function, rule: Rule) -> Call:
        """The call at a position of the whole tree."""
        return self.whole.call(detail)

    def expand(self, detail: int, levels: int) -> ColumnTree:
        """The levels below a call."""
        return partly_implicit(self.whole, levels, detail, self)


def partly_implicit(
    whole: ColumnTree,
    levels: int,
    root: int = 0,
    source: HidingCalls | None = None,
    misjudge: Callable[[int, float], float] = lambda _, weight: weight,
) -> ColumnTree:
    """The tree cut off below some levels: what is cut off is implicit, with its weight.

    `misjudge` may give an implicit call another weight than the true one, as an approximation
    does; expanding it corrects the weights of all its callers.
    """
    source = source or HidingCalls(whole, misjudge)
    columns = whole.columns
    inside = np.arange(root, columns.end[root])
    shown = inside[columns.depth[inside] <= columns.depth[root] + levels]
    place = {int(position): index for index, position in enumerate(shown)}
    parent = np.array(
        [-1 if p == root else place[int(columns.parent[p])] for p in shown], dtype=np.int32
    )
    implicit = (columns.depth[shown] == columns.depth[root] + levels) & (
        columns.end[shown] > shown + 1
    )
    own = np.array(columns.own[shown])
    for index in np.flatnonzero(implicit):
        true = float(columns.weight[shown[index]])
        own[index] = source.misjudge(int(shown[index]), true)
    end = np.searchsorted(shown, columns.end[shown]).astype(np.int32)
    cut = replace(
        columns.of(shown),
        parent=parent,
        end=end,
        depth=columns.depth[shown] - columns.depth[root],
        own=own,
        weight=subtree_sums(own, end),
        implicit=implicit.astype(np.uint8),
    )
    return ColumnTree(
        columns=cut,
        functions=whole.functions,
        rules=whole.rules,
        sources=(source,),
        details=shown.astype(np.int64),
        source_of=np.broadcast_to(np.uint8(0), (len(shown),)),
        ids=np.array([whole.id(int(p)) for p in shown], dtype=np.int64),
    )
