"""An icicle shows each call where it belongs, and never more boxes than there are pixels."""

from __future__ import annotations

import random

import numpy as np
import pytest

from whence.ports import Floats
from whence.testing.trees import random_parents, tree_from_parents
from whence.tree.icicle import MIXED, NARROWEST, Boxes, Icicle, View

PIXELS = 60


def boxes_of(
    seed: int, count: int = 400, view: View | None = None
) -> tuple[Icicle, Boxes, Floats, View]:
    tree = tree_from_parents(random_parents(random.Random(seed), count))
    own = np.random.default_rng(seed).integers(0, 4, count).astype(np.float64)
    own[0] = 1.0
    icicle = Icicle(tree.columns, own)
    view = view or View(0.0, icicle.width, 0, 100, PIXELS)
    return icicle, icicle.boxes(view), own, view


def test_a_small_tree_has_a_box_for_each_call() -> None:
    columns = tree_from_parents([-1, 0, 1, 1, 0]).columns
    boxes = Icicle(columns).boxes(View(0.0, 5.0, 0, 10, 100))
    assert boxes.first.tolist() == [0, 1, 4, 2, 3]
    assert boxes.row.tolist() == [0, 1, 1, 2, 2]
    assert boxes.left.tolist() == [0.0, 1.0, 4.0, 2.0, 3.0]
    assert boxes.right.tolist() == [5.0, 4.0, 5.0, 3.0, 4.0]
    assert boxes.siblings.tolist() == [1, 1, 1, 1, 1]


def test_narrow_siblings_are_merged_and_counted() -> None:
    columns = tree_from_parents([-1] + [0] * 1000).columns
    boxes = Icicle(columns).boxes(View(0.0, 1001.0, 0, 10, 100))
    assert len(boxes) == 2
    assert boxes.siblings.tolist() == [1, 1000]
    assert (int(boxes.first[1]), int(boxes.last[1]), int(boxes.stop[1])) == (1, 1000, 1001)


def test_merged_calls_of_one_function_keep_its_name_and_others_have_none() -> None:
    rules = [0] + [1] * 500 + [1, 2] * 250
    tree = tree_from_parents([-1] + [0] * 1000, rules)
    same = Icicle(tree.columns).boxes(View(1.0, 500.0, 1, 2, 50))
    both = Icicle(tree.columns).boxes(View(500.0, 1000.0, 1, 2, 50))
    assert set(same.function.tolist()) == {int(tree.columns.function[1])}
    assert set(both.function.tolist()) == {MIXED}


@pytest.mark.parametrize("seed", range(20))
def test_every_call_of_some_width_is_a_box_or_is_inside_of_one(seed: int) -> None:
    icicle, boxes, _, view = boxes_of(seed)
    columns = icicle._columns
    pixel = (view.right - view.left) / view.pixels
    shown = set(boxes.first[boxes.siblings == 1].tolist())
    for position in range(len(columns)):
        ends = np.array([position, int(columns.end[position])])
        left, right = icicle.edges(ends)
        parent = int(columns.parent[position])
        is_wide = right - left >= NARROWEST * pixel
        if is_wide:
            assert position in shown
        elif right > left and parent in shown:
            covering = (boxes.first <= position) & (boxes.stop > position)
            assert (covering & (boxes.row == columns.depth[position])).any() or right - left < pixel


@pytest.mark.parametrize("seed", range(20))
def test_boxes_lie_inside_their_callers_and_never_overlap(seed: int) -> None:
    icicle, boxes, _, view = boxes_of(seed)
    columns = icicle._columns
    for row in range(int(boxes.row.max()) + 1):
        here = boxes.row == row
        lefts, rights = boxes.left[here], boxes.right[here]
        assert (lefts[1:] >= rights[:-1]).all()
        assert here.sum() <= 2 * view.pixels / NARROWEST + 1
        assert (columns.depth[boxes.first[here]] == row).all()
        assert (columns.depth[boxes.last[here]] == row).all()
    assert (columns.end[boxes.last] == boxes.stop).all()
    single = boxes.siblings == 1
    assert (columns.end[boxes.first[single]] == boxes.stop[single]).all()


@pytest.mark.parametrize("seed", range(10))
def test_the_siblings_of_a_box_are_counted_as_they_are(seed: int) -> None:
    icicle, boxes, _, _ = boxes_of(seed, count=2000)
    columns = icicle._columns
    for first, stop, row, siblings in zip(
        boxes.first, boxes.stop, boxes.row, boxes.siblings, strict=True
    ):
        assert np.count_nonzero(columns.depth[first:stop] == row) == siblings


def test_a_view_of_one_call_shows_that_call_and_what_it_led_to() -> None:
    columns = tree_from_parents([-1, 0, 1, 1, 0, 4, 4, 4]).columns
    boxes = Icicle(columns).boxes(View(4.0, 8.0, 1, 10, 100))
    assert boxes.first.tolist() == [4, 5, 6, 7]


def test_rows_below_the_last_one_wanted_are_left_out() -> None:
    depth = 3000
    columns = tree_from_parents([*range(-1, depth - 1)]).columns
    for rows in (5, 700):
        boxes = Icicle(columns).boxes(View(0.0, float(depth), 0, rows, 3000))
        assert boxes.first.tolist() == list(range(rows))


def test_very_deep_calls_are_found_by_a_scan_as_by_climbing() -> None:
    parents = [-1]
    for _ in range(4):  # four recursions side by side
        parents += [0, *range(len(parents), len(parents) + 899)]
    columns = tree_from_parents(parents).columns
    view = View(0.0, float(len(columns)), 0, 4, 40)
    boxes = Icicle(columns).boxes(view)
    assert boxes.first[boxes.row == 3].tolist() == [3, 903, 1803, 2703]


def test_a_part_of_a_view_has_only_what_is_visible_in_it() -> None:
    columns = tree_from_parents([-1] + [0] * 10_000).columns
    boxes = Icicle(columns).boxes(View(5000.0, 5010.0, 0, 5, 200))
    assert boxes.row.tolist().count(1) == 10
    assert boxes.left[1] == 5000.0
