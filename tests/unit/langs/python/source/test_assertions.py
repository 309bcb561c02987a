from dataclasses import replace
from textwrap import dedent

import pytest

from whence.langs.python.source.assertions import (
    OperandSource,
    decorators,
    expected_of,
    maker,
    operands_at,
    statement_at,
)


def operands(source: str, line: int, **more: bool) -> list[str]:
    return [each.expression for each in operands_at(dedent(source), line, **more)]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("total(cart) == 30", ["total(cart)", "30"]),
        ("not total(cart) == 30", ["total(cart)", "30"]),
        ("a(1) < b(2) <= 3", ["a(1)", "b(2)", "3"]),
        ("is_valid(x)", ["is_valid(x)"]),
        ("not is_valid(x)", ["is_valid(x)"]),
        ("x", ["x"]),
        ("isinstance(f(x), str)", ["f(x)", "str"]),
        ("all(f(x) for x in xs)", ["(f(x) for x in xs)"]),
        ("f(x) == 1 and g(x)", ["f(x)", "1", "g(x)"]),
        ("key in d", ["key", "d"]),
        ("x.y[0] != 'é' + z", ["x.y[0]", "'é' + z"]),
        ("f(x) == pytest.approx(3)", ["f(x)", "pytest.approx(3)"]),
    ],
)
def test_the_operands_of_an_assert(test: str, expected: list[str]) -> None:
    assert operands(f"def test():\n    assert {test}, 'why'\n", 2) == expected


def test_operands_may_go_over_lines() -> None:
    source = """
        def test():
            assert (
                total(cart,
                      tax=True)
                == 30
            )
    """
    for line in range(3, 8):
        assert [each.split() for each in operands(source, line)] == [
            ["total(cart,", "tax=True)"], ["30"],
        ]  # fmt: skip


def test_the_operands_of_methods_of_unittest() -> None:
    assert operands("self.assertEqual(f(1), 2, 'why')", 1) == ["f(1)", "2"]
    assert operands("self.assertEqual(first=f(1), second=2, msg='why')", 1) == ["f(1)", "2"]
    assert operands("self.assertTrue(f(1))", 1) == ["f(1)"]
    assert operands("self.check(f(1))", 1) == []


def test_where_nothing_was_raised_the_block_is_the_operand() -> None:
    source = """
        with pytest.raises(ValueError):
            f(1)
        with pytest.raises(ValueError): f(2)
        with pytest.raises(ValueError):
            x = 1
            f(x)
    """
    assert operands(source, 2, not_raised=True) == ["f(1)"]
    assert operands(source, 4, not_raised=True) == ["f(2)"]
    assert operands(source, 5, not_raised=True) == []


def test_where_there_is_no_assertion_there_are_no_operands() -> None:
    assert operands("x = f(1)", 1) == []
    assert operands("assert (", 1) == []
    assert operands("assert x", 7) == []


def made(body: str, operand: int = 0) -> OperandSource:
    """What made an operand of the assertion that is the last line of a test."""
    source = "import shop\n\ndef test(given, *more):\n" + "".join(
        f"    {line}\n" for line in dedent(body).strip().splitlines()
    )
    last = len(source.splitlines())
    return maker(source, last, operands_at(source, last)[operand])


def test_a_call_that_is_the_operand_made_it() -> None:
    call = made("assert total(cart) == 30")
    assert (call.called, call.span, call.from_literals) == ("total", (4, 11, 4, 22), False)
    assert made("assert shop.total([1, {'a': -2}], tax=None) == 30").from_literals
    assert made("assert total('x') == 30").from_literals
    assert not made("assert cart.total('x') == 30").from_literals, "what cart is, is not written"
    assert made("assert cart.size == 30").called == "size"
    assert made("assert await_me == 1 or 2").unknown


def test_a_lambda_that_the_test_calls_by_a_name_is_known_by_its_line() -> None:
    assert made("f = lambda x: total(x)\nassert f(1) == 30").lambda_line == 4
    assert not made("f = lambda x: total(x)\nassert f(1) == 30").from_literals
    assert made("f = lambda x: x\nf = total\nassert f(1) == 30").lambda_line is None


