import time

import pytest
from art_definitions import ancestors, parse_pattern, pat_nodes

from whence.errors import UsageError
from whence.redex_trail.art import (
    MAX_ARGUMENTS,
    Application,
    Art,
    Atom,
    Expression,
    Indirection,
    NotAnArt,
    application_term,
    parent,
    symbol_term,
)

PAIR: dict[str, Expression] = {
    "t": Application("tl", "tr"),
    "tl": Application("tll", "tlr"),
    "tll": Atom("T2"),
    "tlr": Atom("1"),
    "tr": Atom("2"),
}


def test_the_parent_of_a_reduct_is_its_redex_and_of_a_side_that_of_the_whole() -> None:
    assert parent("ttlr") == "t"
    assert parent("ttlrt") == "ttlr"
    assert parent("t") == ""
    assert parent("lr") is None
    assert ancestors("ttlrtt") == ["ttlrt", "ttlr", "t", ""]


def test_a_value_is_built_from_reducts_and_indirections() -> None:
    art = Art({**PAIR, "tr": Atom("f"), "trt": Indirection("tlr")})
    one = symbol_term("1")
    assert art.val("tr") == one
    assert art.val("t") == application_term(application_term(symbol_term("T2"), one), one)
    assert art.evaluation("tr") == ["tr", "trt", "tlr"]


def test_the_node_above_the_start_node_is_not_reduced() -> None:
    assert not Art(PAIR).reduced("")


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        ({"t": Atom("a"), "tx": Atom("b")}, "letters other than"),
        ({"t": Atom("a"), "ttt": Atom("b")}, "no node 'tt'"),
        ({"t": Atom("a"), "l": Atom("b")}, "below the start node"),
        ({"l": Atom("a")}, "start node is not among"),
        ({"t": Application("tl", "tr"), "tl": Atom("f")}, "refers to node 'tr'"),
        ({"t": Atom("a"), "tl": Atom("b")}, "not an application with this on its left"),
        ({**PAIR, "trt": Atom("3"), "trtr": Atom("4")}, "on its right"),
        ({**PAIR, "tr": Indirection("tlr"), "trt": Atom("3")}, "indirection, and yet"),
        ({**PAIR, "tr": Indirection("t")}, "its value contains itself"),
        ({"t": Application("tl", "t"), "tl": Atom("ones")}, "its value contains itself"),
    ],
)
def test_what_is_not_an_art_is_refused_with_its_problem(
    nodes: dict[str, Expression], problem: str
) -> None:
    with pytest.raises(NotAnArt, match=problem):
        Art(nodes)


def test_a_function_with_too_many_arguments_is_refused() -> None:
    nodes: dict[str, Expression] = {}
    name = "t"
    for _ in range(MAX_ARGUMENTS + 1):
        nodes[name] = Application(name + "l", name + "r")
        nodes[name + "r"] = Atom("1")
        name += "l"
    nodes[name] = Atom("f")
    with pytest.raises(NotAnArt, match="more than 500 arguments"):
        Art(nodes)


def test_a_redex_may_be_its_own_argument_as_long_as_its_value_is_not() -> None:
    art = Art({"t": Application("tl", "t"), "tl": Atom("f"), "tt": Atom("1")})
    assert art.val("t") == symbol_term("1")


def test_graphs_deeper_than_the_stack_are_walked() -> None:
    depth = 3_000
    nodes: dict[str, Expression] = {}
    name = "t"
    for _ in range(depth):
        nodes[name] = Application(name + "l", name + "r")
        nodes[name + "l"] = Application(name + "ll", name + "lr")
        nodes[name + "ll"], nodes[name + "lr"] = Atom(":"), Atom("1")
        name += "r"
    nodes[name] = Atom("[]")
    art = Art(nodes)
    assert art.val("t") == art.val("t")
    assert art.val("t") != art.val("tr")
    pattern = parse_pattern("(" * depth + "7" + ")" * depth)
    assert pattern == "7"


def test_terms_that_share_their_parts_are_compared_quickly() -> None:
    one, two = symbol_term("x"), symbol_term("x")
    for _ in range(200):
        one, two = application_term(one, one), application_term(two, two)
    started = time.perf_counter()
    assert one == two
    assert time.perf_counter() - started < 1


def test_a_pattern_leaves_only_the_marked_symbol_visible() -> None:
    art = Art(PAIR)
    assert pat_nodes(art, parse_pattern("(_ . _) . 2"), "t") == {"tr"}
    assert pat_nodes(art, parse_pattern("(_ . 1) . 2"), "t") == {"tlr", "tr"}
    assert pat_nodes(art, parse_pattern("_"), "t") == set()


def test_a_pattern_that_does_not_fit_is_refused() -> None:
    for text in ("(_ . _) . 3", "2", "((_ . _) . _) . 2"):
        with pytest.raises(UsageError, match="not an instance"):
            pat_nodes(Art(PAIR), parse_pattern(text), "t")


def test_a_pattern_associates_to_the_left() -> None:
    assert parse_pattern("_ . 1 . x") == ((None, "1"), "x")


@pytest.mark.parametrize("text", ["", "(", "()", "(_ . 1"])
def test_a_malformed_pattern_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a pattern"):
        parse_pattern(text)


def test_asking_for_a_node_that_is_not_there_says_so() -> None:
    with pytest.raises(UsageError, match="no node 'tt'"):
        Art(PAIR).val("tt")
