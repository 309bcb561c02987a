"""What surrounds a session: oracles, undo across them, counting, saving."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whence.app.session_driver import CHOOSING, SessionDriver
from whence.errors import CannotExpand, UsageError, WhenceError
from whence.model.call import (
    PRINTED,
    Call,
    Function,
    Location,
    Mark,
    MarkedPart,
    Outcome,
    OutcomeKind,
    Rule,
)
from whence.model.diagnosis import Diagnosis, Status
from whence.model.question import Question
from whence.model.symptom import SYMPTOM
from whence.model.verdict import REMEMBERED, Answer, Judgement, Trust, TrustScope, Verdict
from whence.session import log_entries
from whence.session.events import (
    Answered,
    Ask,
    Event,
    Found,
    OracleTurned,
    Redone,
    Rejected,
    RestSearched,
    StrategyChosen,
    SwitchTurned,
    TrustGiven,
    Undone,
)
from whence.session.reaction import narrow_diagnosis
from whence.session.state import Facts, State
from whence.store.session_log import SessionLog
from whence.testing.meanings import one_fault
from whence.testing.trees import partly_implicit, tree_from_parents
from whence.tree.column_tree import ColumnTree, Node, tree_of

TREE = tree_from_parents([-1, 0, 1, 1, 3, 3, 0])
FAULT = 4


class Knows:
    """An oracle that knows some calls."""

    def __init__(self, *nodes: int, name: str = "oracle") -> None:
        self.nodes, self.name, self.asked = nodes, name, 0

    def judge(self, question: Question) -> Verdict | Judgement | None:
        self.asked += 1
        meaning = one_fault(TREE, FAULT)
        return meaning.verdicts[question.node] if question.node in self.nodes else None


class Breaks:
    name = "broken"

    def judge(self, question: Question) -> Verdict | None:
        raise WhenceError("the oracle broken raised ValueError: no")


def top_down() -> State:
    return State(TREE, facts=Facts(strategy="top-down"))


def person(debugging: SessionDriver, outcome: Any) -> Any:
    assert isinstance(outcome, Ask)
    return debugging.send(Answered((one_fault(TREE, FAULT)(outcome.question),)))


def test_oracles_answer_in_their_order_before_the_person() -> None:
    first, second = Knows(0, name="first"), Knows(0, 1, name="second")
    debugging = SessionDriver(top_down(), [first, second])
    outcome = debugging.start()
    assert isinstance(outcome, Ask)
    assert outcome.question.node == 2
    assert [answer.by for answer in debugging.state.facts.answers] == ["first", "second"]
    assert (debugging.counts.oracles.total(), debugging.counts.person) == (2, 0)


def test_undo_takes_back_a_persons_step_and_the_oracles_after_it() -> None:
    debugging = SessionDriver(top_down(), [Knows(1, 2)])
    outcome = debugging.start()
    assert outcome.question.node == 0  # type: ignore[union-attr]
    outcome = person(debugging, outcome)
    assert outcome.question.node == 3
    later = debugging.state.facts
    outcome = debugging.send(Undone())
    assert isinstance(outcome, Ask)
    assert outcome.question.node == 0
    debugging.send(Redone())
    assert debugging.state.facts == later
    with pytest.raises(UsageError, match="nothing to redo"):
        debugging.send(Redone())


def test_what_only_oracles_said_cannot_be_undone() -> None:
    debugging = SessionDriver(top_down(), [Knows(0, 1)])
    debugging.start()
    before = debugging.state.facts
    with pytest.raises(UsageError, match="nothing to undo"):
        debugging.send(Undone())
    assert debugging.state.facts == before


def test_an_oracle_that_fails_is_told_of_and_not_asked_again() -> None:
    notes: list[str] = []
    debugging = SessionDriver(top_down(), [Breaks(), Knows(0)], notify=notes.append)
    outcome = debugging.start()
    assert isinstance(outcome, Ask)
    assert outcome.question.node == 1
    assert debugging.failures == ["the oracle broken raised ValueError: no"]
    assert [note for note in notes if "broken" in note] == debugging.failures
    assert "broken" in debugging.diagnosis(outcome).reason


def test_an_answer_that_is_refused_does_not_count() -> None:
    debugging = SessionDriver(top_down())
    debugging.start()
    with pytest.raises(UsageError):
        debugging.send(Answered((Answer(99, Verdict.WRONG),)))
    assert debugging.counts.person == 0


def test_wishes_of_the_command_line_hold_from_the_start_and_once(tmp_path: Path) -> None:
    trust = Trust(TrustScope.FUNCTION, "made.f1")
    wishes: list[Event] = [
        StrategyChosen("top-down"),
        SwitchTurned("compression", True),
        TrustGiven(trust),
    ]
    path = tmp_path / "session.jsonl"
    for _ in range(2):
        log = SessionLog(path, TREE, "tree", log_entries)
        debugging = SessionDriver(State(TREE), log=log)
        debugging.start(wishes)
        log.close()
        facts = debugging.state.facts
        assert (facts.strategy, facts.switches.compression) == ("top-down", True)
        assert facts.trusts == (trust,)
        with pytest.raises(UsageError, match="nothing to undo"):
            debugging.send(Undone())
    assert len(path.read_text().splitlines()) == 1 + len(wishes) + 1, "the header and the beginning"


def test_undo_takes_back_an_answer_that_is_lost_and_not_the_one_before_it(tmp_path: Path) -> None:
    path, tree = tmp_path / "session.jsonl", partly_implicit(TREE, 1)
    log = SessionLog(path, tree, "tree", log_entries)
    debugging = SessionDriver(State(tree, facts=Facts(strategy="top-down")), log=log)
    debugging.start()
    for answer in (Answer(0, Verdict.WRONG), Answer(1, Verdict.WRONG), Answer(2, Verdict.RIGHT)):
        debugging.send(Answered((answer,)))
    debugging.send(Undone())
    log.close()

    class Gone:
        def call(self, detail: int, function: Any, rule: Any) -> Any:
            return TREE.call(detail)

        def expand(self, detail: int, levels: int) -> Any:
            raise CannotExpand("gone")

    log = SessionLog(path, tree, "tree", log_entries)
    again = SessionDriver(State(replace(tree, sources=(Gone(),))), log=log)
    again.start()
    log.close()
    assert [answer.node for answer in again.state.facts.answers] == [0, 1]


def test_leaving_a_search_of_the_rest_does_not_suspect_the_top_that_is_right() -> None:
    debugging = SessionDriver(State(TREE))
    debugging.start()
    debugging.send(Answered((Answer(0, Verdict.RIGHT),)))
    outcome = debugging.send(RestSearched())
    left = debugging.diagnosis(outcome).candidates
    assert left
    assert 0 not in left


def test_a_saved_session_goes_on_even_if_its_tree_had_grown(tmp_path: Path) -> None:
    tree = partly_implicit(TREE, 1)
    debugging = SessionDriver(State(tree))
    outcome = debugging.start()
    for _ in range(3):
        if isinstance(outcome, Ask):
            outcome = person(debugging, outcome)
    assert len(debugging.state.tree.columns) > len(tree.columns)
    path = tmp_path / "saved.jsonl"
    debugging.save(path)
    again = SessionDriver(State(tree), log=SessionLog(path, tree, "tree", log_entries))
    resumed = again.start()
    assert again.state.facts == debugging.state.facts
    while isinstance(resumed, Ask):
        resumed = person(again, resumed)
    assert isinstance(resumed, Found)
    assert resumed.diagnosis.node == FAULT


class Explains(Knows):
    """An oracle that says why, and what it should be."""

    def judge(self, question: Question) -> Judgement | None:
        verdict = super().judge(question)
        if not isinstance(verdict, Verdict):
            return None
        return Judgement(verdict, "it is known", expected="3")


def test_an_oracle_may_say_why_and_what_it_should_be() -> None:
    notes: list[str] = []
    debugging = SessionDriver(top_down(), [Explains(0)], notify=notes.append)
    debugging.start()
    (answer,) = debugging.state.facts.answers
    assert (answer.by, answer.reason, answer.expected) == ("oracle", "it is known", "3")
    assert len(notes) == 1
    assert notes[0].endswith(" is wrong, says oracle: it is known.")


def test_many_answers_of_oracles_are_told_by_their_number() -> None:
    notes: list[str] = []
    everything = Knows(*range(len(TREE.columns)))
    debugging = SessionDriver(top_down(), [everything], notify=notes.append)
    assert isinstance(debugging.start(), Found)
    assert notes == [f"Answered by oracle: {debugging.counts.oracles['oracle']} questions."]


def test_an_oracle_that_is_turned_off_is_not_asked_and_its_answers_do_not_count() -> None:
    oracle = Knows(0, 1)
    debugging = SessionDriver(top_down(), [oracle])
    outcome = debugging.start()
    assert isinstance(outcome, Ask)
    assert outcome.question.node == 2
    asked = oracle.asked
    outcome = debugging.send(OracleTurned("oracle", on=False))
    assert isinstance(outcome, Ask)
    assert outcome.question.node == 0
    assert (debugging.state.facts.answers, oracle.asked) == ((), asked)
    outcome = debugging.send(OracleTurned("oracle", on=True))
    assert isinstance(outcome, Ask)
    assert outcome.question.node == 2


def test_undo_brings_back_an_oracle_with_its_answers() -> None:
    debugging = SessionDriver(top_down(), [Knows(0)])
    debugging.start()
    debugging.send(OracleTurned("oracle", on=False))
    debugging.send(Undone())
    facts = debugging.state.facts
    assert facts.silenced == ()
    assert [answer.by for answer in facts.answers] == ["oracle"]


def test_an_oracle_that_is_off_cannot_be_turned_off_again() -> None:
    debugging = SessionDriver(top_down(), [Knows(0)])
    debugging.start()
    with pytest.raises(UsageError, match="oracle is on already"):
        debugging.send(OracleTurned("oracle", on=True))


def test_turning_an_oracle_off_ends_a_contradiction_with_it() -> None:
    debugging = SessionDriver(top_down(), [Knows(0)])
    debugging.start()
    debugging.send(Answered((Answer(0, Verdict.RIGHT),)))
    assert debugging.state.facts.clash is not None
    debugging.send(OracleTurned("oracle", on=False))
    facts = debugging.state.facts
    assert facts.clash is None
    assert [(each.node, each.verdict) for each in facts.answers] == [(0, Verdict.RIGHT)]


def test_after_a_rejected_diagnosis_what_is_remembered_is_a_default_and_no_answer() -> None:
    everything = Knows(*range(len(TREE.columns)), name=REMEMBERED)
    debugging = SessionDriver(top_down(), [everything])
    assert isinstance(debugging.start(), Found)
    outcome = debugging.send(Rejected())
    assert isinstance(outcome, Ask)
    assert outcome.question.default is not None


class Notes:
    """A sink that shows what it was told."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.updates: list[list[int]] = []

    def begin(self, tree: Any, answers: Any) -> None:
        self.begun = [answer.node for answer in answers]

    def update(self, tree: Any, answers: Any) -> None:
        self.updates.append([answer.node for answer in answers if answer.by == "person"])

    def why_not_stored(self, tree: Any, node: int) -> str:
        return ""


