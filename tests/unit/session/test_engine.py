"""What a session does about every kind of answer."""

from __future__ import annotations

from typing import Any

import pytest

from whence.errors import UsageError
from whence.model.call import Binding, Call, Function, Location, Mark, Outcome, OutcomeKind, Rule
from whence.model.diagnosis import Diagnosis, FaultKind, Status
from whence.model.origin import Influence, Origin
from whence.model.question import Question
from whence.model.value import Kind, Value, atom
from whence.model.verdict import Answer, Trust, TrustScope, Verdict
from whence.session.engine import step
from whence.session.events import (
    Answered,
    Ask,
    Exhausted,
    Found,
    MarkTraced,
    Redone,
    Rejected,
    Resolved,
    RestSearched,
    Revise,
    Started,
    StrategyChosen,
    SwitchTurned,
    Trace,
    TrustGiven,
    TrustWithdrawn,
    Undone,
)
from whence.session.state import Facts, Options, State
from whence.testing.answerer import run
from whence.testing.meanings import one_fault
from whence.tree.column_tree import Node, tree_of


def call(name: str, outcome: Outcome | None = None, argument: Value | None = None) -> Call:
    function = Function(name, name, "mod", Location("mod.py", 1))
    outcome = outcome or Outcome(OutcomeKind.RETURNED, atom(f"r{name}"))
    arguments = (Binding("x", argument),) if argument else ()
    return Call(function, Rule(name, name, function.location), outcome, arguments)


def family(*rows: tuple[int, int | None, str]) -> Any:
    return tree_of([Node(number, parent, call(name)) for number, parent, name in rows])


TREE = family((1, None, "main"), (2, 1, "sort"), (3, 2, "key"), (4, 2, "less"), (5, 1, "show"))


def said(node: int, verdict: Verdict, mark: Mark | None = None) -> Answered:
    return Answered((Answer(node, verdict, mark),))


def state(strategy: str = "top-down", tree: Any = TREE, **facts: Any) -> State:
    return State(tree, facts=Facts(strategy=strategy, **facts))


def after(start: State, *events: Any) -> tuple[State, Any]:
    current, outcome = step(start, Started())
    for event in events:
        current, outcome = step(current, event)
    return current, outcome


def asked(outcome: Any) -> int:
    assert isinstance(outcome, Ask)
    return outcome.question.node


def question(outcome: Any) -> Question:
    assert isinstance(outcome, Ask)
    return outcome.question


def diagnosed(outcome: Any) -> Diagnosis:
    assert isinstance(outcome, Found | Exhausted)
    return outcome.diagnosis


def test_a_wrong_call_whose_callees_are_right_is_at_fault() -> None:
    _, outcome = after(
        state(),
        said(1, Verdict.WRONG),
        said(2, Verdict.WRONG),
        said(3, Verdict.RIGHT),
        said(4, Verdict.RIGHT),
    )
    assert isinstance(outcome, Found)
    assert diagnosed(outcome).node == 2
    assert outcome.diagnosis.kind is FaultKind.WRONG_RESULT
    assert outcome.diagnosis.callees == (3, 4)


def test_an_inadmissible_callee_makes_its_caller_the_one_that_passed_bad_input() -> None:
    _, outcome = after(
        state(),
        said(1, Verdict.WRONG),
        said(2, Verdict.WRONG),
        said(3, Verdict.INADMISSIBLE),
        said(4, Verdict.RIGHT),
    )
    assert diagnosed(outcome).node == 2
    assert outcome.diagnosis.kind is FaultKind.BAD_INPUT_PASSED
    assert outcome.diagnosis.bad_input == (3,)


def test_a_trusted_function_is_not_asked_about_yet_its_callees_are() -> None:
    current, outcome = after(
        state(), TrustGiven(Trust(TrustScope.FUNCTION, "sort")), said(1, Verdict.WRONG)
    )
    assert asked(outcome) == 3
    _, outcome = step(current, said(3, Verdict.WRONG))
    assert isinstance(outcome, Found)
    assert diagnosed(outcome).node == 3


