"""The one implementation of the `Tree` port: columns, tables, and sources of the details.

A `DetailSource` knows where a call's values are: in memory, in a tree file, in a recording, behind
a re-run. An expanded tree has calls from several sources; each position knows its own.

Invariant: `expand` never changes a tree; it splices the new calls into a copy, and every id keeps
naming the same call.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from whence.errors import CannotExpand, UsageError
from whence.model.call import Call, Function, Rule
from whence.ports import Bytes, Columns, Int64s
from whence.tree.build import Linked, Rows, consecutive, link, subtree_sums
from whence.tree.codec import encode_call, equation_digest

_Entry = TypeVar("_Entry", Function, Rule)


class DetailSource(Protocol):
    """Gives the details of some calls; `detail` is the number by which it finds a call."""

    def call(self, detail: int, function: Function, rule: Rule) -> Call:
        """The call in full."""

    def expand(self, detail: int, levels: int) -> ColumnTree:
        """The tree whose root is this implicit call, `levels` levels deep below it."""


@dataclass(frozen=True, eq=False)
class ColumnTree:
    """A tree in columns. `ids` is None where a call's id is its position plus `first_id`."""

    columns: Columns
    functions: Sequence[Function]
    rules: Sequence[Rule]
    sources: tuple[DetailSource, ...]
    details: Int64s
    source_of: Bytes
    ids: Int64s | None = None
    first_id: int = 0

    def call(self, position: int) -> Call:
        """The call in full, from the source that has it."""
        columns = self.columns
        source = self.sources[int(self.source_of[position])]
        return source.call(
            int(self.details[position]),
            self.functions[int(columns.function[position])],
            self.rules[int(columns.rule[position])],
        )

    def id(self, position: int) -> int:
        """The stable id of the call at a position."""
        return self.first_id + position if self.ids is None else int(self.ids[position])

    def position(self, node: int) -> int:
        """The position of a call."""
        if self.ids is None:
            position = node - self.first_id
            exists = 0 <= position < len(self.columns)
        else:
            ordered, places = self._sorted_ids
            slot = int(np.searchsorted(ordered, min(node, int(ordered[-1]))))
            exists = int(ordered[slot]) == node
            position = int(places[slot])
        if not exists:
            raise UsageError(f"there is no call {node} in this tree")
        return position

    def positions(self, nodes: Collection[int]) -> Int64s:
        """The positions of many calls."""
        try:
            wanted = np.fromiter(nodes, dtype=np.int64, count=len(nodes))
        except OverflowError:
            raise UsageError("there is no call with so large an id in this tree") from None
        if self.ids is None:
            positions = wanted - self.first_id
            exists = (positions >= 0) & (positions < len(self.columns))
        else:
            ordered, places = self._sorted_ids
            slots = np.searchsorted(ordered, np.minimum(wanted, ordered[-1]))
            exists = ordered[slots] == wanted
            positions = places[slots].astype(np.int64)
        if not exists.all():
            raise UsageError(f"there is no call {wanted[~exists][0]} in this tree")
        return positions

    @cached_property
    def _sorted_ids(self) -> tuple[Int64s, npt.NDArray[np.intp]]:
        assert self.ids is not None
        order = np.argsort(self.ids, kind="stable")
        return self.ids[order], order

    def expand(self, position: int, levels: int) -> ColumnTree:
        """The tree with the calls below an implicit call, from its source."""
        if not self.columns.implicit[position]:
            raise CannotExpand(f"call {self.id(position)} is already expanded")
        source = self.sources[int(self.source_of[position])]
        below = source.expand(int(self.details[position]), levels)
        if below.id(0) != self.id(position):
            raise CannotExpand(
                f"the calls below call {self.id(position)} are not available: what was "
                f"given instead starts at call {below.id(0)}"
            )
        if below.columns.implicit[0]:
            raise CannotExpand(f"nothing was recorded below call {self.id(position)}")
        return _splice(self, position, below)