def test_an_answer_sink_hears_of_every_answer_and_of_what_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    sink = Notes()
    log = SessionLog(path, TREE, "tree", log_entries)
    debugging = SessionDriver(top_down(), log=log, answer_sink=sink)
    outcome = person(debugging, debugging.start())
    person(debugging, outcome)
    debugging.send(Undone())
    log.close()
    assert sink.begun == []
    assert sink.updates == [[0], [0, 1], [0]]
    later = Notes()
    log = SessionLog(path, TREE, "tree", log_entries)
    SessionDriver(top_down(), log=log, answer_sink=later).start()
    log.close()
    assert (later.begun, later.updates) == ([0], [])


def test_an_answer_sink_that_fails_is_reported_once() -> None:
    class Full(Notes):
        def update(self, tree: Any, answers: Any) -> None:
            raise WhenceError("the disk is full")

    notes: list[str] = []
    debugging = SessionDriver(top_down(), answer_sink=Full(), notify=notes.append)
    outcome = person(debugging, debugging.start())
    person(debugging, outcome)
    assert notes == ["the disk is full"]


class Acquits(Knows):
    """An oracle that also knows which calls cannot be at fault."""

    def __init__(
        self, *nodes: int, acquitted: tuple[int, ...], doubted: tuple[int, ...] = ()
    ) -> None:
        super().__init__(*nodes)
        self.acquitted = acquitted
        self.doubted = doubted

    def doubts(self, node: int) -> str | None:
        return "that was not tried" if node in self.doubted else None

    def acquits(self, node: int) -> str | None:
        return "its code is the same" if node in self.acquitted else None

    def limits(self, nodes: Sequence[int]) -> str | None:
        return None


