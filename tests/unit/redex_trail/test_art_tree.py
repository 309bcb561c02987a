import pytest
from lazy_language import parse_expression, parse_program, run

from whence.errors import CannotExpand, WhenceError
from whence.model.value import Kind
from whence.redex_trail.art import Application, Art, Atom, Expression
from whence.redex_trail.art_tree import ArtTree, execution_tree, rule_sources


def tree_of(program: list[str], start: str = "main", *, primitives: bool = False) -> ArtTree:
    art = run(parse_program(program), parse_expression(start), text=program)
    return execution_tree(art, primitives=primitives)


def equations(art_tree: ArtTree) -> list[str]:
    tree = art_tree.tree
    return [tree.call(position).equation() for position in range(len(tree.columns))]


def test_calls_stand_outermost_first_then_from_left_to_right() -> None:
    tree = tree_of(["main = f (g 1) (h 2)", "f x y = x + y", "g x = k x", "h x = x", "k x = x"])
    assert equations(tree) == ["main = 3", "f 1 2 = 3", "g 1 = 1", "k 1 = 1", "h 2 = 2"]
    assert tree.tree.columns.parent.tolist() == [-1, 0, 0, 2, 0]


def test_calls_have_structured_values() -> None:
    tree = tree_of(["main = f (1, [2]) 3", "f p x = Just p"]).tree
    call = tree.call(1)
    first, second = (each.value for each in call.arguments)
    assert first.kind is Kind.TUPLE
    assert first.part(("[1]",)).kind is Kind.LIST
    assert second.text == "3"
    assert call.outcome.value is not None
    assert (call.outcome.value.kind, call.outcome.value.text) == (Kind.TERM, "Just")


def test_what_a_primitive_called_hangs_from_the_nearest_call_of_the_program() -> None:
    nodes: dict[str, Expression] = {
        "t": Atom("main"),
        "tt": Application("ttl", "ttr"),
        "ttl": Atom("twice"),
        "ttr": Atom("1"),
        "ttt": Application("tttl", "ttr"),
        "tttl": Atom("f"),
        "tttt": Atom("2"),
    }
    art = Art(nodes, {"t": "main.1", "tt": "primitive twice", "ttt": "f.1"})
    left_out = execution_tree(art)
    assert equations(left_out) == ["main = 2", "f 1 = 2"]
    assert left_out.tree.columns.parent.tolist() == [-1, 0]
    kept = execution_tree(art, primitives=True)
    assert equations(kept) == ["main = 2", "twice 1 = 2", "f 1 = 2"]
    assert kept.tree.columns.parent.tolist() == [-1, 0, 1]
    assert [function.trusted for function in kept.tree.functions] == [False, True, False]


def test_a_start_term_of_several_calls_is_itself_a_call() -> None:
    tree = tree_of(["f x = x + 1"], "T2 (f 1) (f 2)")
    assert tree.stands_for_start
    assert equations(tree) == ["start term = (2,3)", "f 1 = 2", "f 2 = 3"]
    assert tree.tree.columns.parent.tolist() == [-1, 0, 0]
    assert [tree.tree.id(position) for position in range(3)] == [1, 2, 3]
    with_primitives = tree_of(["f x = x + 1"], "T2 (f 1) (f 2)", primitives=True)
    assert "1 + 1 = 2" in equations(with_primitives)


def test_a_graph_without_a_reduction_has_no_tree() -> None:
    with pytest.raises(WhenceError, match="nothing was reduced"):
        execution_tree(Art({"t": Atom("1")}))


def test_a_graph_is_complete_so_nothing_can_be_expanded() -> None:
    tree = tree_of(["main = 1"]).tree
    with pytest.raises(CannotExpand):
        tree.expand(0, 1)
    with pytest.raises(CannotExpand, match="no calls below"):
        tree.sources[0].expand(1, 1)


def test_equal_equations_are_told_from_ones_that_only_look_equal_when_cut() -> None:
    def listing(prefix: str, last: str) -> dict[str, Expression]:
        nodes: dict[str, Expression] = {}
        name = prefix
        for number in range(300):
            nodes[name] = Application(name + "l", name + "r")
            nodes[name + "l"] = Application(name + "ll", name + "lr")
            nodes[name + "ll"] = Atom(":")
            nodes[name + "lr"] = Atom(last if number == 299 else "1")
            name += "r"
        nodes[name] = Atom("[]")
        return nodes

    def graph(last: str) -> Art:
        """T2 (f [1, …, 1]) (f [1, …, last])."""
        return Art(
            {
                "t": Application("tl", "tr"),
                "tl": Application("tll", "tlr"),
                "tll": Atom("T2"),
                "tlr": Application("tlrl", "tlrr"),
                "tlrl": Atom("f"),
                **listing("tlrr", "1"),
                "tlrt": Atom("1"),
                "tr": Application("trl", "trr"),
                "trl": Atom("f"),
                **listing("trr", last),
                "trt": Atom("1"),
            }
        )

    for last, equal in (("1", True), ("2", False)):
        tree = execution_tree(graph(last))
        shown = equations(tree)
        assert shown[1] == shown[2]
        digests = tree.tree.columns.equation
        assert (digests[1] == digests[2]) == equal


def test_deep_computations_give_deep_trees() -> None:
    depth = 2_000
    nodes: dict[str, Expression] = {"t" * (depth + 1): Atom("1")}
    nodes |= {"t" * length: Atom(f"f{length}") for length in range(1, depth + 1)}
    tree = execution_tree(Art(nodes)).tree
    assert int(tree.columns.depth[-1]) == depth - 1


def test_rules_are_found_in_the_program_by_their_number() -> None:
    sources = rule_sources(
        ["f 0 = 1", "f x | x == 1 = 2", "    | otherwise =", "        3", "", "g x = x"]
    )
    assert sources["f.1"] == "f 0 = 1"
    assert sources["f.2"] == "f x | x == 1 = 2"
    assert sources["f.3"] == "f x | otherwise =\n        3"
    assert sources["g"] == "g x = x"
    assert "g.2" not in sources


def test_stray_lines_of_a_program_do_no_harm() -> None:
    assert rule_sources(["  | otherwise = 1", "= 3", "   ", "\tx"]) == {}


def test_a_redex_without_a_rule_has_its_functions_name_as_its_rule() -> None:
    art = Art({"t": Atom("main"), "tt": Atom("1")}, program=("main = 1",))
    rule = execution_tree(art).tree.rules[0]
    assert (rule.name, rule.function, rule.source) == ("main", "main", "main = 1")
