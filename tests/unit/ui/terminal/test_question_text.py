import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from whence.langs.python.source.python_syntax import PythonSyntax
from whence.model.call import Call, Function, Location, Mark, OutcomeKind
from whence.model.question import Question
from whence.model.value import atom, columns
from whence.model.verdict import Answer, Verdict
from whence.report.question_content import is_plain_call
from whence.report.source import Sources
from whence.ui.terminal.question_text import (
    LEFT_OUT,
    QuestionContext,
    opening,
    prompt,
    question_lines,
)

Build = Callable[..., Call]


def asked(call: Call, **more: Any) -> Question:
    facts = {"strategy": "auto", "why": "", "suspects": 9, "weight": 9.0, "expected": 4}
    return Question(7, call, **{**facts, **more})


def shown(call: Call, width: int = 80) -> list[str]:
    return [line.text for line in question_lines(asked(call), 3, width)]


def test_a_question_shows_the_call_and_its_place(call: Build) -> None:
    assert shown(call(given={"x": 1}, returned=2)) == [
        "Question 3 (up to 8 more)",
        "  f(x=1) → 2",
        "  at m.py:3",
    ]


def test_state_effects_and_output_are_shown_only_where_there_is_any(call: Build) -> None:
    lines = shown(
        call(
            given={"x": 1},
            read={"LIMIT": 5},
            changed={"seen": ([1, 2], [1, 2, 1]), "n": (None, 1), "old": (3, None)},
            returned="None",
            printed="hello\n",
        )
    )
    assert lines[2:-1] == [
        "  it made seen[2] = 1",
        "  it made n = 1",
        "  it removed old, which was 3",
        "  it printed: hello",
        "  it read LIMIT = 5",
    ]


def test_the_receiver_and_what_was_read_are_folded_before_the_outcome(call: Build) -> None:
    rows = [{"dict": [["'name'", f"'{name}'"], ["'items'", list(range(8))]]} for name in "abcdef"]
    large = {"object": "Shop", "fields": {f"part{n}": list(range(9)) for n in range(20)}}
    lines = shown(call(given={"self": large, "n": 3}, read={"CONFIG": large}, returned=rows))
    text = "".join(line.strip() for line in lines)
    for name in "abcdef":
        assert f"'name': '{name}', 'items': [0, 1, 2, 3, 4, 5, 6, 7]" in text
    assert [line for line in lines if line.startswith("    self=Shop(")]
    assert [line.split("=")[0] for line in lines if "CONFIG" in line] == ["  it read CONFIG "]
    assert "    n=3)" in lines
    assert len(lines) <= 23


def test_what_a_call_changed_is_not_left_out_for_its_arguments(call: Build) -> None:
    large = {"dict": [[f"'key{n}'", f"'{'x' * 60}'"] for n in range(12)]}
    changed = {f"total{n}": (n, n + 100) for n in range(9)}
    lines = shown(call(given={"a": large, "b": large}, changed=changed, returned=[7, 8]))
    assert "  → [7, 8]" in lines
    changes = ", ".join(
        line.removeprefix("  it changed ") for line in lines if "it changed" in line
    )
    assert changes == ", ".join(f"total{n}: {n} → {n + 100}" for n in range(9))
    assert len(lines) <= 23
    assert "  (… was left out; show prints it all)" in lines


def test_only_the_parts_that_changed_are_shown(call: Build) -> None:
    before = {"object": "Account", "fields": {"owner": "'Ada'", "balance": 10, "log": [1, 2]}}
    after = {"object": "Account", "fields": {"owner": "'Ada'", "balance": -20, "log": [1, 3]}}
    lines = shown(call(given={}, changed={"self": (before, after)}, returned="None"))
    assert "  it changed self.balance: 10 → -20" in lines
    assert "  it changed self.log[1]: 2 → 3" in lines
    assert not any("Ada" in line for line in lines)