def test_the_caller_of_trusted_code_is_at_fault_when_all_that_it_leads_to_is_right() -> None:
    trust = TrustGiven(Trust(TrustScope.FUNCTION, "sort"))
    right = [said(node, Verdict.RIGHT) for node in (3, 4, 5)]
    _, outcome = after(state(), trust, said(1, Verdict.WRONG), *right)
    assert diagnosed(outcome).node == 1
    assert outcome.diagnosis.callees == (3, 4, 5)


@pytest.mark.parametrize("scope", [(TrustScope.MODULE, "mod"), (TrustScope.FILE, "mod.py")])
def test_trusting_all_code_leaves_the_fault_undetermined(scope: tuple[TrustScope, str]) -> None:
    _, outcome = after(state(), TrustGiven(Trust(*scope)))
    assert isinstance(outcome, Exhausted)
    assert outcome.diagnosis.status is Status.UNDETERMINED
    assert "trust" in outcome.diagnosis.reason


def test_trusting_what_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing in this tree"):
        step(state(), TrustGiven(Trust(TrustScope.FUNCTION, "nowhere")))


def test_trusted_code_that_would_be_at_fault_is_a_contradiction_with_both_ways_out() -> None:
    trust = Trust(TrustScope.FUNCTION, "sort")
    events = [
        said(1, Verdict.WRONG),
        TrustGiven(trust),
        said(2, Verdict.WRONG),
        said(3, Verdict.RIGHT),
        said(4, Verdict.RIGHT),
    ]
    current, outcome = after(state(), *events)
    assert isinstance(outcome, Revise)
    assert (outcome.earlier, outcome.later.node) == (trust, 2)
    _, blamed = step(current, Resolved(keep_earlier=False))
    assert isinstance(blamed, Found)
    assert blamed.diagnosis.node == 2
    _, reopened = step(current, Resolved(keep_earlier=True))
    assert asked(reopened) == 5


def test_a_skipped_question_is_asked_again_last() -> None:
    current, outcome = after(state(), said(1, Verdict.WRONG), said(2, Verdict.UNKNOWN))
    seen = []
    while isinstance(outcome, Ask) and asked(outcome) != 2:
        seen.append(asked(outcome))
        current, outcome = step(current, said(asked(outcome), Verdict.RIGHT))
    assert sorted(seen) == [3, 4, 5]
    _, outcome = step(current, said(2, Verdict.WRONG))
    assert diagnosed(outcome).node == 2


def test_what_is_skipped_twice_leaves_candidates() -> None:
    current, outcome = after(state(), said(1, Verdict.WRONG), said(2, Verdict.UNKNOWN))
    while isinstance(outcome, Ask):
        verdict = Verdict.UNKNOWN if asked(outcome) == 2 else Verdict.RIGHT
        current, outcome = step(current, said(asked(outcome), verdict))
    assert isinstance(outcome, Found)
    assert outcome.diagnosis.status is Status.CANDIDATES
    assert outcome.diagnosis.candidates == (1, 2)


def test_a_right_top_ends_the_search_and_offers_the_rest() -> None:
    current, outcome = after(state(), said(1, Verdict.RIGHT))
    assert isinstance(outcome, Exhausted)
    assert outcome.rest
    assert outcome.diagnosis.status is Status.NONE
    current, outcome = step(current, RestSearched())
    assert asked(outcome) == 2
    current, outcome = step(current, said(2, Verdict.WRONG))
    for node in (3, 4):
        current, outcome = step(current, said(node, Verdict.RIGHT))
    assert isinstance(outcome, Found)
    assert diagnosed(outcome).node == 2


def test_a_rest_that_is_right_throughout_ends_with_nothing_found() -> None:
    right = [said(node, Verdict.RIGHT) for node in (2, 5)]
    _, outcome = after(state(), said(1, Verdict.RIGHT), RestSearched(), *right)
    assert isinstance(outcome, Exhausted)
    assert not outcome.rest
    assert outcome.diagnosis.status is Status.NONE


