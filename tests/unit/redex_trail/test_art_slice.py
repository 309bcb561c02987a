import pytest
from art_definitions import (
    chop,
    collect,
    execution_tree_slice,
    path,
    slice_of,
    subnodes,
    weakly_influences,
)
from lazy_language import parse_program, run

from whence.errors import UsageError
from whence.redex_trail.art import Art
from whence.redex_trail.art_slice import influencing

# main = t, f 2 = tt, g … = ttt, k 2 = tttr, h 1 = ttr
TAIL_CALL = ["main = f (h 1)", "f x = g (k x)", "g x = x + 1", "k x = h x", "h x = x + 1"]
# f 3 = tt, its result ttt; k y = tttlr, y = h 3 = tttlrr, g y = tttr
LET = ["main = f 3", "f x = let y = h x in T2 (k y) (g y)", "h x = x+1", "k x = x", "g x = x+2"]


@pytest.fixture
def art() -> Art:
    return run(parse_program(TAIL_CALL))


def test_prefixes_and_what_ancestors_looked_at_influence_a_node() -> None:
    assert weakly_influences("tt", "ttt")
    assert weakly_influences("ttr", "tttr"), "the argument of the ancestor tt"
    assert weakly_influences("ttrtl", "tttr")
    assert not weakly_influences("tttl", "tttr"), "a part of a reduct beside it"


def test_a_path_holds_all_prefixes_in_between() -> None:
    assert path("tt", "ttlr") == {"tt", "ttl", "ttlr"}
    with pytest.raises(UsageError, match="no path"):
        path("tl", "ttr")


def test_the_printed_figure_stops_at_a_reduct_that_is_a_redex(art: Art) -> None:
    assert subnodes(art, "ttt") - subnodes(art, "ttt", as_printed=True) >= {"tttrt", "tttrtt"}


def test_what_is_no_criterion_is_refused(art: Art) -> None:
    for function in (chop, collect, execution_tree_slice):
        with pytest.raises(UsageError, match="not a slicing criterion"):
            function(art, "ttr", "ttt")
        with pytest.raises(UsageError, match="no node"):
            function(art, "t", "tlll")
    with pytest.raises(UsageError, match="no node"):
        slice_of(art, "lll")


def test_a_slice_of_an_execution_tree_holds_the_marked_call_even_if_nothing_else(art: Art) -> None:
    assert execution_tree_slice(art, "tttrt", "tttrt") == {"tttr"}
    assert execution_tree_slice(art, "t", "t") == {"t"}


def test_an_argument_shared_through_a_let_is_not_lost() -> None:
    art = run(parse_program(LET))
    result = art.evaluated("tttr")
    assert "tttlrr" not in execution_tree_slice(art, "ttt", result)
    assert "tttlrr" in influencing(art, "ttt", [result], [])


def test_a_compound_part_counts_with_what_is_in_it() -> None:
    art = run(parse_program(["main = [a, b]", "a = 1 + 1", "b = 2"]))
    assert influencing(art, "tt", ["tt"], []) == {"t"}
    assert influencing(art, "tt", [], ["tt"]) == {"t", "ttlr", "ttrlr", "ttlrt"}


def test_nothing_above_the_start_of_a_slice_is_in_it(art: Art) -> None:
    found = influencing(art, "tttrt", [art.evaluated("tttr")], [])
    assert found == {"tttr", "tttrt", "tttrtt"}
