"""Optimal divide & query and Mercury's middleweight, against tables and every small tree."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from papers import PLAIN, judge_by, load, paper_tree, session

from whence.model.verdict import Answer, Verdict
from whence.ports import Choice, Expansion, Judged
from whence.search.middleweight import Middleweight
from whence.search.registry import STRATEGIES
from whence.search.space import SearchSpace
from whence.session.engine import expansion, step
from whence.session.events import Answered, Ask, Expand
from whence.session.state import Facts, Options, State
from whence.testing.answerer import run
from whence.testing.trees import partly_implicit, tree_from_parents

OPTIMAL = load("optimal_divide_and_query")
STRATEGY = {
    "shapiro": "divide-and-query-shapiro",
    "hirunkitti": "divide-and-query",
    "optimal": "optimal-divide-and-query",
}


def space_of_case(case: dict[str, Any]) -> SearchSpace:
    if "nodes" not in case:
        tree = paper_tree(load("tree_sqrtest")["nodes"])
        space = SearchSpace(tree, PLAIN, (), rest=False)
        space.apply(Judged(tree.position(7), Verdict.RIGHT))
        space.apply(Judged(tree.position(16), Verdict.WRONG))
        return space
    space = SearchSpace(paper_tree(case["nodes"]), PLAIN, (), rest=False)
    for node in case["nodes"]:
        if node["status"] == "wrong":
            space.apply(Judged(space.tree.position(node["id"]), Verdict.WRONG))
    return space


@pytest.mark.parametrize("case", OPTIMAL["cases"], ids=lambda case: case["name"])
def test_the_table_of_differences_comes_out(case: dict[str, Any]) -> None:
    space = space_of_case(case)
    assert space.weight[space.top] == case["w"]
    for row in case["table"]:
        position = space.tree.position(row["node"])
        own = space.columns.own[position]
        assert space.weight[position] == row["weight"]
        assert space.weight[position] - own == row["down"]
        assert case["w"] - space.weight[position] == row["up"]
        assert abs(2 * space.weight[position] - own - case["w"]) == row["difference"]


@pytest.mark.parametrize("case", OPTIMAL["cases"], ids=lambda case: case["name"])
@pytest.mark.parametrize("key", STRATEGY)
def test_each_division_chooses_as_the_data_says(case: dict[str, Any], key: str) -> None:
    space = space_of_case(case)
    found = STRATEGIES[STRATEGY[key]].choose(space)
    assert isinstance(found, Choice)
    assert space.tree.id(found.position) == case[key]


def test_questions_for_each_buggy_node_of_tree_b() -> None:
    case = next(c for c in OPTIMAL["cases"] if "questions_per_buggy_node" in c)
    tree = paper_tree(case["nodes"])
    for key, counts in case["questions_per_buggy_node"].items():
        assert questions_per_fault(tree, STRATEGY[key]) == counts


def questions_per_fault(tree: Any, strategy: str) -> list[int]:
    """The questions for each faulty node when the root was judged wrong beforehand."""
    counts = []
    columns = tree.columns
    for fault in range(len(columns)):
        wrong = {tree.id(p) for p in range(fault + 1) if columns.end[p] > fault}
        state = State(
            tree,
            options=Options(confirm_top=False),
            facts=Facts(
                strategy=strategy,
                switches=PLAIN,
                answers=(Answer(tree.id(0), Verdict.WRONG),),
            ),
        )
        went = run(state, judge_by(sorted(wrong)))
        assert went.diagnosis.node == tree.id(fault)
        counts.append(len(went.asked))
    return counts


def ordered_trees(nodes: int) -> Iterator[list[int]]:
    """The parents of every ordered tree with so many nodes, in preorder."""

    def grow(parents: list[int], path: list[int]) -> Iterator[list[int]]:
        if len(parents) == nodes:
            yield parents
            return
        for depth in range(len(path)):
            number = len(parents)
            yield from grow([*parents, path[depth]], [*path[: depth + 1], number])

    yield from grow([-1], [0])


def exact_minimax(parents: list[int]) -> int:
    """The least number of questions in the worst case, by trying every session."""
    count = len(parents)
    children = [[c for c in range(count) if parents[c] == p] for p in range(count)]
    below = [0] * count
    for node in reversed(range(count)):
        below[node] = (1 << node) | sum(below[c] for c in children[node])

    @cache
    def least(top: int, left: int) -> int:
        """`left`: the unjudged nodes below the wrong top."""
        if left == 0:
            return 0
        return 1 + min(
            max(least(node, left & below[node] & ~(1 << node)), least(top, left & ~below[node]))
            for node in range(count)
            if left >> node & 1
        )

    return least(0, below[0] & ~1)


def in_soak_if_large(row: dict[str, Any]) -> Any:
    nodes = row["nodes"]
    return pytest.param(row, id=str(nodes), marks=[pytest.mark.soak] if nodes > 7 else [])


@pytest.mark.parametrize(
    "row", map(in_soak_if_large, OPTIMAL["worst_case_statistics_root_wrong_uncounted"])
)
def test_worst_cases_over_every_small_tree(row: dict[str, Any]) -> None:
    names = {"shapiro": "shapiro", "hirunkitti": "hirunkitti", "optimal_dq": "optimal"}
    totals = dict.fromkeys([*names, "exact_minimax"], 0)
    trees = above = 0
    for parents in ordered_trees(row["nodes"]):
        trees += 1
        tree = tree_from_parents(parents)
        exact = exact_minimax(parents)
        totals["exact_minimax"] += exact
        for key, name in names.items():
            worst = max(questions_per_fault(tree, STRATEGY[name]))
            totals[key] += worst
            above += key == "optimal_dq" and worst > exact
    assert trees == row["ordered_trees"]
    assert totals == row["sum_of_worst_cases"]
    assert above == row["optimal_dq_above_exact_minimax"]


def test_the_sequence_of_optimal_divide_and_query_on_the_figure() -> None:
    sqrtest = load("tree_sqrtest")
    went = session(paper_tree(sqrtest["nodes"]), "optimal-divide-and-query", sqrtest["wrong_nodes"])
    assert went.nodes() == [item["node"] for item in OPTIMAL["sequence_on_fig2"]]


MIDDLEWEIGHT = load("mercury_middleweight")


def weighted(nodes: list[dict[str, Any]]) -> tuple[Any, list[str]]:
    """The tree of the data with names in the order of positions."""
    by_name = {node["id"]: node for node in nodes}
    names: list[str] = []
    parents: list[int] = []

    def visit(name: str, parent: int) -> None:
        position = len(names)
        names.append(name)
        parents.append(parent)
        for child in by_name[name]["children"]:
            visit(child, position)

    visit(nodes[0]["id"], -1)
    tree = tree_from_parents(parents, weights=[by_name[name]["own"] for name in names])
    for position, name in enumerate(names):
        assert tree.columns.weight[position] == by_name[name]["weight"]
    return tree, names


@pytest.mark.parametrize("run", MIDDLEWEIGHT["runs"], ids=lambda run: f"step {run['StepSize']}")
def test_middleweight_materializes_only_what_it_looks_at(run: dict[str, Any]) -> None:
    whole, names = weighted(MIDDLEWEIGHT["tree"])
    levels = run["StepSize"]
    tree = partly_implicit(whole, levels)
    known = {names[tree.id(p)] for p in range(1, len(tree.columns))}
    assert known == set(run["materializations"][0]["new_nodes"])
    state = State(tree, facts=Facts(strategy=f"middleweight:{levels}", switches=PLAIN))
    state, outcome = step(state, Answered((Answer(0, Verdict.WRONG),)))
    for wanted in run["materializations"][1:]:
        assert isinstance(outcome, Expand)
        assert (names[outcome.node], outcome.levels) == (wanted["at"], levels)
        before = len(state.tree.columns)
        state, outcome = step(state, expansion(state, outcome))
        assert len(state.tree.columns) - before == len(wanted["new_nodes"])
    assert isinstance(outcome, Ask)
    assert names[outcome.question.node] == run["result"]
    assert len(state.tree.columns) == run["explicit_nodes"]
    assert len(run["materializations"]) - 1 == run["reexecutions_after_the_first"]
    weight = state.space().weight[state.tree.position(outcome.question.node)]
    assert weight == run["result_weight"]


def test_with_steps_of_one_the_light_subtree_stays_implicit() -> None:
    whole, names = weighted(MIDDLEWEIGHT["tree"])
    state = State(partly_implicit(whole, 1), facts=Facts(strategy="middleweight:1", switches=PLAIN))
    state, outcome = step(state, Answered((Answer(0, Verdict.WRONG),)))
    while isinstance(outcome, Expand):
        state, outcome = step(state, expansion(state, outcome))
    light = state.tree.position(names.index("n3"))
    assert state.tree.columns.implicit[light]


@pytest.mark.parametrize("case", MIDDLEWEIGHT["more"], ids=lambda case: case["name"])
def test_middleweight_treats_the_corner_cases(case: dict[str, Any]) -> None:
    tree, names = weighted(case["tree"])
    space = SearchSpace(tree, PLAIN, (), rest=False)
    space.apply(Judged(0, Verdict.WRONG))
    found = Middleweight().choose(space)
    assert not isinstance(found, Expansion)
    assert (None if found is None else names[found.position]) == case["result"]
