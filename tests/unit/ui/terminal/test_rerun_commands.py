from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from whence.app.session_driver import SessionDriver
from whence.errors import WhenceError
from whence.model.call import Call, Mark, MarkedPart, Outcome, OutcomeKind
from whence.model.symptom import SYMPTOM
from whence.model.trial import ChangedLine, Trial
from whence.model.value import atom
from whence.model.verdict import Answer, Verdict
from whence.session.engine import apply
from whence.session.events import Answered
from whence.session.state import State
from whence.tree.column_tree import Node, tree_of
from whence.ui.terminal import messages
from whence.ui.terminal.paging import MORE, say_in_pages

Result = TypeVar("Result")
Build = Callable[..., Call]
Session = Callable[..., tuple[str, SessionDriver, str]]


class Again:
    """A program that is run again, or that would be."""

    command = "python job.py 7, in somewhere"
    is_harmless = False
    how = "from 3 checkpoints"

    def __init__(self, whole: Call | None = None, lines: frozenset[int] | None = None):
        self._whole, self._lines = whole, lines
        self.asked: list[int] = []
        self.trials: dict[str, Trial] = {}

    def whole(self, node: int) -> Call:
        self.asked.append(node)
        return _or_fail(self._whole)

    def lines(self, node: int) -> frozenset[int]:
        self.asked.append(node)
        return _or_fail(self._lines)

    def tried(self, expected: Mapping[int, str]) -> Trial:
        self.asked.extend(expected)
        return _or_fail(self.trials.get(" ".join(expected.values())))


class Follows(Again):
    """The same, and it learns where parts came from."""

    def debug(self, node: int, *, at_end: bool = False) -> None: ...
    def lines_alone(self, node: int) -> Any: ...
    def needs_run(self, node: int, part: MarkedPart) -> bool:
        return True

    def follow(self, node: int, part: MarkedPart) -> None:
        self.asked.append(node)

    def give_up(self, node: int, part: MarkedPart, why: str) -> None: ...


def _or_fail(result: Result | None) -> Result:
    if result is None:
        raise WhenceError("it went another way")
    return result


def test_nothing_is_run_before_it_is_allowed(small: State, session: Session, call: Build) -> None:
    again = Again(whole=call(returned=[1, 2, 3]))
    seen, _, _ = session(small, "full", "", "full", "no", reruns=again)
    assert again.asked == []
    assert "This runs again: python job.py 7, in somewhere" in seen
    assert seen.count("Not run.") == 2


def test_info_says_from_where_the_program_is_run_again(small: State, session: Session) -> None:
    assert "run again from 3 checkpoints" in session(small, "info", reruns=Again())[0]
    assert "run again" not in session(small, "info")[0]


def test_what_changes_nothing_needs_no_permission(
    small: State, session: Session, call: Build
) -> None:
    again = Again(whole=call(returned=[1, 2, 3]))
    again.is_harmless = True
    seen, _, _ = session(small, "full", reruns=again)
    assert len(again.asked) == 1
    assert "Run it?" not in seen


def test_what_was_expected_is_tried_where_that_changes_nothing(
    small: State, session: Session
) -> None:
    again = Again()
    raised = "it raises ValueError()"
    again.trials = {
        "1": Trial("", "", (ChangedLine(3, "16", "14"),)),
        "2": Trial("", "", ()),
        "3": Trial(raised, "", (ChangedLine(1, "(no such line)", "14"),)),
        "4": Trial(raised, raised, ()),
        "5": Trial("", raised, tuple(ChangedLine(n, "a", "b") for n in range(1, 9))),
    }
    values = [word for n in range(1, 8) for word in (f"n = {n}", "undo")]
    seen, _, _ = session(small, *values, "n = in words", reruns=again)
    assert again.asked == []
    again.is_harmless = True
    seen, _, _ = session(small, *values, "n = in words", reruns=again)
    assert len(again.asked) == 7
    seen = " ".join(seen.split())
    assert "Tried: with that the output becomes: 3 14 (was: 16)" in seen
    assert "Tried: with that nothing changes: this is not why the run is wrong" in seen
    assert "the symptom goes away; the output becomes: 1 14 (was: (no such line))" in seen
    assert "Tried: with that it raises ValueError(), as before." in seen
    assert "Tried: with that it raises ValueError(); the output becomes: 1 b" in seen
    assert "and 5 more lines" in seen
    assert "Not tried: it went another way" in seen


