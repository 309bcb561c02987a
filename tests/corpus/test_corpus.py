"""The corpus holds what it says, and whence finds each of its bugs."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
import bug_corpus
from bug_corpus import Bug

from whence.app.session_driver import SessionDriver
from whence.langs.python.oracles.contracts import contract_oracle_for
from whence.langs.python.oracles.type_hints import TypeHintOracle
from whence.model.diagnosis import Status
from whence.model.verdict import Answer, Verdict
from whence.ports import Oracle
from whence.session.events import Answered, Ask, Found
from whence.ports import Oracle
from whence.session.state import State

BUGS = [
    pytest.param(bug, id=bug.name, marks=() if bug.can_run else pytest.mark.skip("needs more"))
    for bug in bug_corpus.corpus()
]


def test_there_are_bugs_of_many_kinds() -> None:
    assert len(BUGS) >= 44
    assert len({bug.kind for bug in bug_corpus.corpus()}) >= 25


@pytest.mark.parametrize("bug", BUGS)
def test_the_twins_differ_in_the_function_that_is_named(bug: Bug) -> None:
    changed = bug_corpus.changed(bug.source("buggy"), bug.source("repaired"))
    assert bug.function in changed
    inside = f"{bug.function}.<locals>."
    around = [name for name in changed if bug.function.startswith(f"{name}.<locals>.")]
    assert [name for name in changed if not name.startswith(inside)] == [*around, bug.function]
    without = [_without_bodies(bug.source(version)) for version in ("buggy", "repaired")]
    assert without[0] == without[1], "they differ outside of functions"


@pytest.mark.parametrize("bug", BUGS)
def test_the_bug_can_be_seen_from_outside(bug: Bug) -> None:
    buggy, repaired = bug_corpus.run(bug, "buggy"), bug_corpus.run(bug, "repaired")
    assert repaired[0] == 0, repaired
    assert buggy != repaired


@pytest.mark.skipif(sys.version_info < (3, 12), reason="what was intended is found by monitoring")
@pytest.mark.parametrize("bug", BUGS)
def test_answers_as_the_repaired_twin_gives_them_lead_to_the_function_at_fault(
    bug: Bug, tmp_path: Path
) -> None:
    tree = bug_corpus.record(bug, "buggy", tmp_path / "run.whence", whole=False)
    intended = bug_corpus.verdicts(bug, tree)
    debugging = SessionDriver(State(tree))
    symptom = Answer(tree.id(0), Verdict.WRONG, by="symptom")
    outcome = debugging.start([Answered((symptom,))])
    while isinstance(outcome, Ask):
        node = outcome.question.node
        outcome = debugging.send(Answered((Answer(node, intended[node]),)))
    assert isinstance(outcome, Found) and outcome.diagnosis.status is Status.FOUND
    assert outcome.diagnosis.node is not None
    position = tree.position(outcome.diagnosis.node)
    assert bug.is_at_fault(tree.functions[int(tree.columns.function[position])].short())
    assert debugging.counts.person <= 25


def _without_bodies(source: str) -> str:
    tree = ast.parse(source)
    for _, function in bug_corpus.functions(tree):
        function.body, function.args = [ast.Pass()], ast.arguments([], [], None, [], [], None, [])
    return ast.dump(tree)


DECLARING = {
    "typed_readings": "type hints",
    "typed_routes": "type hints",
    "typed_stock": "type hints",
    "asserted_shares": "contracts",
}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="what was intended is found by monitoring")
@pytest.mark.parametrize("name", DECLARING)
def test_what_the_code_declares_answers_and_spares_questions(name: str, tmp_path: Path) -> None:
    bug = next(each for each in bug_corpus.corpus() if each.name == name)
    tree = bug_corpus.record(bug, "buggy", tmp_path / "run.whence", whole=False)
    intended = bug_corpus.verdicts(bug, tree)
    contracts = contract_oracle_for(tree)
    assert contracts is not None
    asked = []
    declared: list[Oracle] = [contracts, TypeHintOracle(tree)]
    for oracles in ([], declared):
        debugging = SessionDriver(State(tree), oracles)
        symptom = Answer(tree.id(0), Verdict.WRONG, by="symptom")
        outcome = debugging.start([Answered((symptom,))])
        while isinstance(outcome, Ask):
            node = outcome.question.node
            outcome = debugging.send(Answered((Answer(node, intended[node]),)))
        assert isinstance(outcome, Found) and outcome.diagnosis.node is not None
        position = tree.position(outcome.diagnosis.node)
        assert bug.is_at_fault(tree.functions[int(tree.columns.function[position])].short())
        asked.append(debugging.counts.person)
    contracts.close()
    assert asked[1] < asked[0]
    assert set(debugging.counts.oracles) == {DECLARING[name]}