def test_an_inadmissible_top_puts_the_fault_outside() -> None:
    _, outcome = after(state(), said(1, Verdict.INADMISSIBLE))
    assert "outside" in outcome.diagnosis.reason


def test_the_top_is_not_blamed_before_somebody_says_that_it_is_wrong() -> None:
    right = [said(node, Verdict.RIGHT) for node in (2, 5)]
    current, outcome = after(state("optimal-divide-and-query"), *right)
    assert asked(outcome) == 1
    _, outcome = step(current, said(1, Verdict.WRONG))
    assert diagnosed(outcome).node == 1


def test_a_contradiction_names_both_answers_and_either_can_be_kept() -> None:
    current, outcome = after(state(), said(1, Verdict.WRONG), said(2, Verdict.RIGHT))
    current, outcome = step(current, said(2, Verdict.WRONG))
    assert isinstance(outcome, Revise)
    assert isinstance(outcome.earlier, Answer)
    assert (outcome.earlier.verdict, outcome.later.verdict) == (Verdict.RIGHT, Verdict.WRONG)
    _, kept = step(current, Resolved(keep_earlier=True))
    assert asked(kept) == 5
    _, changed = step(current, Resolved(keep_earlier=False))
    assert asked(changed) == 3


def test_a_contradiction_loses_none_of_the_answers_given_with_it() -> None:
    current, _ = after(state(), said(1, Verdict.WRONG), said(2, Verdict.RIGHT))
    three = Answered(tuple(Answer(node, Verdict.WRONG) for node in (2, 4, 5)))
    current, outcome = step(current, three)
    assert isinstance(outcome, Revise)
    current, _ = step(current, Resolved(keep_earlier=True))
    assert {answer.node for answer in current.facts.answers} == {1, 2, 4, 5}


def test_equal_equations_contradict_each_other() -> None:
    tree = family((1, None, "main"), (2, 1, "f"), (3, 1, "g"), (4, 3, "f"))
    current, outcome = after(
        state(tree=tree), said(1, Verdict.WRONG), said(2, Verdict.RIGHT), said(4, Verdict.WRONG)
    )
    assert isinstance(outcome, Revise)
    assert outcome.why == "calls with equal inputs and outcomes"
    _, outcome = step(current, Resolved(keep_earlier=False))
    assert isinstance(outcome, Found)


def test_equal_equations_get_equal_answers() -> None:
    tree = family((1, None, "main"), (2, 1, "f"), (3, 1, "g"), (4, 3, "f"))
    went = run(state(tree=tree), one_fault(tree, 2))
    assert went.nodes() == [1, 2, 3]
    assert went.diagnosis.node == 3


def test_undo_restores_the_previous_question_and_redo_the_next() -> None:
    start = state("auto")
    current, first = step(start, Started())
    answered, second = step(current, said(asked(first), Verdict.RIGHT))
    undone, again = step(answered, Undone())
    assert asked(again) == asked(first)
    _, redone = step(undone, Redone())
    assert asked(redone) == asked(second)


def test_undo_at_the_start_and_redo_at_the_end_are_refused() -> None:
    with pytest.raises(UsageError, match="nothing to undo"):
        step(state(), Undone())
    with pytest.raises(UsageError, match="nothing to redo"):
        step(state(), Redone())


def test_a_rejected_diagnosis_asks_again_with_the_earlier_answers_as_defaults() -> None:
    events = [said(1, Verdict.WRONG), said(2, Verdict.WRONG)]
    events += [said(node, Verdict.RIGHT) for node in (3, 4)]
    current, outcome = after(state(), *events)
    assert isinstance(outcome, Found)
    current, outcome = step(current, Rejected())
    assert asked(outcome) == 1
    assert question(outcome).default == Answer(1, Verdict.WRONG)
    current, outcome = step(current, said(1, Verdict.WRONG))
    assert question(outcome).default == Answer(2, Verdict.WRONG)
    current, outcome = step(current, said(2, Verdict.RIGHT))
    assert asked(outcome) == 5
    assert question(outcome).default is None