def ended(oracle: Knows, tree: ColumnTree = TREE) -> Diagnosis:
    """How a session ends in which the person knows nothing."""
    debugging = SessionDriver(State(tree, facts=Facts(strategy="top-down")), [oracle])
    outcome = debugging.start()
    while isinstance(outcome, Ask):
        outcome = debugging.send(Answered((Answer(outcome.question.node, Verdict.UNKNOWN),)))
    assert isinstance(outcome, Found)
    return outcome.diagnosis


def test_of_several_candidates_the_only_one_that_can_be_at_fault_is() -> None:
    known = (0, 1, 2, 5, 6)
    diagnosis = ended(Acquits(*known, acquitted=()))
    assert (diagnosis.status, set(diagnosis.candidates)) == (Status.CANDIDATES, {1, 3, 4})
    diagnosis = ended(Acquits(*known, acquitted=(1, 3)))
    assert (diagnosis.status, diagnosis.node) == (Status.FOUND, FAULT)
    assert "its code is the same" in diagnosis.reason


def test_a_call_in_doubt_is_neither_blamed_nor_passed_over() -> None:
    known = (0, 1, 2, 5, 6)
    diagnosis = ended(Acquits(*known, acquitted=(1,), doubted=(3,)))
    assert (diagnosis.status, set(diagnosis.candidates)) == (Status.CANDIDATES, {3, FAULT})
    diagnosis = ended(Acquits(*known, acquitted=(1, 3), doubted=(FAULT,)))
    assert (diagnosis.status, diagnosis.candidates) == (Status.CANDIDATES, (FAULT,))
    diagnosis = ended(Acquits(*range(7), acquitted=(), doubted=(FAULT,)))
    assert (diagnosis.status, diagnosis.candidates) == (Status.UNDETERMINED, (FAULT,))
    assert diagnosis.reason == "all that it called is right, but that was not tried"