def test_values_of_calls_apart_are_tried_together_or_else_alone(
    small: State, session: Session
) -> None:
    again = Again()
    again.is_harmless = True
    again.trials = {"1": Trial("", "", ()), "1 2": Trial("", "", (ChangedLine(3, "16", "14"),))}
    apart = ("n 2 = 1", "n 5 = 2")
    seen, _, _ = session(small, *apart, reruns=again)
    assert again.asked == [2, 2, 5]
    told = "Tried together with what call 2 should give: with that the output becomes: 3 14"
    assert told in " ".join(seen.split())
    del again.trials["1 2"]
    again.trials["2"] = Trial("", "", ())
    seen, _, _ = session(small, *apart, reruns=again)
    seen = " ".join(seen.split())
    assert "Not tried together with what call 2 should give: it went another way" in seen
    assert "Tried: with that nothing changes" in seen.partition("Not tried")[2]
    again.asked.clear()
    session(small, "n 1 = 1", "n 2 = 1", reruns=again)
    assert again.asked == [1, 2], "the one led to the other"


def test_of_the_lines_that_change_the_one_that_is_wrong_comes_first(call: Build) -> None:
    lines = tuple(ChangedLine(n, "16", "14") for n in (2, 5, 7))
    tried = Trial("", "", lines)
    assert messages.trial_lines(tried, 80, wrong=5)[:2] == [
        "Tried: with that the line that is wrong becomes:",
        "  5  14   (was: 16)",
    ]
    assert messages.trial_lines(tried, 80, wrong=6)[0] == (
        "Tried: with that line 6, which is wrong, stays; the output becomes:"
    )
    state = State(tree_of([Node(1, None, replace(call(), output=("a", "b")))]))
    assert messages.wrong_line(state) is None
    mark = Mark("printed", ("[1]",))
    said = Answered((Answer(1, Verdict.WRONG, mark, SYMPTOM),))
    assert messages.wrong_line(apply(state, said)) == 2


@pytest.mark.parametrize("is_harmless", [True, False])
def test_a_mark_needs_permission_unless_its_run_changes_nothing(
    small: State, session: Session, is_harmless: bool
) -> None:
    again = Follows()
    again.is_harmless = is_harmless
    seen, _, _ = session(small, "n result", "no", typed=True, reruns=again, marks_lines=True)
    assert len(again.asked) == is_harmless
    assert ("Run it?" in seen) is not is_harmless


def test_pdb_is_for_a_person_at_a_terminal(small: State, session: Session) -> None:
    seen, _, _ = session(small, "pdb", "pdb middle", reruns=Again())
    assert "pdb is for a person at a terminal" in seen
    assert "pdb end, for where the call ends" in seen


def test_what_is_allowed_once_is_not_asked_again(
    small: State, session: Session, call: Build
) -> None:
    again = Again(whole=call(returned=[1, 2, 3]))
    seen, _, _ = session(small, "n", "full", "y", "full", reruns=again)
    assert again.asked == [2, 2]
    assert seen.count("Run it?") == 1
    assert seen.count("returned: [1, 2, 3]") == 2


def test_the_question_is_shown_again_after_all_of_its_values(
    small: State, session: Session, call: Build
) -> None:
    again = Again(whole=call(returned=[1, 2, 3]))
    again.is_harmless = True
    seen, _, _ = session(small, "full", reruns=again)
    assert seen.count("Question 1 ") == 2
    assert seen.index("returned: [1, 2, 3]") < seen.rindex("Question 1 ")


class Reader:
    """A screen with a person who reads so many pages."""

    interactive = True

    def __init__(self, pages: int) -> None:
        self.pages: list[list[str]] = []
        self.wanted = pages

    def say(self, *lines: str) -> None:
        self.pages.append(list(lines))

    def read(self, prompt: str) -> str:
        assert prompt == MORE
        return "" if len(self.pages) < self.wanted else "q"


@pytest.mark.parametrize(("wanted", "pages"), [(1, 1), (2, 2), (9, 3)])
def test_a_person_reads_page_by_page(
    wanted: int, pages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINES", "24")
    reader: Any = Reader(wanted)
    say_in_pages(reader, map(str, range(60)), 5)
    assert [len(page) for page in reader.pages] == [22, 22, 16][:pages]
    reader = Reader(1)
    reader.interactive = False
    say_in_pages(reader, map(str, range(60)), 5)
    assert reader.pages == [["0", "1", "2", "3", "4"]]


def test_a_run_that_goes_another_way_is_told_and_the_question_stays(
    small: State, session: Session
) -> None:
    seen, debugging, left = session(small, "full", "y", "n", "n", "y", "y", reruns=Again())
    assert "it went another way" in seen
    assert left == ""
    assert debugging.counts.person == 4


@pytest.mark.parametrize("word", ["full", "ran"])
def test_a_tree_without_a_program_says_so(small: State, session: Session, word: str) -> None:
    assert "this tree does not say how its program is run" in session(small, word)[0]


def test_show_says_how_to_get_what_was_not_recorded(session: Session, call: Build) -> None:
    cut = replace(call(returned=[1, 2]).outcome.value or atom(""), omitted=9)
    made = replace(call(), outcome=Outcome(OutcomeKind.RETURNED, cut))
    state = State(tree_of([Node(1, None, made)]))
    assert "full runs the program again for it" in session(state, "show", reruns=Again())[0]
    assert "full runs the program again" not in session(state, "show")[0]