def test_strategies_and_switches_change_in_the_middle() -> None:
    current, outcome = after(state("top-down"), said(1, Verdict.WRONG))
    assert question(outcome).strategy == "top-down"
    current, outcome = step(current, StrategyChosen("single"))
    assert question(outcome).strategy == "single-stepping"
    assert asked(outcome) == 3
    current, outcome = step(current, SwitchTurned("duplicates", False))
    assert not current.facts.switches.duplicates
    with pytest.raises(UsageError, match="no switch"):
        step(current, SwitchTurned("magic", True))
    with pytest.raises(UsageError, match="no strategy"):
        step(current, StrategyChosen("magic"))


def test_a_trust_can_be_withdrawn() -> None:
    trust = Trust(TrustScope.FUNCTION, "sort")
    current, outcome = after(state(), TrustGiven(trust), said(1, Verdict.WRONG))
    current, outcome = step(current, TrustWithdrawn(trust))
    assert asked(outcome) == 2
    with pytest.raises(UsageError, match="not trusted"):
        step(current, TrustWithdrawn(trust))


def test_several_calls_are_judged_in_one_event_and_undone_in_one() -> None:
    current, outcome = after(state(), said(1, Verdict.WRONG))
    both = Answered((Answer(2, Verdict.WRONG), Answer(4, Verdict.WRONG)))
    current, outcome = step(current, both)
    assert isinstance(outcome, Found)
    assert diagnosed(outcome).node == 4
    current, outcome = step(current, Undone())
    assert asked(outcome) == 2


def test_an_answer_about_an_unknown_call_is_refused() -> None:
    with pytest.raises(UsageError, match="no call 99"):
        step(state(), said(99, Verdict.RIGHT))


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        (OutcomeKind.RAISED, FaultKind.RAISED),
        (OutcomeKind.NOT_TERMINATED, FaultKind.DID_NOT_END),
        (OutcomeKind.FAILED, FaultKind.MISSING_ANSWER),
        (OutcomeKind.YIELDED, FaultKind.WRONG_RESULT),
    ],
)
def test_the_kind_of_fault_follows_from_the_outcome(kind: OutcomeKind, fault: FaultKind) -> None:
    tree = tree_of([Node(1, None, call("main", Outcome(kind, atom("e"))))])
    _, outcome = after(state(tree=tree), said(1, Verdict.WRONG))
    assert outcome.diagnosis.kind is fault


@pytest.mark.parametrize("text", ["ValueError", "json.JSONDecodeError('x', 1)", "raises KeyError"])
def test_a_call_that_should_have_raised_and_did_not_is_a_kind_of_its_own(text: str) -> None:
    tree = tree_of([Node(1, None, call("main", Outcome(OutcomeKind.RETURNED, atom("1"))))])
    expected = Answered((Answer(1, Verdict.WRONG, expected=text),))
    _, outcome = after(state(tree=tree), expected)
    assert outcome.diagnosis.kind is FaultKind.DID_NOT_RAISE
    _, outcome = after(
        state(tree=tree), Answered((Answer(1, Verdict.WRONG, expected="Error + 1"),))
    )
    assert outcome.diagnosis.kind is FaultKind.WRONG_RESULT


class Marked:
    """Origins for the tests below: the list was made by call 2, of which call 3 is a part."""

    def __init__(
        self, nodes: frozenset[int], complete: bool, wider: tuple[frozenset[int], ...] = ()
    ) -> None:
        self.known = Influence(nodes, complete, wider)

    def origin(self, node: int, part: Any) -> Origin:
        return Origin(2, (2,), expression="[a, b]")

    def influence(self, node: int, part: Any) -> Influence:
        return self.known

    def with_tree(self, tree: Any) -> Marked:
        return self


LISTING = Outcome(OutcomeKind.RETURNED, Value(Kind.LIST, "", (("[0]", atom("a")),)))
MARKED_TREE = tree_of(
    [
        Node(1, None, call("main", LISTING)),
        Node(2, 1, call("make", LISTING)),
        Node(3, 2, call("inner")),
        Node(4, 1, call("other")),
        Node(5, 4, call("below")),
    ]
)


