"""Merged paths stand for every call once, by weight, and nest as the calls do."""

from __future__ import annotations

import random

import numpy as np
import pytest

from whence.testing.trees import random_parents, tree_from_parents
from whence.tree.merged_paths import DEEPEST, merge_paths


def test_equal_calls_of_equal_callers_are_one_entry():
    # main calls f, g, f; each f calls h twice.
    columns = tree_from_parents([-1, 0, 1, 1, 0, 0, 5, 5], [0, 1, 2, 2, 3, 1, 2, 2]).columns
    merged = merge_paths(columns)
    assert merged.columns.function.tolist() == [0, 1, 2, 3]
    assert merged.calls.tolist() == [1, 2, 4, 1]
    assert merged.columns.weight.tolist() == [8, 6, 4, 1]
    assert merged.columns.end.tolist() == [4, 3, 3, 4]
    assert merged.entry_of.tolist() == [0, 1, 2, 2, 3, 1, 2, 2]
    assert merged.first.tolist() == [0, 1, 2, 4]


@pytest.mark.parametrize("seed", range(12))
def test_every_call_is_below_the_entry_of_its_caller(seed):
    chance = random.Random(seed)
    parents = random_parents(chance, 300)
    rules = [chance.randrange(4) for _ in parents]
    columns = tree_from_parents(parents, rules).columns
    merged = merge_paths(columns)
    tree = merged.columns
    assert merged.calls.sum() == len(columns)
    assert (tree.function[merged.entry_of] == columns.function).all()
    assert (tree.depth[merged.entry_of] == columns.depth).all()
    below = columns.parent >= 0
    callers = merged.entry_of[columns.parent[below]]
    assert (tree.parent[merged.entry_of[below]] == callers).all()
    for entry in range(len(tree)):
        children = np.flatnonzero(tree.parent == entry)
        assert (np.diff(tree.weight[children]) <= 0).all()
        assert len(set(tree.function[children].tolist())) == len(children)
        assert tree.weight[entry] == tree.own[entry] + tree.weight[children].sum()
        assert tree.end[entry] == max([entry + 1, *tree.end[children].tolist()])


def test_calls_that_are_too_deep_count_for_their_callers():
    count = DEEPEST + 50
    columns = tree_from_parents(range(-1, count - 1), [0] * count).columns
    merged = merge_paths(columns)
    assert len(merged.columns) == DEEPEST
    assert merged.columns.weight[0] == count
    assert merged.calls.sum() == count
