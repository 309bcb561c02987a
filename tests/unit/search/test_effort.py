from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whence.model.call import Binding, Call, Effect, Function, Outcome, OutcomeKind, Rule
from whence.model.value import Kind, Value, atom
from whence.model.verdict import Verdict
from whence.ports import Judged, Tree
from whence.search import effort
from whence.search.auto import Auto
from whence.search.effort import quick_effort, telling_effort
from whence.search.space import SearchSpace, Switches
from whence.tree.column_tree import Node, tree_of
from whence.tree.readable_call import readable_call

NONE = atom("None")
RETURNED = OutcomeKind.RETURNED


def called(name: str, value: Value, *given: Value, module: str = "m", **more: Any) -> Call:
    function = Function(f"{module}.{name}", name, module)
    arguments = tuple(Binding(f"x{n}", each) for n, each in enumerate(given))
    outcome = Outcome(RETURNED, value)
    return Call(function, Rule(name, name), outcome, arguments, **more)


def space_of(*calls: tuple[int | None, Call]) -> SearchSpace:
    nodes = [Node(number, parent, call) for number, (parent, call) in enumerate(calls)]
    return SearchSpace(tree_of(nodes), Switches(), (), rest=False)


def told(space: SearchSpace, *positions: int) -> list[float]:
    return list(map(float, telling_effort(space, np.array(positions, dtype=np.int64))))


TOP = (None, called("top", atom("0")))


def record(**parts: Value) -> Value:
    return Value(Kind.OBJECT, "Point", tuple((f".{name}", part) for name, part in parts.items()))


def test_a_call_that_passes_on_what_another_made_tells_less() -> None:
    space = space_of(
        TOP, (0, called("wrapper", atom("7"))), (1, called("made", atom("7"))),
        (0, called("adds", atom("8"))), (3, called("made", atom("7"))),
    )  # fmt: skip
    wrapper, made, adds, _ = told(space, 1, 2, 3, 4)
    assert wrapper > made == adds == 0


def test_a_call_that_passes_on_and_changes_something_has_something_to_say() -> None:
    change = Effect("log", atom("1"), atom("2"))
    space = space_of(
        TOP, (0, called("wrapper", atom("7"), effects=(change,))), (1, called("made", atom("7")))
    )
    assert told(space, 1) == [0]


def test_a_call_that_only_stores_what_it_was_given_tells_less() -> None:
    def init(x: Value, stored: Value) -> Call:
        return called("init", NONE, x, effects=(Effect("self", record(), record(x=stored)),))

    space = space_of(TOP, (0, init(atom("1"), atom("1"))), (0, init(atom("1"), atom("2"))))
    stores, computes = told(space, 1, 2)
    assert stores > computes == 0


def test_a_call_of_which_nothing_is_seen_tells_least() -> None:
    space = space_of(
        TOP, (0, called("silent", NONE)), (0, called("prints", NONE, printed="x\n")),
        (0, called("wrapper", atom("7"))), (3, called("made", atom("7"))),
    )  # fmt: skip
    silent, prints, wrapper = told(space, 1, 2, 3)
    assert silent > wrapper > prints == 0


def test_an_outcome_that_was_not_recorded_in_full_takes_more() -> None:
    cut = Value(Kind.LIST, "", (("[0]", atom("1")),), omitted=9)
    known, unknown = told(space_of(TOP, (0, called("f", atom("1"))), (0, called("f", cut))), 1, 2)
    assert unknown > known


def test_a_call_that_looks_like_one_that_was_judged_is_not_asked_next() -> None:
    space = space_of(*[TOP] + [(0, called("f", atom("1")))] * 2 + [(0, called("f", atom("2")))])
    space.apply(Judged(1, Verdict.RIGHT))
    alike, other = told(space, 2, 3)
    assert alike > other


def test_only_the_last_judged_calls_of_a_function_are_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    like = [(0, called("f", atom(str(number)))) for number in range(200)]
    space = space_of(TOP, *like)
    for position in range(1, 150):
        space.apply(Judged(position, Verdict.RIGHT))
    reads: list[int] = []

    def counted(tree: Tree, position: int) -> tuple[Call, str]:
        reads.append(position)
        return readable_call(tree, position)

    monkeypatch.setattr(effort, "readable_call", counted)
    assert told(space, 180) == [0]
    assert set(reads) == {180, *range(120, 150)}


def test_after_a_question_that_could_not_be_answered_its_neighbours_take_more() -> None:
    space = space_of(
        TOP, (0, called("f", atom("1"))), (1, called("below", atom("2"), module="b")),
        (0, called("f", atom("3"))), (0, called("same_module", atom("4"))),
        (0, called("elsewhere", atom("5"), module="c")),
    )  # fmt: skip
    positions = np.array([2, 3, 4, 5], dtype=np.int64)
    before = quick_effort(space, positions)
    space.apply(Judged(1, Verdict.UNKNOWN))
    below, again, same_module, elsewhere = quick_effort(space, positions) - before
    assert again > same_module > elsewhere
    assert below > elsewhere


def test_of_calls_that_split_equally_the_one_that_tells_more_is_asked() -> None:
    wrapper, adds = called("wraps", atom("7")), called("adds!", atom("7"))
    made, other = called("made", atom("7")), called("part", atom("6"))
    for first, second in ((wrapper, adds), (adds, wrapper)):
        of_first, of_second = (made, other) if first is wrapper else (other, made)
        space = space_of(TOP, (0, first), (1, of_first), (0, second), (3, of_second))
        space.apply(Judged(0, Verdict.WRONG))
        chosen = Auto().choose(space)
        assert chosen is not None
        assert space.tree.call(chosen.position) == adds