def marking(complete: bool, strategy: str = "top-down") -> State:
    provenance: Any = Marked(frozenset({1, 2, 3}), complete)
    return State(MARKED_TREE, provenance, facts=Facts(strategy=strategy))


def test_a_mark_sets_aside_what_cannot_have_influenced_it() -> None:
    marked = said(1, Verdict.WRONG, Mark("result", ("[0]",)))
    _, outcome = after(marking(complete=True), marked)
    assert asked(outcome) == 2
    _, outcome = after(marking(complete=True), marked, said(2, Verdict.RIGHT))
    assert isinstance(outcome, Found), "nothing outside a complete slice can be at fault"
    assert diagnosed(outcome).node == 1


def test_a_slice_that_may_miss_something_is_widened_before_anybody_is_blamed() -> None:
    marked = said(1, Verdict.WRONG, Mark("result", ("[0]",)))
    current, outcome = after(marking(complete=False), marked, said(2, Verdict.RIGHT))
    assert asked(outcome) == 4
    _, outcome = step(current, said(4, Verdict.RIGHT))
    assert diagnosed(outcome).node == 1


def test_slices_are_taken_one_after_the_other_and_then_everything() -> None:
    tree = tree_of(
        [
            Node(1, None, call("main", LISTING)),
            Node(2, 1, call("outside")),
            Node(3, 1, call("wide")),
            Node(4, 1, call("narrow")),
        ]
    )
    wider = (frozenset({1, 4, 3}),)
    provenance: Any = Marked(frozenset({1, 4}), False, wider)
    start = State(tree, provenance, facts=Facts(strategy="top-down"))
    current, outcome = after(start, said(1, Verdict.WRONG, Mark("result", ("[0]",))))
    for node in (4, 3, 2):
        assert asked(outcome) == node
        current, outcome = step(current, said(node, Verdict.RIGHT))
    assert diagnosed(outcome).node == 1
    assert not outcome.diagnosis.within_slice
    current, outcome = step(current, Undone())
    assert asked(outcome) == 2, "undo goes back to the slice of then"


class MarkedTwice(Marked):
    """Of two calls, each with a slice of its own."""

    def __init__(self, first: frozenset[int], second: frozenset[int]) -> None:
        self.of = {1: Influence(first, False), 2: Influence(second, False)}

    def influence(self, node: int, part: Any) -> Influence:
        return self.of[node]


def test_what_is_in_the_slices_of_all_marks_is_searched_first() -> None:
    tree = tree_of(
        [
            Node(1, None, call("main", LISTING)),
            Node(2, 1, call("make", LISTING)),
            Node(3, 2, call("of the first")),
            Node(4, 2, call("of the second")),
            Node(5, 2, call("of both")),
            Node(6, 2, call("of none")),
        ]
    )
    provenance: Any = MarkedTwice(frozenset({1, 2, 3, 5}), frozenset({1, 2, 4, 5}))
    current = State(tree, provenance, facts=Facts(strategy="top-down"))
    mark = Mark("result", ("[0]",))
    current, outcome = after(current, said(1, Verdict.WRONG, mark), said(2, Verdict.WRONG, mark))
    assert asked(outcome) == 5
    current, outcome = step(current, said(5, Verdict.RIGHT))
    assert asked(outcome) == 3, "each mark may have a cause of its own: then everything is searched"


def test_only_the_widest_of_the_slices_explains_the_marked_call() -> None:
    provenance: Any = Marked(frozenset({1, 2, 3}), True, (frozenset({1, 2, 3, 4}),))
    start = State(MARKED_TREE, provenance, facts=Facts(strategy="top-down"))
    marked = said(1, Verdict.WRONG, Mark("result", ("[0]",)))
    current, outcome = after(start, marked, said(2, Verdict.RIGHT))
    assert asked(outcome) == 4, "the narrow slice may miss it"
    _, outcome = step(current, said(4, Verdict.RIGHT))
    assert diagnosed(outcome).node == 1