def test_nobody_is_asked_about_the_only_call_that_can_be_at_fault() -> None:
    debugging = SessionDriver(top_down(), [Acquits(0, 1, 2, 6, acquitted=(1, 3, 5))])
    outcome = debugging.start()
    assert isinstance(outcome, Found)
    assert (outcome.diagnosis.node, debugging.counts.person) == (FAULT, 0)
    # As long as nobody said that the top is wrong, there may be no fault at all.
    outcome = SessionDriver(top_down(), [Acquits(5, 6, acquitted=(0, 1, 2, 3))]).start()
    assert isinstance(outcome, Ask)


def test_several_candidates_of_one_function_blame_that_function() -> None:
    assert TREE.columns.function[3] != TREE.columns.function[4]
    diagnosis = ended(Acquits(0, 1, 2, 5, 6, acquitted=(1,)))
    assert (diagnosis.status, set(diagnosis.candidates)) == (Status.CANDIDATES, {3, 4})
    one = replace(TREE.columns, function=np.array([0, 1, 2, 3, 3, 5, 6], dtype=np.int32))
    diagnosis = ended(Acquits(0, 1, 2, 5, 6, acquitted=(1,)), replace(TREE, columns=one))
    assert (diagnosis.status, set(diagnosis.group)) == (Status.FOUND, {3, 4})


def test_a_group_is_not_blamed_if_one_of_it_is_in_doubt() -> None:
    found = Diagnosis(Status.FOUND, node=3, group=(3, 4))
    state = State(TREE)

    def narrowed(acquitted: dict[int, str], doubted: dict[int, str]) -> Diagnosis:
        return narrow_diagnosis(state, found, acquitted.get, doubted.get)

    assert narrowed({}, {}) == narrowed({3: "same code"}, {3: "not seen"}) == found
    for diagnosis in (narrowed({}, {4: "not seen"}), narrowed({3: "not seen", 4: "not seen"}, {})):
        assert (diagnosis.status, diagnosis.candidates) == (Status.UNDETERMINED, (3, 4))
        assert diagnosis.reason == "all that they called is right, but not seen"


def test_a_call_that_cannot_be_at_fault_is_not_blamed() -> None:
    diagnosis = ended(Acquits(*range(7), acquitted=(FAULT,)))
    assert (diagnosis.status, diagnosis.node) == (Status.UNDETERMINED, None)
    assert diagnosis.candidates == (FAULT,)
    assert diagnosis.reason == "all that it called is right, but its code is the same"


class Follows:
    """Reruns that learn where parts came from; the first run may be stopped by the person."""

    command = "python program.py"
    how = "from the start"

    def __init__(self, stopped: bool = False, is_harmless: bool = False) -> None:
        self.stopped, self.is_harmless = stopped, is_harmless
        self.followed: list[int] = []
        self.given_up: dict[int, str] = {}

    def needs_run(self, node: int, part: MarkedPart) -> bool:
        return node not in self.followed

    def follow(self, node: int, part: MarkedPart) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.followed.append(node)

    def give_up(self, node: int, part: MarkedPart, why: str) -> None:
        self.given_up[node] = why

    def whole(self, node: int) -> Any: ...
    def lines(self, node: int) -> Any: ...
    def lines_alone(self, node: int) -> Any: ...
    def tried(self, expected: Mapping[int, str]) -> Any: ...
    def debug(self, node: int, *, at_end: bool = False) -> None: ...


MARKED = Answered((Answer(0, Verdict.WRONG, Mark("result")),))


