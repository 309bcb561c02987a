"""Sessions in which what is wrong is marked: the twin tells what, and the fault is found.

A slice sets calls aside that seem not to matter. Whatever it sets aside wrongly is found all the
same, because it is widened before anybody is blamed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import bug_corpus
from bug_corpus import Bug

from whence.app.session_driver import SessionDriver
from whence.app.frontends import open_any
from whence.model.diagnosis import Status
from whence.session.events import Answered, Ask, Found
from whence.session.state import State
from whence.tree.column_tree import ColumnTree

FEW = {"property_temperature", "typed_routes"}
"""In these a slice leaves little of the tree."""

pytestmark = [
    pytest.mark.skipif(sys.version_info < (3, 12), reason="what was intended needs monitoring"),
    pytest.mark.timeout(300),
]


def located(bug: Bug, path: Path) -> tuple[bool, int]:
    """Whether the function at fault is blamed, and how many marks led to a call that made them."""
    bug_corpus.record(bug, "buggy", path, whole=False)
    opened = open_any(path)
    tree, provenance = opened.tree, opened.provenance
    assert isinstance(tree, ColumnTree)
    person = bug_corpus.person(bug, tree)
    state = State(tree, provenance, chronology=opened.chronology)
    debugging = SessionDriver(state, reruns=opened.reruns, may_run=True)
    outcome = debugging.start(bug_corpus.symptom_events(bug, tree))
    while isinstance(outcome, Ask):
        outcome = debugging.send(Answered((person.answer(outcome.question.node),)))
    assert isinstance(outcome, Found) and outcome.diagnosis.status is Status.FOUND
    assert outcome.diagnosis.node is not None
    position = tree.position(outcome.diagnosis.node)
    blamed = tree.functions[int(tree.columns.function[position])].short()
    history = debugging.state.space().history
    led = sum(each.origin is not None and each.origin.node is not None for each in history)
    return bug.is_at_fault(blamed), led


@pytest.mark.parametrize("name", sorted(FEW))
def test_marks_lead_to_the_fault(name: str, tmp_path: Path) -> None:
    [bug] = [each for each in bug_corpus.corpus() if each.name == name]
    found, led = located(bug, tmp_path / "run.whence")
    assert found
    assert led


@pytest.mark.soak
@pytest.mark.parametrize("bug", [
    pytest.param(bug, id=bug.name) for bug in bug_corpus.corpus() if bug.can_run and bug.name not in FEW
])  # fmt: skip
def test_no_slice_ever_loses_the_fault(bug: Bug, tmp_path: Path) -> None:
    assert located(bug, tmp_path / "run.whence")[0]
