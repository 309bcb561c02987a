"""What a right program says of an event of another one, and what it cannot say."""

from __future__ import annotations

from pathlib import Path

import pytest
from prolog import need_swipl

from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.port_events import RunLimits
from whence.langs.prolog.reference_program import ReferenceProgram
from whence.langs.prolog.swipl_process import Engine
from whence.langs.prolog.traced_call import Port, PortEvent
from whence.model.verdict import Verdict

need_swipl()

WRONG = """
:- use_module(library(clpfd)).
p(1). p(2).
tail(2). tail(1).
q(_).
gone(1).
later(X) :- member(X, [1,2]).
bad(X) :- throw(no(X)).
nat(0).
nat(N) :- nat(M), N is M + 1.
loop :- loop.
count(X) :- X = 1.
early(1). early(2).
late(X) :- member(X, [1,2]), X > 1.
down(_, _) :- throw(low).
odd(f(_), "a b", 'C d', [x|_]).
where(X) :- X in 1..3.
free(X) :- X in 1..2.
sum(X, _) :- X in 0..2.
wide(X) :- X #> 0.
"""
RIGHT = """
lost(1).
:- use_module(library(clpfd)).
p(2). p(3).
tail(1). tail(2).
q(X) :- member(X, [1,2]).
later(X) :- nat(X), X > 5.
bad(X) :- throw(no(X)).
nat(0).
nat(N) :- nat(M), N is M + 1.
loop.
early(1). early(_) :- throw(late).
late(X) :- member(X, [1,2]), ( X < 2 -> throw(small) ; true ).
down(N, M) :- integer(N), M is N - 1.
down(N, M) :- var(N), down(N, M).
count(X) :- flag(counted, X, X + 1).
odd(f(_), "a b", 'C d', [x|_]).
where(X) :- X in 1..2.
free(X) :- X in 1..2, label([X]).
sum(X, Y) :- X in 0..2, Y #= X + 1.
wide(X) :- X in 1..5.
"""
R, W, U, BAD = Verdict.RIGHT, Verdict.WRONG, Verdict.UNKNOWN, Verdict.INADMISSIBLE


@pytest.fixture
def program(tmp_path: Path) -> ReferenceProgram:
    (tmp_path / "wrong.pl").write_text(WRONG)
    (tmp_path / "right.pl").write_text(RIGHT)
    return ReferenceProgram(tmp_path / "right.pl", inferences=100_000)


@pytest.mark.parametrize(
    ("goal", "port", "number", "verdict", "reason"),
    [
        ("p(X)", Port.EXIT, 0, W, "the reference has no such answer"),
        ("p(X)", Port.EXIT, 1, R, "the reference has this answer"),
        ("p(X)", Port.FAIL, 0, W, "the reference has the answer p(3)"),
        ("p(2)", Port.FAIL, 0, R, "the reference has no other answer"),
        ("q(X)", Port.EXIT, 0, W, "the reference has no such answer"),
        ("gone(X)", Port.EXIT, 0, U, "the reference has no gone/1"),
        ("nowhere(X)", Port.RAISE, 0, BAD, "the reference has no nowhere/1"),
        ("lost(X)", Port.RAISE, 0, W, "the reference does not raise it"),
        ("later(X)", Port.EXIT, 0, U, "in the reference it did not end within the limit"),
        ("later(X)", Port.FAIL, 0, W, "the reference has the answer later(6)"),
        ("free(X)", Port.EXIT, 0, W, "the reference binds what this leaves open"),
        ("sum(X, Y)", Port.EXIT, 0, W, "the reference has no such answer"),
        ("wide(X)", Port.EXIT, 0, W, "the reference has no such answer"),
        ("p(X)", Port.FIRST, 1, R, "in the reference no other answer comes before it"),
        ("p(X)", Port.FIRST, 0, R, "the reference has no such answer, so none comes before it"),
        ("tail(X)", Port.FIRST, 0, W, "in the reference tail(1) comes before it"),
        ("tail(X)", Port.FIRST, 1, R, "in the reference no other answer comes before it"),
        ("later(X)", Port.FIRST, 0, U, "in the reference it did not end within the limit"),
        ("bad(3)", Port.RAISE, 0, R, "the reference raises that too"),
        ("early(X)", Port.EXIT, 0, R, "the reference has this answer"),
        ("early(X)", Port.EXIT, 1, W, "the reference raises late"),
        ("early(X)", Port.FAIL, 0, W, "the reference raises late"),
        ("early(X)", Port.FIRST, 1, W, "the reference raises late"),
        ("late(X)", Port.EXIT, 0, U, "the reference raises small"),
        ("down(1, X)", Port.RAISE, 0, W, "the reference does not raise it"),
        ("down(N, X)", Port.RAISE, 0, U, "in the reference it did not end within the limit"),
        ("loop", Port.STOPPED, 0, W, "in the reference it ends"),
        ("nat(X), X < 0", Port.STOPPED, 0, U, "in the reference it did not end by then either"),
        ("count(X)", Port.EXIT, 0, U, "its answers depend on flag/3"),
        ("odd(A, B, C, D)", Port.EXIT, 0, R, "the reference has this answer"),
        ("where(X)", Port.EXIT, 0, W, "the reference has no such answer"),
        ("where(2)", Port.EXIT, 0, R, "the reference has this answer"),
    ],
)
def test_an_event_is_compared_with_what_the_call_does_in_the_reference(
    program: ReferenceProgram,
    tmp_path: Path,
    goal: str,
    port: Port,
    number: int,
    verdict: Verdict,
    reason: str,
) -> None:
    with Engine() as engine:
        limits = RunLimits(events=2000)
        execution = GoalExecution(engine, tmp_path / "wrong.pl", goal, limits=limits)
        found = program.judge(execution.source, PortEvent(port, execution.trace.root, number))
    program.close()
    assert (found.verdict, found.reason) == (verdict, reason)


