"""Expanded calls that are no longer needed are dropped; what is left stays what it was."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from whence.testing.trees import partly_implicit, random_parents, tree_from_parents
from whence.tree.column_tree import ColumnTree, all_ids
from whence.tree.shrinking import collapse, with_at_most, without


def some_tree(seed: int, count: int = 40) -> ColumnTree:
    """All of it can come to light again."""
    whole = tree_from_parents(random_parents(random.Random(seed), count))
    return partly_implicit(whole, count)


@pytest.mark.parametrize("seed", range(10))
def test_a_tree_is_what_it_was_when_all_that_was_given_up_is_expanded_again(seed: int) -> None:
    tree = some_tree(seed)
    needed = np.zeros(len(tree.columns), dtype=bool)
    needed[random.Random(seed).sample(range(len(needed)), 3)] = True
    smaller = without(tree, needed)
    assert len(smaller.columns) < len(tree.columns)
    again = smaller
    while len(hidden := np.flatnonzero(again.columns.implicit)):
        again = again.expand(int(hidden[0]), 50)
    assert all_ids(again).tolist() == all_ids(tree).tolist()
    for column in ("parent", "end", "depth", "own", "weight", "implicit"):
        assert getattr(again.columns, column).tolist() == getattr(tree.columns, column).tolist()


@pytest.mark.parametrize("seed", range(10))
def test_what_is_needed_stays_with_its_callers_and_all_weights(seed: int) -> None:
    tree = some_tree(seed)
    needed = np.zeros(len(tree.columns), dtype=bool)
    needed[random.Random(seed).sample(range(len(needed)), 3)] = True
    smaller = without(tree, needed)
    assert set(np.flatnonzero(needed).tolist()) <= set(all_ids(smaller).tolist())
    for position in range(len(smaller.columns)):
        there = tree.position(smaller.id(position))
        assert smaller.columns.weight[position] == tree.columns.weight[there]
        assert smaller.call(position) == tree.call(there)


def test_what_cannot_be_had_again_is_kept() -> None:
    tree = tree_from_parents([-1, 0, 1, 1, 0])
    assert len(without(tree, np.zeros(5, dtype=bool)).columns) == 5


def test_sources_that_nothing_is_left_of_are_let_go() -> None:
    whole = tree_from_parents([-1, 0, 1, 2, 0])
    tree = partly_implicit(whole, 1).expand(1, 1).expand(2, 1)
    other = partly_implicit(whole, 9, 2)
    grown = partly_implicit(whole, 2).expand(2, 1)
    assert len(tree.sources) == 1
    mixed = ColumnTree(
        columns=grown.columns,
        functions=grown.functions,
        rules=grown.rules,
        sources=(*grown.sources, *other.sources),
        details=grown.details,
        source_of=np.array([0, 0, 0, 1, 0], dtype=np.uint8),
        ids=grown.ids,
    )
    at = np.array([False, True, False, False, False])
    assert len(collapse(mixed, at).sources) == 1
    assert len(collapse(mixed, np.zeros(5, dtype=bool)).sources) == 2


@pytest.mark.parametrize(("used", "left"), [([0, 1, 2], [5, 6]), ([0, 2, 1], [2, 3])])
def test_what_was_not_used_for_the_longest_time_is_given_up_first_and_no_more(
    used: list[int], left: list[int]
) -> None:
    whole = tree_from_parents([-1, 0, 1, 1, 0, 4, 4])
    sources = [partly_implicit(whole, 9).sources[0] for _ in range(3)]
    tree = replace(
        partly_implicit(whole, 9),
        sources=tuple(sources),
        source_of=np.array([0, 1, 1, 1, 2, 2, 2], dtype=np.uint8),
    )
    nothing = np.zeros(7, dtype=bool)
    assert all_ids(with_at_most(tree, 5, nothing, used)).tolist() == sorted([0, 1, 4, *left])
    assert len(with_at_most(tree, 7, nothing, used).columns) == 7
    needed = nothing.copy()
    needed[left] = True
    assert set(left) <= set(all_ids(with_at_most(tree, 0, needed, used)).tolist())
