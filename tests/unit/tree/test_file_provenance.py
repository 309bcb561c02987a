from typing import Any

import pytest

from whence.model.call import (
    Binding,
    Call,
    Effect,
    Function,
    Location,
    MarkedPart,
    Outcome,
    OutcomeKind,
    Rule,
    find_mark,
)
from whence.model.value import Kind, Value, atom
from whence.ports import Tree
from whence.tree.column_tree import Node, tree_of
from whence.tree.file_provenance import FileProvenance

INNER = Value(Kind.LIST, "", (("[0]", atom("1")), ("[1]", atom("2"))))
OUTER = Value(Kind.LIST, "", (("[0]", INNER), ("[1]", atom("3"))))


def made(*records: dict[str, Any], effects: tuple[Effect, ...] = ()) -> FileProvenance:
    function = Function("f")
    call = Call(
        function,
        Rule("f", "f"),
        Outcome(OutcomeKind.RETURNED, OUTER),
        (Binding("xs", OUTER), Binding("", atom("4"))),
        effects=effects,
    )
    tree = tree_of([Node(number, number // 2 or None, call) for number in range(1, 8)])

    def origins_of(tree: Tree, position: int) -> list[dict[str, Any]]:
        return list(records) if tree.id(position) == 7 else []

    return FileProvenance(tree, origins_of)


def part(where: FileProvenance, path: str, *, input_side: bool = False) -> MarkedPart:
    return find_mark(where.tree.call(where.tree.position(7)), path, input_side=input_side)


def test_a_part_that_the_file_knows_has_its_origin() -> None:
    where = made(
        {
            "part": "result[0][1]",
            "node": 5,
            "through": [2, 1, 3],
            "file": "a.py",
            "line": 4,
            "expression": "x + 1",
            "influenced_by": [5, 2, 99],
        }
    )
    marked = part(where, "result[0][1]")
    origin = where.origin(7, marked)
    assert (origin.node, origin.chain) == (5, (5, 2, 1, 3))
    assert (origin.location, origin.expression) == (Location("a.py", 4), "x + 1")
    influence = where.influence(7, marked)
    assert influence is not None
    assert (influence.nodes, influence.complete) == (frozenset({5, 2}), False)


def test_the_nearest_enclosing_part_is_taken_only_if_it_was_made_whole() -> None:
    around = {"part": "result", "node": 2}
    near = {"part": "result[0]", "node": 5, "expression": "[a, b]", "influenced_by": [5]}
    where = made(around, near)
    origin = where.origin(7, part(where, "result[0][1]"))
    assert origin.node is None
    assert "result[0] was made by call 5" in origin.unknown
    assert origin.expression == "[a, b]"
    influence = where.influence(7, part(where, "result[0][1]"))
    assert influence is not None and influence.nodes == {5}
    where = made(around, {**near, "whole": True})
    assert where.origin(7, part(where, "result[0][1]")).node == 5


def test_a_part_that_the_file_does_not_know_is_unknown() -> None:
    where = made({"part": "result[1]", "node": 2})
    for path in ("result", "result[0]", "xs[1]"):
        origin = where.origin(7, part(where, path))
        assert origin.node is None
        assert "does not say" in origin.unknown
        assert where.influence(7, part(where, path)) is None
    assert where.origin(6, part(where, "result[1]")).node is None


def test_a_call_that_came_by_expansion_is_unknown() -> None:
    where = made({"part": "result", "node": 2})
    assert where.origin(70, part(where, "result")).unknown


def test_an_argument_is_known_by_its_name_and_by_its_number() -> None:
    where = made({"part": "xs[1]", "node": 3}, {"part": "arg2", "node": 2})
    assert where.origin(7, part(where, "xs[1]", input_side=True)).node == 3
    assert where.origin(7, part(where, "arg1[1]", input_side=True)).node == 3
    assert where.origin(7, part(where, "arg2", input_side=True)).node == 2


def test_of_an_argument_that_was_changed_the_record_must_tell_before_from_after() -> None:
    effects = (Effect("xs", OUTER, OUTER),)
    where = made({"part": "xs[1]", "node": 3}, effects=effects)
    for input_side in (True, False):
        assert where.origin(7, part(where, "xs[1]", input_side=input_side)).node is None
    where = made(
        {"part": "xs[1]", "node": 3, "input": True},
        {"part": "xs[1]", "node": 7, "input": False},
        effects=effects,
    )
    assert where.origin(7, part(where, "xs[1]", input_side=True)).node == 3
    assert where.origin(7, part(where, "xs[1]", input_side=False)).node == 7


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"part": "result"}, "does not say which call"),
        ({"part": "result", "node": None}, "does not say which call"),
        ({"part": "result", "node": 99}, "names call 99"),
        ({"part": "]["}, "does not say where result was made"),
    ],
)
def test_a_record_that_names_no_call_leaves_the_origin_unknown(
    record: dict[str, Any], reason: str
) -> None:
    where = made(record)
    origin = where.origin(7, part(where, "result"))
    assert origin.node is None
    assert reason in origin.unknown


def test_the_marked_call_is_not_on_its_own_chain() -> None:
    where = made({"part": "result", "node": 7, "through": [7]})
    origin = where.origin(7, part(where, "result"))
    assert (origin.node, origin.chain) == (7, ())
