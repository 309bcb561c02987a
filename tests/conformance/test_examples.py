"""The examples of the classification paper and the combination of strategies."""

from __future__ import annotations

from fractions import Fraction
from math import log2
from typing import Any

import numpy as np
import pytest
from papers import PLAIN, asked, expected, load, paper_tree, session

from whence.model.verdict import Verdict
from whence.ports import Choice, Judged
from whence.search import combination
from whence.search.divide_by_yes_and_query import DivideByYesAndQuery
from whence.search.hat_delta import Heuristic, suspicion
from whence.search.heaviest_first import heaviest
from whence.search.less_yes_first import yes_weights
from whence.search.registry import STRATEGIES
from whence.search.space import SearchSpace, Switches
from whence.search.switching import Switching

EXAMPLES = {item["example"]: item for item in load("examples_classification")["examples"]}


def space_of(tree: Any, *judged: tuple[int, Verdict], switches: Switches = PLAIN) -> SearchSpace:
    space = SearchSpace(tree, switches, (), rest=False)
    for node, verdict in judged:
        space.apply(Judged(tree.position(node), verdict))
    return space


def choice(strategy: str, tree: Any, *judged: tuple[int, Verdict]) -> int:
    found = STRATEGIES[strategy].choose(space_of(tree, *judged))
    assert isinstance(found, Choice)
    return int(tree.id(found.position))


def test_example_2_rules_or_nodes() -> None:
    example = EXAMPLES[2]
    tree = paper_tree(example["tree"], distinct=True)
    wanted = example["expected"]
    root_wrong = (1, Verdict.WRONG)
    assert choice("heaviest-first", tree, root_wrong) == wanted["heaviest_first"]
    assert choice("most-rules-first", tree, root_wrong) == wanted["most_rules_first"]
    assert choice("less-yes-first", tree, root_wrong) == wanted["less_yes_first_by_formula"]
    for node, count in wanted["branch_nodes"].items():
        assert tree.columns.weight[tree.position(int(node))] == count
    for node, count in wanted["rules_in_branch"].items():
        position = tree.position(int(node))
        rules = set(tree.columns.rule[position : tree.columns.end[position]].tolist())
        assert len(rules) == count
        assert Fraction(len(rules), example["rules_in_program"]) == Fraction(
            wanted["probability"][node]
        )


