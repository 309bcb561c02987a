"""Where rules meet: the rest, trust, skips, implicit calls, compression, the single-rule stop."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from whence.app.session_driver import SessionDriver
from whence.errors import CannotExpand, UsageError, WhenceError
from whence.model.call import (
    Binding,
    Call,
    Effect,
    Function,
    Mark,
    Outcome,
    OutcomeKind,
    Rule,
    find_mark,
    roots,
)
from whence.model.diagnosis import FaultKind, Status
from whence.model.origin import Influence, Origin
from whence.model.value import Kind, Value, atom
from whence.model.verdict import Answer, Trust, TrustScope, Verdict
from whence.search.space import Switches
from whence.session import log_entries
from whence.session.engine import step
from whence.session.events import (
    Answered,
    Ask,
    Exhausted,
    Expand,
    Expanded,
    Found,
    NotExpandable,
    Rejected,
    Resolved,
    RestSearched,
    Revise,
    Started,
    SwitchTurned,
    TrustGiven,
    Undone,
)
from whence.session.log_entries import decode, encode
from whence.session.state import Facts, SpaceCache, State
from whence.store.checked_lines import checked_line
from whence.store.session_log import SessionLog
from whence.testing.trees import partly_implicit, tree_from_parents
from whence.tree.column_tree import Node, tree_of
from whence.tree.fingerprint import fingerprint

RIGHT, WRONG, NEVER, UNKNOWN = Verdict.RIGHT, Verdict.WRONG, Verdict.INADMISSIBLE, Verdict.UNKNOWN
TRUST_1 = (Trust(TrustScope.FUNCTION, "made.f1"),)


def said(node: int, verdict: Verdict, mark: Mark | None = None) -> Answered:
    return Answered((Answer(node, verdict, mark),))


def start(tree: Any, provenance: Any = None, **facts: Any) -> State:
    return State(tree, provenance, facts=Facts(strategy="top-down", **facts))


def after(state: State, *events: Any) -> tuple[State, Any]:
    state, outcome = step(state, Started())
    for event in events:
        state, outcome = step(state, event)
    return state, outcome


class Influenced:
    """A provenance that knows influences only."""

    def __init__(self, nodes: set[int], complete: bool) -> None:
        self.nodes, self.complete = frozenset(nodes), complete

    def origin(self, node: int, part: Any) -> Origin:
        return Origin(None, unknown="not told")

    def influence(self, node: int, part: Any) -> Influence:
        return Influence(self.nodes, self.complete)

    def with_tree(self, tree: Any) -> Influenced:
        return self


def made(name: str, trusted: bool = False, **more: Any) -> Call:
    outcome = Outcome(OutcomeKind.RETURNED, atom("r" + name))
    return Call(Function(name, name, "mod", None, trusted), Rule(name, name), outcome, **more)


# --- the rest below a right top ----------------------------------------------------------------


def test_a_top_that_is_revised_to_wrong_while_the_rest_is_searched_can_be_blamed() -> None:
    events = [said(0, RIGHT), RestSearched(), said(0, WRONG), Resolved(keep_earlier=False)]
    _, outcome = after(
        start(tree_from_parents([-1, 0, 0])), *events, said(1, RIGHT), said(2, RIGHT)
    )
    assert isinstance(outcome, Found)
    assert outcome.diagnosis.node == 0


def test_the_rest_of_a_wrong_top_cannot_be_asked_for() -> None:
    state, _ = after(start(tree_from_parents([-1, 0])), said(0, WRONG))
    with pytest.raises(UsageError):
        step(state, RestSearched())


def test_the_rest_of_an_implicit_top_is_expanded() -> None:
    tree = partly_implicit(tree_from_parents([-1, 0, 0]), 0)
    _, outcome = after(start(tree), said(0, RIGHT), RestSearched())
    assert isinstance(outcome, Expand)


def test_a_slice_of_an_acquitted_top_explains_nothing() -> None:
    state = start(tree_from_parents([-1, 0, 0]), Influenced({0, 1}, True))
    _, outcome = after(state, said(0, NEVER, Mark("x")), RestSearched(), said(1, RIGHT))
    assert isinstance(outcome, Ask)
    assert outcome.question.node == 2


# --- skipped, and not in the tree --------------------------------------------------------------


def test_a_skipped_implicit_top_is_expanded() -> None:
    tree = partly_implicit(tree_from_parents([-1, 0, 0]), 0)
    _, outcome = after(start(tree), said(0, UNKNOWN))
    assert isinstance(outcome, Expand)


def test_a_skipped_top_is_asked_again_last() -> None:
    _, outcome = after(start(tree_from_parents([-1, 0])), said(0, UNKNOWN), said(1, RIGHT))
    assert isinstance(outcome, Ask)
    assert outcome.question.node == 0


def test_an_implicit_call_that_was_given_up_is_looked_into() -> None:
    tree = partly_implicit(tree_from_parents([-1, 0, 1, 1]), 1)
    _, outcome = after(start(tree), said(0, WRONG), said(1, UNKNOWN), said(1, UNKNOWN))
    assert outcome == Expand(1, 3)


def test_candidates_say_that_the_fault_may_lie_in_what_was_not_recorded() -> None:
    tree = partly_implicit(tree_from_parents([-1, 0, 1]), 1)
    skips = [said(1, UNKNOWN), said(1, UNKNOWN), NotExpandable(1, "gone")]
    _, outcome = after(start(tree), said(0, WRONG), *skips)
    assert outcome.diagnosis.status is Status.CANDIDATES
    assert "not recorded" in outcome.diagnosis.reason


def test_a_trusted_implicit_call_is_looked_into_before_there_are_candidates() -> None:
    tree = partly_implicit(tree_from_parents([-1, 0, 1, 0]), 1)
    events = [said(0, WRONG), said(3, UNKNOWN), said(3, UNKNOWN)]
    _, outcome = after(start(tree, trusts=TRUST_1), *events)
    assert isinstance(outcome, Expand)


def test_what_lies_below_trusted_code_that_is_gone_is_said() -> None:
    tree = partly_implicit(tree_from_parents([-1, 0, 1]), 1)
    gone = NotExpandable(1, "gone")
    _, rest = after(start(tree, trusts=TRUST_1), said(0, RIGHT), RestSearched(), gone)
    assert rest.diagnosis.status is Status.UNDETERMINED
    _, skipped = after(start(tree, trusts=TRUST_1), said(0, UNKNOWN), gone, said(0, UNKNOWN))
    assert "nobody said that call 0 is wrong" in skipped.diagnosis.reason
    assert "not recorded" in skipped.diagnosis.reason


def test_code_that_called_what_was_not_recorded_is_not_acquitted_by_it() -> None:
    tree = partly_implicit(tree_from_parents([-1, 0, 1]), 1)
    gone = NotExpandable(1, "gone")
    _, outcome = after(start(tree, trusts=TRUST_1), said(0, WRONG), gone)
    assert isinstance(outcome, Found)
    assert outcome.diagnosis.candidates == (0,)
    _, nobody_spoke = after(start(tree, trusts=TRUST_1), gone)
    assert isinstance(nobody_spoke, Ask)


def test_nobody_says_that_the_fault_lies_below_a_top_that_was_not_judged_wrong() -> None:
    tree = partly_implicit(tree_from_parents([-1, 0]), 0)
    gone = NotExpandable(0, "gone")
    _, rest = after(start(tree), said(0, RIGHT), RestSearched(), gone)
    assert isinstance(rest, Exhausted)
    assert "the fault lies" not in rest.diagnosis.reason
    _, given_up = after(start(tree), said(0, UNKNOWN), gone)
    assert isinstance(given_up, Exhausted), "it is not asked about again at once"
    assert "nobody said" in given_up.diagnosis.reason


def test_calls_folded_into_a_top_that_is_right_are_asked_about_in_the_rest() -> None:
    tree = tree_from_parents([-1, 0], rules=[0, 0])
    start_folded = start(tree, switches=Switches(compression=True))
    _, outcome = after(start_folded, said(0, RIGHT), RestSearched())
    assert isinstance(outcome, Ask)
    assert outcome.question.node == 1


def test_a_question_that_was_skipped_is_not_asked_again_at_once() -> None:
    one = tree_from_parents([-1, 0])
    _, outcome = after(start(one), said(0, WRONG), said(1, UNKNOWN))
    assert isinstance(outcome, Found)
    assert outcome.diagnosis.candidates == (0, 1)
    two = tree_from_parents([-1, 0, 0])
    state, outcome = after(start(two), said(0, WRONG), said(1, UNKNOWN), said(2, UNKNOWN))
    assert isinstance(outcome, Ask)
    assert outcome.question.node == 1, "another one was asked meanwhile"
    _, outcome = step(state, said(1, UNKNOWN))
    assert isinstance(outcome, Ask)
    assert outcome.question.node == 2, "it has its second chance, too"


def test_skipping_a_call_skips_the_calls_that_equal_it() -> None:
    tree = tree_from_parents([-1, 0, 0, 0], equations=[0, 7, 7, 3])
    _, outcome = after(start(tree), said(0, WRONG), said(1, UNKNOWN))
    assert outcome.question.node == 3


def test_a_second_reject_keeps_the_defaults_of_the_first() -> None:
    tree = tree_from_parents([-1, 0, 0])
    judged = [said(0, WRONG), said(1, RIGHT), said(2, RIGHT)]
    again = [Rejected(), said(0, WRONG), Rejected(), said(0, WRONG)]
    _, outcome = after(start(tree), *judged, *again)
    assert outcome.question.node == 1
    assert outcome.question.default.verdict is RIGHT


def test_values_of_which_parts_were_left_out_make_no_equal_equations() -> None:
    def shown_in_part() -> Call:
        value = Value(Kind.LIST, "", (("[0]", atom("1")),), omitted=98)
        function = Function("f", "f")
        returned = Outcome(OutcomeKind.RETURNED, atom("7"))
        return Call(function, Rule("f", "f"), returned, (Binding("xs", value),))

    main = Call(Function("main"), Rule("main", "main"), Outcome(OutcomeKind.RETURNED, atom("0")))
    tree = tree_of([Node(1, None, main), Node(2, 1, shown_in_part()), Node(3, 1, shown_in_part())])
    _, outcome = after(start(tree), said(1, WRONG), said(2, RIGHT))
    assert isinstance(outcome, Ask)
    assert outcome.question.node == 3


def test_an_answer_that_names_the_trusted_call_itself_is_to_be_revised() -> None:
    tree = tree_from_parents([-1, 0, 1], rules=[1, 1, 0], equations=[5, 5, 1])
    _, outcome = after(start(tree, trusts=TRUST_1), said(0, WRONG), said(2, RIGHT))
    assert isinstance(outcome, Revise)
    assert outcome.later.node == 1


def test_while_a_contradiction_is_pending_nothing_else_can_be_answered() -> None:
    state, outcome = after(start(tree_from_parents([-1, 0, 0])), said(1, RIGHT), said(1, WRONG))
    assert isinstance(outcome, Revise)
    with pytest.raises(UsageError, match="which one holds"):
        step(state, said(2, WRONG))


def test_a_top_that_is_taken_over_is_left_for_a_wrong_call_inside_it() -> None:
    tree = tree_from_parents([-1, 0, 1, 0, 3], weights=[1, 1, 3, 0, 1], equations=[0, 1, 8, 3, 8])
    state, _ = after(start(tree), said(2, WRONG), said(3, WRONG))
    assert state.space().top == 4, "it equals call 2, which is wrong"


def test_a_switch_turned_while_a_contradiction_is_pending_hides_no_other_one() -> None:
    tree = tree_from_parents([-1, 0, 0], equations=[0, 7, 7])
    both = (said(1, WRONG), said(2, WRONG), said(2, RIGHT), SwitchTurned("duplicates", False))
    state, outcome = after(start(tree), said(0, WRONG), *both)
    assert isinstance(outcome, Revise)
    assert outcome.earlier == Answer(1, WRONG)
    state, outcome = step(state, Resolved(keep_earlier=False))
    assert isinstance(outcome, Revise)
    assert outcome.earlier == Answer(2, WRONG)
    state, _ = step(state, Resolved(keep_earlier=False))
    assert state.facts.answers == (Answer(0, WRONG), Answer(2, RIGHT))


def test_an_open_call_that_waits_behind_a_contradiction_does_not_block_it() -> None:
    both = Answered((Answer(1, WRONG), Answer(2, UNKNOWN)))
    tree = tree_from_parents([-1, 0, 0])
    state, outcome = after(start(tree), said(0, WRONG), said(1, RIGHT), said(2, RIGHT), both)
    assert isinstance(outcome, Revise)
    state, _ = step(state, Resolved(keep_earlier=True))
    assert {answer.node for answer in state.facts.answers} == {0, 1, 2}


def test_undo_goes_back_to_the_tree_that_the_question_was_chosen_from() -> None:
    tree = partly_implicit(tree_from_parents([-1, 0, 1, 2, 2]), 1)
    debugging = SessionDriver(State(tree))
    first = debugging.start()
    assert isinstance(first, Ask)
    debugging.send(said(first.question.node, WRONG))
    assert len(debugging.state.tree.columns) > len(tree.columns)
    back = debugging.send(Undone())
    assert isinstance(back, Ask)
    assert back.question.node == first.question.node
    assert debugging.state.tree is tree


def test_an_expansion_that_shows_nothing_is_none() -> None:
    whole = tree_from_parents([-1, 0, 1])

    class Nothing:
        misjudge = staticmethod(lambda _, weight: weight)

        def call(self, detail: int, function: Function, rule: Rule) -> Call:
            return whole.call(detail)

        def expand(self, detail: int, levels: int) -> Any:
            return partly_implicit(whole, 0, detail, self)  # type: ignore[arg-type]

    tree = replace(partly_implicit(whole, 1), sources=(Nothing(),))
    with pytest.raises(CannotExpand):
        tree.expand(1, 3)


# --- one rule, folded calls --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parents", "rules", "trusts"),
    [([-1, 0, 1], [0, 0, 1], ()), ([-1, 0, 1, 0], [0, 1, 2, 0], TRUST_1)],
)
def test_the_single_rule_stop_waits_for_what_is_not_in_the_tree(
    parents: list[int], rules: list[int], trusts: Any
) -> None:
    tree = partly_implicit(tree_from_parents(parents, rules=rules), 1)
    state = start(tree, trusts=trusts, switches=Switches(single_rule=True))
    _, outcome = after(state, said(0, WRONG))
    assert not isinstance(outcome, Found)


def test_the_single_rule_stop_does_not_blame_a_top_that_nobody_judged() -> None:
    tree = tree_from_parents([-1, 0], rules=[0, 0])
    _, outcome = after(start(tree, switches=Switches(single_rule=True)), said(0, UNKNOWN))
    assert isinstance(outcome, Ask)


def test_candidates_hold_the_calls_that_were_folded_into_them() -> None:
    tree = tree_from_parents([-1, 0, 1], rules=[0, 1, 1])
    state = start(tree, switches=Switches(compression=True))
    _, outcome = after(state, said(0, WRONG), said(1, UNKNOWN), said(1, UNKNOWN))
    assert set(outcome.diagnosis.candidates) == {0, 1, 2}


# --- trust and contradictions ------------------------------------------------------------------


def test_trust_is_no_contradiction_while_calls_below_it_are_unknown() -> None:
    whole = tree_from_parents([-1, 0, 1, 2], rules=[0, 1, 1, 2])
    state = start(partly_implicit(whole, 2), trusts=TRUST_1)
    _, outcome = after(state, said(0, WRONG), said(1, WRONG), NotExpandable(2, "gone"))
    assert not isinstance(outcome, Revise)


def test_what_the_tracer_trusts_is_not_taken_for_a_persons_trust() -> None:
    tree = tree_of(
        [
            Node(1, None, made("main")),
            Node(2, 1, made("lib", trusted=True)),
            Node(3, 1, made("other")),
        ]
    )
    trust = Trust(TrustScope.FUNCTION, "other")
    _, outcome = after(start(tree, trusts=(trust,)), said(1, WRONG), said(2, WRONG))
    assert isinstance(outcome, Exhausted)
    assert "withdraw" not in outcome.diagnosis.reason
    with pytest.raises(UsageError):
        step(start(tree), TrustGiven(Trust(TrustScope.FUNCTION, "typo")))


def test_resolving_nothing_is_refused() -> None:
    trusts = (Trust(TrustScope.FUNCTION, "made.f0"),)
    state, _ = after(start(tree_from_parents([-1]), trusts=trusts), said(0, RIGHT))
    with pytest.raises(UsageError):
        step(state, Resolved(keep_earlier=True))


def test_rejecting_a_diagnosis_forgets_a_pending_contradiction() -> None:
    state = start(tree_from_parents([-1, 0]))
    _, outcome = after(state, said(1, RIGHT), said(1, WRONG), Rejected())
    assert isinstance(outcome, Ask)


def test_an_open_question_is_no_default_for_an_answered_one() -> None:
    events = [said(0, UNKNOWN), said(0, WRONG), said(1, RIGHT), Rejected()]
    _, outcome = after(start(tree_from_parents([-1, 0])), *events)
    assert outcome.question.default == Answer(0, WRONG)


def test_turning_duplicates_on_does_not_hide_a_wrong_call() -> None:
    tree = tree_from_parents([-1, 0, 0, 0], equations=[0, 7, 7, 3])
    events = [said(0, WRONG), said(1, WRONG), said(2, RIGHT), SwitchTurned("duplicates", True)]
    state, outcome = after(start(tree, switches=Switches(duplicates=False)), *events)
    assert isinstance(outcome, Revise)
    state, outcome = step(state, Resolved(keep_earlier=True))
    assert isinstance(outcome, Found)
    assert outcome.diagnosis.node == 1


# --- marks -------------------------------------------------------------------------------------


def test_a_mark_that_leads_nowhere_is_refused_and_does_no_harm() -> None:
    state, _ = step(start(tree_from_parents([-1, 0, 0]), Influenced({0}, False)), Started())
    with pytest.raises(UsageError):
        step(state, Answered((Answer(1, WRONG), Answer(2, WRONG, Mark("nonsense")))))
    _, outcome = step(state, said(1, RIGHT))
    _, fresh = step(replace(state, cache=SpaceCache()), said(1, RIGHT))
    assert outcome == fresh


@pytest.mark.parametrize("verdict", [RIGHT, UNKNOWN])
def test_only_what_is_wrong_can_be_marked(verdict: Verdict) -> None:
    state = start(tree_from_parents([-1, 0]), Influenced({0}, True))
    with pytest.raises(UsageError):
        step(state, said(1, verdict, Mark("x")))


@pytest.mark.parametrize("name", ["self.items", "file data.txt", "config.DEBUG"])
def test_marks_with_any_name_survive_the_log(name: str) -> None:
    call = made("f", reads=(Binding(name, atom("1")),), effects=(Effect(name, None, atom("x")),))
    assert name in roots(call)
    mark = find_mark(call, name, input_side=True).mark
    answered = said(1, WRONG, mark)
    assert decode(encode(answered)) == answered


# --- reports, journals, trees ------------------------------------------------------------------


def test_bad_input_is_found_among_any_number_of_callees() -> None:
    count = 1500
    answers = (Answer(0, WRONG), *(Answer(n, RIGHT) for n in range(1, count)), Answer(count, NEVER))
    _, outcome = step(start(tree_from_parents([-1] + [0] * count), answers=answers), Started())
    assert outcome.diagnosis.kind is FaultKind.BAD_INPUT_PASSED  # type: ignore[union-attr]


def test_trees_that_differ_anywhere_have_different_fingerprints() -> None:
    equations = list(range(5000))
    parents = [-1] + [0] * 4999
    other = [*equations[:4500], 10**6, *equations[4501:]]
    first, second = (tree_from_parents(parents, equations=e) for e in (equations, other))
    assert fingerprint(first) != fingerprint(second)


def test_a_file_without_a_line_that_is_no_session_is_left_alone(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("my notes, no newline")
    with pytest.raises(WhenceError):
        SessionLog(notes, tree_from_parents([-1]), "tree", log_entries)
    assert notes.read_text() == "my notes, no newline"


def test_numbers_that_are_none_in_a_log_are_left_out(tmp_path: Path) -> None:
    path, tree = tmp_path / "session.jsonl", tree_from_parents([-1])
    SessionLog(path, tree, "tree", log_entries).close()
    record = {"event": "expanded", "node": math.inf, "levels": 1}
    with path.open("ab") as file:
        file.write(checked_line(record, fingerprint(tree)))
    log = SessionLog(path, tree, "tree", log_entries)
    assert (log.entries, log.gaps) == ([], [0])


def test_a_session_goes_on_although_what_it_had_expanded_is_gone(tmp_path: Path) -> None:
    whole = tree_from_parents([-1, 0, 1, 1])
    tree = partly_implicit(whole, 1)
    path = tmp_path / "session.jsonl"
    first = SessionDriver(start(tree), log=SessionLog(path, tree, "tree", log_entries))
    first.start()
    for answer in (said(0, WRONG), said(1, WRONG), said(2, RIGHT)):
        first.send(answer)
    assert isinstance(first.log, SessionLog)
    first.log.close()

    class Gone:
        def call(self, detail: int, function: Function, rule: Rule) -> Call:
            return whole.call(detail)

        def expand(self, detail: int, levels: int) -> Any:
            raise CannotExpand("the recording is gone")

    shrunk = replace(tree, sources=(Gone(),))
    notes: list[str] = []
    again = SessionDriver(
        start(shrunk), log=SessionLog(path, shrunk, "tree", log_entries), notify=notes.append
    )
    outcome = again.start()
    assert isinstance(outcome, Found)
    assert outcome.diagnosis.status is Status.UNDETERMINED
    assert any("1 earlier answers" in note for note in notes)


def test_states_and_trees_can_be_compared() -> None:
    tree, twin = tree_from_parents([-1, 0]), tree_from_parents([-1, 0])
    assert State(tree) == State(tree)
    assert State(tree) != State(twin)
    assert Expanded(tree) == Expanded(tree)
    assert Expanded(tree) != Expanded(twin)