def test_of_an_exception_nothing_is_lacking_so_that_who_raised_it_is_asked_about() -> None:
    provenance: Any = Marked(frozenset({1, 2, 3, 4}), False)
    assert LISTING.value is not None
    error = Value(Kind.OBJECT, "ValueError", ((".args", LISTING.value),))
    for outcome, held in ((LISTING, True), (Outcome(OutcomeKind.RAISED, error), False)):
        nodes = [Node(1, None, call("main", outcome)), Node(2, 1, call("make", outcome))]
        nodes += [Node(number, 1, call("other")) for number in (3, 4, 5)]
        start = State(tree_of(nodes), provenance, facts=Facts(strategy="auto"))
        mark = Mark("result" if held else "raised")
        current, _ = after(start, said(1, Verdict.WRONG, mark))
        assert current.space().history[0].holds_others is held


def test_a_slice_that_has_nothing_to_ask_is_widened_at_once() -> None:
    provenance: Any = Marked(frozenset({1}), False, (frozenset({1}), frozenset({1, 4})))
    start = State(MARKED_TREE, provenance, facts=Facts(strategy="top-down"))
    _, outcome = after(start, said(1, Verdict.WRONG, Mark("result", ("[0]",))))
    assert asked(outcome) == 4


def test_a_complete_slice_of_one_call_does_not_explain_another() -> None:
    tree = tree_of(
        [
            Node(1, None, call("main", LISTING)),
            Node(2, 1, call("make", LISTING)),
            Node(3, 2, call("inner")),
            Node(4, 2, call("aside")),
        ]
    )
    provenance: Any = Marked(frozenset({1, 2, 3}), True)
    start = State(tree, provenance, facts=Facts(strategy="top-down"))
    events = [
        said(1, Verdict.WRONG, Mark("result", ("[0]",))),
        said(2, Verdict.WRONG),
        said(3, Verdict.RIGHT),
    ]
    _, outcome = after(start, *events)
    assert asked(outcome) == 4, "call 2 may be wrong about a part that was not marked"


def test_auto_follows_a_mark_to_its_origin() -> None:
    marked = said(1, Verdict.WRONG, Mark("result", ("[0]",)))
    _, outcome = after(marking(complete=False, strategy="auto"), marked)
    assert asked(outcome) == 2
    assert question(outcome).why == "it made the part that you marked"


def test_auto_does_not_ask_who_made_what_lacks_something() -> None:
    _, outcome = after(
        marking(complete=False, strategy="auto"), said(1, Verdict.WRONG, Mark("result"))
    )
    assert question(outcome).why != "it made the part that you marked"


def test_auto_does_not_ask_about_an_origin_that_is_most_of_what_is_left() -> None:
    nodes = [Node(1, None, call("main", LISTING)), Node(2, 1, call("make", LISTING))]
    nodes += [Node(number, 2, call(f"part {number}")) for number in range(3, 9)]
    provenance: Any = Marked(frozenset(range(1, 9)), False)
    start = State(tree_of(nodes), provenance, facts=Facts(strategy="auto"))
    _, outcome = after(start, said(1, Verdict.WRONG, Mark("result", ("[0]",))))
    assert question(outcome).why != "it made the part that you marked"


def test_a_mark_is_traced_by_the_loop_before_the_search_goes_on() -> None:
    start = State(TREE, facts=Facts(strategy="top-down"), options=Options(trace_marks=True))
    marked = Answer(1, Verdict.WRONG, Mark("result"))
    current, outcome = after(start, Answered((marked,)))
    assert outcome == Trace(marked)
    current, outcome = step(current, MarkTraced(marked))
    assert asked(outcome) == 2
    current, outcome = after(current, Undone(), Redone())
    assert asked(outcome) == 2, "a traced mark stays traced"
    current, outcome = after(current, Undone(), Answered((marked,)))
    assert outcome == Trace(marked), "a mark that is given again is traced again"
