"""The traced program gives exactly the answers, output and errors of the plain one."""

import io
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from prolog import need_swipl

from whence.langs.prolog.port_events import NO_LIMITS, Run
from whence.langs.prolog.swipl_process import Engine, plain, quoted
from whence.langs.prolog.trace_tree import TraceTree

need_swipl()

PROGRAMS = Path(__file__).parent / "programs"
TORTURE = """
cut_in_or(X). cut_after_then(X). cut_in_negation. cut_in_call(X). cut_as_data(X). cut_first(X, Y).
once_inside(X, Y). soft(X). soft_else(X). nested(X). if_only(X). ignored(X). between_ands(X).
all(L). bags(A, L). sets(L). exists(L). every. not_every. counted(N). summed(S). cut_in_findall(X).
mapped(L). folded(S). lambda(L). closed(R). filtered(L). univ(R). apart(X). imported(X).
caught(R). found(R). outer(R). unknown(R). raising(X). after_an_answer(X). cleaned(R). rethrown(R).
parsed(V). called_in_grammar(N). counting(N). logical_update(L). made_rules(X). globals(L). walk(X).
labelled(L). left_open(X). frozen(R). still_frozen(X). different(R). send(Vs).
tabled(L). single_sided(N). no_rule(R). delimited(L).
strings(X). big_number(X). cyclic(X). big_term(N). odd_atoms(X). operators(X). splits(L).
clauses(L). down(5000). sum_to(3000, S). printing(X). to_string(S). reading(X).
first(X), second(Y). \\+ first(7). first(X), ( X > 1 -> true ; fail ) ; X = 3. member(X, [1,2]).
nowhere(X). X = f(X).
"""
RARE = """
code_at(X). halves(X). parts(X). read_back(T). undone(X). kept(X). count_in_place(N).
between_many(N). between_endless(X). lists_of_any_length(L). in_portions(L). the_third(X).
some_of_them(X). different_ones(X). locked(X). scattered(X).
cleaned_after_one(X). cleaned_after_the_last(X). cleaned_by_a_cut(X). cleaned_by_failure.
cleaned_by_an_error(E). cleaned_twice(X). error_in_cleaning(E). why_cleaned(X, W).
caught_and_tried_again(X). error_after_answers(X). error_in_recovery(R). error_in_findall(R).
error_in_forall(R). error_in_negation(R). error_in_a_coroutine(R). asserted(R).
error_through_findall_and_back(L). neither(R). well_founded(R). shortest_way(N). big_fib(F).
tables_that_follow(L). next_of_an_engine(X). posted_to_an_engine(S). in_a_thread(X).
thread_that_fails(S). thread_that_raises(S). side_by_side(L).
printed_when_bound(X). printed_when_equal(X). printed_when_either(X). never_equal(X).
two_at_once(X). in_domain(X). domain_left(X). pushed_back(R). first_word(W). negated_in_grammar(X).
own_operator(X, Y). new_operator(T). expanded(X). expanded_goal. portrayed. dicts_in_bodies(X).
first_by_hand(X). is_last(X, D). sure(R). not_sure(R). dollar(X). dollar_goal(R).
depth_of(R). too_deep(R). enough_inferences(R). too_few_inferences(R). in_time(X).
retracted_one_by_one(X). taken_back(L). all_or_nothing(L). loaded_meanwhile(X). made_module(X).
seen_from_there(M). last_call(R).
"""


def goals_in(text: str) -> list[str]:
    lines = [each.strip().replace("\n", " ") for each in text.split(".\n")]
    return [goal for line in lines for goal in line.split(". ") if goal]


GOALS = {"torture": goals_in(TORTURE), "rare": goals_in(RARE)}
EACH = [goal for goals in GOALS.values() for goal in goals]
SOLUTIONS = 12


@dataclass
class Outcome:
    answers: list[str]
    exhausted: bool
    raised: str | None
    printed: bytes
    events: int


def outcomes(program: str, request: str) -> dict[str, Outcome]:
    """All goals of a program in one process, each with what it printed."""
    found = {}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as typed:
        typed.write(b"typed(in).\n")
        typed.seek(0)
        with Engine(stdin=typed.fileno(), stdout=output.fileno()) as engine:
            engine.load(PROGRAMS / f"{program}.pl")
            for goal in GOALS[program]:
                start = os.fstat(output.fileno()).st_size
                run = Run()
                lines = engine.stream(request.format(quoted(goal), SOLUTIONS))
                trace = TraceTree(lines, run)
                found_all = not trace.calls or len(trace.root.answers) == len(run.answers)
                assert found_all, goal
                raised = None
                if run.raised is not None:
                    raised = plain(engine.numbered("terms", [run.raised])[0][2])
                output.seek(start, io.SEEK_SET)
                printed = output.read()
                found[goal] = Outcome(run.answers, run.exhausted, raised, printed, trace.length)
    return found


@pytest.fixture(scope="module")
def both() -> tuple[dict[str, Outcome], dict[str, Outcome]]:
    plain_ones: dict[str, Outcome] = {}
    traced: dict[str, Outcome] = {}
    for program in GOALS:
        plain_ones |= outcomes(program, "plain({}, {})")
        traced |= outcomes(program, f"run({{}}, {{}}, {NO_LIMITS})")
    return plain_ones, traced


def test_there_are_at_least_48_goals() -> None:
    assert len(set(EACH)) >= 48


@pytest.mark.parametrize("goal", EACH)
def test_tracing_changes_nothing(
    goal: str, both: tuple[dict[str, Outcome], dict[str, Outcome]]
) -> None:
    untraced, under_trace = both[0][goal], both[1][goal]
    assert untraced.events == 0
    assert under_trace.events > 0
    under_trace.events = 0
    assert under_trace == untraced


def test_the_goals_do_what_their_names_say(
    both: tuple[dict[str, Outcome], dict[str, Outcome]],
) -> None:
    """So that two equal failures do not pass for two equal answers."""
    traced = both[1]
    assert traced["printing(X)"].printed == b"at 1\nat 2\n"
    assert traced["reading(X)"].answers == ["X = typed(in)"]
    assert traced["raising(X)"].raised == "my_error"
    assert traced["sum_to(3000, S)"].answers == ["S = 4501500"]
    assert traced["send(Vs)"].answers == ["Vs = [9, 5, 6, 7, 1, 0, 8, 2]"]
    assert traced["left_open(X)"].answers == ["X in 1\\/3"]
    assert traced["printed_when_equal(X)"].printed == b"one\ndecided\ntwo\n"
    assert traced["cleaned_by_a_cut(X)"].printed == b"got(1)\nclosed\ncut\n"
    assert traced["next_of_an_engine(X)"].answers == ["X = 1-2"]
    assert traced["side_by_side(L)"].answers == ["L = [2, 4, 6]"]
    assert traced["too_few_inferences(R)"].answers == ["R = inference_limit_exceeded"]
    answered = [goal for goal in EACH if traced[goal].answers]
    assert len(answered) >= len(EACH) - 8
