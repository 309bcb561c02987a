"""The papers' sessions in which parts of values are marked, on the papers' own graph."""

from __future__ import annotations

from typing import Any

import pytest
from papers import load

from whence.model.call import Mark, find_mark
from whence.model.question import Question
from whence.model.verdict import Answer, Verdict
from whence.redex_trail.art_file import decode_art
from whence.redex_trail.art_provenance import ArtProvenance
from whence.redex_trail.art_tree import execution_tree
from whence.search.dynamic_weighting import node_weights
from whence.search.space import Switches
from whence.session.engine import step
from whence.session.events import Answered, Ask, Found, Started
from whence.session.state import Facts, Options, State
from whence.testing.answerer import run

WRONG = load("tree_sqrtest")["wrong_nodes"]
SEQUENCES = {item["strategy"]: item for item in load("strategies_sqrtest")["strategies"]}
MARKS = {(3, "8"): Mark("arg1", ("[2]",)), (20, "2"): Mark("result", ("[1]",))}
"""Where the marked texts stand in the calls."""


@pytest.fixture(scope="module")
def provenance() -> ArtProvenance:
    return ArtProvenance(execution_tree(decode_art(load("art_program"))))


def judge(question: Question) -> Answer:
    """Answers as the papers' user does; YES with a mark says that an argument is inadmissible."""
    wrong = question.node in WRONG
    mark = next((m for (node, _), m in MARKS.items() if node == question.node), None)
    if mark is not None:
        return Answer(question.node, Verdict.WRONG if wrong else Verdict.INADMISSIBLE, mark)
    return Answer(question.node, Verdict.WRONG if wrong else Verdict.RIGHT)


def start(provenance: ArtProvenance, strategy: str, *, slicing: bool = True) -> State:
    return State(
        provenance.art_tree.tree,
        provenance,
        Options(confirm_top=False),
        Facts(strategy=strategy, switches=Switches(duplicates=False, slicing=slicing)),
    )


@pytest.mark.parametrize("slicing", [True, False])
@pytest.mark.parametrize(
    "strategy",
    ["subterm_dependency_tracking", "subterm_dependency_tracking_chain_top_down"],
)
def test_subterm_tracking_asks_the_papers_questions(
    strategy: str, slicing: bool, provenance: ArtProvenance
) -> None:
    item = SEQUENCES[strategy]
    name = strategy.replace("_dependency", "").replace("_chain", "").replace("_", "-")
    went = run(start(provenance, name, slicing=slicing), judge)
    assert went.nodes() == [each["node"] for each in item["sequence"]]
    assert isinstance(went.outcome, Found)
    assert went.outcome.diagnosis.node == item["buggy"]
    assert len(went.asked) == item["questions"]
    marked = [each for each in item["sequence"] if "origin" in each]
    judged = [each for each in went.state.space().history if each.origin] if went.state else []
    for wanted, found in zip(marked, judged, strict=False):
        assert found.origin is not None
        assert (found.origin.node, list(found.origin.chain)) == (wanted["origin"], wanted["chain"])


@pytest.mark.parametrize("nearest", [False, True])
def test_dynamic_weighting_asks_the_derived_questions(
    nearest: bool, provenance: ArtProvenance
) -> None:
    item = SEQUENCES["dynamic_weighting_search"]
    wanted = item["alternative_tie"] if nearest else item
    name = "dynamic-weighting-nearest" if nearest else "dynamic-weighting"
    went = run(start(provenance, name), judge)
    assert went.nodes() == [each["node"] for each in wanted["sequence"]]
    assert isinstance(went.outcome, Found)
    assert went.outcome.diagnosis.node == wanted["buggy"]


def test_dynamic_weights_are_those_of_the_log(provenance: ArtProvenance) -> None:
    state, outcome = step(start(provenance, "dynamic-weighting"), Started())
    for entry in load("example6_sets")["dynamic_weighting_log"]:
        assert isinstance(outcome, Ask)
        node = outcome.question.node
        assert node == entry["node"]
        tree = state.tree
        assert node_weights(state.space())[tree.position(node)] == entry["weight"]
        state, outcome = step(state, Answered((judge(outcome.question),)))
        if "weights_after" in entry:
            after = node_weights(state.space())
            weights = {str(tree.id(p)): after[p] for p in range(len(tree.columns))}
            assert weights == entry["weights_after"]
    assert isinstance(outcome, Found)


def test_the_sliced_session_of_figure_4(provenance: ArtProvenance) -> None:
    data = load("art_slicing")
    state, outcome = step(start(provenance, "top-down"), Started())
    for entry in data["session_fig4"]:
        assert isinstance(outcome, Ask)
        assert outcome.question.node == entry["node"]
        assert outcome.question.call.text == entry["equation"]
        before = suspects(state)
        state, outcome = step(state, Answered((judge(outcome.question),)))
        if "mark" in entry:
            gone = before - suspects(state) - {entry["node"]}
            assert sorted(gone) == entry["removed_from_suspicious_area"]
    assert isinstance(outcome, Found)
    assert outcome.diagnosis.node == data["buggy"]
    assert len(state.facts.answers) == data["session_questions"]


def suspects(state: State) -> set[int]:
    space = state.space()
    return {state.tree.id(int(p)) for p in space.open_calls.positions()}


def test_marks_are_where_the_papers_user_points(provenance: ArtProvenance) -> None:
    tree = provenance.art_tree.tree
    for (node, text), mark in MARKS.items():
        call = tree.call(tree.position(node))
        found: Any = find_mark(call, str(mark), input_side=node == 3)
        assert found.value.text == text
