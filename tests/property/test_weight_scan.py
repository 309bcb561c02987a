"""Scans in blocks find what a look at every call finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.search import weight_scan
from whence.search.weight_scan import BlockMaxima, CallScan, slack


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weight_scan, "_BLOCK", 4)
        yield


@st.composite
def calls(draw: Any) -> tuple[CallScan, np.ndarray, np.ndarray]:
    """CallScan with weights that often tie, and their own weights."""
    count = draw(st.integers(1, 30))
    flags = np.array(
        draw(st.lists(st.sampled_from([0, 0, 0, 1, 2, 3]), min_size=count, max_size=count)),
        dtype=np.uint8,
    )
    weights = draw(
        st.lists(st.sampled_from([0, 0.1, 0.3, 1 / 3, 1, 2, 5, 9]), min_size=count, max_size=count)
    )
    own = draw(st.lists(st.sampled_from([0, 1, 2]), min_size=count, max_size=count))
    start = draw(st.integers(0, count))
    stop = draw(st.integers(start, count))
    callers = None
    if draw(st.booleans()):
        parents = draw(st.lists(st.integers(-1, 3), min_size=count, max_size=count))
        callers = np.array(parents, dtype=np.int32)
    blocked = np.uint8(draw(st.sampled_from([1, 2, 3])))
    weight = np.array(weights, dtype=float)
    known: tuple[BlockMaxima, ...] = ()
    if draw(st.booleans()):
        # Known from when the calls weighed more.
        maxima = BlockMaxima(weight + draw(st.sampled_from([0, 1, 10])))
        for position in draw(st.lists(st.integers(0, count - 1))):
            maxima.over(position)
        maxima.now_in(weight)
        # Those of other weights do not count.
        known = (BlockMaxima(weight / 2), maxima) if draw(st.booleans()) else (maxima,)
    found = CallScan(flags, blocked, start, stop, callers, known)
    return found, weight, np.array(own, dtype=float)


def naive(found: CallScan) -> list[int]:
    return [
        p
        for p in range(found.start, found.stop)
        if not found.flags[p] & found.blocked
        and (found.callers is None or found.callers[p] == found.start - 1)
    ]


@given(calls())
def test_positions_first_and_any(case: Any) -> None:
    found, _, _ = case
    expected = naive(found)
    assert found.positions().tolist() == expected
    assert found.first() == (expected[0] if expected else None)
    assert found.any() == bool(expected)
    assert found.count() == len(expected)
    for most in (0, 1, 5):
        assert found.positions(most).tolist() == expected[:most]


@given(calls(), st.sampled_from([0, 0.2, 1, 2.5, 9, np.inf]))
def test_the_heaviest_up_to_a_limit(case: Any, limit: float) -> None:
    found, weight, _ = case
    fitting = [p for p in naive(found) if weight[p] <= limit + slack(limit)]
    got = found.heaviest_up_to(weight, limit)
    if not fitting:
        assert got is None
        return
    most = max(weight[p] for p in fitting)
    assert got == next(p for p in fitting if weight[p] >= most - slack(most))


@given(calls(), st.sampled_from([0, 0.2, 1, 2.5, 9]))
def test_the_lightest_from_a_limit(case: Any, limit: float) -> None:
    found, weight, _ = case
    fitting = [p for p in naive(found) if weight[p] >= limit - slack(limit)]
    got = found.lightest_from(weight, limit)
    if not fitting:
        assert got is None
        return
    least = min(weight[p] for p in fitting)
    assert got == next(p for p in fitting if weight[p] <= least + slack(least))


@given(calls(), st.sampled_from([0, 0.5, 1, 2.5, 9, 40]), st.booleans())
def test_the_closest_to_a_goal(case: Any, goal: float, with_own: bool) -> None:
    found, weight, own = case
    distance = np.abs(weight - (own / 2 if with_own else 0) - goal)
    expected = naive(found)
    got = found.closest(weight, goal, own if with_own else None)
    if not expected:
        assert got is None
        return
    least = min(distance[p] for p in expected)
    assert got is not None
    assert got[1] == pytest.approx(least)
    assert got[0] == next(p for p in expected if distance[p] <= least + slack(goal))


@given(calls(), st.sampled_from([0, 0.3, 1]), st.sampled_from([0.3, 2, 9]), st.integers(1, 40))
def test_the_first_ones_within_a_range(case: Any, low: float, high: float, most: int) -> None:
    found, weight, _ = case
    low_, high_ = low - slack(low), high + slack(high)
    expected = [p for p in naive(found) if low_ <= weight[p] <= high_][:most]
    assert found.within(weight, low, high, most).tolist() == expected


@given(calls(), st.data())
def test_the_lowest_has_no_other_below_it(case: Any, data: Any) -> None:
    found, _, _ = case
    count = len(found.flags)
    end = np.array([data.draw(st.integers(p + 1, count)) for p in range(count)], dtype=np.int32)
    open_calls = naive(found)
    expected = None
    for index, position in enumerate(open_calls):
        rest = open_calls[index + 1 :]
        if not rest or rest[0] >= end[position]:
            expected = position
            break
    assert found.lowest(end) == expected


class CountingWeights:
    """Weights that count the blocks that are read."""

    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights
        self.blocks = 0

    def __getitem__(self, place: Any) -> Any:
        self.blocks += isinstance(place, slice)
        return self.weights[place]


def test_blocks_of_light_calls_are_read_once() -> None:
    weights = np.ones(400)
    weights[0] = 400
    weight: Any = CountingWeights(weights)
    open_calls = CallScan(
        np.zeros(400, dtype=np.uint8), np.uint8(1), 1, 400, maxima=(BlockMaxima(weight),)
    )
    assert open_calls.closest(weight, 200) == (1, 199)
    assert weight.blocks == 101
    assert open_calls.closest(weight, 200) == (1, 199)
    assert len(open_calls.within(weight, 100, 300, 10)) == 0
    assert weight.blocks < 110
