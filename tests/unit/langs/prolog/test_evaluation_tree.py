"""What explains an answer, a failure, an exception: one rule of the evaluation tree a test."""

from pathlib import Path

import numpy as np
import pytest
from prolog import Traced, need_swipl, traced

from whence.errors import WhenceError
from whence.langs.prolog.evaluation_tree import children_of
from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.swipl_process import Engine
from whence.langs.prolog.traced_call import Port, PortEvent
from whence.model.call import OutcomeKind
from whence.testing.laws import check_expansion, check_tree

need_swipl()

PROGRAM = """
n(1). n(2). n(3).
big(X) :- X > 2.
size(X, small) :- tiny(X), !.
size(_, large).
tiny(X) :- X < 1.
first_big(X) :- n(X), big(X).
cond(X, Y) :- ( big(X) -> Y = b ; n(X), Y = n ).
neg(X) :- \\+ big(X), n(X).
not_big(X) :- n(X), \\+ big(X).
guarded(X, Y) :- ( tiny(X), !, Y = t ; Y = u ).
all(L) :- findall(X, first_big(X), L).
each(L, M) :- maplist(twice, L, M).
twice(X, Y) :- Y is 2 * X.
fails(X) :- n(X), X > 5.
raises(X) :- n(X), bad(X).
bad(X) :- X > 1, throw(too_large(X)).
tries(R) :- catch(raises(_), too_large(X), true), R = X.
picks(X) :- member(X, [1,2,3]), big(X).
nested(X) :- n(X), \\+ ( n(Y), Y > X, \\+ big(Y) ).
:- det(sure/1).
sure(X) :- tiny(X), n(X).
sure(X) :- n(Y), X > Y, X > 5.
:- det(leaf/1).
leaf(1).
"""
CLAUSE = "not_big(X) :- n(X), \\+ big(X)."


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("prolog") / "rules.pl"
    place.write_text(PROGRAM)
    return place


def user_children(run: Traced, event: PortEvent) -> list[str]:
    """The children without builtins."""
    return [run.shown(each) for each in children_of(event) if each.call.predicate.is_user]


def test_an_answer_is_explained_by_the_last_answers_on_its_branch(file: Path) -> None:
    run = traced(file, "first_big(X)")
    assert run.children(run.answer()) == ["exit n(3)", "exit big(3)"]


def test_a_failure_is_explained_by_all_that_happened(file: Path) -> None:
    run = traced(file, "fails(X)")
    assert user_children(run, run.failure()) == [
        "exit n(1)",
        "exit n(2)",
        "exit n(3)",
        "fail n(_A)",
    ]


def test_after_the_last_answer_a_goal_has_failed_though_no_port_says_so(file: Path) -> None:
    run = traced(file, "twice(2, X)")
    assert run.run.exhausted
    assert run.trace.root.failed is not None
    assert run.children(run.failure()) == ["exit 4 is 2*2", "fail _A is 2*2"]


def test_a_clause_that_did_not_reach_its_cut_explains_a_later_one(file: Path) -> None:
    run = traced(file, "size(5, X)")
    assert run.children(run.answer()) == ["fail tiny(5)"]


def test_a_cut_in_a_disjunction_counts_too(file: Path) -> None:
    run = traced(file, "guarded(5, X)")
    assert user_children(run, run.answer()) == ["fail tiny(5)"]


def test_a_condition_that_failed_explains_the_else(file: Path) -> None:
    run = traced(file, "cond(1, X)")
    assert user_children(run, run.answer()) == ["fail big(1)", "exit n(1)"]


def test_a_condition_that_succeeded_explains_the_then(file: Path) -> None:
    run = traced(file, "cond(3, X)")
    assert user_children(run, run.answer()) == ["exit big(3)"]


def test_a_negation_that_succeeded_is_explained_by_what_failed_in_it(file: Path) -> None:
    run = traced(file, "neg(1)")
    assert user_children(run, run.answer()) == ["fail big(1)", "exit n(1)"]


def test_a_negation_that_failed_is_explained_by_what_succeeded_in_it(file: Path) -> None:
    run = traced(file, "neg(3)")
    assert user_children(run, run.failure()) == ["exit big(3)"]


def test_in_a_failure_a_negation_counts_each_time_it_was_tried(file: Path) -> None:
    run = traced(file, "not_big(X)")
    assert user_children(run, run.failure()) == [
        "exit n(1)", "fail big(1)", "exit n(2)", "fail big(2)", "exit n(3)", "exit big(3)",
        "fail n(_A)",
    ]  # fmt: skip


def test_negations_may_be_nested(file: Path) -> None:
    """`nested(2)`: of n(3) it holds that it is big, so nothing is left that is not."""
    run = traced(file, "nested(2)")
    found = user_children(run, run.answer())
    assert found[0] == "exit n(2)"
    assert "exit big(3)" in found and "fail n(_A)" in found
    assert "fail big(3)" not in found


def test_what_a_library_calls_back_is_below_it_and_complete(file: Path) -> None:
    run = traced(file, "all(L)")
    (findall,) = [each for each in run.trace.calls if each.predicate.name == "findall"]
    assert not findall.predicate.is_user
    below = run.children(PortEvent(Port.EXIT, findall))
    assert below == ["exit first_big(3)", "fail first_big(_A)"]


def test_a_library_predicate_that_passes_control_on_has_only_its_branch(file: Path) -> None:
    run = traced(file, "each([1,2], M)")
    (maplist,) = [each for each in run.trace.calls if each.predicate.name == "maplist"]
    assert run.children(PortEvent(Port.EXIT, maplist)) == ["exit twice(1, 2)", "exit twice(2, 4)"]


