"""What `bench/readability.py` counts as visible."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from typing import Any

import pytest
from mutation import DRIVERS

from whence.model.call import Binding, Call, Effect, Function, Outcome, OutcomeKind, Rule
from whence.model.question import Question
from whence.tree.codec import decode_value
from whence.ui.terminal.question_text import question_lines

BENCH = runpy.run_path(str(DRIVERS.parent / "readability.py"))


def made(returned: Any, given: Any = 1, **more: Any) -> Call:
    outcome = Outcome(OutcomeKind.RETURNED, decode_value(returned))
    arguments = (Binding("x", decode_value(given)),)
    return Call(Function("m.f", "f"), Rule("m.f", "m.f"), outcome, arguments, **more)


def is_visible(call: Call, **differences: tuple[str | None, str | None]) -> bool:
    parts = {path.replace("_", "result"): pair for path, pair in differences.items()}
    one, other = (
        BENCH["_first"]([line.text for line in question_lines(question, 1, 80)])
        for question in (
            Question(1, each, "auto", "", 9, 9.0, 3) for each in (call, BENCH["twin"](call, parts))
        )
    )
    return bool(one != other)


def test_a_shown_part_decides_and_one_that_is_left_out_does_not() -> None:
    items = list(range(1000, 1100))
    assert is_visible(made(items), **{"_[3]": ("1003", "7")})
    assert not is_visible(made(items), **{"_[99]": ("1099", "7")})
    assert not is_visible(made({"list": [1], "more": 9}), **{"_[4]": ("5", "7")})


def test_an_item_too_many_or_too_few_decides_only_if_the_end_is_shown() -> None:
    assert is_visible(made([1, 2]), **{"_[2]": (None, "3")})
    assert is_visible(made([1, 2]), **{"_[1]": ("2", None)})
    items = list(range(1000, 1100))
    assert not is_visible(made(items), **{"_[100]": (None, "3")}), "a count decides nothing"


def test_a_missing_effect_is_visible_as_one_that_the_repaired_program_has() -> None:
    call = made("None", given=[1])
    assert is_visible(call, **{"x[1]": (None, "2")})
    changed = made("None", given=[1], effects=(Effect("x", decode_value([1]), decode_value([2])),))
    assert is_visible(changed, **{"x[0]": ("2", "1")})
    assert not is_visible(call, **{"y[0]": ("2", "1")})


def test_an_exception_or_its_absence_decides() -> None:
    assert is_visible(made(1), raised=(None, "ValueError ()"))
    raised = Outcome(OutcomeKind.RAISED, decode_value("ValueError()"))
    call = Call(Function("m.f", "f"), Rule("m.f", "m.f"), raised)
    assert is_visible(call, raised=("ValueError ()", None))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the simulated person needs 3.12")
def test_a_program_of_the_corpus_is_read_without_marks_and_with_them() -> None:
    said: list[str] = []
    main: Callable[..., int] = BENCH["main"]
    assert main(["--bug", "bit_flags", "--mutants", "0"], said.append) == 0
    rows = [line.split("|")[1].strip() for line in said[-1].splitlines()]
    assert rows[2:] == ["corpus", "corpus with marks"]
