import time
from collections.abc import Callable
from dataclasses import replace

from whence.model.call import Call, Effect, Outcome, OutcomeKind
from whence.model.value import FULL, Kind, Limits, Value, atom, show
from whence.tree.codec import decode_value
from whence.ui.terminal.multiline import brief, equation, first_lines, fit, fold
from whence.ui.terminal.screen import hanging


def test_a_list_fills_its_lines_and_an_object_has_a_line_for_each_part() -> None:
    value = decode_value({"object": "P", "fields": {"name": "'Ada'", "xs": list(range(20))}})
    assert list(fold(value, FULL, 30, before="p = ", after=";")) == [
        "p = P(",
        "  name='Ada',",
        "  xs=[",
        "    0, 1, 2, 3, 4, 5, 6, 7, 8,",
        "    9, 10, 11, 12, 13, 14, 15,",
        "    16, 17, 18, 19,",
        "  ],",
        ");",
    ]


def test_what_was_left_out_is_counted() -> None:
    value = decode_value({"list": list(range(50)), "more": 3})
    lines = list(fold(value, Limits(depth=2, parts=12), 20))
    assert lines[-2].endswith("…41 more")


def test_a_text_without_parts_is_cut_where_the_line_ends() -> None:
    assert list(fold(decode_value("x" * 25), FULL, 10)) == ["x" * 10, "x" * 10, "x" * 5]


def test_what_is_nested_deep_is_left_out_before_what_comes_late() -> None:
    deep = [[[n, n + 1] for n in range(9)] for _ in range(9)]
    value = decode_value({"object": "P", "fields": {"deep": deep, "last": 1}})
    lines = fit(value, Limits(), 40, 6, before="")
    assert len(lines) <= 6
    assert any("last=1" in line for line in lines)


def test_lines_are_made_only_when_they_are_needed() -> None:
    inner = decode_value(list(range(100)))
    value = Value(Kind.LIST, "", tuple((f"[{n}]", inner) for n in range(100_000)))
    lines = fold(value, FULL, 40)
    start = time.perf_counter()
    assert first_lines(lines, 3)[-1].strip() == "…"
    assert time.perf_counter() - start < 0.5


def test_a_brief_call_keeps_its_outcome(call: Callable[..., Call]) -> None:
    made = call(given={"xs": list(range(100)), "ys": list(range(100))}, returned=42)
    for width in (20, 40, 60):
        text = brief(made, width)
        assert len(text) <= width
        assert text.endswith("→ 42")


def test_a_brief_call_folds_its_receiver_and_says_what_it_changed(
    call: Callable[..., Call],
) -> None:
    fields = {f"name{number}": number for number in range(20)}
    held = {"object": "Shop", "fields": fields}
    made = call(given={"self": held, "key": "'tea'", "value": 5}, returned="None")
    effects = (Effect("self['tea']", atom("3"), atom("5")), Effect("self.size", None, atom("1")))
    text = brief(replace(made, effects=effects), 70)
    assert "(self=…, key='tea', value=5) → None, changed self['tea']…" in text
    assert brief(made, 50).endswith("(self=…, key='tea', value=5) → None")


def test_an_equation_in_the_language_of_the_tracer_is_shown_as_it_is(
    call: Callable[..., Call],
) -> None:
    made = call(text="sum2 3 = 2")
    assert equation(made, Limits(), 80, 5) == ["sum2 3 = 2"]
    assert len(equation(call(text="x" * 1000), Limits(), 50, 5)) == 5


def test_objects_that_are_not_opened_are_told_apart_by_a_text() -> None:
    tokens = [Value(Kind.OBJECT, "Token", ((".ok", atom("True")), (".value", atom(f"'{each}'"))))
              for each in ("a", "b")]  # fmt: skip
    value = Value(Kind.LIST, "", tuple((f"[{n}]", each) for n, each in enumerate(tokens)))
    assert show(value, Limits(depth=1)) == "[Token('a', …), Token('b', …)]"


def test_a_small_pair_is_shown_however_deep_it_is() -> None:
    pair = Value(Kind.LIST, "", (("[0]", atom("2")), ("[1]", atom("3"))))
    value = Value(Kind.LIST, "", (("[0]", pair),))
    assert show(value, Limits(depth=1)) == "[[2, 3]]"


def test_attributes_stand_in_rows_before_anything_is_left_out() -> None:
    parts = tuple((f".a{number}", atom("0")) for number in range(9))
    lines = fit(Value(Kind.OBJECT, "Many", parts), Limits(), 40, 4, before="")
    assert lines[0] == "Many(" and lines[-1] == ")"
    assert " ".join(lines[1:-1]).split() == [f"a{number}=0," for number in range(9)]


def test_the_rest_of_a_long_line_stands_beside_its_label() -> None:
    line = "  It called      " + "word " * 12
    assert hanging(line, 40)[1].startswith(" " * 19 + "word")
    unbroken = hanging("  It called      " + "x" * 50, 40)
    assert unbroken == ["  It called      " + "x" * 50]


def test_why_a_call_did_not_end_is_told_likewise_on_several_lines(
    call: Callable[..., Call],
) -> None:
    why = atom("it was stopped where calls were nested 100 deep")
    stopped = replace(call("f"), outcome=Outcome(OutcomeKind.NOT_TERMINATED, why))
    narrow = " ".join(equation(stopped, FULL, 30, 20))
    assert " ".join(narrow.split()) == stopped.equation(FULL)