def test_a_marked_part_is_followed_when_the_program_may_be_run_again() -> None:
    permissions: list[dict[str, Any]] = [{"may_run": True}, {"follows_unasked": True}]
    for allowed in permissions:
        reruns = Follows()
        debugging = SessionDriver(top_down(), reruns=reruns, **allowed)
        debugging.start()
        debugging.send(MARKED)
        assert reruns.followed == [0]
        assert not reruns.given_up


def test_without_leave_to_run_the_program_a_mark_is_a_plain_wrong() -> None:
    reruns = Follows()
    debugging = SessionDriver(top_down(), reruns=reruns)
    debugging.start()
    debugging.send(MARKED)
    assert not reruns.followed
    assert "not allowed" in reruns.given_up[0]
    assert debugging.state.facts.answers == MARKED.answers


def test_a_run_that_changes_nothing_is_made_for_a_mark_unless_all_are_forbidden() -> None:
    for marks_lines in (True, False):
        reruns = Follows(is_harmless=True)
        debugging = SessionDriver(top_down(), reruns=reruns, marks_lines=marks_lines)
        debugging.start()
        debugging.send(MARKED)
        assert bool(reruns.followed) is marks_lines


def test_what_a_symptom_leads_to_is_followed_only_if_a_person_allowed_it() -> None:
    permissions: list[dict[str, Any]] = [{"follows_unasked": True}, {"may_run": True}]
    for allowed in permissions:
        reruns = Follows()
        debugging = SessionDriver(top_down(), reruns=reruns, **allowed)
        debugging.start([Answered((replace(MARKED.answers[0], by=SYMPTOM),))])
        assert bool(reruns.followed) is ("may_run" in allowed)


def test_words_of_a_line_are_followed_if_that_changes_nothing() -> None:
    place = Location("m.py", 1)
    printed = Call(
        Function("m.f", "f", "m", place), Rule("f", "f"), Outcome(OutcomeKind.RETURNED),
        printed="one two\n",
    )  # fmt: skip
    tree = tree_of([Node(0, None, printed), Node(1, 0, printed)])
    for steps in (("[0]",), ("[0]", "[4:7]")):
        for is_harmless in (True, False):
            reruns = Follows(is_harmless=is_harmless)
            debugging = SessionDriver(State(tree), reruns=reruns, marks_lines=True)
            mark = Mark(PRINTED, steps)
            debugging.start([Answered((Answer(0, Verdict.WRONG, mark, by=SYMPTOM),))])
            assert bool(reruns.followed) is (is_harmless and len(steps) > 1)


def test_ctrl_c_gives_a_mark_up_and_keeps_the_answer() -> None:
    reruns = Follows(stopped=True)
    debugging = SessionDriver(top_down(), reruns=reruns, may_run=True)
    debugging.start()
    outcome = debugging.send(MARKED)
    assert reruns.given_up == {0: "it was stopped"}
    assert debugging.state.facts.answers == MARKED.answers
    assert isinstance(outcome, Ask)


def test_a_session_that_goes_on_follows_its_marks_again_if_it_may(tmp_path: Path) -> None:
    first = SessionDriver(
        top_down(), log=SessionLog(tmp_path / "session", TREE, "tree", log_entries)
    )
    first.start()
    first.send(MARKED)
    assert isinstance(first.log, SessionLog)
    first.log.close()
    for may_run in (False, True):
        reruns, said = Follows(), list[str]()
        log = SessionLog(tmp_path / "session", TREE, "tree", log_entries)
        again = SessionDriver(
            top_down(), log=log, reruns=reruns, may_run=may_run, notify=said.append
        )
        again.start()
        log.close()
        assert bool(reruns.followed) is may_run
        assert any("not allowed" in text for text in said) is not may_run


def test_an_answer_is_logged_before_anything_that_can_be_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = SessionLog(tmp_path / "session", TREE, "tree", log_entries)
    driver = SessionDriver(top_down(), log=log)
    outcome = driver.start()
    assert isinstance(outcome, Ask)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(TREE), "call", interrupted)
    said = Answered((Answer(outcome.question.node, Verdict.WRONG),))
    with pytest.raises(KeyboardInterrupt):
        driver.send(said)
    log.close()
    assert SessionLog(tmp_path / "session", TREE, "tree", log_entries).entries[-1] == said


def test_a_person_is_told_that_the_next_question_is_chosen() -> None:
    told: list[str] = []

    @contextmanager
    def waiting(what: str) -> Iterator[None]:
        told.append(what)
        yield

    debugging = SessionDriver(top_down(), waiting=waiting)
    person(debugging, debugging.start())
    debugging.send(Undone())
    assert told == [CHOOSING] * 3
