"""What the paper's sessions do not show of DDS; those are in tests/conformance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from whence.model.call import Function, OutcomeKind
from whence.model.verdict import Answer, Verdict
from whence.search.function_graph import FunctionGraph
from whence.search.instances import MOST, failing_path, retained_instances
from whence.session.engine import step
from whence.session.events import Answered, Ask, Started
from whence.session.state import Facts, State
from whence.testing.trees import tree_from_parents
from whence.tree.column_tree import ColumnTree

TOP_IS_WRONG = Facts(strategy="dds", answers=(Answer(0, Verdict.WRONG),))


@dataclass(frozen=True)
class Text:
    """A program's text by the numbers of its functions."""

    says: dict[int, Sequence[int]]

    def callees(self, function: Function, among: Sequence[Function]) -> Sequence[int] | None:
        return self.says.get(int(function.short()[1:]))


def state(tree: ColumnTree, text: dict[int, Sequence[int]] | None = None) -> State:
    return State(tree, facts=TOP_IS_WRONG, graph=None if text is None else Text(text))


def asked(start: State, *answers: Verdict) -> list[int]:
    """The calls that are asked about as these answers are given, and then."""
    now, outcome = step(start, Started())
    found = []
    for verdict in answers:
        assert isinstance(outcome, Ask)
        found.append(outcome.question.node)
        now, outcome = step(now, Answered((Answer(found[-1], verdict),)))
    assert isinstance(outcome, Ask)
    return [*found, outcome.question.node]


def ended(tree: ColumnTree, kind: OutcomeKind, *positions: int) -> ColumnTree:
    outcome = np.array(tree.columns.outcome)
    outcome[list(positions)] = kind
    return replace(tree, columns=replace(tree.columns, outcome=outcome))


def test_the_function_comes_first_of_which_either_answer_leaves_the_fewest() -> None:
    # f1 and f2 both lead to f3: of them wrong leaves two and right three, of f3 one and three.
    tree = tree_from_parents([-1, 0, 1, 0, 3], rules=[0, 1, 3, 2, 3])
    assert asked(state(tree)) == [2]


def test_equals_come_in_the_order_of_the_text() -> None:
    tree = tree_from_parents([-1, 0, 0], rules=[0, 1, 2])
    assert asked(state(tree)) == [1]
    assert asked(state(tree, {0: [2, 1]})) == [2]


def test_a_call_that_no_text_names_counts_as_well() -> None:
    tree = tree_from_parents([-1, 0, 1], rules=[0, 1, 2])
    graph = FunctionGraph(state(tree, {0: [1], 1: []}).space())
    assert graph.reached(0) == 0b111
    assert graph.order == [0, 1, 2]


def test_without_a_function_is_out_of_reach_what_is_called_through_it_alone() -> None:
    tree = tree_from_parents([-1, 0, 1, 0, 3], rules=[0, 1, 2, 3, 2])
    graph = FunctionGraph(state(tree).space())
    assert graph.reached(0, 1 << 1) == 0b1101
    assert graph.reached(0, 1 << 1 | 1 << 3) == 0b1


def test_what_is_reached_through_a_folded_function_alone_waits() -> None:
    # f1 was right once (call 1); its other call leads to f2, f3 is reached in another way.
    tree = tree_from_parents([-1, 0, 0, 2, 0], rules=[0, 1, 1, 2, 3])
    assert asked(state(tree, {0: [1, 3], 1: [2]}), Verdict.RIGHT) == [1, 4]


def test_a_folded_function_is_unfolded_when_nothing_else_is_left() -> None:
    tree = tree_from_parents([-1, 0, 0, 0], rules=[0, 1, 1, 2])
    assert asked(state(tree), Verdict.RIGHT, Verdict.RIGHT) == [1, 3, 2]


def test_of_a_recursion_the_end_is_asked_about_first_then_what_goes_on_from_below() -> None:
    chain = tree_from_parents([-1, 0, 1, 2, 3, 4, 0], rules=[0] * 7)
    assert asked(state(chain), Verdict.RIGHT, Verdict.RIGHT)[:2] == [5, 4]


def test_when_both_parts_of_a_recursion_were_right_once_the_rest_is_halved() -> None:
    chain = tree_from_parents([-1, *range(20)], rules=[0] * 21)
    assert asked(state(chain), Verdict.RIGHT, Verdict.RIGHT) == [20, 19, 9]


def test_after_an_exception_the_call_nearest_to_it_is_asked_about() -> None:
    # Both calls of f2 stand below other calls; the second one's caller raised.
    tree = tree_from_parents([-1, 0, 1, 0, 3], rules=[0, 1, 2, 1, 2])
    facts = replace(TOP_IS_WRONG, answers=(*TOP_IS_WRONG.answers, Answer(1, Verdict.UNKNOWN)))
    raised = ended(tree, OutcomeKind.RAISED, 0, 3)
    assert asked(state(tree)) == [1]
    assert asked(state(raised)) == [3]
    assert asked(replace(state(raised, {0: [2, 1]}), facts=facts)) == [4]


def test_the_way_down_to_an_exception_takes_the_last_call_that_raised() -> None:
    tree = tree_from_parents([-1, 0, 0, 2, 2])
    columns = ended(tree, OutcomeKind.RAISED, 0, 1, 2, 4).columns
    assert failing_path(columns, 0).tolist() == [0, 2, 4]
    assert failing_path(tree.columns, 0).tolist() == [0]


def test_of_a_run_that_did_not_end_the_last_call_of_the_tops_function_counts() -> None:
    tree = tree_from_parents([-1, 0, 1, 2, 3], rules=[0, 1, 0, 1, 2])
    columns = ended(tree, OutcomeKind.NOT_TERMINATED, 0, 1, 2, 3, 4).columns
    assert failing_path(columns, 0).tolist() == [0, 1, 2]


def test_calls_with_one_equation_are_one_row_and_are_opened_once() -> None:
    tree = tree_from_parents([-1, 0, 1, 0, 3], rules=[0, 1, 1, 1, 1], equations=[0, 1, 2, 1, 2])
    rows = retained_instances(state(tree).space(), 1).rows
    assert [(row.position, row.depth, row.number, row.again) for row in rows] == [
        (0, 0, 0, False),
        (1, 1, 1, False),
        (2, 2, 2, False),
    ]


def test_the_table_is_bounded_and_says_how_many_it_leaves_out() -> None:
    many = MOST + 7
    tree = tree_from_parents([-1] + [0] * many, rules=[0] + [1] * many)
    table = retained_instances(state(tree).space(), 1)
    assert len(table.rows) == MOST + 1
    assert table.left_out == 7
