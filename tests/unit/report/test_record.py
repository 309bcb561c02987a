"""The diagnosis as JSON."""

from __future__ import annotations

import json

from whence.app.session_driver import SessionDriver
from whence.model.diagnosis import Diagnosis, Status
from whence.report.record import MOST_CALLS, MOST_IDS, record
from whence.session.state import State
from whence.testing.trees import tree_from_parents


def test_a_session_left_early_lists_a_few_candidates_and_counts_the_rest() -> None:
    state = State(tree_from_parents([-1] + [0] * 4999))
    driver = SessionDriver(state)
    left = driver.diagnosis(driver.start())
    data = record(state, left, person=0, oracles={}, characters=0)
    candidates = data["candidates"]
    assert isinstance(candidates, list)
    assert len(candidates) == MOST_CALLS
    assert data["more_candidates"] == 5000 - MOST_CALLS
    assert len(json.dumps(data)) < 20_000


def test_long_lists_of_calls_are_cut_and_counted() -> None:
    state = State(tree_from_parents([-1] + [0] * 2999))
    ids = tuple(range(2000))
    found = Diagnosis(Status.FOUND, 0, group=ids, bad_input=ids)
    data = record(state, found, person=0, oracles={}, characters=0)
    at_fault = data["at_fault"]
    assert isinstance(at_fault, dict)
    assert (len(at_fault["group"]), at_fault["more_group"]) == (MOST_IDS, 1000)
    assert (len(at_fault["bad_input"]), at_fault["more_bad_input"]) == (MOST_IDS, 1000)
    assert data["more_candidates"] == 0
