from whence.model.origin import Influence, Origin
from whence.search.four_sets import four_sets
from whence.testing.trees import tree_from_parents

# 0 ─ 1 ─ 2, 3; 0 ─ 4 ─ 5, 6
TREE = tree_from_parents([-1, 0, 1, 1, 0, 4, 4])


def sets(origin: Origin, influence: Influence | None, marked: int = 6) -> list[set[int]]:
    found = four_sets(TREE, origin, influence, marked)
    return [set(found.ids(TREE, number)) for number in (1, 2, 3, 4)]


def test_a_call_belongs_to_the_first_of_origin_chain_and_not_influencing() -> None:
    origin = Origin(1, (1, 0, 4))
    influence = Influence(frozenset({0, 1, 3}), complete=True)
    assert sets(origin, influence) == [{1, 2, 3}, {0, 4}, set(), {5, 6}]


def test_the_marked_call_is_not_among_those_that_passed_the_part_on() -> None:
    assert sets(Origin(6, (6, 4)), None, marked=4)[1] == set()


def test_without_an_influence_nothing_is_excluded() -> None:
    found = four_sets(TREE, Origin(5, (5, 4)), None, 6)
    assert not found.certain
    assert set(found.ids(TREE, 4)) == set()
    assert set(found.ids(TREE, 3)) == {0, 1, 2, 3, 6}


def test_without_an_origin_the_influence_alone_divides_the_tree() -> None:
    influence = Influence(frozenset({0, 4}), complete=False)
    found = four_sets(TREE, Origin(None, unknown="nobody knows"), influence, 6)
    assert not found.certain
    assert sets(Origin(None), influence) == [set(), set(), {0, 4}, {1, 2, 3, 5, 6}]
