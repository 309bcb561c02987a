import pytest
from art_definitions import criterion
from lazy_language import parse_expression, parse_program, run

from whence.model.call import Mark, MarkedPart, find_mark
from whence.model.origin import Influence, Origin
from whence.model.value import atom
from whence.redex_trail.art_provenance import ArtProvenance
from whence.redex_trail.art_tree import execution_tree


def provenance(program: list[str], start: str = "main", *, primitives: bool = False):
    art = run(parse_program(program), parse_expression(start), text=program)
    return ArtProvenance(execution_tree(art, primitives=primitives))


def asked(where: ArtProvenance, node: int, path: str) -> tuple[Origin, Influence]:
    tree = where.art_tree.tree
    part = find_mark(tree.call(tree.position(node)), path, input_side=path.startswith("arg"))
    influence = where.influence(node, part)
    assert influence is not None and influence.complete
    return where.origin(node, part), influence


def test_a_part_is_traced_to_the_call_whose_rule_made_it() -> None:
    # 1 main, 2 build, 3 one, 4 two
    where = provenance(["main = build 1", "build x = [one x, two x]", "one x = x", "two x = x + 1"])
    origin, influence = asked(where, 1, "result[1]")
    assert (origin.node, origin.chain, origin.expression) == (4, (4, 2), "1 + 1")
    assert influence.nodes == {1, 2, 4}
    origin, _ = asked(where, 2, "result[0]")
    assert (origin.node, origin.chain) == (1, (1,)), "main wrote the 1 that one handed on"


def test_a_part_that_the_marked_call_made_itself_has_no_chain() -> None:
    where = provenance(["main = f 1", "f x = [x, 7]"])
    origin, influence = asked(where, 2, "result[1]")
    assert (origin.node, origin.chain) == (2, ())
    assert origin.expression == "f x = [x, 7]"
    assert influence.nodes == {2}


def test_a_literal_of_the_start_term_has_no_origin_and_says_so() -> None:
    origin, influence = asked(provenance(["f x = x + 1"], "f 3"), 1, "arg1")
    assert origin.node is None
    assert "start term" in origin.unknown
    assert influence.nodes == {1}, "a slice is never empty: it holds the start node"


def test_the_start_term_is_the_origin_where_it_is_a_call() -> None:
    where = provenance(["f x = x + 1"], "T2 (f 1) (f (2 + 3))")
    assert asked(where, 3, "arg1")[0].node == 1
    origin, influence = asked(where, 1, "result[1]")
    assert (origin.node, origin.chain) == (3, (3,))
    assert influence.nodes == {1, 3}
    assert asked(where, 1, "result")[1].nodes == {1, 2, 3}


def test_the_call_that_chose_what_to_hand_on_influences_it() -> None:
    # 2 f, 3 even, 4 a: `even` decides that a's result is f's
    program = ["main = f 3", "f x = if (even x) (a x) (b x)", "even x = x == 3"]
    where = provenance([*program, "a x = x * 10", "b x = x"])
    origin, influence = asked(where, 2, "result")
    assert origin.node == 4
    assert influence.nodes == {2, 3, 4}


def test_a_call_that_only_hands_its_argument_on_influences_it() -> None:
    # 2 f, 3 g, 4 k: g should perhaps have changed what it got from k
    where = provenance(["main = f 1", "f x = g (k x)", "g x = x", "k x = x + 1"])
    origin, influence = asked(where, 2, "result")
    assert (origin.node, origin.chain) == (4, (4,))
    assert influence.nodes == {2, 3, 4}


def test_what_is_shared_through_a_let_influences_its_users() -> None:
    # 2 f, 3 k, 4 h (the let), 5 g
    program = ["main = f 3", "f x = let y = h x in T2 (k y) (g y)", "h x = x + 1"]
    where = provenance([*program, "k x = x", "g x = x + 2"])
    assert asked(where, 2, "result[1]")[1].nodes == {2, 4, 5}


def test_who_passed_an_argument_on_may_have_passed_the_wrong_one() -> None:
    # 2 f, 3 g, 4 a
    where = provenance(
        ["main = f (a 1) (b 2)", "f x y = g x", "g x = x + 1", "a x = x + 1", "b x = x"]
    )
    origin, influence = asked(where, 3, "arg1")
    assert (origin.node, origin.chain) == (4, (4, 1, 2))
    assert influence.nodes == {1, 2, 4}


def test_a_call_that_took_the_part_in_and_gave_it_back_is_passed_through() -> None:
    # 2 f, 3 g, 4 a
    where = provenance(["main = f (a 1)", "f x = g x", "g x = [x]", "a x = x + 1"])
    origin, _ = asked(where, 3, "arg1")
    assert (origin.chain, origin.passed_through) == ((4, 1, 2), frozenset({2}))
    where = provenance(["main = f (a 1)", "f x = g x", "g x = x + 0", "a x = x + 1"])
    assert asked(where, 3, "arg1")[0].passed_through == frozenset()


def test_with_primitives_in_the_tree_the_origin_is_still_a_call_of_the_program() -> None:
    # 1 main, 2 f 1, 3 1 + 1
    where = provenance(["main = f 1", "f x = x + 1"], primitives=True)
    origin, influence = asked(where, 1, "result")
    assert (origin.node, origin.chain) == (2, (2,))
    assert influence.nodes == {1, 2, 3}


def test_a_part_of_a_partial_application_is_found() -> None:
    where = provenance(["main = use (add (one 1))", "add x y = x + y", "use f = f 2", "one x = x"])
    origin, influence = asked(where, 2, "arg1[0]")
    assert origin.node == 1
    assert 4 in influence.nodes


@pytest.mark.parametrize(
    ("node", "part"),
    [
        (9, MarkedPart(Mark("result"), atom("1"), False)),
        (2, MarkedPart(Mark("seen"), atom("1"), True)),
        (2, MarkedPart(Mark("arg9"), atom("1"), True, 8)),
        (2, MarkedPart(Mark("result", ("[4]",)), atom("1"), False)),
        (2, MarkedPart(Mark("result", (".x",)), atom("1"), False)),
    ],
)
def test_what_is_not_in_the_graph_has_no_origin_and_a_reason(node: int, part: MarkedPart) -> None:
    where = provenance(["main = f 1", "f x = [x]"])
    origin = where.origin(node, part)
    assert origin.node is None
    assert origin.unknown
    assert where.influence(node, part) is None
    assert criterion(where, node, part) is None