def test_a_value_that_changed_all_over_is_shown_as_a_whole(call: Build) -> None:
    lines = shown(call(changed={"xs": ([1, 2, 3], [3, 4, 1, 2])}, returned="None"))
    assert "  it changed xs: [1, 2, 3] → [3, 4, 1, 2]" in lines


def test_what_differs_too_deep_to_be_seen_in_the_whole_is_told_by_its_parts(call: Build) -> None:
    def graph(*edges: int) -> dict[str, object]:
        deep = {"dict": [[f"'{name}'", {"dict": [["'to'", list(edges)]]}] for name in "abcdefghij"]}
        return {
            "object": "Graph",
            "fields": {"adjacent": {"object": "View", "fields": {"x": deep}}},
        }

    lines = shown(call(changed={"self": (graph(1, 2), graph(1, 3))}, returned="None"))
    assert "  it changed self.adjacent.x['a']['to'][1]: 2 → 3" in lines
    assert not any("from Graph" in line for line in lines)


def test_what_was_put_in_or_taken_out_is_all_that_is_shown_of_a_list(call: Build) -> None:
    lines = shown(call(changed={"xs": ([1, 2, 3], [0, 1, 2, 3])}, returned="None"))
    assert "  it inserted xs[0] = 0" in lines
    lines = shown(call(changed={"xs": ([1, 2, 3], [1, 3])}, returned="None"))
    assert "  it removed xs[1], which was 2" in lines


def test_several_parts_of_one_value_stand_under_its_name(call: Build) -> None:
    events = [{"object": "Event", "fields": {"number": n, "kind": "'arrived'"}} for n in range(4)]
    changed: Any = {f"log.events[{n}]": (None, event) for n, event in enumerate(events)} | {
        "log.n": (1, 2),
        "log.open['a']": (5, 6),
        "log.open['b']": (7, None),
        "log.open['c']": ([1], "'" + "x" * 90 + "'"),
    }
    lines = shown(call(changed=changed, returned="None"))
    assert lines[2:-1] == [
        "  it changed log.events:",
        "    + [0] Event(number=0, kind='arrived')",
        "    + [1] Event(number=1, kind='arrived')",
        "    + [2] Event(number=2, kind='arrived')",
        "    + [3] Event(number=3, kind='arrived')",
        "  it changed log.n: 1 → 2",
        "  it changed log.open:",
        "    ['a']: 5 → 6",
        "    - ['b'] 7",
        "    ['c']:",
        "      - [1]",
        "      + '" + "x" * 71,
        "      " + "x" * 19 + "'",
    ]


def test_of_long_texts_the_place_where_they_differ_is_shown(call: Build) -> None:
    one, other = ("'" + "a" * 500 + word + "b" * 500 + "'" for word in ("old", "new"))
    lines = shown(call(changed={"text": (one, other)}, returned="None"))
    assert [line for line in lines if line.startswith("    - …a") and "old" in line]
    assert [line for line in lines if line.startswith("    + …a") and "new" in line]


def test_a_reference_names_the_place_of_what_it_refers_to(call: Build) -> None:
    root = {"object": "Node", "fields": {"name": "'r'", "parent": {"same": 1}}, "id": 1}
    (line,) = shown(call(given={"tree": {"object": "Tree", "fields": {"root": root}}}, returned=1))[
        1:2
    ]
    assert line == "  f(tree=Tree(root=Node(name='r', parent=<same as tree.root>))) → 1"


def test_a_set_is_told_by_its_members(call: Build) -> None:
    sets = ({"set": [*range(1, 9)]}, {"set": [*range(2, 10)]})
    lines = shown(call(changed={"s": sets}, returned="None"))
    assert lines[2:4] == ["  it removed 1 from s", "  it added 9 to s"]


def test_code_that_a_call_names_is_not_among_what_it_read(call: Build) -> None:
    read = {"helper": "<function helper>", "np": "<module numpy>", "K": "<class K>", "n": 3}
    lines = shown(call(read={**read, "__annotations__": {"dict": []}}, returned=1))
    assert [line for line in lines if "it read" in line] == ["  it read n = 3"]


