"""Marks and how calls are written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from whence.errors import UsageError
from whence.model.call import (
    Binding,
    Call,
    Effect,
    Function,
    Outcome,
    OutcomeKind,
    Rule,
    expand_shared,
    find_mark,
    roots,
)
from whence.model.value import Kind, Limits, Value, atom, parse_path, show


def listed(*texts: str) -> Value:
    return Value(Kind.LIST, "", tuple((f"[{n}]", atom(t)) for n, t in enumerate(texts)))


POINT = Value(Kind.OBJECT, "Point", ((".x", atom("1")), (".tags", listed("a", "b"))))
TABLE = Value(Kind.DICT, "", (("['k']", POINT), ("[3]", atom("c"))))


def call(outcome: Outcome | None = None, effects: tuple[Effect, ...] = ()) -> Call:
    return Call(
        Function("mod.f", "f"),
        Rule("mod.f", "mod.f"),
        outcome or Outcome(OutcomeKind.RETURNED, TABLE),
        (Binding("xs", listed("1", "2")), Binding("", POINT)),
        effects=effects,
    )


@pytest.mark.parametrize(
    ("path", "text", "is_input"),
    [
        ("xs[1]", "2", True),
        ("arg1[0]", "1", True),
        ("arg2.tags[1]", "b", True),
        ("result['k'].x", "1", False),
        ("result[k].tags[0]", "a", False),
        ("result[3]", "c", False),
    ],
)
def test_a_path_leads_to_its_part(path: str, text: str, is_input: bool) -> None:
    found = find_mark(call(), path, input_side=is_input)
    assert (found.value.text, found.is_input) == (text, is_input)


@pytest.mark.parametrize("path", ["", "[0]", "ys", "xs[9]", "xs.", "xs[1", "result.x", "xs[0]q"])
def test_a_path_that_leads_nowhere_says_what_there_is(path: str) -> None:
    with pytest.raises(UsageError):
        find_mark(call(), path, input_side=True)


def test_what_was_changed_is_marked_by_its_name_even_with_dots() -> None:
    changed = Effect("self.items", listed("1"), listed("1", "2"))
    found = find_mark(call(effects=(changed,)), "self.items[1]", input_side=False)
    assert (found.value.text, found.is_input) == ("2", False)
    assert found.mark.root == "self.items"


def test_an_argument_that_was_changed_has_two_sides() -> None:
    changed = call(effects=(Effect("xs", listed("1", "2"), listed("9", "2")),))
    assert find_mark(changed, "xs[0]", input_side=True).value.text == "1"
    assert find_mark(changed, "xs[0]", input_side=False).value.text == "9"


def test_what_a_call_changed_can_be_marked_as_it_was_before() -> None:
    changed = call(effects=(Effect("config", listed("1", "2"), listed("9")),))
    before = find_mark(changed, "config[1]", input_side=True)
    assert (before.value.text, before.is_input) == ("2", True)


def test_yielded_values_can_be_marked_and_are_folded_when_many() -> None:
    many = tuple(atom(str(n)) for n in range(500))
    generator = call(Outcome(OutcomeKind.YIELDED, None, many))
    assert find_mark(generator, "yielded[3]", input_side=False).value.text == "3"
    assert "yielded" in roots(generator)
    assert len(generator.right()) < 100
    assert "more" in generator.right()


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome(OutcomeKind.RETURNED, atom("1")), "→ 1"),
        (Outcome(OutcomeKind.RETURNED), "→ ?"),
        (Outcome(OutcomeKind.RAISED, atom("E()")), "raised E()"),
        (Outcome(OutcomeKind.NOT_TERMINATED), "did not end"),
        (Outcome(OutcomeKind.YIELDED), "yielded nothing"),
        (
            Outcome(OutcomeKind.YIELDED, None, (atom("1"), atom("2"))),
            "yielded 1, 2, and was left there",
        ),
        (Outcome(OutcomeKind.RETURNED, atom("3"), (atom("1"),)), "yielded 1, then returned 3"),
        (Outcome(OutcomeKind.RAISED, atom("E()"), (atom("1"),)), "yielded 1, raised E()"),
    ],
)
def test_every_outcome_is_written(outcome: Outcome, words: str) -> None:
    assert call(outcome).right() == words


def test_values_are_folded_with_what_was_left_out_counted() -> None:
    long = Value(Kind.LIST, "", listed(*"abcdefgh").parts, omitted=12)
    assert show(long, Limits(parts=3)) == "[a, b, c, …17 more]"
    assert show(TABLE, Limits(depth=1)) == "{'k': Point(…), 3: c}"
    assert show(TABLE) == "{'k': Point(x=1, tags=[a, b]), 3: c}"
    assert show(Value(Kind.TUPLE, "", (("[0]", atom("1")),))) == "(1,)"
    assert len(show(listed("x" * 1000), Limits(characters=50))) <= 51


@pytest.mark.parametrize(
    ("text", "root", "steps"),
    [
        ("result", "result", ()),
        (" xs[0] ", "xs", ("[0]",)),
        ("a['x.y'].b[c[1]]", "a", ("['x.y']", ".b", "[c[1]]")),
        ("a['it\\'s']", "a", ("['it\\'s']",)),
    ],
)
def test_paths_are_split_into_steps(text: str, root: str, steps: tuple[str, ...]) -> None:
    assert parse_path(text) == (root, steps)


def shared(number: int) -> Value:
    return Value(Kind.SHARED, identity=number)


def test_a_value_is_shown_wherever_it_occurs_but_inside_itself() -> None:
    xs = Value(Kind.LIST, "", (("[0]", atom("1")),), identity=7)
    loop = Value(Kind.LIST, "", (("[0]", shared(9)), ("[1]", shared(7))), identity=9)
    again = Call(
        Function("f"),
        Rule("f", "f"),
        Outcome(OutcomeKind.RETURNED, loop),
        (Binding("x", xs), Binding("y", shared(7)), Binding("z", shared(404))),
    )
    whole = expand_shared(again)
    assert whole.left() == "f(x=[1], y=[1], z=<same as #404>)"
    assert whole.right() == "→ [<same as #9>, [1]]"
    assert find_mark(again, "y[0]", input_side=True).value.text == "1"


def test_a_changed_value_is_itself_before_and_after() -> None:
    before = Value(Kind.LIST, "", (("[0]", atom("1")),), identity=7)
    after = Value(Kind.LIST, "", (("[0]", atom("2")),), identity=7)
    changed = Call(
        Function("f"),
        Rule("f", "f"),
        Outcome(OutcomeKind.RETURNED, shared(7)),
        (Binding("x", before),),
        effects=(Effect("x", shared(7), after),),
    )
    whole = expand_shared(changed)
    assert whole.right() == "→ [2]"
    assert whole.effects[0].before is not None
    assert show(whole.effects[0].before) == "[1]"


def test_values_that_double_with_each_step_are_put_in_in_linear_time() -> None:
    level = Value(Kind.LIST, "", (("[0]", atom("1")),), identity=0)
    parts = [("[0]", level)]
    for number in range(1, 60):
        pair = (("[0]", shared(number - 1)), ("[1]", shared(number - 1)))
        parts.append((f"[{number}]", Value(Kind.LIST, "", pair, identity=number)))
    doubled = Call(
        Function("f"),
        Rule("f", "f"),
        Outcome(OutcomeKind.RETURNED, Value(Kind.LIST, "", tuple(parts))),
    )
    whole = expand_shared(doubled).outcome.value
    assert whole is not None
    assert len(show(whole)) < 400


def test_an_empty_set_is_not_taken_for_a_dict() -> None:
    assert show(Value(Kind.SET)) == "set()"
    assert show(Value(Kind.DICT)) == "{}"
    assert show(Value(Kind.SET, omitted=2)) == "{…2 more}"
    assert show(Value(Kind.SET, "", (("[0]", atom("1")),))) == "{1}"


@pytest.mark.parametrize("is_run", [True, False])
def test_a_mark_on_one_of_many_printed_lines_makes_no_value_of_the_others(
    is_run: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = tuple(f"line {number}" for number in range(1000))
    printed = {"output": lines} if is_run else {"printed": "\n".join(lines) + "\n"}
    made: list[str] = []

    def noted(text: str) -> Value:
        made.append(text)
        return atom(text)

    monkeypatch.setattr("whence.model.call.atom", noted)
    marked = find_mark(replace(call(), **printed), "printed[700]['700']", input_side=False)
    assert str(marked.mark) == "printed[700][5:8]"
    assert made == ["'line 700'"]
    with pytest.raises(UsageError, match=r"has no part \[1000\]; it has \[0\], \[1\]"):
        find_mark(replace(call(), **printed), "printed[1000]", input_side=False)


def test_a_path_that_is_not_one_is_quoted_as_it_was_typed_and_a_long_text_is_cut() -> None:
    text = Value(Kind.ATOM, repr("abc" * 1000))
    call = Call(Function("f"), Rule("f", "f"), Outcome(OutcomeKind.RETURNED, text))
    with pytest.raises(UsageError, match=r"^'result\[': the bracket at column 7 is not closed"):
        find_mark(call, "result[", input_side=False)
    with pytest.raises(UsageError) as problem:
        find_mark(call, "result[5000]", input_side=False)
    assert "has no part [5000]" in str(problem.value) and len(str(problem.value)) < 200
