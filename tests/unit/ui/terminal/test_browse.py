import io
from collections.abc import Callable
from typing import Any

import pytest

from whence.errors import UsageError
from whence.model.call import Call, OutcomeKind
from whence.model.verdict import Verdict
from whence.ui.terminal.browse import Browser, browse, check_mark
from whence.ui.terminal.commands import Judge
from whence.ui.terminal.plain import PlainScreen

Build = Callable[..., Call]
BOX = {"object": "Box", "fields": {"name": "'a b'", "items": [1, 2, 3]}}


def walk(call: Call, *lines: str, path: str = "", can_mark: bool = True) -> tuple[Any, str]:
    output = io.StringIO()
    screen = PlainScreen(io.StringIO("".join(line + "\n" for line in lines)), output)
    return browse(screen, call, path, can_mark=can_mark), output.getvalue()


def test_marking_a_part_of_the_result_says_that_it_is_wrong(call: Build) -> None:
    made = call(given={"x": BOX}, returned=BOX)
    judged, _ = walk(made, "cd result", "cd items", "cd [1]", "mark")
    assert judged == Judge(Verdict.WRONG, part="result.items[1]")


def test_marking_a_part_of_the_input_says_that_it_should_not_be_given(call: Build) -> None:
    judged, _ = walk(call(given={"x": BOX}, returned=BOX), "cd x.items[0]", "mark")
    assert judged == Judge(Verdict.INADMISSIBLE, part="x.items[0]")


def test_what_was_changed_can_be_seen_before_and_after(call: Build) -> None:
    made = call(given={"xs": [1]}, changed={"xs": ([1], [1, 2]), "n": (1, 2)}, returned="None")
    judged, seen = walk(made, "cd after xs[1]", "mark")
    assert judged == Judge(Verdict.WRONG, part="xs[1]")
    for name in ("xs", "after xs", "before n", "after n", "result"):
        assert f"\n{name:<8}  " in "\n" + seen
    judged, seen = walk(made, "cd before n", "mark", "quit")
    assert judged is None
    assert "can only be looked at" in seen


def test_going_up_and_back_to_the_top(call: Build) -> None:
    browser = Browser(call(given={"x": BOX}, returned=1))
    browser.go("x.items[2]")
    assert browser.path() == "x.items[2]"
    browser.go("..")
    assert browser.path() == "x.items"
    browser.go("result")
    assert browser.path() == "result"
    browser.go("..")
    assert browser.path() == "/"
    browser.go("..")
    assert browser.path() == "/"
    browser.go("x")
    browser.go("")
    assert browser.path() == "/"


def test_a_part_can_be_named_without_its_signs(call: Build) -> None:
    table = {"dict": [["'k'", [5, 6]]]}
    browser = Browser(call(given={}, returned=table))
    browser.go("result")
    browser.go("k")
    browser.go("1")
    assert browser.path() == "result['k'][1]"


def test_a_place_that_is_not_there_is_told_and_one_stays(call: Build) -> None:
    browser = Browser(call(given={"x": BOX}, returned=1))
    browser.go("x")
    for wrong in ("nowhere", ".nowhere", "[9]", "[", "x.", "result[0]"):
        with pytest.raises(UsageError):
            browser.go(wrong)
    assert browser.path() == "x"


def test_a_large_value_is_listed_in_part(call: Build) -> None:
    browser = Browser(call(returned={"list": list(range(1000)), "more": 7}))
    browser.go("result")
    lines = browser.listing(80)
    assert len(lines) == 42
    assert lines[-2] == "… and 960 more, to which cd goes as well"
    assert lines[-1] == "… and 7 more that were not recorded"
    browser.go("[999]")
    assert browser.listing(80) == ["999"]


def test_a_value_that_is_shown_elsewhere_tells_where(call: Build) -> None:
    browser = Browser(call(returned=[{"list": [1], "id": 4}, {"same": 4}]))
    browser.go("result[1]")
    assert browser.listing(80) == ["<same as #4>", "It is shown at result[0]."]


def test_print_obeys_its_limits(call: Build) -> None:
    browser = Browser(call(returned=[list(range(30)), BOX]))
    browser.go("result")
    assert browser.print_part("size 2 depth 9 width 200", 80) == [
        "[[0, 1, …28 more], Box(name='a b', items=[1, 2, …1 more])]"
    ]
    assert max(map(len, browser.print_part("width 25", 80))) <= 25
    for wrong in ("depth", "depth x", "height 3", "depth -1", "depth ²"):
        with pytest.raises(UsageError, match="print depth 3"):
            browser.print_part(wrong, 80)


def test_the_end_of_the_input_ends_the_walk(call: Build) -> None:
    judged, seen = walk(call(returned=1), "ls")
    assert judged is None
    assert seen.endswith("browse / > \n")


def test_without_a_question_nothing_can_be_marked(call: Build) -> None:
    judged, seen = walk(call(returned=1), "mark", "q", path="result", can_mark=False)
    assert judged is None
    assert "no question" in seen


def test_what_was_raised_and_yielded_can_be_seen(call: Build) -> None:
    made = call(kind=OutcomeKind.RAISED, returned=BOX, yielded=[1, 2])
    judged, _ = walk(made, "cd yielded[1]", "cd raised.name", "mark")
    assert judged == Judge(Verdict.WRONG, part="raised.name")


def test_a_call_without_values_cannot_be_browsed_or_marked(call: Build) -> None:
    with pytest.raises(UsageError, match="text alone"):
        Browser(call(text="f 1 = 2"))
    with pytest.raises(UsageError, match="text alone"):
        check_mark(call(text="f 1 = 2"), "result", Verdict.WRONG)


def test_a_mark_must_fit_its_answer(call: Build) -> None:
    made = call(given={"x": 1}, returned=2)
    assert str(check_mark(made, "result", Verdict.WRONG).mark) == "result"
    assert str(check_mark(made, "x", Verdict.INADMISSIBLE).mark) == "x"
    with pytest.raises(UsageError, match="answer i x"):
        check_mark(made, "x", Verdict.WRONG)
    with pytest.raises(UsageError, match="answer n result"):
        check_mark(made, "result", Verdict.INADMISSIBLE)
