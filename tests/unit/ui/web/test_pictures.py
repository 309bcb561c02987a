"""Pictures and lists say what the session says, and are bounded whatever is asked for."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from whence.errors import UsageError
from whence.model.verdict import Answer, Verdict
from whence.session import events
from whence.session.call_states import CallState
from whence.session.engine import apply
from whence.session.state import State
from whence.testing.trees import random_parents, tree_from_parents
from whence.ui.web.call_lists import CallLists
from whence.ui.web.layouts import Layouts
from whence.ui.web.pictures import MOST_PIXELS, Pictures

# 0 ─ 1 ─ 2, 3;  0 ─ 4 ─ 5
SMALL = tree_from_parents([-1, 0, 1, 1, 0, 4])


def picture(state: State, asked: int | None = None, **parameters: object) -> Any:
    found = Pictures(Layouts(state), asked).picture(parameters)
    json.dumps(found)
    return found


def lists(state: State, asked: int | None = None) -> CallLists:
    return CallLists(Layouts(state), asked)


def said(state: State, node: int, verdict: Verdict) -> State:
    return apply(state, events.Answered((Answer(node, verdict),)))


def test_a_picture_has_all_calls_with_their_states():
    shown = picture(said(State(SMALL), 1, Verdict.RIGHT), pixels=600)
    assert shown["boxes"]["id"] == [0, 1, 4, 2, 3, 5]
    known = dict(zip(shown["boxes"]["id"], shown["boxes"]["state"], strict=True))
    assert known[1] == CallState.RIGHT
    assert known[2] == known[3] == CallState.CLEARED
    assert known[5] == CallState.SUSPECT
    assert (shown["calls"], shown["suspects"]) == (6, 3)
    assert shown["boxes"]["by"] == {"1": "person"}


def test_what_is_suspected_takes_the_whole_width_if_that_is_wanted():
    shown = picture(said(State(SMALL), 4, Verdict.WRONG), width="suspicion", pixels=600)
    left = dict(zip(shown["boxes"]["id"], shown["boxes"]["left"], strict=True))
    assert left == {0: 0.0, 4: 0.0, 5: 0.0}


def test_when_nothing_is_suspected_there_is_still_a_picture():
    state = said(State(SMALL), 4, Verdict.WRONG)
    shown = picture(said(state, 5, Verdict.RIGHT), width="suspicion", pixels=600)
    assert len(shown["boxes"]["id"]) == 6


def test_the_call_that_is_asked_about_is_shown_even_where_it_has_no_box():
    state = State(tree_from_parents([-1] + [0] * 10_000))
    shown = picture(state, asked=5000, pixels=100)
    assert len(shown["boxes"]["id"]) == 2
    assert shown["asked"]["row"] == 1
    assert shown["asked"]["left"] == pytest.approx(0.5, abs=0.01)


def test_a_zoomed_picture_names_its_callers():
    shown = picture(State(SMALL), **{"from": 2}, pixels=100)
    assert [caller["id"] for caller in shown["callers"]] == [0, 1]
    assert shown["boxes"]["id"] == [2]
    assert shown["row"] == 2


def test_merged_siblings_can_be_zoomed_into():
    state = State(tree_from_parents([-1] + [0] * 1000))
    shown = picture(state, pixels=100)
    assert shown["boxes"]["siblings"] == [1, 1000]
    inside = picture(state, **{"from": shown["boxes"]["id"][1], "to": shown["boxes"]["last"][1]},
                     left=0.5, right=0.52, pixels=800)  # fmt: skip
    assert inside["boxes"]["siblings"] == [1] * len(inside["boxes"]["id"])
    assert 20 <= len(inside["boxes"]["id"]) <= 22


def test_equal_calls_are_merged_and_the_heaviest_stands_first():
    rules = [0, 2, 1, 2, 2, 1, 2]
    state = said(State(tree_from_parents([-1, 0, 0, 2, 2, 0, 5], rules)), 2, Verdict.RIGHT)
    shown: Any = Pictures(Layouts(state), 3).merged({"pixels": 700})
    json.dumps(shown)
    boxes = shown["boxes"]
    assert boxes["function"] == [0, 1, 2, 2]
    assert boxes["siblings"] == [1, 2, 1, 3]
    assert boxes["call"] == [0, 2, 1, 3]
    assert boxes["suspects"] == [4, 2, 1, 1]
    alone = picture(said(State(SMALL), 1, Verdict.RIGHT), pixels=600)["boxes"]
    equal: Any = Pictures(Layouts(said(State(SMALL), 1, Verdict.RIGHT)), 3).merged({"pixels": 600})
    assert sorted(equal["boxes"]["state"]) == sorted(alone["state"])
    inside: Any = Pictures(Layouts(state), 3).merged({"pixels": 700, "from": 1})
    assert inside["boxes"]["function"] == [1, 2]
    assert [caller["id"] for caller in inside["callers"]] == [0]


def test_found_calls_are_counted_in_each_box():
    state = State(SMALL)
    name = state.tree.functions[int(state.tree.columns.function[5])].name
    shown = picture(state, find=name, pixels=600)
    found = dict(zip(shown["boxes"]["id"], shown["boxes"]["found"], strict=True))
    assert found == {0: 1, 1: 0, 4: 1, 2: 0, 3: 0, 5: 1}


def test_a_picture_is_bounded_whatever_is_asked_for():
    parents = random_parents(random.Random(1), 30_000)
    shown = picture(State(tree_from_parents(parents)), pixels=10**12, rows=10**12)
    assert len(shown["boxes"]["id"]) < 30_000
    rows = shown["boxes"]["row"]
    assert max(rows.count(row) for row in set(rows)) <= MOST_PIXELS


@pytest.mark.parametrize(
    "parameters",
    [{"from": 99}, {"from": "1"}, {"from": True}, {"from": 10**30}, {"pixels": "many"},
     {"left": 0.5, "right": 0.5}, {"left": -1}, {"right": 2}, {"left": float("nan")},
     {"width": "none"}, {"from": 1, "to": 2}, {"from": 4, "to": 1}, {"rows": [1]}],
)  # fmt: skip
def test_a_picture_that_cannot_be_is_refused(parameters: Any):
    with pytest.raises(UsageError):
        picture(State(SMALL), **parameters)


def test_the_outline_lists_callees_some_at_a_time():
    listed: Any = lists(State(SMALL), asked=4)
    top = listed.outline({})["calls"]
    assert [(row["id"], row["calls"]) for row in top] == [(0, 6)]
    first = listed.outline({"id": 0, "limit": 1})
    assert ([row["id"] for row in first["calls"]], first["more"]) == ([1], 1)
    second = listed.outline({"id": 0, "limit": 1, "after": 1})
    assert ([row["id"] for row in second["calls"]], second["more"]) == ([4], None)
    assert second["calls"][0]["asked"]
    with pytest.raises(UsageError):
        listed.outline({"id": 0, "after": 2})


def test_the_table_of_functions_counts_calls_suspects_and_answers():
    rules = [0, 1, 2, 2, 1, 2]
    state = said(State(tree_from_parents([-1, 0, 1, 1, 0, 4], rules)), 1, Verdict.RIGHT)
    functions: Any = lists(state).functions({})
    table = {
        row["function"]: (row["calls"], row["suspects"], row["right"])
        for row in functions["functions"]
    }
    assert table == {0: (1, 1, 0), 1: (2, 1, 1), 2: (3, 1, 0)}


def test_one_function_has_its_calls_its_callers_and_its_callees():
    rules = [0, 1, 2, 2, 1, 2]
    state = State(tree_from_parents([-1, 0, 1, 1, 0, 4], rules))
    listed: Any = lists(state)
    assert [row["id"] for row in listed.instances({"function": 2})["calls"]] == [2, 3, 5]
    assert listed.instances({"function": 2, "offset": 2, "limit": 5})["total"] == 3
    around = listed.neighbours({"function": 1})
    assert [(row["function"], row["calls"]) for row in around["callers"]] == [(0, 2)]
    assert [(row["function"], row["calls"]) for row in around["callees"]] == [(2, 3)]
    for function in (-1, 3, "1", None):
        with pytest.raises(UsageError):
            listed.instances({"function": function})


def test_a_search_finds_functions_and_then_values():
    state = State(SMALL)
    listed: Any = lists(state)
    name = state.tree.functions[int(state.tree.columns.function[3])].name
    assert [row["id"] for row in listed.search({"text": name})["calls"]] == [3]
    by_value = listed.search({"text": "x=4"})
    assert ([row["id"] for row in by_value["calls"]], by_value["where"]) == ([4], "value")
    assert by_value["more"] is None
    assert listed.search({"text": "nowhere"})["calls"] == []
    with pytest.raises(UsageError):
        listed.search({"text": " "})
