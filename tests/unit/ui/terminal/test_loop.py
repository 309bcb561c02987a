import io
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from whence.app.session_driver import SessionDriver
from whence.errors import WhenceError
from whence.model.call import Call
from whence.model.question import Question
from whence.model.value import show
from whence.model.verdict import Judgement, Verdict
from whence.search.space import Switches
from whence.session.events import Found
from whence.session.state import State
from whence.tree.column_tree import Node, tree_of
from whence.ui.terminal.info_command import callers
from whence.ui.terminal.loop import LEFT, RAN_OUT, STOPPED, converse
from whence.ui.terminal.plain import PlainScreen
from whence.ui.terminal.switches import SWITCHES

Build = Callable[..., Call]
Session = Callable[..., tuple[str, SessionDriver, str]]


def test_a_session_ends_with_its_diagnosis(small: State, session: Session) -> None:
    seen, debugging, left = session(small, "n", "n", "y", "y")
    assert left == ""
    assert "The fault is in f (m.py:3)" in seen
    assert debugging.counts.person == 4


def test_answers_that_run_out_are_told(small: State, session: Session) -> None:
    seen, _, left = session(small, "n")
    assert left == RAN_OUT
    assert seen.endswith("No fault was found yet: the answers ran out.\n")


def test_leaving_is_told(small: State, session: Session) -> None:
    assert session(small, "n", "q", "y")[2] == LEFT
    assert session(small, "n", typed=True)[2] == LEFT