def test_a_library_predicate_that_is_re_entered_out_of_sight_gives_further_answers(
    file: Path,
) -> None:
    run = traced(file, "picks(X)")
    assert run.children(run.answer()) == ["exit member(3, [1, 2, 3])", "exit big(3)"]


def test_an_exception_is_explained_by_all_that_happened_before_it(file: Path) -> None:
    run = traced(file, "raises(X)")
    root = PortEvent(Port.RAISE, run.trace.root)
    on_branch, before = ["exit n(2)", "exception bad(2)"], ["exit n(1)", "fail bad(1)"]
    assert run.children(root) == on_branch + before


def test_an_exception_that_was_caught_explains_the_answer(file: Path) -> None:
    run = traced(file, "tries(R)")
    (catch,) = [each for each in run.trace.calls if each.predicate.name == "catch"]
    assert run.children(PortEvent(Port.EXIT, catch)) == ["exception raises(_A)"]


def test_a_program_that_turns_the_tracer_off_is_not_debugged(tmp_path: Path) -> None:
    (tmp_path / "off.pl").write_text("p(X) :- q(X), nodebug, r(X).\nq(1).\nr(1).\n")
    with Engine() as engine, pytest.raises(WhenceError, match="turn the tracer off"):
        GoalExecution(engine, tmp_path / "off.pl", "p(X)")


# --- as a tree -----------------------------------------------------------------------------------


def test_questions_are_in_prologs_notation(file: Path) -> None:
    with Engine() as engine:
        execution = GoalExecution(engine, file, "not_big(X)")
        assert execution.answers == ["X = 1", "X = 2"]
        tree = execution.missing()
        top = tree.call(0)
        assert top.text == "not_big(_A) has no answer but not_big(1); not_big(2)"
        assert (top.function.name, top.function.short()) == ("user:not_big/1", "not_big/1")
        assert str(top.where()) == f"{file}:{PROGRAM.splitlines().index(CLAUSE) + 1}"
        answer = execution.wrong(2).call(0)
        assert answer.text == "not_big(2)"
        assert answer.rule.name == "user:not_big/1 clause 1"
        assert answer.rule.source == CLAUSE


def test_what_a_nonterminal_parses_is_shown_as_text(tmp_path: Path) -> None:
    (tmp_path / "parse.pl").write_text(
        "go :- letters(_, `a\\`\\nb`, []), two(_, _, _, _, `ab`, _), numbers(_, [x, y], _).\n"
        "letters([_, _, _, C]) --> [_, _, _, C].\n"
        "two(C, D, [D, C], [96, 98]) --> [C, D].\n"
        "numbers([1, 2, 97]) --> [x].\n"
    )
    run = traced(tmp_path / "parse.pl", "go")
    assert run.children(run.answer()) == [
        "exit letters([_A, _B, _C, 98], `a\\`\\nb`, [])",
        "exit two(97, 98, [98, 97], [96, 98], `ab`, [])",
        "exit numbers([1, 2, 97], [x, y], [y])",
    ]


def test_a_predicate_without_clauses_says_so_where_it_is_blamed(tmp_path: Path) -> None:
    (tmp_path / "calls.pl").write_text("p :- nowhere(1).\n")
    with Engine() as engine:
        tree = GoalExecution(engine, tmp_path / "calls.pl", "p").raising()
        assert tree.call(1).rule.source == "No clause of it was loaded."


def test_an_exception_is_a_raised_outcome(file: Path) -> None:
    with Engine() as engine:
        execution = GoalExecution(engine, file, "raises(X)")
        assert execution.raised == "too_large(2)"
        call = execution.raising().call(0)
        assert call.outcome.kind is OutcomeKind.RAISED
        assert call.text == "raises(_A) raised too_large(2)"


def test_equal_questions_have_equal_equations(file: Path) -> None:
    with Engine() as engine:
        tree = GoalExecution(engine, file, "first_big(X), first_big(Y)").wrong(1)
        texts = [tree.call(position).text for position in range(len(tree.columns))]
        for one, text in enumerate(texts):
            for other, same in enumerate(texts):
                is_equal = tree.columns.equation[one] == tree.columns.equation[other]
                assert is_equal == (text == same)
        assert len(set(texts)) < len(texts)


def test_a_large_tree_is_made_as_it_is_asked_for(file: Path) -> None:
    with Engine() as engine:
        whole = GoalExecution(engine, file, "not_big(X)").missing()
        execution = GoalExecution(engine, file, "not_big(X)")
        small = execution.source.tree(PortEvent(Port.FAIL, execution.trace.root), most=3)
        assert small.columns.implicit.any()
        check_tree(whole)
        check_tree(small)
        check_expansion(small)
        while small.columns.implicit.any():
            small = small.expand(int(np.flatnonzero(small.columns.implicit)[0]), 1)
        assert [small.call(at).text for at in range(len(small.columns))] == [
            whole.call(at).text for at in range(len(whole.columns))
        ]
        assert small.columns.weight[0] == whole.columns.weight[0]


def test_an_error_of_a_det_predicate_is_explained_by_all_that_it_tried(file: Path) -> None:
    found = traced(file, "sure(2)")
    assert set(found.children(PortEvent(Port.RAISE, found.trace.root))) == {
        "fail tiny(2)",
        "exit n(1)",
        "exit 2>1",
        "fail 2>5",
    }


def test_a_det_predicate_that_matches_no_clause_is_blamed_for_its_failure(file: Path) -> None:
    with Engine() as engine:
        tree = GoalExecution(engine, file, "leaf(2)").raising()
        assert tree.call(0).equation() == "leaf(2) has no answer"