@pytest.mark.parametrize(
    "body",
    [
        "result = total(cart)\nassert result == 30",
        "result = 1\nresult = total(cart)\nother = 2\nassert result == 30",
        "result: int = total(cart)\nif other:\n    x = 1\nassert result == 30",
        "result = total(cart)\nfor each in more:\n    assert result == each",
        "result = total(cart)\nwith open(x) as y:\n    assert result == 30",
        "def inner():\n    result = 2\nresult = total(cart)\nassert result == 30",
    ],
)
def test_a_name_is_followed_to_its_only_assignment(body: str) -> None:
    found = made(body)
    assert (found.called, found.by_name, found.from_literals) == ("total", "result", False)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("if x:\n    result = total(cart)\nassert result == 30", "more than one way"),
        ("result = 1\nfor x in y:\n    result = total(x)\nassert result == 30", "more than one"),
        ("result = 1\nfor x in y:\n    assert result == 30\n", "a literal in the test"),
        ("for x in y:\n    assert f == 3; f = total(x)\n", "assigned in a loop"),
        ("result = total(cart)\nresult += 1\nassert result == 30", "more than one way"),
        ("result, other = total(cart)\nassert result == 30", "more than one way"),
        ("a = result = total(cart)\nassert result == 30", "more than one way"),
        ("try:\n    result = f()\nexcept E:\n    pass\nassert result == 1", "more than one way"),
        ("assert given == 30", "a parameter of the test"),
        ("assert more == 30", "a parameter of the test"),
        ("assert shop == 30", "not in the test"),
        ("result = total(cart) + 1\nassert result == 30", "not the result of one call"),
        ("def change():\n    nonlocal x\nx = total(1)\nchange()\nassert x == 3", "more than one"),
    ],
)
def test_what_is_not_certain_is_not_said(body: str, why: str) -> None:
    found = made(body)
    assert found.span is None
    assert why in found.unknown


def test_what_a_builtin_makes_a_list_of_is_looked_at() -> None:
    found = made("assert list(total(1)) == [1]")
    assert (found.called, found.collected_by, found.from_literals) == ("total", "list", True)
    assert made("assert sorted(xs, key=total) == 1").called == "sorted"
    assert made("assert list(1) == 1").called == "list"


def test_a_part_of_an_object_is_taken_by_its_method() -> None:
    assert made("assert given[1:2] == 30").called == "__getitem__"


def test_a_source_that_has_changed_tells_nothing() -> None:
    source = "def test():\n    assert total(cart) == 30\n"
    (operand, _) = operands_at(source, 2)
    assert "has changed" in maker(source.replace("total", "sum12"), 2, operand).unknown
    assert "has changed" in maker("\n" + source, 2, operand).unknown
    assert "has changed" in maker("def", 2, operand).unknown


def test_the_decorators_of_a_function() -> None:
    source = "@functools.lru_cache(None)\n@wrapped\ndef f():\n    pass\n\ndef g(): pass\n"
    assert decorators(source, 1) == decorators(source, 3) == ["lru_cache", "wrapped"]
    assert decorators(source, 6) == []
    assert decorators(source, 4) is None


def test_the_statement_at_a_line() -> None:
    source = "def f():\n    with a(1,\n           2):\n        b()\n    assert (x\n        == 1)\n"
    assert statement_at(source, 2) == "with a(1,\n       2):"
    assert statement_at(source, 5) == "assert (x\n    == 1)"
    assert statement_at(source, 9) == ""


@pytest.mark.parametrize(
    ("statement", "value", "expected"),
    [
        ("assert f(x) == [1, 2]", "", "[1, 2]"),
        ("self.assertEqual(f(x), 3)", "", "3"),
        ("assert f(x) == wanted", "{'a': 1}", "{'a': 1}"),
        ("assert f(x) == wanted", "[1, 2, 3, 4, 5, 6, ...]", ""),
        ("assert f(x) == wanted", "<object>", ""),
        ("assert f(x) != 3", "", ""),
        ("assert f(x) == 3 == g(x)", "", ""),
        ("assert f(x) < 3", "", ""),
        ("assert f(x) == pytest.approx(3)", "", ""),
        ("self.assertAlmostEqual(f(x), 3)", "", ""),
    ],
)
def test_what_an_operand_should_be_is_the_other_side_of_an_equality(
    statement: str, value: str, expected: str
) -> None:
    found = [replace(each, value=value) for each in operands_at(statement, 1)]
    assert expected_of(statement, 1, found, found[0]) == expected
