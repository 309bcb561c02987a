import json
from pathlib import Path
from typing import Any

import pytest
from mercury_weights import (
    double_counted,
    own_events,
    repaired_weight,
    solution_weights,
)

from whence.session.reaction import questions_left

PAPER: dict[str, Any] = json.loads(
    (Path(__file__).parent / "data" / "mercury_weights.json").read_text("utf-8")
)


def segments() -> list[tuple[int, int]]:
    """The events of the paper's call, from each call or redo to the exit or fail after it."""
    numbers = [each["event"] for each in PAPER["events"]]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def test_a_solution_weighs_its_own_and_all_earlier_segments() -> None:
    assert solution_weights(segments()) == [each["weight"] for each in PAPER["nodes"]]


def test_a_parent_can_come_out_lighter_than_its_children() -> None:
    parent = PAPER["parent"]
    assert sum(solution_weights(segments())) == parent["sum_of_children"]
    assert parent["fail"] - parent["call"] + 1 == parent["weight"] < parent["sum_of_children"]


def test_the_repair_adds_the_events_that_were_counted_twice() -> None:
    parent = PAPER["parent"]
    assert double_counted([segments()]) == parent["double_counted_events"]["total"]
    span = parent["call"], parent["fail"]
    assert repaired_weight(span, [segments()]) == parent["repaired_weight"]


def test_the_repaired_weight_is_the_childrens_and_the_events_outside_them() -> None:
    parent = PAPER["parent"]
    span = parent["call"], parent["fail"]
    own = own_events(span, segments())
    assert own == len([3, *range(8, 12), *range(18, 23), 46])
    assert repaired_weight(span, [segments()]) == own + parent["sum_of_children"]


def test_a_call_with_one_solution_needs_no_repair() -> None:
    assert double_counted([[(4, 7)], [(9, 12)]]) == 0
    assert repaired_weight((3, 20), [[(4, 7)], [(9, 12)]]) == 18


@pytest.mark.parametrize(
    ("below", "own"),
    [
        ([], 10),
        ([(11, 20)], 0),
        ([(12, 13), (15, 16)], 6),
        ([(15, 16), (12, 13)], 6),
        ([(12, 15), (13, 14)], 6),
        ([(12, 15), (14, 17)], 4),
        ([(1, 12), (19, 30)], 6),
        ([(30, 40)], 10),
    ],
)
def test_own_events_are_those_outside_the_segments_below(
    below: list[tuple[int, int]], own: int
) -> None:
    assert own_events((11, 20), below) == own


@pytest.mark.parametrize("each", PAPER["questions_remaining"]["table"])
def test_the_questions_left_are_the_logarithm_rounded_up(each: dict[str, int]) -> None:
    assert questions_left(each["weight"]) == each["estimate"]


@pytest.mark.parametrize("run", PAPER["questions_remaining"]["printed_runs"])
def test_the_estimate_for_the_printed_runs_is_that_of_the_notes(run: dict[str, int]) -> None:
    assert questions_left(run["events"]) == run["ceil_log2"]


def test_no_weight_needs_no_questions() -> None:
    assert questions_left(0) == 0
    assert questions_left(0.5) == 0
    assert questions_left(1.5) == 1
