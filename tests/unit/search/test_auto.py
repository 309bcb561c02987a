from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from whence.model.call import OutcomeKind
from whence.model.origin import Influence, Origin
from whence.model.question import Question
from whence.model.verdict import Answer, Verdict
from whence.ports import Choice, Judged
from whence.search.auto import Auto
from whence.search.space import SearchSpace, Switches
from whence.search.subterm_tracking import MADE_IT, MAY_HAVE_MADE_IT, MET_IN_EXCEPTION
from whence.session.engine import step
from whence.session.events import Answered, Ask, Started
from whence.session.state import Facts, State
from whence.testing.answerer import run
from whence.testing.meanings import one_fault
from whence.testing.trees import tree_from_parents
from whence.tree.column_tree import ColumnTree

TOP_IS_WRONG = Facts(strategy="auto", answers=(Answer(0, Verdict.WRONG),))


def first_questions(tree: ColumnTree, *answers: Verdict) -> list[int]:
    """The calls that are asked about as these answers are given, and then."""
    state, outcome = step(State(tree, facts=TOP_IS_WRONG), Started())
    asked = []
    for verdict in answers:
        assert isinstance(outcome, Ask)
        asked.append(outcome.question.node)
        state, outcome = step(state, Answered((Answer(asked[-1], verdict),)))
    assert isinstance(outcome, Ask)
    return [*asked, outcome.question.node]


def test_of_calls_that_split_equally_the_one_that_has_more_to_say_is_asked_first() -> None:
    tree = tree_from_parents([-1, 0, 0, 0])
    effort = np.array([40, 10, 400, 10], dtype=np.int32)
    tree = replace(tree, columns=replace(tree.columns, effort=effort))
    assert first_questions(tree) == [2]


def test_what_was_judged_right_once_is_asked_about_later() -> None:
    tree = tree_from_parents([-1, 0, 0, 0], rules=[0, 1, 1, 2])
    assert first_questions(tree, Verdict.RIGHT) == [1, 3]


def test_a_small_call_that_may_have_made_what_was_marked_is_asked_about_first() -> None:
    tree = tree_from_parents([-1, 0, 1, 1, 1, 0, 5, 5, 5])
    space = SearchSpace(tree, Switches(), (), rest=False)
    origin = Origin(None, unknown="one of two", candidates=(Origin(5), Origin(8)))
    assert Auto().choose(space) != Choice(8, MAY_HAVE_MADE_IT)
    space.apply(Judged(0, Verdict.WRONG, origin))
    assert Auto().choose(space) == Choice(8, MAY_HAVE_MADE_IT), "5 has calls of its own"
    space.apply(Judged(8, Verdict.RIGHT))
    chosen = Auto().choose(space)
    assert chosen is not None
    assert chosen.why != MAY_HAVE_MADE_IT


def test_who_made_inadmissible_input_is_asked_about_next() -> None:
    tree = tree_from_parents([-1, *[0] * 3, 3, 4, 5, 6, 7, 8, 0])
    space = SearchSpace(tree, Switches(), (), rest=False)
    space.apply(Judged(0, Verdict.WRONG))
    influence = Influence(frozenset(range(11)), complete=False)
    space.apply(Judged(10, Verdict.INADMISSIBLE, Origin(3, (3,)), influence, holds_others=True))
    assert Auto().choose(space) == Choice(3, MADE_IT), "although it is most of the program"


def test_who_made_what_an_exception_was_raised_over_is_asked_about_if_who_met_it_cannot_be() -> (
    None
):
    tree = tree_from_parents([-1, 0, 1, 1, 1, 0, 5, 5, 5])
    outcome = tree.columns.outcome.copy()
    outcome[0] = OutcomeKind.RAISED
    origin = Origin(0, made_of=(Origin(7),))
    returned, raised = (
        SearchSpace(each, Switches(), (), rest=False)
        for each in (tree, replace(tree, columns=replace(tree.columns, outcome=outcome)))
    )
    for space in (returned, raised):
        space.apply(Judged(0, Verdict.WRONG, origin))
    assert Auto().choose(raised) == Choice(7, MET_IN_EXCEPTION)
    assert Auto().choose(returned) != Choice(7, MET_IN_EXCEPTION), "nothing was raised"
    raised.apply(Judged(7, Verdict.RIGHT))
    chosen = Auto().choose(raised)
    assert chosen is not None
    assert chosen.why != MET_IN_EXCEPTION


@pytest.mark.parametrize("fault", [1, 17, 300, 731, 1000])
def test_like_calls_that_work_on_one_state_are_halved(fault: int) -> None:
    tree = tree_from_parents([-1, *[0] * 1000], rules=[0, *[1] * 1000])

    def judge(question: Question) -> Answer:
        node = question.node
        if node in (0, fault):
            return Answer(node, Verdict.WRONG)
        return Answer(node, Verdict.RIGHT if node < fault else Verdict.INADMISSIBLE)

    went = run(State(tree, facts=TOP_IS_WRONG), judge)
    assert went.diagnosis.node == fault
    assert len(went.asked) <= 14


def test_like_calls_that_have_nothing_to_do_with_each_other_are_all_searched() -> None:
    tree = tree_from_parents([-1, *[0] * 100], rules=[0, *[1] * 100])
    went = run(State(tree, facts=TOP_IS_WRONG), one_fault(tree, 3))
    assert went.diagnosis.node == 3
    assert len(set(went.nodes())) == len(went.nodes())


def test_a_call_is_asked_about_before_the_like_calls_that_it_made() -> None:
    tree = tree_from_parents([-1, 0, *[1] * 1000], rules=[0, 1, *[2] * 1000])
    assert first_questions(tree) == [1]