def _splice(tree: ColumnTree, position: int, below: ColumnTree) -> ColumnTree:
    """The tree with one implicit call replaced by a tree that starts with the same call."""
    functions, function_numbers = _merge(tree.functions, below.functions)
    rules, rule_numbers = _merge(tree.rules, below.rules)
    sources, source_numbers = _merged_sources(tree.sources, below.sources)
    old, new = tree.columns, below.columns
    growth = len(new) - 1

    def join(ours: npt.NDArray[np.generic], theirs: npt.NDArray[np.generic]) -> npt.NDArray[Any]:
        return np.concatenate([ours[:position], theirs, ours[position + 1 :]])

    parent = np.where(old.parent > position, old.parent + growth, old.parent)
    inner_parent = new.parent + position
    inner_parent[0] = old.parent[position]
    end = np.where(old.end > position, old.end + growth, old.end)
    equation = join(old.equation, new.equation)
    equation[position] = old.equation[position]  # what was said of it still applies
    columns = Columns(
        parent=join(parent, inner_parent),
        end=join(end, new.end + position),
        function=join(old.function, function_numbers[new.function]),
        rule=join(old.rule, rule_numbers[new.rule]),
        depth=join(old.depth, new.depth + old.depth[position]),
        outcome=join(old.outcome, new.outcome),
        own=join(old.own, new.own),
        weight=old.weight,
        equation=equation,
        effort=join(old.effort, new.effort),
        implicit=join(old.implicit, new.implicit),
    )
    ids = join(all_ids(tree), all_ids(below))
    if len(np.unique(ids)) != len(ids):
        raise CannotExpand(
            f"the calls below call {tree.id(position)} have ids that stand elsewhere in the tree"
        )
    return ColumnTree(
        # Own weights are exact, so summing them again corrects every ancestor at once.
        columns=replace(columns, weight=subtree_sums(columns.own, columns.end)),
        functions=functions,
        rules=rules,
        sources=sources,
        details=join(tree.details, below.details),
        source_of=join(tree.source_of, source_numbers[below.source_of]),
        ids=ids,
    )


def all_ids(tree: ColumnTree) -> Int64s:
    """The id of the call at each position."""
    if tree.ids is not None:
        return tree.ids
    return np.arange(len(tree.columns), dtype=np.int64) + tree.first_id


def _merge(
    ours: Sequence[_Entry], theirs: Sequence[_Entry]
) -> tuple[list[_Entry], npt.NDArray[np.int32]]:
    """Both tables in one, and the new numbers of the second one's entries."""
    table = list(ours)
    number = {entry.name: index for index, entry in enumerate(table)}
    for entry in theirs:
        index = number.setdefault(entry.name, len(table))
        if index == len(table):
            table.append(entry)
        elif isinstance(entry, Rule) and entry.function != table[index].function:
            raise CannotExpand(
                f"rule {entry.name} belongs to function {table[index].function} in this tree, and "
                f"to function {entry.function} in what is below"
            )
    return table, np.array([number[entry.name] for entry in theirs], dtype=np.int32)


def _merged_sources(
    ours: tuple[DetailSource, ...], theirs: tuple[DetailSource, ...]
) -> tuple[tuple[DetailSource, ...], Bytes]:
    """Both tuples in one without duplicates, and the new numbers of the second one's sources."""
    merged = list(ours)
    number = {id(source): index for index, source in enumerate(merged)}
    for source in theirs:
        if number.setdefault(id(source), len(merged)) == len(merged):
            merged.append(source)
    if len(merged) > np.iinfo(np.uint8).max:
        raise CannotExpand("the tree was expanded too often to expand it further")
    return tuple(merged), np.array([number[id(source)] for source in theirs], dtype=np.uint8)


@dataclass(frozen=True)
class MemorySource:
    """Calls in a list. They are complete, so none is implicit."""

    calls: Sequence[Call]

    def call(self, detail: int, function: Function, rule: Rule) -> Call:
        """The call at an index."""
        return self.calls[detail]

    def expand(self, detail: int, levels: int) -> ColumnTree:
        """Always refuses: a list holds no more than its calls."""
        raise CannotExpand("the calls below this one were not recorded")


@dataclass(frozen=True, slots=True)
class Node:
    """One call of a tree that is built by hand."""

    id: int
    parent: int | None
    call: Call
    weight: float = 1.0
    implicit: bool = False


def tree_of(nodes: Sequence[Node], source: DetailSource | None = None) -> ColumnTree:
    """A tree of calls that are all in memory. Rows that are not a tree raise `NotATree`."""
    rows = Rows()
    functions: dict[Function, int] = {}
    rules: dict[Rule, int] = {}
    for index, node in enumerate(nodes):
        rows.ids.append(node.id)
        rows.parents.append(-1 if node.parent is None else node.parent)
        rows.functions.append(functions.setdefault(node.call.function, len(functions)))
        rows.rules.append(rules.setdefault(node.call.rule, len(rules)))
        rows.outcomes.append(node.call.outcome.kind)
        rows.own.append(node.weight)
        digest, effort = equation_digest({**encode_call(node.call), "id": node.id})
        rows.equations.append(digest)
        rows.efforts.append(effort)
        rows.implicit.append(node.implicit)
        rows.details.append(index)
    calls = [node.call for node in nodes]
    return assemble_tree(link(rows), list(functions), list(rules), source or MemorySource(calls))


def assemble_tree(
    linked: Linked, functions: Sequence[Function], rules: Sequence[Rule], source: DetailSource
) -> ColumnTree:
    """A tree with one source."""
    count = len(linked.columns)
    return ColumnTree(
        columns=linked.columns,
        functions=functions,
        rules=rules,
        sources=(source,),
        details=linked.details,
        source_of=np.broadcast_to(np.uint8(0), (count,)),
        ids=None if consecutive(linked.ids) else linked.ids,
        first_id=int(linked.ids[0]),
    )
