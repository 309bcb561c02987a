from __future__ import annotations

from whence.testing.trees import tree_from_parents
from whence.tree.fingerprint import fingerprint


def test_equal_trees_have_equal_fingerprints_and_others_do_not() -> None:
    tree = fingerprint(tree_from_parents([-1, 0, 1]))
    assert tree == fingerprint(tree_from_parents([-1, 0, 1]))
    assert tree != fingerprint(tree_from_parents([-1, 0, 0]))
