"""The tree of the steps of a call: its questions, small and complete."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest
from zoomed import follow

from whence.langs.python.zoom.execution import What
from whence.model.call import OutcomeKind


def steps(text: str, call: str, **wishes: Any) -> list[str]:
    """All steps of the first call of `f`, as they are asked about."""
    tree = follow(dedent(text).lstrip(), "f", call, **wishes).zoomed.tree()
    return [tree.call(position).equation() for position in range(1, len(tree.columns))]


def test_only_variables_that_are_read_or_live_on_are_shown() -> None:
    shown = steps(
        """
        def f(a, unused):
            b = a + 1
            scratch = b * 10
            c = scratch - b
            return c
        """,
        "f(1, 2)",
    )
    assert "line 3: scratch = b * 10; before: b = 2 → after: scratch = 20" in shown
    assert "lines 2 to 3; before: a = 1 → after: b = 2, scratch = 20" in shown
    assert "lines 4 to 5; before: b = 2, scratch = 20 → after: returns 18" in shown
    assert not any("unused" in line for line in shown)


def test_the_rounds_of_a_loop_are_nested_like_recursion() -> None:
    zoomed = follow("def f(xs):\n    s = 0\n    for x in xs:\n        s += x\n    return s\n", "f",
                    "f(list(range(9)))").zoomed  # fmt: skip
    pending = [zoomed.whole]
    while not any(each.what is What.ROUND for each in pending[-1].children):
        pending += pending.pop().children
    above = pending[-1]
    depth = 0
    while True:
        inner = [each for each in above.children if each.what is What.ROUNDS]
        if not inner:
            break
        [above] = inner
        depth += 1
    assert depth == 8


def test_a_long_loop_is_no_deep_recursion_of_ours() -> None:
    shown = steps(
        "def f(n):\n    i = 0\n    while i < n:\n        i += 1\n    return i\n", "f(1200)"
    )
    assert "lines 3 to 4, rounds 1190 to 1200; before: i = 1189, n = 1200 → after: i = 1200" in [
        line.replace("before: n = 1200, i = 1189", "before: i = 1189, n = 1200") for line in shown
    ]


def test_a_loop_that_does_not_end_is_gone_into_by_its_rounds() -> None:
    class Enough(BaseException):
        pass

    text = "def f(n):\n    i = 0\n    while i != n:\n        i += 2\n    return i\n"
    tree = follow(text, "f", "f(5)", most=60, then=Enough()).zoomed.tree()
    calls = [tree.call(position) for position in range(1, len(tree.columns))]
    shown = [call.equation() for call in calls]
    assert any("i += 2; before: i = 4 → after: i = 6" in line for line in shown)
    loop = next(call for call in calls if "while i != n" in call.equation())
    assert loop.outcome.kind is OutcomeKind.NOT_TERMINATED
    assert "had not ended" in loop.equation()
    rounds = [call for call in calls if ", rounds " in call.equation()]
    assert {call.outcome.kind for call in rounds} == {OutcomeKind.NOT_TERMINATED}
    assert tree.columns.implicit[len(tree.columns) - 1], "what came later may be at fault, too"
    assert "what came after that" in shown[-1]


def test_exceptions_are_part_of_the_question_wherever_they_are_caught() -> None:
    shown = steps(
        """
        from contextlib import suppress
        def f(words):
            found = []
            for word in words:
                with suppress(KeyError):
                    try:
                        found.append(int(word))
                    except ValueError as problem:
                        found.append({}[word])
                    finally:
                        found.append("-")
            raise RuntimeError(found)
        """,
        "f(['1', 'x'])",
    )
    assert any("found.append(int(word))" in line and "raises ValueError(" in line for line in shown)
    assert any("found.append({}[word])" in line and "raises KeyError(" in line for line in shown)
    swallowed = next(line for line in shown if "in round 2: with suppress" in line)
    assert swallowed.endswith("after: found = [1, '-', '-']")
    assert any("raise RuntimeError(found)" in line and "raises RuntimeError" in line
               for line in shown)  # fmt: skip


def test_what_closures_and_globals_hold_counts() -> None:
    shown = steps(
        """
        count = 0
        def f(xs):
            global count
            total = 0
            def add(x):
                nonlocal total
                total += x
            for x in xs:
                add(x)
                count += 1
            return total
        """,
        "f([1, 2])",
    )
    assert "line 9, in round 2: add(x); before: x = 2, total = 1 → after: total = 3" in [
        line.replace("before: total = 1, x = 2", "before: x = 2, total = 1") for line in shown
    ]
    assert any("count += 1; before: count = 1 → after: count = 2" in line for line in shown)


@pytest.mark.parametrize("body", ["return 1", "pass", "return", "raise ValueError"])
def test_the_smallest_bodies_have_one_step(body: str) -> None:
    assert len(steps(f"def f():\n    {body}\n", "f()")) == 1
