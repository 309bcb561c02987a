from __future__ import annotations

import numpy as np
import pytest

from whence.langs.python.priors.import_presumption import ImportPresumption
from whence.model.call import Call, Function, Location, Outcome, OutcomeKind, Rule
from whence.model.verdict import Verdict
from whence.ports import Judged, Presumed
from whence.search.auto import Auto
from whence.search.space import SearchSpace, Switches
from whence.tree.column_tree import ColumnTree, Node, tree_of

CALLS = [
    (None, "<module>", "__main__"), (0, "<module>", "package"), (1, "<module>", "package.parts"),
    *[(2, "define", "package")] * 20, (1, "register", "package"), (0, "main", "__main__"),
    (24, "parse", "package"), (24, "shown", "package"),
]  # fmt: skip
IMPORT, PARTS, REGISTER, MAIN, PARSE, SHOWN = 1, 2, 23, 24, 25, 26


def program() -> ColumnTree:
    nodes = []
    for number, (parent, qualname, module) in enumerate(CALLS):
        name = f"{module}.{qualname}"
        function, rule = Function(name, qualname, module, Location("p.py", 1)), Rule(name, name)
        nodes.append(Node(number, parent, Call(function, rule, Outcome(OutcomeKind.RETURNED))))
    return tree_of(nodes)


def space_of(tree: ColumnTree, *, presumption: bool = True) -> SearchSpace:
    presumed = ImportPresumption().presumed(tree)
    switches = Switches(duplicates=False, presumption=presumption)
    return SearchSpace(tree, switches, (), rest=False, presumed=presumed)


def judge(space: SearchSpace, verdict: Verdict, *positions: int) -> None:
    for position in positions:
        space.apply(Judged(position, verdict))


def open_calls(space: SearchSpace) -> list[int]:
    return [int(position) for position in space.open_calls.positions()]


def test_imports_and_all_below_them_are_presumed_right() -> None:
    levels = ImportPresumption().presumed(program())
    assert levels[IMPORT] == Presumed.WHOLE
    assert set(levels[PARTS : REGISTER + 1]) == {Presumed.INSIDE}
    assert not levels[[0, MAIN, PARSE, SHOWN]].any()


def test_only_what_the_program_does_is_asked_about() -> None:
    tree = program()
    assert open_calls(space_of(tree)) == [MAIN, PARSE, SHOWN]
    chosen = Auto().choose(space_of(tree, presumption=False))
    assert chosen is not None
    assert chosen.position in (IMPORT, PARTS), "else an import would be"


def test_an_import_is_one_question_when_nothing_else_is_left() -> None:
    space = space_of(program())
    judge(space, Verdict.WRONG, 0)
    judge(space, Verdict.RIGHT, MAIN)
    assert open_calls(space) == [IMPORT]
    judge(space, Verdict.RIGHT, IMPORT)
    assert not space.can_ask()


@pytest.mark.parametrize("verdict", [Verdict.WRONG, Verdict.UNKNOWN])
def test_what_an_import_called_is_asked_about_if_it_may_be_wrong(verdict: Verdict) -> None:
    space = space_of(program())
    judge(space, Verdict.WRONG, 0)
    judge(space, Verdict.RIGHT, MAIN)
    judge(space, verdict, IMPORT)
    judge(space, verdict, *([IMPORT] if verdict is Verdict.UNKNOWN else []))
    assert PARTS in open_calls(space)
    assert REGISTER in open_calls(space)


def test_a_presumed_call_can_be_at_fault() -> None:
    space = space_of(program())
    assert set(range(1, len(CALLS))) <= set(space.left().tolist())


def test_a_program_that_only_imports_is_searched_at_once() -> None:
    space = space_of(tree_of([node for node in _nodes(program()) if node.id < MAIN]))
    assert open_calls(space) == [IMPORT]


def _nodes(tree: ColumnTree) -> list[Node]:
    parents = np.array(tree.columns.parent)
    return [
        Node(number, None if number == 0 else int(parents[number]), tree.call(number))
        for number in range(len(parents))
    ]
