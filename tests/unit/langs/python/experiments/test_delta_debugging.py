"""ddmin: the result succeeds, is minimal, and what is likely is tried first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from whence.langs.python.experiments.delta_debugging import ChangeSet, minimal_set


class Repairs:
    """Says which sets succeed, and keeps what it was asked."""

    def __init__(self, *needed: Iterable[int]) -> None:
        self.needed = [frozenset(some) for some in needed]
        self.asked: list[ChangeSet] = []

    def succeed(self, sets: Sequence[ChangeSet]) -> list[bool]:
        self.asked += sets
        return [any(some <= chosen for some in self.needed) for chosen in sets]


def test_one_of_many_takes_few_runs() -> None:
    repairs = Repairs([77])
    assert minimal_set(range(128), repairs.succeed) == {77}
    assert len(repairs.asked) <= 2 * 7 + 2


def test_the_likely_ones_are_tried_first() -> None:
    repairs = Repairs([5], [9])
    assert minimal_set([5, 1, 2, 9], repairs.succeed) == {5}
    assert repairs.asked[0] == {5, 1}


@given(st.sets(st.integers(0, 20), min_size=1, max_size=5), st.permutations(range(21)))
def test_the_result_is_what_is_needed(needed: set[int], order: list[int]) -> None:
    repairs = Repairs(needed)
    assert minimal_set(order, repairs.succeed) == needed
    assert len(set(repairs.asked)) == len(repairs.asked)


@given(
    st.lists(st.sets(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=4),
    st.permutations(range(10)),
)
def test_the_result_succeeds_and_is_minimal(several: list[set[int]], order: list[int]) -> None:
    repairs = Repairs(*several)
    result = minimal_set(order, repairs.succeed)
    assert repairs.succeed([result]) == [True]
    assert not any(repairs.succeed([result - {change} for change in result]))


def test_what_a_change_needs_comes_with_it_and_goes_if_it_can() -> None:
    def closed(chosen: Iterable[int]) -> ChangeSet:
        return frozenset(chosen) | ({10, 11} if 3 in chosen else set())

    repairs = Repairs([3, 10])
    assert minimal_set(range(8), repairs.succeed, closed) == {3, 10}
