import sys
from array import array
from dataclasses import fields

import numpy as np
import pytest

from whence.tree.build import NotATree, Rows, consecutive, link, subtree_sums


def rows_of(*nodes: tuple[int, int | None], own: list[float] | None = None) -> Rows:
    rows = Rows()
    for number, (node, parent) in enumerate(nodes):
        rows.ids.append(node)
        rows.parents.append(-1 if parent is None else parent)
        rows.functions.append(number)
        rows.rules.append(0)
        rows.outcomes.append(0)
        rows.own.append(own[number] if own else 1)
        rows.equations.append(number)
        rows.efforts.append(10)
        rows.implicit.append(0)
        rows.details.append(100 + number)
    return rows


def test_rows_in_preorder_stay_where_they_are() -> None:
    linked = link(rows_of((1, None), (2, 1), (3, 2), (4, 1)))
    assert linked.ids.tolist() == [1, 2, 3, 4]
    assert linked.columns.parent.tolist() == [-1, 0, 1, 0]
    assert linked.columns.end.tolist() == [4, 3, 3, 4]
    assert linked.columns.depth.tolist() == [0, 1, 2, 1]
    assert linked.columns.weight.tolist() == [4, 2, 1, 1]


@pytest.mark.parametrize(
    "nodes",
    [
        [(30, 20), (20, 10), (40, 10), (10, None)],
        [(20, 10), (40, 10), (10, None), (30, 20)],
        [(10, None), (20, 10), (40, 10), (30, 20)],
    ],
)
def test_rows_in_any_order_are_put_in_preorder(nodes: list[tuple[int, int | None]]) -> None:
    linked = link(rows_of(*nodes))
    assert linked.ids.tolist() == [10, 20, 30, 40]
    assert linked.columns.parent.tolist() == [-1, 0, 1, 0]
    assert linked.columns.end.tolist() == [4, 3, 3, 4]
    # What belongs to a row went along with it.
    written = [node for node, _ in nodes]
    assert linked.columns.function.tolist() == [written.index(node) for node in (10, 20, 30, 40)]
    assert linked.details.tolist() == [100 + written.index(node) for node in (10, 20, 30, 40)]


def test_siblings_keep_the_order_of_their_rows() -> None:
    linked = link(rows_of((1, None), (9, 1), (3, 1), (5, 9), (7, 1)))
    assert linked.ids.tolist() == [1, 9, 5, 3, 7]


def test_a_chain_may_be_as_deep_as_it_likes() -> None:
    deep = [(n, n - 1 if n else None) for n in range(50_000)]
    for nodes in (deep, deep[::-1]):
        linked = link(rows_of(*nodes))
        assert linked.columns.depth.tolist() == list(range(50_000))


@pytest.mark.parametrize(
    ("nodes", "row", "problem"),
    [
        ([], 0, "no call"),
        ([(1, 2), (2, 1)], 0, "every call has a parent"),
        ([(1, None), (2, None)], 1, "call 2 has no parent, and neither has call 1"),
        ([(1, None), (2, 7)], 1, "names call 7"),
        ([(1, None), (5, 7)], 1, "names call 7"),
        ([(7, None), (5, 1)], 1, "names call 1"),
        ([(1, None), (5, 1), (5, 1)], 2, "call 5 stands here for the second time"),
        ([(1, None), (2, 3), (3, 2)], 1, "its own ancestor"),
        ([(1, None), (2, 3), (3, 4), (4, 3)], 2, "its own ancestor"),
    ],
)
def test_rows_that_are_no_tree_are_refused(
    nodes: list[tuple[int, int | None]], row: int, problem: str
) -> None:
    with pytest.raises(NotATree, match=problem) as caught:
        link(rows_of(*nodes))
    assert caught.value.row == row


def test_the_memory_of_rows_is_freed_when_they_are_linked() -> None:
    rows = rows_of((2, 1), (1, None))
    link(rows)
    assert {each.name: len(getattr(rows, each.name)) for each in fields(Rows)} == {
        each.name: 0 for each in fields(Rows)
    }


def test_rows_that_are_no_tree_are_left_for_the_report() -> None:
    rows = rows_of((1, None), (2, None))
    with pytest.raises(NotATree):
        link(rows)
    assert rows.details == array("q", [100, 101])


def test_columns_with_one_value_take_no_memory() -> None:
    columns = link(rows_of((2, 1), (1, None))).columns
    assert columns.own.strides == columns.implicit.strides == (0,)
    assert columns.own.tolist() == [1, 1]


def test_whole_weights_are_summed_exactly() -> None:
    columns = link(rows_of((1, None), (2, 1), (3, 1), own=[1, 2**40, 3])).columns
    assert columns.weight.tolist() == [2**40 + 4, 2**40, 3]


def test_a_light_call_beside_heavy_ones_keeps_about_its_weight() -> None:
    own = [0.0, *[1e15] * 20, 0.1, 1.0]
    nodes = [(0, None), *((n, 0) for n in range(1, 21)), (21, 0), (22, 21)]
    weight = link(rows_of(*nodes, own=own)).columns.weight
    assert weight[22] == 1
    assert weight[21] == pytest.approx(1.1, abs=2e16 * sys.float_info.epsilon)
    assert weight[21] >= 0.1
    assert weight[0] == pytest.approx(2e16)


def test_fractions_make_no_call_lighter_than_itself_or_one_below_it() -> None:
    generator = np.random.default_rng(1)
    own = generator.random(500)
    nodes = [(0, None), *((n, int(generator.integers(n))) for n in range(1, 500))]
    columns = link(rows_of(*nodes, own=own.tolist())).columns
    assert np.all(columns.weight[1:] <= columns.weight[columns.parent[1:]] + 1e-9)
    assert np.all(columns.weight >= columns.own)


def test_fractions_are_summed() -> None:
    own = np.array([0.1, 0.2, 0.3, 0.4])
    end = np.array([4, 3, 3, 4], dtype=np.int32)
    assert subtree_sums(own, end) == pytest.approx([1.0, 0.5, 0.3, 0.4])


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([5], True),
        ([5, 6, 7], True),
        ([5, 7], False),
        ([5, 5, 7], False),
        ([7, 6, 5], False),
        ([2**63 - 2, 2**63 - 1], True),
        ([0, 2**63 - 1, 2], False),
    ],
)
def test_ids_are_consecutive_if_each_is_one_more(ids: list[int], expected: bool) -> None:
    assert consecutive(np.array(ids, dtype=np.int64)) is expected
