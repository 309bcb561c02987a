from __future__ import annotations

from dataclasses import replace

import numpy as np

from whence.model.verdict import Answer, Verdict
from whence.session.engine import step
from whence.session.events import Answered, Ask, Started
from whence.session.state import Facts, State
from whence.testing.trees import tree_from_parents
from whence.tree.memory import ColumnTree

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
