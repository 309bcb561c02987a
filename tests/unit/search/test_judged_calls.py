from __future__ import annotations

import pytest

from whence.model.verdict import Verdict
from whence.ports import Judged
from whence.search.judged_calls import JudgedCalls
from whence.testing.trees import tree_from_parents

TREE = tree_from_parents([-1, 0, 1, 1, 0])


def judged(*answers: tuple[int, Verdict]) -> JudgedCalls:
    calls = JudgedCalls(TREE.columns, duplicates=False)
    for position, verdict in answers:
        calls.add(Judged(position, verdict))
    return calls


@pytest.mark.parametrize(
    ("answers", "top"),
    [
        ((), 0),
        (((1, Verdict.WRONG),), 1),
        (((1, Verdict.WRONG), (3, Verdict.WRONG)), 3),
        (((3, Verdict.WRONG), (1, Verdict.WRONG)), 3),
        (((1, Verdict.WRONG), (4, Verdict.WRONG)), 4),
        (((1, Verdict.RIGHT),), 0),
    ],
)
def test_the_top_is_the_innermost_or_lightest_wrong_call(
    answers: tuple[tuple[int, Verdict], ...], top: int
) -> None:
    assert judged(*answers).find_top() == top


def test_a_skipped_call_has_no_verdict() -> None:
    calls = judged((1, Verdict.UNKNOWN))
    assert not calls
    assert calls.verdict(1) is None
    assert len(calls.history) == 1
