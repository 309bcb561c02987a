"""The tree of the steps of a call: its questions, small and complete."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest
from zoom_runs import follow

from whence.langs.python.zoom.segments import SegmentKind
from whence.langs.python.zoom.step_log import StepLog
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
    while not any(each.kind is SegmentKind.ROUND for each in pending[-1].children):
        pending += pending.pop().children
    above = pending[-1]
    depth = 0
    while True:
        inner = [each for each in above.children if each.kind is SegmentKind.ROUNDS]
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


def test_what_the_next_round_or_a_handler_binds_is_not_what_a_step_did() -> None:
    shown = steps(
        """
        def f(words, out):
            for word in words:
                if not word:
                    out.append(0)
                    continue
                try:
                    n = int(word)
                except ValueError as problem:
                    out.append(str(problem)[:1])
                    continue
                finally:
                    out.append(word)
            return word
        """,
        "f(['', 'x', 'y'], [])",
    )
    left = next(line for line in shown if "in round 1: if not word" in line)
    assert left.endswith("after: out = [0], goes on to the next round")
    raised = next(line for line in shown if "in round 2: n = int(word)" in line)
    assert "after: raises ValueError(" in raised
    handled = next(line for line in shown if line.startswith("lines 9 to 10, in round 2"))
    assert "before: out = [0], problem = ValueError(" in handled
    assert not any("problem is gone" in line for line in shown)


def test_what_patterns_and_with_bind_is_not_needed_before() -> None:
    shown = steps(
        """
        from contextlib import nullcontext
        def f(commands):
            x = 0
            for command in commands:
                with nullcontext(2) as factor:
                    match command:
                        case ("by", n) if n > factor:
                            x += n * factor
                        case ("to", n):
                            x = n
            return x
        """,
        "f([('by', 3), ('to', 1)])",
    )
    rest = next(line for line in shown if line.startswith("lines 4 to 10, round 2"))
    assert rest == (
        "lines 4 to 10, round 2; before: x = 6, still to come = [('to', 1)] → after: x = 1"
    )
    assert (
        "line 8, in round 1: x += n * factor; before: x = 0, factor = 2, n = 3 → after: x = 6"
        in [line.replace("n = 3, factor = 2", "factor = 2, n = 3") for line in shown]
    )


def test_of_several_statements_in_a_line_each_is_named_by_its_own_text() -> None:
    shown = steps(
        """
        def f(xs):
            xs[0] += 1; xs[1] *= 2
            if len(xs) > 1: xs.append(
                0)
            for x in xs: pass  # nothing
            if (xs[0] and
                (x or True)  # :)
            ):
                x = 1
            return xs
        """,
        "f([1, 2])",
    )
    labels = [line.partition(";")[0].partition(" →")[0] for line in shown]
    assert {"line 2: xs[0] += 1", "line 2: xs[1] *= 2"} <= set(labels)
    assert "lines 3 to 4: if len(xs) > 1" in labels
    assert "lines 3 to 4: xs.append( 0)" in labels
    assert "line 5: for x in xs" in labels
    assert "lines 6 to 9: if (xs[0] and (x or True))" in labels


def test_declarations_are_no_steps() -> None:
    shown = steps("n = 0\ndef f():\n    global n\n    n += 1\n    return n\n", "f()")
    assert [line.partition(";")[0] for line in shown] == ["line 4: n += 1", "line 5: return n"]


def test_what_others_print_while_a_generator_waits_is_not_its_doing() -> None:
    told = {
        "names": [], "types": [], "values": [""], "variables": [], "why": "left",
        "events": [
            ["enter", -1, None, [], 0, 0], ["at", 0, None, [], 0, 2], ["yield", -1, 0, [], 0, 4],
            ["sent", -1, 0, [], 0, 9], ["done", 0, None, [], 0, 11],
        ],
    }  # fmt: skip
    events = StepLog(told, b"..my" + b"other" + b"s.")
    assert events.output_between(1, 4) == "mys."
    assert events.printed_from(1, 4) == [(2, 4), (9, 11)]
    assert events.printed_from(1, 2) == [(2, 4)]
    assert events.printed_from(3, 4) == [(9, 11)]


def test_values_that_hold_one_object_twice_are_shown_whole() -> None:
    shown = steps(
        """
        def f():
            a, b = [1], [2]
            xs, ys = [a, a], [b, b]
            return xs, ys
        """,
        "f()",
    )
    assert "before: xs = [[1], [1]], ys = [[2], [2]] → after: " in shown[-1]
    assert shown[-1].endswith("returns ([[1], [1]], [[2], [2]])")
    assert "result[0][1] is result[0][0], result[1][1] is result[1][0]" in shown[-1]


def test_except_star_is_told_with_the_whole_group() -> None:
    shown = steps(
        """
        def f():
            try:
                raise ExceptionGroup("two", [KeyError(), ValueError()])
            except* ValueError:
                n = 1
            except* KeyError:
                n = 2
            return n
        """,
        "f()",
    )
    [raised] = [line for line in shown if "raise ExceptionGroup" in line]
    assert raised.endswith("raises ExceptionGroup('two', [KeyError(), ValueError()])")


def test_what_a_step_binds_is_shown_although_it_is_what_it_was() -> None:
    shown = steps(
        """
        def f(xs):
            out = []
            for x in xs:
                y = x % 2
                if x > 5:
                    y = 0
                out.append(y)
            return out
        """,
        "f([1, 3])",
    )
    assert "line 4, in round 2: y = x % 2; before: x = 3 → after: y = 1" in shown
    assert "lines 5 to 6, in round 2: if x > 5; before: x = 3 → after: nothing changed" in shown
