"""Everything that whence itself plugs into its ports keeps their laws."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.app.frontends import open_any
from whence.search.registry import STRATEGIES
from whence.search.top_down import TopDown
from whence.testing.laws import check_expansion, check_provenance, check_strategy, check_tree
from whence.testing.trees import partly_implicit, random_parents, tree_from_parents

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = ["sqrtest.jsonl", "sqrtest.art.json"]


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_keeps_the_laws(name: str) -> None:
    check_strategy(STRATEGIES[name])


@pytest.mark.parametrize("file", FILES)
def test_the_examples_keep_the_laws(file: str) -> None:
    opened = open_any(EXAMPLES / file)
    check_tree(opened.tree)
    assert opened.provenance is not None
    check_provenance(opened.tree, opened.provenance)


@given(st.integers(0, 2**32), st.integers(1, 3))
def test_trees_keep_the_laws_before_and_after_they_grow(seed: int, levels: int) -> None:
    numbers = random.Random(seed)
    whole = tree_from_parents(random_parents(numbers, numbers.randint(1, 60)))
    check_tree(whole)
    hidden = partly_implicit(whole, levels, misjudge=lambda _, weight: weight * 2)
    check_tree(hidden)
    check_expansion(hidden, levels)


class AsksTheTop(TopDown):
    """A strategy that breaks the law."""

    def choose(self, suspects: Any) -> Any:
        choice = super().choose(suspects)
        return choice and replace(choice, position=suspects.top)


def test_a_strategy_that_breaks_a_law_is_caught() -> None:
    with pytest.raises(AssertionError, match="only open calls"):
        check_strategy(AsksTheTop())


@pytest.mark.parametrize("column", ["parent", "end", "depth", "weight", "own"])
def test_a_tree_that_breaks_a_law_is_caught(column: str) -> None:
    tree = tree_from_parents([-1, 0, 1, 1, 0])
    broken = np.array(getattr(tree.columns, column))
    broken[2] += 3
    columns = replace(tree.columns, **{column: broken})
    with pytest.raises(AssertionError):
        check_tree(replace(tree, columns=columns))
