import io

import pytest

from whence.model.symptom import AssertionOperand, FailedAssertion
from whence.ui.terminal.assertion_prompt import Quit, ask_operand
from whence.ui.terminal.plain import PlainScreen


def asked(typed: str, count: int = 2) -> tuple[list[bool | None] | None, str]:
    """Which operands are wrong after some lines were typed, and what was shown."""
    operands = tuple(AssertionOperand(f"f({number})") for number in range(count))
    output = io.StringIO()
    screen = PlainScreen(io.StringIO(typed), output)
    assertion = ask_operand(
        screen, FailedAssertion("t.py", 3, operands, ("assert 1 == 2",)), "assert …", ["1"] * count
    )
    wrong = None if assertion is None else [operand.wrong for operand in assertion.operands]
    return wrong, output.getvalue()


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("l", [True, False]),
        ("left", [True, False]),
        ("R", [False, True]),
        ("both", [True, True]),
        ("b", [True, True]),
        ("l r", [True, True]),
        ("neither", [False, False]),
        ("n", [False, False]),
        ("?", None),
        ("", None),
        ("what\nr", [False, True]),
    ],
)
def test_which_side_is_wrong(typed: str, expected: list[bool] | None) -> None:
    assert asked(typed + "\n")[0] == expected


def test_one_may_leave() -> None:
    with pytest.raises(Quit):
        asked("x\nq\n")


def test_where_nobody_answers_nothing_is_known() -> None:
    assert asked("")[0] is None
    assert asked("l\n", count=0)[0] is None


def test_one_operand_is_wrong_or_not() -> None:
    assert asked("y\n", count=1)[0] == [True]
    assert asked("n\n", count=1)[0] == [False]


def test_several_operands_go_by_number() -> None:
    assert asked("2\n", count=3)[0] == [False, True, False]
    assert asked("1, 3\n", count=3)[0] == [True, False, True]
    assert asked("all\n", count=3)[0] == [True] * 3
    assert asked("4\nnone\n", count=3)[0] == [False] * 3


def test_the_assertion_is_shown_with_what_pytest_says_of_it() -> None:
    shown = asked("l\n")[1]
    assert "The test failed at t.py:3:\n  assert …\n    assert 1 == 2\n" in shown
    assert "  left:  f(0) → 1\n  right: f(1) → 1\n" in shown
    assert "Which side is wrong? [l/r/both/neither/?] " in shown
