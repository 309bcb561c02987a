"""Every sequence of questions on the papers' sqrtest tree."""

from __future__ import annotations

from typing import Any

import pytest
from papers import PLAIN, asked, expected, load, paper_tree, session

from whence.search.space import Switches

SQRTEST = load("tree_sqrtest")
WRONG = SQRTEST["wrong_nodes"]
NAMES = {
    "divide_and_query_hirunkitti": "divide-and-query",
    "hat_delta_yes_count": "hat-delta-yes",
    "hat_delta_no_count": "hat-delta-no",
    "hat_delta_no_proportion": "hat-delta-proportion",
}
SWITCHED = {
    "with_duplicate_propagation": Switches(duplicates=True, slicing=False),
    "with_tree_compression": Switches(duplicates=False, compression=True, slicing=False),
    "with_single_rule_stop": Switches(duplicates=False, single_rule=True, slicing=False),
}
UNMARKED = [
    item
    for item in load("strategies_sqrtest")["strategies"]
    if not item["strategy"].startswith(("subterm", "dynamic"))
]
"""The strategies that follow marks are in test_marks.py."""


def strategy_name(item: dict[str, Any]) -> str:
    name: str = item["strategy"]
    return NAMES.get(name, name.replace("_", "-"))


@pytest.fixture(scope="module")
def tree() -> Any:
    return paper_tree(SQRTEST["nodes"])


@pytest.mark.parametrize("item", UNMARKED, ids=lambda item: item["strategy"])
def test_a_strategy_asks_the_papers_questions(item: dict[str, Any], tree: Any) -> None:
    went = session(tree, strategy_name(item), WRONG)
    assert asked(went) == expected(item["sequence"])
    assert len(went.asked) == item["questions"]
    assert went.diagnosis.node == item["buggy"]


@pytest.mark.parametrize(
    ("item", "switch"),
    [(item, switch) for item in UNMARKED for switch in SWITCHED if switch in item],
    ids=lambda value: value if isinstance(value, str) else value["strategy"],
)
def test_a_strategy_with_a_switch_asks_the_derived_questions(
    item: dict[str, Any], switch: str, tree: Any
) -> None:
    wanted = item[switch]
    sequence = item["sequence"] if wanted.get("same") else wanted["sequence"]
    went = session(tree, strategy_name(item), WRONG, SWITCHED[switch])
    assert asked(went) == expected(sequence)
    assert len(went.asked) == wanted["questions"]
    assert went.diagnosis.node == item["buggy"]


def test_equal_equations_are_those_of_the_notes(tree: Any) -> None:
    classes: dict[int, list[int]] = {}
    for position in range(len(tree.columns)):
        classes.setdefault(int(tree.columns.equation[position]), []).append(tree.id(position))
    assert [c for c in classes.values() if len(c) > 1] == SQRTEST["duplicate_equations"]


def test_subtree_weights_are_those_of_the_figure(tree: Any) -> None:
    weights = {str(tree.id(p)): tree.columns.weight[p] for p in range(len(tree.columns))}
    assert weights == SQRTEST["subtree_weight"]
    assert tree.columns.depth.max() + 1 == SQRTEST["max_depth_in_nodes"]


def test_compression_folds_the_nodes_of_the_notes(tree: Any) -> None:
    from whence.search.space import FOLDED, SearchSpace

    space = SearchSpace(tree, SWITCHED["with_tree_compression"], (), rest=False)
    folded = [tree.id(p) for p in range(len(tree.columns)) if space.flags[p] & FOLDED]
    assert folded == SQRTEST["compressed_tree"]["removed_nodes"]
    kept = [p for p in range(len(tree.columns)) if not space.flags[p] & FOLDED]
    callers = {child: p for p in kept for child in map(int, space.callees(p))}
    parents = [
        {"id": tree.id(p), "parent": tree.id(callers[p]) if p in callers else None} for p in kept
    ]
    assert parents == SQRTEST["compressed_tree"]["nodes"]


GRID = load("grid_divide_and_query")
READING = {
    "root_known_wrong": True,
    "answered_NO_counts": False,
    "unasked_root_counts": True,
    "half": "real",
    "tie": "le_then_pre",
    "weights_recomputed": True,
    "own_weight_counts": True,
}
"""What `search/divide_and_query.py` and `search/space.py` implement, in the grid's words."""


def test_the_reading_in_use_is_one_that_reproduces_all_printed_sequences() -> None:
    assert READING in GRID["readings_reproducing_all_three"]
    assert GRID["forced"].items() <= READING.items()


def _written(sequence: str) -> list[tuple[int, str]]:
    steps = [step.split("-") for step in sequence.split()]
    return [(int(node), answer) for node, answer in steps]


def test_less_yes_first_is_the_grids_reading_with_and_without_compression(tree: Any) -> None:
    item = GRID["per_strategy"]["less_yes_first"]
    for reading in item["reproducing"] + item["not_reproducing"]:
        if reading["yes_counting"] != "node" or reading["statistics_per"] != "rule":
            continue
        switches = Switches(
            duplicates=False, slicing=False, compression=reading["tree_compression"]
        )
        went = session(tree, "less-yes-first", WRONG, switches)
        assert asked(went) == _written(reading["sequence"])


def test_hat_delta_counts_no_for_the_asked_call_only(tree: Any) -> None:
    names = {"yes": "hat-delta-yes", "no": "hat-delta-no", "prop": "hat-delta-proportion"}
    for reading in GRID["per_strategy"]["hat_delta"]["runs"]:
        if reading["NO_marks"] == "asked node only":
            went = session(tree, names[reading["heuristic"]], WRONG, PLAIN)
            assert asked(went) == _written(reading["sequence"])