def test_what_differs_from_the_last_call_of_the_function_is_said(call: Build) -> None:
    last = call(given={"a": [1, 2], "b": 3, "c": 4}, returned=1)
    now = asked(call(given={"a": [1, 2], "b": 5, "c": 4}, returned=2))

    def lines(context: QuestionContext) -> list[str]:
        return [line.text for line in question_lines(now, 2, 80, context)]

    assert "  differs from the last one in: b" in lines(QuestionContext(last=last))
    assert not any(
        "differs" in line for line in lines(QuestionContext(last=call("g", given={"a": 1})))
    )
    other = call(given={"a": [9], "b": 9, "c": 9}, returned=1)
    assert not any("differs" in line for line in lines(QuestionContext(last=other))), (
        "everything does"
    )
    bold = question_lines(now, 2, 80, QuestionContext(last=last, emphasised=True))
    assert not any("differs" in line.text for line in bold)
    assert "b=5" in bold[1].strong


def test_nothing_is_said_to_be_left_out_that_was_never_recorded(call: Build) -> None:
    lines = shown(call(given={"xs": {"list": [1], "more": 9}, "m": "<re.Match> …"}, returned=1))
    assert lines[1] == "  f(xs=[1, …9 more], m=<re.Match> …) → 1"
    assert not any("was left out" in line for line in lines)


def test_a_long_text_is_shown_by_its_ends_with_a_count(call: Build) -> None:
    text = "'" + "a" * 500 + "b" * 500 + "'"
    lines = shown(call(given={"s": text}, returned=1), 300)
    assert lines[1].endswith("bbb') → 1")
    assert "…802 more…" in lines[1]
    assert "  (… was left out; show prints it all)" in lines


def test_an_effect_without_a_visible_difference_is_said_to_be_one(call: Build) -> None:
    lines = shown(call(changed={"xs": ([1], [1])}, returned="None"))
    assert "  it changed xs in a part that was not recorded" in lines


def test_a_dict_that_was_only_reordered_is_shown_in_both_orders(call: Build) -> None:
    entries = [["'a'", 1], ["'b'", 2]]
    before, after = {"dict": entries}, {"dict": entries[::-1]}
    lines = shown(call(changed={"d": (before, after)}, returned="None"))
    assert "  it reordered d: {'a': 1, 'b': 2} → {'b': 2, 'a': 1}" in lines
    lines = shown(call(changed={"d": (before, after)}, returned="None"), 40)
    assert "  it reordered d:" in lines


def test_long_output_is_cut_off(call: Build) -> None:
    lines = shown(call(returned=1, printed="".join(f"line {n}\n" for n in range(50))))
    assert "    | line 5" in lines
    assert "    | … 44 more lines" in lines


def test_a_call_that_fits_stays_on_one_line_and_others_are_folded(call: Build) -> None:
    big = call(given={"xs": list(range(100, 112)), "name": "'short'"}, returned=list(range(9)))
    assert shown(big, 120)[1] == f"  {big.equation()}"
    assert shown(big, 60)[1:-1] == [
        "  f(xs=[100, 101, 102, 103, 104, 105, 106, 107, 108, 109,",
        "    110, 111], name='short')",
        "  → [0, 1, 2, 3, 4, 5, 6, 7, 8]",
    ]
    names = {"dict": [[f"'key {n}'", f"'{'x' * 40}'"] for n in range(4)]}
    assert shown(call(given={"names": names, "n": 1}, returned=1), 60)[1:-1] == [
        "  f(",
        "    names={",
        *[f"      'key {n}': '{'x' * 40}'," for n in range(4)],
        "    },",
        "    n=1)",
        "  → 1",
    ]


