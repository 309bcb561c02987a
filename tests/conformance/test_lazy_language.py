import pytest
from lazy_language import Let, Machine, parse_expression, parse_program, run

from whence.redex_trail.art_tree import execution_tree
from whence.redex_trail.art_value import ArtValues


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("f x 1", (("f", "x"), "1")),
        ("1 + 2 * 3", (("+", "1"), (("*", "2"), "3"))),
        ("1 - 2 - 3", (("-", (("-", "1"), "2")), "3")),
        ("1 : 2 : []", ((":", "1"), ((":", "2"), "[]"))),
        ("[1,2]", ((":", "1"), ((":", "2"), "[]"))),
        ("(1,x)", (("T2", "1"), "x")),
        ("let y = 1 in y", Let("y", "1", "y")),
    ],
)
def test_expressions_are_read_by_precedence(text: str, expression: object) -> None:
    assert parse_expression(text) == expression


@pytest.mark.parametrize(
    ("program", "value"),
    [
        (["main = first (1, loop)", "first (x,y) = x", "loop = loop"], "1"),
        (["main = map (add 1) [1,2]", "map f [] = []", "map f (x:xs) = f x : map f xs"], "[2,3]"),
        (["main = let y = add 1 1 in (y, y)"], "(2,2)"),
        (["main = max 3 4", "max x y | x == y = x", "        | otherwise = y"], "4"),
        (["main = if (1 == 1) 2 (div 1 0)"], "2"),
        (["main = div 1 0"], "error"),
        (["main = f 2", "f 1 = 1"], "error"),
    ],
)
def test_programs_are_evaluated_by_need(program: list[str], value: str) -> None:
    art = run(parse_program([*program, "add x y = x + y"]))
    assert ArtValues(art).text("t") == value


def test_a_shared_variable_is_evaluated_once() -> None:
    program = ["main = let y = f 1 in y + y", "f x = x + 1"]
    tree = execution_tree(run(parse_program(program))).tree
    assert [tree.call(each).equation() for each in range(len(tree.columns))] == [
        "main = 4",
        "f 1 = 2",
    ]


def test_nested_lets_share_what_they_bind() -> None:
    program = ["main = let x = f 1 in let y = x + 1 in (y, x)", "f x = x + 1"]
    art = run(parse_program(program))
    assert ArtValues(art).text("t") == "(3,2)"
    assert sum(rule == "f.1" for rule in art.rules.values()) == 1


def test_a_run_without_fuel_leaves_an_unfinished_graph() -> None:
    program = ["main = from 1", "from x = x : from (x+1)"]
    art = run(parse_program(program), fuel=5, text=program)
    assert ArtValues(art).text("t") == "1:2:_:_"


def test_guards_are_evaluated_but_not_traced() -> None:
    art = run(parse_program(["main = f 1", "f x | x == 1 = 2"]))
    assert "primitive ==" not in art.rules.values()


def test_a_replaced_reduct_shows_in_the_result() -> None:
    machine = Machine(parse_program(["main = f 1", "f x = x"]), replaced={"tt": "changed"})
    machine.instance("main", "t", {})
    machine.force("t")
    assert ArtValues(machine.art()).text("t") == "changed"
