import time

import pytest
from lazy_language import parse_expression, parse_program, run

from whence.model.value import Kind
from whence.redex_trail.art import Application, Art, Atom, Expression
from whence.redex_trail.art_value import ArtValues, TermLimits


def value_text(program: list[str], start: str = "main") -> str:
    art = run(parse_program(program), parse_expression(start), text=program)
    return ArtValues(art).text("t")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("[1,2]", "[1,2]"),
        ("[]", "[]"),
        ("(1, [2], (3,4))", "(1,[2],(3,4))"),
        ("Just (Just 3)", "Just (Just 3)"),
        ("Just [Just 3]", "Just [Just 3]"),
        ("0 - 2", "-2"),
        ("Just (0 - 2)", "Just (-2)"),
        ("div 5", "div 5"),
        ("Just (div 5)", "Just (div 5)"),
        ("1 : 2 : x", "1:2:x"),
    ],
)
def test_values_are_written_as_the_program_would(expression: str, text: str) -> None:
    assert value_text([], expression) == text


def test_what_was_never_evaluated_is_a_blank() -> None:
    program = ["main = T2 (first (T2 1 (loop 2))) 3", "first x = 7", "loop x = loop x"]
    art = run(parse_program(program), text=program)
    values = ArtValues(art)
    assert values.text("ttlrr") == "(1,_)"
    assert values.shape("ttlrrr").kind is Kind.ATOM


def test_without_a_program_an_unreduced_call_of_an_unknown_function_stands_as_it_is() -> None:
    art = run(parse_program(["main = k (loop 2)", "k x = 1", "loop x = loop x"]))
    assert ArtValues(art).text("ttr") == "loop 2"


def test_a_list_with_an_unevaluated_end_is_a_term_of_its_elements_and_its_end() -> None:
    program = ["main = hd (from 1)", "hd (x:xs) = x", "from x = x : from (x+1)"]
    values = ArtValues(run(parse_program(program), text=program))
    shown, cut = values.value("ttr")
    assert (shown.kind, [step for step, _ in shown.parts], cut) == (
        Kind.TERM,
        ["[0]", "[1]"],
        False,
    )
    assert values.text("ttr") == "1:_"


def test_steps_lead_to_the_nodes_of_parts_and_tell_the_way() -> None:
    art = run(parse_program(["main = (1, [2,3])"]))
    values = ArtValues(art)
    whole = values.part("t", "[1]")
    assert whole is not None
    way, place = whole
    assert way == ["t", "tt", "tt"]
    met, second = values.part(place, "[1]") or ([], "")
    assert values.text(second) == "3"
    assert met[0] == place
    for step in ("[2]", "[x]", ".name", "[-1]"):
        assert values.part(place, step) is None
    assert values.part(second, "[0]") is None


def test_the_end_of_an_unfinished_list_is_a_part_too() -> None:
    art = run(parse_program([]), parse_expression("1 : 2 : x"))
    values = ArtValues(art)
    parts = [values.part("t", f"[{index}]") for index in range(3)]
    assert [values.text(part[1]) for part in parts if part is not None] == ["1", "2", "x"]
    assert values.part("t", "[3]") is None


def doubling(levels: int) -> Art:
    """A value of 2 ** levels leaves in a graph of 4 nodes a level."""
    nodes: dict[str, Expression] = {}
    name = "t"
    for _ in range(levels):
        nodes[name] = Application(name + "l", name + "lr")
        nodes[name + "l"] = Application(name + "ll", name + "lr")
        nodes[name + "ll"] = Atom("Fork")
        name += "lr"
    nodes[name] = Atom("1")
    return Art(nodes)


def test_shared_parts_do_not_blow_up_what_is_shown() -> None:
    started = time.perf_counter()
    values = ArtValues(doubling(300))
    shown, cut = values.value("t")
    text = values.text("t")
    assert cut
    assert len(text) <= values.limits.text + 1
    assert sum(1 for _ in shown.paths()) <= 2 * values.limits.total + 2
    assert time.perf_counter() - started < 5


def test_a_long_list_is_cut_and_says_how_much_is_missing() -> None:
    nodes: dict[str, Expression] = {}
    name = "t"
    for _ in range(1_500):
        nodes[name] = Application(name + "l", name + "r")
        nodes[name + "l"] = Application(name + "ll", name + "lr")
        nodes[name + "ll"], nodes[name + "lr"] = Atom(":"), Atom("1")
        name += "r"
    nodes[name] = Atom("[]")
    values = ArtValues(Art(nodes))
    shown, cut = values.value("t")
    assert (len(shown.parts), shown.omitted, cut) == (200, 1_300, True)
    assert values.text("t").endswith(",…1300 more]")
    assert values.part("t", "[1499]") is not None


def test_a_very_long_symbol_is_cut() -> None:
    values = ArtValues(Art({"t": Atom("x" * 5_000)}), TermLimits(letters=10))
    shown, cut = values.value("t")
    assert (shown.text, cut) == ("x" * 10 + "…", True)