@pytest.mark.parametrize("width", [45, 60, 80, 120])
def test_no_line_of_a_large_call_is_wider_than_the_screen(call: Build, width: int) -> None:
    nested: Any = {"dict": [["'key'", list(range(30))], ["'other'", "'" + "x" * 500 + "'"]]}
    lines = shown(
        call(
            given={"a": nested, "b": [nested, nested]},
            read={"c": nested},
            changed={"d": (nested, [nested])},
            returned=nested,
        ),
        width,
    )
    assert max(map(len, lines)) <= width
    assert len(lines) < 60
    assert "  (… was left out; show prints it all)" in lines


def test_a_call_with_many_yields_is_cut_off(call: Build) -> None:
    kind = OutcomeKind.YIELDED
    lines = shown(call(kind=kind, yielded=range(10_000)))
    assert len(lines) < 30
    assert any("9940 more" in line for line in lines)


@pytest.mark.parametrize(
    ("kind", "words", "question"),
    [
        (OutcomeKind.RETURNED, "f() → 1", "Right? "),
        (OutcomeKind.RAISED, "f() raised 1", "Right to raise that? "),
        (OutcomeKind.YIELDED, "f() yielded nothing", "Right so far? "),
        (
            OutcomeKind.NOT_TERMINATED,
            "f() did not end: 1",
            "Right to call this, and right that it had not ended? ",
        ),
    ],
)
def test_each_outcome_is_asked_about_in_its_own_words(
    call: Build, kind: OutcomeKind, words: str, question: str
) -> None:
    made = call(kind=kind, returned=1)
    assert shown(made)[1] == f"  {words}"
    assert prompt(asked(made)) == f"{question}[y/n/i/?] "


def test_the_place_where_it_raised_is_named(call: Build) -> None:
    here = call(kind=OutcomeKind.RAISED, returned="E", raised_at=Location("m.py", 9))
    assert shown(here)[-1] == "  at m.py:3, raised in line 9"
    there = call(kind=OutcomeKind.RAISED, returned="E", raised_at=Location("n.py", 9))
    assert shown(there)[-1] == "  at m.py:3, raised at n.py:9"


PROGRAM = """\
import re
basket = [1, 2, 3]
def f(items, limit=100, names=(), key=re.escape, *, strict=False):
    \'\'\'Sum the items.

    Slowly.\'\'\'
    return sum(items)
total = f(basket, limit=5*10)
"""


