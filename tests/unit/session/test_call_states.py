"""The states of calls are those that the answers imply."""

from __future__ import annotations

import numpy as np

from whence.model.verdict import Answer, Trust, TrustScope, Verdict
from whence.session import events
from whence.session.call_states import CallState, CallStates
from whence.session.engine import apply
from whence.session.state import State
from whence.testing.trees import tree_from_parents

# 0 ─ 1 ─ 2, 3;  0 ─ 4 ─ 5
PARENTS = [-1, 0, 1, 1, 0, 4]


def said(*answers: tuple[int, Verdict]) -> State:
    state = State(tree_from_parents(PARENTS))
    for node, verdict in answers:
        state = apply(state, events.Answered((Answer(node, verdict),)))
    return state


def states(state: State) -> list[CallState]:
    known = CallStates(state).of(np.arange(len(PARENTS)))
    return [CallState(one) for one in known.tolist()]


def test_at_first_all_calls_are_suspects():
    assert states(said()) == [CallState.SUSPECT] * 6
    assert CallStates(said()).suspects.all()


def test_a_right_call_clears_what_is_below_it():
    known = states(said((1, Verdict.RIGHT)))
    assert known[1:4] == [CallState.RIGHT, CallState.CLEARED, CallState.CLEARED]
    assert known[4:] == [CallState.SUSPECT, CallState.SUSPECT]


def test_a_wrong_call_clears_what_is_outside_of_it():
    known = states(said((4, Verdict.WRONG)))
    assert known[4:] == [CallState.WRONG, CallState.SUSPECT]
    assert known[:4] == [CallState.CLEARED] * 4


def test_a_call_that_should_not_have_been_made_so_and_one_that_was_skipped():
    known = states(said((4, Verdict.INADMISSIBLE), (1, Verdict.UNKNOWN)))
    assert known[4:] == [CallState.INADMISSIBLE, CallState.CLEARED]
    assert known[1] == CallState.SKIPPED


def test_a_trusted_call_is_shown_as_such():
    state = said()
    name = state.tree.functions[int(state.tree.columns.function[1])].name
    state = apply(state, events.TrustGiven(Trust(TrustScope.FUNCTION, name)))
    assert states(state)[1] == CallState.TRUSTED
    assert states(state)[2] == CallState.SUSPECT


def test_suspects_are_those_that_the_search_counts():
    state = said((4, Verdict.WRONG))
    assert np.flatnonzero(CallStates(state).suspects).tolist() == [5]
    assert CallStates(state).suspicion().tolist() == [0, 0, 0, 0, 0, 1]


def test_an_answer_is_found_at_its_call_and_at_equal_ones():
    tree = tree_from_parents([-1, 0, 0], equations=[0, 7, 7])
    state = apply(State(tree), events.Answered((Answer(1, Verdict.RIGHT, by="a test"),)))
    known = CallStates(state)
    givers = [answer.by if (answer := known.answer(position)) else "" for position in range(3)]
    assert givers == ["", "a test", "a test"]
