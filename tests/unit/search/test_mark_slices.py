from __future__ import annotations

from whence.model.origin import Influence
from whence.model.verdict import Verdict
from whence.ports import Judged
from whence.search.mark_slices import MarkSlices, explanation_of


def marked(position: int, *slices: set[int], complete: bool = False) -> Judged:
    nodes, *wider = map(frozenset, slices)
    influence = Influence(nodes, complete, tuple(wider))
    return Judged(position, Verdict.WRONG, influence=influence)


def test_slices_of_several_marks_are_intersected_width_by_width() -> None:
    slices = MarkSlices()
    slices.restart([marked(0, {1, 2}, {1, 2, 3}), marked(1, {2, 4}), Judged(2, Verdict.RIGHT)])
    assert slices.current(None) == frozenset({2})
    slices.widen()
    assert slices.current(None) == frozenset({2})
    slices.widen()
    assert slices.current(None) is None


def test_the_explanation_of_the_top_comes_last() -> None:
    slices = MarkSlices()
    slices.restart([marked(0, {1})])
    slices.widen()
    assert slices.current(frozenset({5})) == frozenset({5})
    slices.widen()
    assert slices.current(frozenset({5})) is None


def test_only_a_complete_slice_explains_the_top() -> None:
    history = [marked(0, {1}, {1, 2}, complete=True), marked(3, {4})]
    assert explanation_of(0, history) == frozenset({1, 2})
    assert explanation_of(3, history) is None
    assert explanation_of(2, history) is None