def test_the_definition_tells_the_defaults_and_the_purpose(call: Build, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(PROGRAM)
    given = {
        "items": [f"'{'x' * 60}'"], "limit": 50, "names": {"tuple": []},
        "key": "<function re.escape>", "strict": "False",
    }  # fmt: skip
    question = asked(call(given=given, returned=6, site=Location("m.py", 8, 9, (8, 30))))
    context = QuestionContext(Sources(tmp_path, time.time() + 9, PythonSyntax()))
    assert [line.text for line in question_lines(question, 1, 80, context)][1:] == [
        "  f(",
        f"    items=['{'x' * 60}'],",
        "    limit=50, …3 with their defaults)",
        "  → 6",
        "  documented as: Sum the items.",
        "  at m.py:3, called as f(basket, limit=5*10) in line 8",
    ]
    short = asked(
        call(given={"items": [1], "limit": 100}, returned=1, site=Location("m.py", 8, 9, (8, 30)))
    )
    lines = [line.text for line in question_lines(short, 1, 60, context)]
    assert lines[1] == "  f(items=[1], limit=100) → 1", "what fits is not left out"
    changed = QuestionContext(Sources(tmp_path, 1.0, PythonSyntax()))
    assert len(question_lines(short, 1, 80, changed)) == 3, "nothing is known of a changed file"


def test_short_arguments_and_reads_stand_in_rows(call: Build) -> None:
    given = {"text": f"'{'x' * 300}'", "a": 1, "b": 2, "c": "'three'"}
    lines = shown(call(given=given, read={"LEAST": 1, "MOST": 9}, returned=1))
    assert "    a=1, b=2, c='three')" in lines
    assert "  it read LEAST = 1, MOST = 9" in lines


def test_a_single_part_more_is_shown_instead_of_counted(call: Build) -> None:
    (line,) = shown(call(given={"xs": list(range(13))}, returned=1))[1:2]
    assert line == f"  f(xs={list(range(13))}) → 1"
    assert "…2 more" in shown(call(given={"xs": list(range(14))}, returned=1))[1]


def test_changes_that_were_not_recorded_share_a_line(call: Build) -> None:
    cut_off = ({"list": [1], "more": 2}, {"list": [1], "more": 3})
    lines = shown(call(changed={"a": cut_off, "b": cut_off, "n": (1, 2)}, returned="None"))
    assert lines[2:4] == [
        "  it changed n: 1 → 2",
        "  it changed a, b in parts that were not recorded",
    ]


def test_wide_characters_are_measured(call: Build) -> None:
    wide = ["'" + "漢字" * 20 + "'"] * 3
    lines = shown(call(given={"xs": wide, "text": "'" + "漢字" * 60 + "'"}, returned=wide))
    assert max(map(columns, lines)) <= 80
    assert "漢字" * 60 in "".join(line.strip() for line in lines)
    assert columns("e\u0301a") == 2


SHOP = """\
class Shop:
    def total(self):
        return self.tax + price(self.items[0])
def price(item):
    return item.price
class Other:
    pass
def whole(shop):
    return vars(shop)
"""


def test_attributes_that_no_code_names_which_ran_are_only_counted(
    call: Build, tmp_path: Path
) -> None:
    (tmp_path / "m.py").write_text(SHOP)
    items = [{"object": "Item", "fields": {"name": f"'{n}'", "price": n, "box": n}} for n in "12"]
    fields = {"name": "'A'", "items": items, "tax": 3, "log": [1]}
    whole = call("total", given={"self": {"object": "Shop", "fields": fields}}, returned=4)
    sources = Sources(tmp_path, time.time() + 9, PythonSyntax())
    ran = [Function("m.Shop.total", "Shop.total", "m", Location("m.py", 2))]
    ran += [Function("m.price", "price", "m", Location("m.py", 4))]
    context = QuestionContext(sources, ran=ran)
    (line,) = [line.text for line in question_lines(asked(whole), 1, 120, context)][1:2]
    shown_items = "[Item(price=1, …2 not used), Item(2, …2 not used)]"
    assert line == f"  total(self=Shop(items={shown_items}, tax=3, …2 not used)) → 4"
    reaching = [*ran, Function("m.whole", "whole", "m", Location("m.py", 8))]
    for unknown in ([], reaching, [Function("m.x", "x", "m", Location("gone.py", 8))]):
        context = QuestionContext(sources, ran=unknown)
        text = "".join(line.text for line in question_lines(asked(whole), 1, 120, context))
        assert "not used" not in text
        assert "log=[1]" in text


def test_a_value_of_one_of_the_last_questions_is_not_shown_again(call: Build) -> None:
    rules = {"dict": [[f"'{name}'", [f"'{name * 20}'"]] for name in "abc"]}
    first = call("plan", given={"rules": rules}, returned=1)
    second = asked(call("visit", given={"table": rules, "goal": "'c'"}, returned=list(range(12))))

    def lines(*shown: tuple[int, Call]) -> list[str]:
        context = QuestionContext(shown=shown)
        return [line.text for line in question_lines(second, 3, 80, context)]

    assert lines((1, first))[1] == "  visit(table=<rules of question 1>, goal='c')"
    other = call("plan", returned=1)
    assert "aaa" in "".join(lines((1, first), *((n, other) for n in (2, 3, 4)))), (
        "it is too far above"
    )
    assert "aaa" in "".join(lines())


def test_an_attribute_that_one_of_the_last_questions_showed_is_not_shown_again(
    call: Build,
) -> None:
    def shop(count: int) -> Any:
        stock = [f"'{'pen' * 20}'"]
        return {"object": "Shop", "fields": {"stock": stock, "count": count}}

    first = call("plan", given={"shop": shop(1)}, returned=1)
    second = asked(call("sell", given={"self": shop(2)}, returned=f"'{'x' * 50}'"))
    lines = question_lines(second, 2, 80, QuestionContext(shown=[(1, first)]))
    assert lines[1].text == "  sell(self=Shop(stock=<shop.stock of question 1>, count=2))"


def test_a_file_is_named_when_it_changes_and_what_show_does_is_said_once(call: Build) -> None:
    question = asked(call("g", given={"text": [f"'{'x' * 3000}'"]}, returned=1))
    first = [line.text for line in question_lines(question, 1, 80)]
    assert first[-2:] == [f"  {LEFT_OUT}", "  at m.py:3"]
    here = QuestionContext(shown=[(1, call("f"))], knows_show=True)
    assert question_lines(question, 2, 80, here)[-1].text == "  line 3"
    assert LEFT_OUT not in "".join(line.text for line in question_lines(question, 2, 80, here))


@pytest.mark.parametrize(
    ("called", "is_plain"),
    [
        ("f(basket, limit=50)", True),
        ("f(9000, 'Ada x2 (late)', [\"a\"], key={1: -2.5})", True),
        ("self.f()", True),
        ("f(parse(text))", False),
        ("f(items[0])", False),
        ("f(number + 1)", False),
        ("f(x)(y)", False),
    ],
)
def test_an_expression_is_shown_if_it_says_more_than_its_values(
    called: str, is_plain: bool
) -> None:
    assert is_plain_call(called) is is_plain


def test_what_is_known_of_a_function_is_said_once(call: Build, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(PROGRAM)
    site = Location("m.py", 8, 9, (8, 30))
    question = asked(call(given={"items": [1]}, returned=6, site=site))
    sources = Sources(tmp_path, time.time() + 9, PythonSyntax())
    context = QuestionContext(sources, shown=[(1, question.call)])
    assert [line.text for line in question_lines(question, 2, 80, context)][1:] == [
        "  f(items=[1]) → 6"
    ]
    assert prompt(question, 2) == "Right? "
    elsewhere = QuestionContext(sources, shown=[(1, call(returned=6))])
    assert question_lines(question, 2, 80, elsewhere)[-1].text == (
        "  called as f(basket, limit=5*10) in line 8"
    )


def test_short_changes_share_a_line(call: Build) -> None:
    changed: Any = {f"log[{n}]": (None, n) for n in range(4)} | {"log[9]": (8, None)}
    changed |= {"a": (None, 1), "b": (None, f"'{'x' * 60}'"), "c": (None, 3), "d": (3, 4)}
    assert shown(call(changed=changed, returned="None"))[2:-1] == [
        "  it changed log:",
        "    + [0] 0, [1] 1, [2] 2, [3] 3",
        "    - [9] 8",
        "  it made a = 1",
        f"  it made b = '{'x' * 60}'",
        "  it made c = 3",
        "  it changed d: 3 → 4",
    ]


def test_a_generator_that_yielded_nothing_or_was_closed_reads_as_such(call: Build) -> None:
    closed = call(kind=OutcomeKind.RAISED, yielded=[1, 2], returned={"object": "GeneratorExit"})
    assert shown(closed)[1] == "  f() yielded 1, 2, and was closed there"
    assert prompt(asked(closed)) == "Right so far? [y/n/i/?] "
    long = call(
        kind=OutcomeKind.RAISED, yielded=range(1000, 1060), returned={"object": "GeneratorExit"},
        raised_at=Location("m.py", 9),
    )  # fmt: skip
    assert "  and was closed there" in shown(long)
    assert shown(long)[-1] == "  at m.py:3"
    empty = call(returned="None")
    empty = replace(empty, outcome=replace(empty.outcome, is_generator=True))
    assert shown(empty)[1] == "  f() yielded nothing"
    ended = replace(empty, outcome=replace(empty.outcome, value=atom("'x'")))
    assert shown(ended)[1] == "  f() yielded nothing, then returned 'x'"


def test_a_kind_of_dict_shows_all_of_its_keys(call: Build) -> None:
    entries = {"[4]": "'d'", "[1]": "'a'", "[2]": "'b'"}
    ordered = {"object": "OrderedDict", "fields": entries}
    assert shown(call(returned=ordered))[1] == "  f() → OrderedDict({4: 'd', 1: 'a', 2: 'b'})"


def test_of_a_table_that_is_returned_the_new_columns_are_shown(call: Build) -> None:
    old = {f"['{name}']": [1, 2, 3] for name in "abcd"}
    given, returned = (
        {"object": "DataFrame", "fields": fields}
        for fields in (old, {**old, "['b']": [1, 2, 4], "['sum']": [7, 8]})
    )
    lines = shown(call(given={"df": given}, returned=returned))
    (line,) = [line for line in lines if "→" in line]
    assert line == "  → DataFrame('b': [1, 2, 4], 'sum': [7, 8], others=<3 columns as in df>)"


def test_named_tuples_show_the_names_of_their_fields(call: Build, tmp_path: Path) -> None:
    text = "from typing import NamedTuple\nclass Item(NamedTuple):\n    name: str\n    cost: int\n"
    (tmp_path / "m.py").write_text(text)
    sources = Sources(tmp_path, time.time() + 9, PythonSyntax())
    items = [{"object": name, "fields": {"[0]": "'a'", "[1]": 1}} for name in ("Item", "Other")]
    question = asked(call(given={"items": items}, returned=items[0]))
    lines = question_lines(question, 1, 90, QuestionContext(sources))
    assert lines[1].text == (
        "  f(items=[Item(name='a', cost=1), Other('a', 1)]) → Item(name='a', cost=1)"
    )


def test_what_a_library_keeps_in_an_object_is_not_shown(call: Build) -> None:
    fields = {"id": 1, "__pydantic_extra__": "None", "__pydantic_fields_set__": {"set": ["'id'"]}}
    user = {"object": "User", "fields": fields}
    assert shown(call(given={"users": [user]}, returned=user))[1] == (
        "  f(users=[User(id=1)]) → User(id=1)"
    )


def test_an_earlier_answer_is_offered_again(call: Build) -> None:
    default = Answer(7, Verdict.WRONG, Mark("result", ("[1]",)))
    question = asked(call(returned=[1, 2]), default=default)
    assert prompt(question) == "Right? [y/n/i/?, Enter: n result[1]] "


def test_the_last_question_is_said_to_be_the_last(call: Build) -> None:
    lines = question_lines(asked(call(returned=1), expected=1), 9, 80)
    assert lines[0].text == "Question 9 (maybe the last one)"


@pytest.mark.parametrize(
    ("expected", "suspects", "text"),
    [
        (2, 3, "Question 9 (up to 3 more)"),
        (2, 1, "Question 9 (maybe the last one)"),
        (6, 40, "Question 9 (1 to 13 more)"),
        (7, 90, "Question 9"),
    ],
)
def test_how_many_questions_come_is_said_where_it_can_be_foreseen(
    call: Build, expected: int, suspects: int, text: str
) -> None:
    question = asked(call(returned=1), expected=expected, suspects=suspects)
    assert question_lines(question, 9, 80)[0].text == text


def test_the_opening_is_three_short_lines_that_keep_the_outcome(call: Build) -> None:
    top = call("main", given={"xs": list(range(1000)), "ys": ["'long text'"] * 50}, returned=17)
    lines = [line.text for line in opening(top, is_wrong=False, answers=0, width=80)]
    assert len(lines) == 3
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("Taken to be wrong: main(xs=[")
    assert lines[0].endswith("→ 17")
    resumed = opening(top, is_wrong=True, answers=2, width=80)
    assert resumed[0].text.startswith("Known to be wrong (after 2 answers): main(")


def test_a_search_that_a_mark_narrowed_is_not_foreseen(call: Build) -> None:
    question = replace(asked(call(returned=1), expected=2, suspects=3), may_widen=True)
    assert question_lines(question, 9, 80)[0].text == "Question 9"