def test_example_4_divides_by_yes_with_the_unasked_root_counted() -> None:
    example = EXAMPLES[4]
    tree = paper_tree(EXAMPLES[2]["tree"], distinct=True)
    first, then = example["session"]
    assert choice("divide-by-yes-and-query", tree) == first["node"]
    space = space_of(tree, (first["node"], Verdict.RIGHT))
    weight = yes_weights(space)
    wanted = example["weights_after_first"]
    assert weight[0] == float(Fraction(wanted["w"]))
    assert weight[tree.position(2)] == wanted["subtree 2"]
    assert weight[tree.position(5)] == float(Fraction(wanted["subtree 5"]))
    found = DivideByYesAndQuery().choose(space)
    assert found is not None and tree.id(found.position) == then["next"]
    asked_root = choice(
        "divide-by-yes-and-query", tree, (1, Verdict.WRONG), (first["node"], Verdict.RIGHT)
    )
    assert asked_root == example["if_root_answered_NO"]["next"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_example_3_one_question_with_compression_and_the_single_rule_stop(strategy: str) -> None:
    example = EXAMPLES[3]
    tree = paper_tree(example["tree"], distinct=True)
    switches = Switches(duplicates=False, compression=True, single_rule=True, slicing=False)
    leaf = example["expected"]["question"]
    for wrong, rule in (([1, 2, 3, 4, leaf], "1"), ([1, 2, 3, 4], "2")):
        went = session(tree, strategy, wrong, switches, ask_top=False)
        assert went.nodes() == [leaf]
        assert len(went.asked) == example["expected"]["questions"]
        node = went.diagnosis.node
        assert node is not None
        assert tree.rules[tree.columns.rule[tree.position(node)]].name == rule


def test_example_3_without_the_rule_asks_every_node() -> None:
    example = EXAMPLES[3]
    tree = paper_tree(example["tree"], distinct=True)
    went = session(tree, "top-down", [1, 2, 3, 4, 5])
    assert len(went.asked) == example["without_the_rule"]["top_down_worst"]


def sorting(elements: list[int]) -> tuple[list[int], list[dict[str, Any]]]:
    """The buggy sort of example 5 with the tree of its calls."""
    calls: list[dict[str, Any]] = []

    def called(parent: int | None, rule: str) -> int:
        calls.append({"parent": parent, "function": rule.split(".", maxsplit=1)[0], "rule": rule})
        return len(calls) - 1

    def sort(parent: int | None, xs: list[int]) -> list[int]:
        node = called(parent, "sort.1" if not xs else "sort.2")
        before = list(xs)
        result = insert(node, xs[0], sort(node, xs[1:])) if xs else []
        calls[node]["equation"] = (
            f"sort {before} = {result}".replace(" ", "")
            .replace("sort[", "sort [")
            .replace("]=", "] = ")
        )
        return result

    def insert(parent: int, x: int, ys: list[int]) -> list[int]:
        rule = "insert.1" if not ys else "insert.2" if x < ys[0] else "insert.3"
        node = called(parent, rule)
        calls[node]["equation"] = f"insert {x} {ys} at {node}"
        if not ys:
            return [x]
        return [x, *ys] if x < ys[0] else insert(node, x, ys[1:])

    return sort(None, elements), calls


def test_example_5_counts_yes_for_each_node_and_no_for_the_asked_one() -> None:
    example = EXAMPLES[5]
    nodes: list[dict[str, Any]] = [
        {"id": 0, "parent": None, "function": "main", "rule": "main", "equation": "main"}
    ]
    for pair in example["answers_that_produce_them"]:
        numbers = [int(n) for n in pair[0]["equation"].split("[")[1].split("]")[0].split(",")]
        _, calls = sorting(numbers)
        base = len(nodes)
        nodes += [
            {
                **call,
                "id": base + index,
                "parent": 0 if call["parent"] is None else base + call["parent"],
            }
            for index, call in enumerate(calls)
        ]
    tree = paper_tree(nodes)
    by_equation = {node["equation"]: node["id"] for node in nodes}
    yes = no = np.zeros(len(tree.rules), dtype=np.int64)
    for pair in example["answers_that_produce_them"]:
        for item in pair:
            position = tree.position(by_equation[item["equation"]])
            verdict = Verdict.WRONG if item["answer"] == "NO" else Verdict.RIGHT
            # Each pair belongs to a session of its own, which starts anew at the top.
            fresh = SearchSpace(tree, PLAIN, (), rest=False)
            fresh.apply(Judged(position, verdict))
            yes, no = yes + fresh.yes, no + fresh.no
    number = {rule.name: index for index, rule in enumerate(tree.rules)}
    for wanted in example["counts"]:
        if wanted["rule"] not in number:
            assert (wanted["yes"], wanted["no"]) == (0, 0)
            continue
        index = number[wanted["rule"]]
        assert (yes[index], no[index]) == (wanted["yes"], wanted["no"])
        share = suspicion(yes, no, Heuristic.PROPORTION)[index]
        assert share == pytest.approx(float(Fraction(wanted["no_proportion"])))
    for key, heuristic in (
        ("yes_count", Heuristic.YES),
        ("no_count", Heuristic.NO),
        ("no_proportion", Heuristic.PROPORTION),
    ):
        ranks = suspicion(yes, no, heuristic)
        rules = [name for name in number if name != "main"]
        assert max(rules, key=lambda name: ranks[number[name]]) == example["expected"][key]


def triangle(depth: int) -> list[dict[str, Any]]:
    """Example 7's family: a branch with k-1 nodes of rule k on level k, and a chain beside it."""
    nodes: list[dict[str, Any]] = []

    def add(parent: int | None, rule: int) -> int:
        number = len(nodes) + 1
        nodes.append(
            {
                "id": number,
                "parent": parent,
                "function": f"f{rule}",
                "rule": str(rule),
                "equation": f"n{number}",
            }
        )
        return number

    root = add(None, 1)

    def left(parent: int, level: int, last: bool) -> None:
        """A node with one node of the next level below it, or two if it is its level's last."""
        node = add(parent, level)
        if level < depth:
            left(node, level + 1, False)
            if last:
                left(node, level + 1, True)

    left(root, 2, True)
    chain = root
    for rule in range(depth, 1, -1):
        chain = add(chain, rule)
    return nodes


def test_example_7_is_the_smallest_of_its_family() -> None:
    example = EXAMPLES[7]
    assert [(n["id"], n["parent"], n["rule"]) for n in triangle(example["d"])] == [
        (n["id"], n["parent"], n["rule"]) for n in example["tree"]
    ]


@pytest.mark.parametrize("member", EXAMPLES[7]["family"], ids=lambda m: f"d={m['d']}")
def test_example_7_hat_delta_asks_the_chain_bottom_up(member: dict[str, Any]) -> None:
    tree = paper_tree(triangle(member["d"]))
    assert len(tree.columns) == member["n"]
    went = session(tree, "hat-delta-yes", [1], ask_top=False)
    assert len(went.asked) == member["questions"]
    assert went.diagnosis.node == 1


def test_example_7_asks_the_papers_questions() -> None:
    example = EXAMPLES[7]
    tree = paper_tree(example["tree"])
    went = session(
        tree, example["strategy"].replace("_count", "").replace("_", "-"), [1], ask_top=False
    )
    assert asked(went) == expected(example["sequence"])
    space = space_of(tree, (2, Verdict.RIGHT))
    counts = {rule.name: int(space.yes[i]) for i, rule in enumerate(tree.rules) if space.yes[i]}
    assert counts == example["yes_after_first_answer"]
    assert len(went.asked) == example["cost"]


def test_top_down_zooming_prefers_recursive_calls() -> None:
    example = EXAMPLES["derived: top-down zooming"]
    tree = paper_tree(example["tree"], distinct=True)
    for strategy, key in (("top-down-zooming", "zooming"), ("top-down", "top_down")):
        went = session(tree, strategy, example["wrong"])
        assert asked(went) == expected(example[key])
        assert went.diagnosis.node == example["buggy"]


def test_exception_zooming_prefers_calls_that_raised() -> None:
    example = EXAMPLES["derived: exception zooming"]
    tree = paper_tree(example["tree"], raised=example["raised"], distinct=True)
    went = session(tree, "exception-zooming", example["wrong"])
    assert asked(went) == expected(example["sequence"])
    assert went.diagnosis.node == example["buggy"]


def test_heaviest_first_asks_fewer_children_on_average() -> None:
    example = EXAMPLES["formula: expected children asked per wrong node"]
    weights = np.array(example["child_weights"], dtype=float)
    left, order = np.arange(len(weights)), []
    while len(left):
        order.append(heaviest(left, weights[left]))
        left = left[left != order[-1]]
    average = sum(weights[child] * place for place, child in enumerate(order, 1)) / weights.sum()
    assert average == pytest.approx(float(Fraction(example["heaviest_first"])))
    assert (len(weights) + 1) / 2 == example["top_down"]


def test_switching_takes_the_strategy_that_the_shape_asks_for() -> None:
    example = EXAMPLES["formula: switching rule of section 5"]
    tree = paper_tree(load("tree_sqrtest")["nodes"])
    space = space_of(tree, (1, Verdict.WRONG))
    assert example["d"] >= log2(example["n"]) == pytest.approx(example["log2_n"], abs=1e-4)
    assert Switching().choose(space) == STRATEGIES["divide-and-query"].choose(space)
    shallow = paper_tree(
        [
            {
                "id": i,
                "parent": None if i == 0 else 0,
                "function": "f",
                "rule": str(i),
                "equation": str(i),
            }
            for i in range(40)
        ]
    )
    space = space_of(shallow, (0, Verdict.WRONG))
    assert Switching().choose(space) == STRATEGIES["heaviest-first"].choose(space)


COMBINATION = load("combination")


@pytest.mark.parametrize(
    ("strategy", "key"), [("combination", "lexicographic"), ("combination-sum", "plain_sum")]
)
def test_the_combination_asks_the_derived_questions(strategy: str, key: str) -> None:
    sqrtest = load("tree_sqrtest")
    went = session(paper_tree(sqrtest["nodes"]), strategy, sqrtest["wrong_nodes"])
    wanted = COMBINATION["expected"][key]
    assert asked(went) == expected(wanted["sequence"])
    assert went.diagnosis.node == wanted["buggy"]


def test_the_components_score_as_in_the_data() -> None:
    tree = paper_tree(load("tree_sqrtest")["nodes"])
    space = space_of(tree)
    positions = space.open_calls.positions()
    letters = dict(zip("abcdef", combination.PAPERS_COMPONENTS, strict=True))
    for letter, (addend, component) in letters.items():
        assert addend == COMBINATION["addends_in_units_of_C"][letter]
        scores = component(space, positions)
        for position, score in zip(positions, scores, strict=True):
            wanted = COMBINATION["first_question_scores_in_C"][str(tree.id(int(position)))]
            assert score == pytest.approx(float(Fraction(wanted[letter])))


def test_the_addends_order_the_components_as_the_paper_demands() -> None:
    addends = [addend for addend, _ in combination.PAPERS_COMPONENTS]
    for index, relation in enumerate(COMBINATION["relations"]):
        greatest = sum(addends[index + 1 :]) + len(addends[index + 1 :])
        assert addends[index] == relation["least_left_in_C"]
        assert greatest == relation["greatest_right_in_C"]
        assert (addends[index] > greatest) is relation["holds"]