def test_ctrl_c_while_the_next_question_is_chosen_leaves_with_what_is_known(
    small: State, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(driver: SessionDriver, event: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SessionDriver, "send", interrupted)
    seen, _, left = session(small, "n")
    assert left == STOPPED
    assert seen.endswith("No fault was found yet: stopped with Ctrl-C.\n")


def test_only_questions_are_counted_and_only_once(small: State, session: Session) -> None:
    plain = session(small, "n", "y")[1].counts.characters
    assert plain > 0
    chatty = session(small, "info", "help", "", "list", "n", "browse", "q", "y")[1]
    assert chatty.counts.characters == plain


def test_a_script_may_go_on_after_the_diagnosis(small: State, session: Session) -> None:
    seen, _, left = session(small, "n", "n", "y", "y", "source", "undo", "n")
    assert left == ""
    assert "Taken back: call 4 is right." in seen
    assert "The fault is in g (m.py:3)" in seen


def test_a_long_diagnosis_is_folded_for_a_person_only(session: Session, call: Build) -> None:
    made = call(given={"xs": "'" + "word " * 20 + "'"}, returned=1)
    state = State(tree_of([Node(1, None, made)]))
    assert max(map(len, session(state, "n", "", typed=True)[0].splitlines())) <= 82
    assert max(map(len, session(state, "n")[0].splitlines())) > 82


def test_a_session_without_questions_does_not_wait_for_input(small: State) -> None:
    class Silent(io.StringIO):
        def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
            raise AssertionError("this would wait for ever")

    class Knowing:
        name = "knowing"

        def judge(self, question: Question) -> Verdict:
            return Verdict.WRONG if question.node in (1, 2) else Verdict.RIGHT

    screen = PlainScreen(Silent(), io.StringIO())
    debugging = SessionDriver(small, [Knowing()])
    outcome, left = converse(debugging, screen, debugging.start())
    assert isinstance(outcome, Found)
    assert left == ""


def test_a_script_that_says_something_else_after_the_diagnosis_is_done(
    small: State, session: Session
) -> None:
    end = session(small, "n", "n", "y", "y")[0]
    for line in ("y", "", "frobnicate", "n 3", "1"):
        assert session(small, "n", "n", "y", "y", line, "reject")[0] == end


def test_a_person_is_asked_what_to_do_after_the_diagnosis(small: State, session: Session) -> None:
    seen, _, left = session(small, "n", "n", "y", "y", "n", "frob", "list", "", typed=True)
    assert left == ""
    assert "no question is open" in seen
    assert "'frob' is not understood: type help, or Enter to end" in seen


def test_report_shows_the_whole_diagnosis_again(small: State, session: Session) -> None:
    seen = session(small, "n", "n", "y", "y", "report", "", typed=True)[0]
    assert seen.count("The fault is in ") == 2
    early = session(small, "report", typed=True)[0]
    assert "report is for when a diagnosis stands" in early


def test_a_rejected_diagnosis_asks_again_with_defaults(small: State, session: Session) -> None:
    seen, debugging, _ = session(small, "n", "n", "y", "y", "reject", "", "y", "")
    assert "Right? [y/n/i/?, Enter: n] " in seen
    said = [(answer.node, answer.verdict) for answer in debugging.state.facts.answers]
    assert said == [(1, Verdict.WRONG), (2, Verdict.RIGHT)]


def test_an_empty_line_without_a_default_shows_the_question_again(
    small: State, session: Session
) -> None:
    seen, debugging, _ = session(small, "", "")
    assert seen.count("Question 1 ") == 3
    assert not debugging.state.facts.answers


def test_a_long_output_is_followed_by_the_question(small: State, session: Session) -> None:
    assert session(small, "info")[0].count("Question 1 ") == 2
    assert session(small, "source")[0].count("Question 1 ") == 1


def test_trusting_names_what_is_trusted(small: State, session: Session) -> None:
    state = small
    for line, said in (
        ("trust", "function m.main"),
        ("trust g", "function m.g"),
        ("trust module", "module m"),
        ("trust file", "file m.py"),
    ):
        assert f"Trusted: {said}." in session(state, line)[0]
    seen = session(state, "trust g", "distrust", "distrust", "trust module nothing")[0]
    assert "No longer trusted: function m.g." in seen
    assert "say which trust to take back; there is nothing" in seen
    assert "nothing in this tree is in module nothing" in seen


@dataclass
class Oracle:
    name: str = "python:m:f"
    broken: bool = True

    def judge(self, question: Question) -> Verdict | None:
        if question.node == 2 and self.broken:
            raise WhenceError("the oracle broke")
        return None


def test_an_oracle_that_breaks_leaves_the_question_to_the_person(
    small: State, session: Session
) -> None:
    seen, _, left = session(small, "n", "n", "y", "y", oracles=[Oracle()])
    assert "the oracle broke" in seen
    assert "The fault is in f" in seen
    assert left == ""


def test_info_tells_where_one_is(small: State, session: Session) -> None:
    seen = session(small, "n", "n", "trust h", "?", "info")[0]
    for line in (
        "call      4, at m.py:3",
        "inside    main (1) > f (2)",
        "strategy  top-down",
        "trusted   function m.h",
        "answers   3: 2 wrong, 1 not known",
        "session   not kept in a file",
    ):
        assert line in seen


def test_a_long_chain_of_callers_is_folded() -> None:
    from whence.testing.trees import tree_from_parents

    tree = tree_from_parents([-1, *range(40)])
    names = callers(tree, 40)
    assert len(names) == 7
    assert names[0] == "f0 (0)"
    assert names[3] == "… 34 more …"
    assert names[-1] == "f39 (39)"
    assert callers(tree, 0) == []
    assert len(callers(tree, 6)) == 6


def test_every_switch_is_explained() -> None:
    assert set(SWITCHES) == set(Switches.__dataclass_fields__)


def test_a_resumed_session_opens_with_what_is_known(small: State, session: Session) -> None:
    _, debugging, _ = session(small, "n", "n")
    seen = session(replace(debugging.state), "y", "y")[0]
    assert seen.startswith("Known to be wrong (after 2 answers): f(x=1) → [1, 2]")


@pytest.mark.parametrize(
    "name", ["middleweight:²", "middleweight:" + "9" * 150, "middleweight:" + "9" * 5000, "x", "t"]
)
def test_no_name_of_a_strategy_does_harm(small: State, session: Session, name: str) -> None:
    seen, _, left = session(small, f"strategy {name}", "n", "n", "y", "y")
    assert "The fault is in" in seen
    assert left == ""


def test_show_prints_any_call_in_full(small: State, session: Session) -> None:
    seen, _, _ = session(small, "n", "show", "show 3", "show 999", "show x", "q")
    assert "call 2: " in seen
    assert "call 3: " in seen
    assert "there is no call 999" in seen
    assert "show takes the number of a call" in seen


def test_what_it_should_be_is_noted_shown_and_reported(small: State, session: Session) -> None:
    seen, debugging, _ = session(small, "n", "n = [1, 2, 4]", "y", "y")
    answer = debugging.state.facts.answers[1]
    assert answer.expected == "[1, 2, 4]"
    assert f"Noted: call {answer.node} should give [1, 2, 4]\n" in seen
    assert "  It should be   [1, 2, 4]" in seen


def test_what_it_gave_is_no_other_value(small: State, session: Session) -> None:
    value = small.tree.call(1).outcome.value
    assert value is not None
    seen, _, _ = session(small, f"n {small.tree.id(1)} = {show(value)}", "q")
    assert "which is what it returned" in " ".join(seen.split())


def test_what_should_have_been_may_be_said_in_words(small: State, session: Session) -> None:
    seen, debugging, _ = session(small, "n = sorted, please")
    assert debugging.state.facts.answers[0].expected == "sorted, please"
    assert "sorted, please\n" in seen
    seen, debugging, _ = session(small, "n = not so much of it")
    assert "(kept as words" in " ".join(seen.split())


def test_info_says_what_a_judged_call_should_give(small: State, session: Session) -> None:
    seen, *_ = session(small, "n", "n result[1] = 7", "y", "y", "info")
    assert "\nshould be result[1] = 7\n" in seen


@dataclass
class Hints:
    """An oracle that knows one call."""

    node: int = 1
    name: str = "type hints"

    def judge(self, question: Question) -> Judgement | None:
        return Judgement(Verdict.WRONG, "9 is not str") if question.node == self.node else None


def test_an_oracle_is_shown_named_and_turned_off(small: State, session: Session) -> None:
    lines = ("oracle", "info", "oracle type off", "oracle", "n", "n", "y", "y")
    seen, debugging, _ = session(small, *lines, oracles=[Hints()])
    assert "main() → 9 is wrong, says type hints: 9 is not str." in seen
    assert "  type hints  on   1 answered" in seen
    assert "answers   1: 1 wrong; 1 by type hints" in seen
    assert "type hints is off now." in seen
    assert "  type hints  off  0 answered" in seen
    assert all(answer.by == "person" for answer in debugging.state.facts.answers)


def test_why_an_oracle_says_so_is_in_info(small: State, session: Session) -> None:
    seen, *_ = session(small, "n", "y", "y", "info", oracles=[Hints(2)])
    assert "judged    wrong, by type hints: 9 is not str" in seen


def test_an_oracle_that_there_is_not_is_told(small: State, session: Session) -> None:
    seen, *_ = session(small, "oracle nix off", oracles=[Hints()])
    assert "there is no oracle nix; there is type hints" in seen
    seen, *_ = session(small, "oracle")
    assert "There is none: only you are asked." in seen


def test_all_that_is_left_can_be_listed_and_judged_by_number(session: Session, call: Build) -> None:
    top = Node(1, None, call("m.top", returned=0))
    below = [Node(n, 1, call("m.part", given={"n": n}, returned=n)) for n in range(2, 9)]
    state = State(tree_of([top, *below]))
    seen, _, _ = session(state, "suspects", "n 5", typed=True)
    assert "The fault is in m.top (call 1) or in one of these 7 calls:" in seen
    assert "  5  m.part(n=5) → 5" in seen
    assert "The fault is in m.part (m.py:3), call 5." in seen


def test_a_person_with_many_calls_left_is_told_of_the_listing(
    session: Session, call: Build
) -> None:
    top = Node(1, None, call("m.top", returned=0))
    below = [Node(n, 1, call(f"m.part{n}", given={"n": n}, returned=n)) for n in range(2, 12)]
    seen = session(State(tree_of([top, *below])), "y", "y", "y", "y", typed=True)[0]
    assert seen.count("(suspects lists the 7 calls that are left)") == 1


def test_a_part_of_another_call_can_be_marked(small: State, session: Session) -> None:
    seen, debugging, _ = session(small, "n 2 result[1]", "i 4 x", typed=True)
    assert "Wrong: result[1]." in seen
    assert "Inadmissible: x." in seen
    marked = [(answer.node, str(answer.mark)) for answer in debugging.state.facts.answers]
    assert marked == [(2, "result[1]"), (4, "x")]


def test_a_part_that_another_call_does_not_have_is_refused(small: State, session: Session) -> None:
    seen, debugging, _ = session(small, "n 2 result[7]", "n 99 result", "i 2 result")
    assert "has no part [7]" in seen
    assert "there is no call 99" in seen
    assert "result is part of the outcome" in seen
    assert not debugging.state.facts.answers


def test_after_two_questions_without_an_answer_there_are_other_ways(
    small: State, session: Session
) -> None:
    assert "Other ways" not in session(small, "n", "?")[0]
    seen = session(small, "n", "?", "?")[0]
    assert "Other ways to tell: n 2 judges any of these" in seen
    assert "  5  h(x=3) → 3  (skipped)" in seen
    assert "trust module m" in seen
    assert session(small, "n", "?", "?", "?")[0].count("Other ways") == 1


def test_trust_is_offered_once_after_two_calls_of_a_function_were_right(
    call: Build, session: Session
) -> None:
    top = Node(1, None, call("m.top", returned=0))
    below = [Node(n, 1, call("part", given={"n": n}, returned=n)) for n in range(2, 12)]
    seen = session(State(tree_of([top, *below])), "y", "y", "y", "y", typed=True)[0]
    assert seen.count("calls of part were right; trust asks no more about it)") == 1
    assert seen.index("Question 3") < seen.index("(2 calls of part") < seen.index("Question 4")
