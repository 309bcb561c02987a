import random
import time
from dataclasses import replace

import pytest

from whence.errors import UsageError
from whence.model.call import Function
from whence.session.state import Facts, State
from whence.testing.trees import random_parents, tree_from_parents
from whence.tree.column_tree import ColumnTree
from whence.ui.terminal.listing import calls_of, find_function, listing_lines


def test_a_function_is_found_by_its_whole_name_or_its_last_words(small: State) -> None:
    tree = small.tree
    assert tree.functions[find_function(tree, "m.g")].name == "m.g"
    assert tree.functions[find_function(tree, "g")].name == "m.g"
    with pytest.raises(UsageError, match="named x"):
        find_function(tree, "x")
    with pytest.raises(UsageError, match=r"there is m\.main"):
        find_function(tree, "mai")


def test_a_name_that_two_functions_have_must_be_written_out(small: State) -> None:
    assert isinstance(small.tree, ColumnTree)
    two = replace(small.tree, functions=[Function("a.f", "f"), Function("b.f", "f")])
    with pytest.raises(UsageError, match=r"a\.f, b\.f"):
        find_function(two, "f")


def test_calls_are_listed_with_their_numbers(small: State) -> None:
    number = find_function(small.tree, "g")
    listing = calls_of(small, number, without=small.tree.position(4))
    assert listing_lines(small, listing, 80, others=True) == [
        "2 other calls of g, all of which may be at fault:",
        "  3  g(x=1) → 1",
        "  6  g(x=3) → 3",
    ]


def test_a_large_tree_is_listed_fast_and_in_part() -> None:
    count = 300_000
    parents = random_parents(random.Random(1), count, "binary")
    tree = tree_from_parents(parents, rules=[0] * count)
    state = State(tree, facts=Facts())
    state.space()
    start = time.perf_counter()
    listing = calls_of(state, 0, without=7)
    lines = listing_lines(state, listing, 80, others=True)
    assert time.perf_counter() - start < 0.5
    assert len(lines) == 22
    assert lines[-1].strip() == f"… and {count - 21} more"
