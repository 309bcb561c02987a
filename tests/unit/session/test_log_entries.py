"""The entries of a session log, and the part of it that is about the inside of one call."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from whence.model.call import Mark
from whence.model.verdict import Answer, Trust, TrustScope, Verdict
from whence.session.events import (
    Answered,
    Expand,
    Redone,
    Rejected,
    Resolved,
    RestSearched,
    StrategyChosen,
    SwitchTurned,
    SymptomTimed,
    TrustGiven,
    TrustWithdrawn,
    Undone,
)
from whence.session.log_entries import InnerLog, InsideCall, LogEntry, decode, encode
from whence.testing.trees import tree_from_parents
from whence.tree.fingerprint import fingerprint

NAMES = st.text(min_size=1, max_size=8)
STEPS = st.lists(st.sampled_from(["[0]", ".a", "['k']"])).map(tuple)
ANSWERS = st.builds(
    Answer,
    st.integers(0, 2**62),
    st.sampled_from(Verdict),
    st.none()
    | st.builds(
        Mark, st.just("result"), st.lists(st.sampled_from(["[0]", ".a", "['k']"])).map(tuple)
    ),
    NAMES,
    st.none() | st.text(),
    st.text(),
)
TRUSTS = st.builds(Trust, st.sampled_from(TrustScope), NAMES)
EVENTS = st.one_of(
    st.builds(Answered, st.lists(ANSWERS, min_size=1, max_size=3).map(tuple)),
    st.builds(TrustGiven, TRUSTS),
    st.builds(TrustWithdrawn, TRUSTS),
    st.builds(StrategyChosen, NAMES),
    st.builds(SwitchTurned, NAMES, st.booleans()),
    st.builds(SymptomTimed, st.integers(0, 2**62), st.booleans()),
    st.builds(Resolved, st.booleans()),
    st.builds(Expand, st.integers(0, 2**62), st.integers(1, 9)),
    st.sampled_from([Undone(), Redone(), Rejected(), RestSearched()]),
)


@given(EVENTS)
def test_every_event_survives_writing_and_reading(event: Any) -> None:
    assert decode(json.loads(json.dumps(encode(event)))) == event


def test_an_inner_log_keeps_its_entries_in_the_outer_one() -> None:
    tree = tree_from_parents([-1, 0])
    outer: list[LogEntry] = [Undone()]
    InnerLog(outer, outer.append, 7, tree, None).append(Redone())
    assert outer[1:] == [InsideCall(7, fingerprint(tree), Redone())]
    assert InnerLog(outer, outer.append, 7, tree, None).entries == [Redone()]
    assert InnerLog(outer, outer.append, 8, tree, None).entries == []


def test_entries_about_other_steps_are_outdated() -> None:
    outer: list[LogEntry] = []
    InnerLog(outer, outer.append, 7, tree_from_parents([-1, 0]), None).append(Undone())
    later = InnerLog(outer, outer.append, 7, tree_from_parents([-1, 0, 0]), None)
    assert (later.entries, later.has_outdated) == ([], True)