def test_a_call_that_the_reference_does_not_come_back_from_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "wrong.pl").write_text("p(1).\n")
    (tmp_path / "right.pl").write_text("p(X) :- sleep(1000), X = 1.\n")
    program = ReferenceProgram(tmp_path / "right.pl", seconds=0.5)
    with Engine() as engine:
        execution = GoalExecution(engine, tmp_path / "wrong.pl", "p(X)")
        for _ in range(2):  # it is started again
            found = program.judge(execution.source, PortEvent(Port.EXIT, execution.trace.root))
            assert found.verdict is Verdict.UNKNOWN
            assert "did not end within 0.5 s" in found.reason
    program.close()


CALLS = """
:- dynamic known/1.
top(X) :- step(X, _).
kept(X) :- known(X), step(X, _).
{step}
down(N, M) :- integer(N), M is N - 1.
down(N, M) :- var(N), down(N, M).
down(N, _) :- atom(N), throw(no_number).
known(1).
note :- assertz(known(2)).
"""


@pytest.mark.parametrize(
    ("step", "goal", "verdict"),
    [
        ("step(N, M) :- down(N, M).", "top(1)", Verdict.INADMISSIBLE),
        ("step(N, M) :- down(N, M), down(_, _).", "top(1)", Verdict.UNKNOWN),
        ("step(N, M) :- repeat, down(N, M).", "top(1)", Verdict.UNKNOWN),
        ("step(N, M) :- repeat, down(N, M).", "kept(1)", Verdict.UNKNOWN),
    ],
    ids=["not made", "made", "not known of the goal nor of the caller", "depends on more"],
)
def test_a_call_that_raised_and_never_ends_in_the_reference_is_bad_if_that_does_not_make_it(
    tmp_path: Path, step: str, goal: str, verdict: Verdict
) -> None:
    (tmp_path / "right.pl").write_text(CALLS.format(step=step))
    (tmp_path / "wrong.pl").write_text(
        CALLS.format(step="step(_, M) :- down(_, M).").replace("var(N), down(N, M)", "throw(low)")
    )
    program = ReferenceProgram(tmp_path / "right.pl", inferences=100_000)
    with Engine() as engine:
        execution = GoalExecution(engine, tmp_path / "wrong.pl", goal)
        (down,) = [each for each in execution.trace.calls if each.predicate.name == "down"]
        found = program.judge(execution.source, PortEvent(Port.RAISE, down))
    program.close()
    assert found.verdict is verdict


@pytest.mark.soak
def test_what_is_constrained_without_bounds_is_not_looked_at_for_ever(tmp_path: Path) -> None:
    apart = [f"{a} #\\= {b}" for a in "ABCD" for b in "ABCD" if a < b]
    for name, order in (("wrong", apart), ("right", apart[::-1])):
        (tmp_path / f"{name}.pl").write_text(
            f":- use_module(library(clpfd)).\np(A, B, C, D) :- {', '.join(order)}.\n"
        )
    program = ReferenceProgram(tmp_path / "right.pl")
    with Engine() as engine:
        execution = GoalExecution(engine, tmp_path / "wrong.pl", "p(A, B, C, D)")
        found = program.judge(execution.source, PortEvent(Port.EXIT, execution.trace.root))
    program.close()
    assert found.reason == "its constraints leave too much open to be compared"
