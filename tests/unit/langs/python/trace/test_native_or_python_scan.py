"""Calls in the order of a trace are put in preorder in C as build.py does it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.langs.python.trace.native_or_python_scan import HAS_NATIVE, arrange
from whence.tree.build import _arranged

pytestmark = pytest.mark.skipif(not HAS_NATIVE, reason="there is nothing in C here")


@st.composite
def behind_their_parents(draw: st.DrawFn) -> list[int]:
    count = draw(st.integers(0, 60))
    return [-1, *(draw(st.integers(0, row)) for row in range(count))]


@given(behind_their_parents())
def test_both_twins_give_the_same_shape(parents: list[int]) -> None:
    rows = np.array(parents, dtype=np.int32)
    slow, fast = _arranged(rows), arrange(rows)
    assert fast is not None
    assert (slow.order is None) == (fast.order is None)
    if slow.order is not None and fast.order is not None:
        assert slow.order.tolist() == fast.order.tolist()
    assert slow.parent.tolist() == fast.parent.tolist()
    assert slow.depth.tolist() == fast.depth.tolist()
    assert slow.end.tolist() == fast.end.tolist()


@pytest.mark.parametrize(
    "parents", [[], [0], [1, -1], [-1, 2, 0], [-1, -1], [-1, 1], [-1, 5], [-1, 0, -2]]
)
def test_rows_of_another_kind_are_left_to_the_twin(parents: list[int]) -> None:
    assert arrange(np.array(parents, dtype=np.int32)) is None


def test_a_chain_of_a_million_calls_is_no_deeper_recursion() -> None:
    shape = arrange(np.arange(-1, 999_999, dtype=np.int32))
    assert shape is not None
    assert shape.order is None
    assert int(shape.depth[-1]) == 999_999
    assert set(shape.end.tolist()) == {1_000_000}
