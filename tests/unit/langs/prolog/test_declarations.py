"""Modes, types and det: what they say of the events of a run, and what they leave open."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from prolog import need_swipl

from whence.langs.prolog.declarations import DeclarationOracle, modes_in
from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.port_events import RunLimits
from whence.langs.prolog.swipl_process import Engine
from whence.model.question import Question

need_swipl()

PROGRAM = """\
%!  total(+Ns:list(integer), -Sum:integer) is det.
%
%   The sum of a list; other(X) is det.
total([], 0).
total([N|Ns], S) :- total(Ns, S0), plus_(N, S0, S).

%!  plus_(+X:integer, +Y:integer,
%!        -Z:integer) is det.
plus_(X, Y, X+Y) :- X > 5.
plus_(X, Y, Z) :- X < 5, Z is X + Y.

/** half(+X:integer, ?Y) is semidet.
 *
 * half(+X, -Y) is det
 */
half(X, Y) :- integer(X), 0 is X mod 2, Y is X // 2.

%% pick(?X:oneof([a,b]), -Y:atom|string) is nondet.
%% pick(--X:oneof([c]), +Y:integer) is det.
pick(a, 1).
pick(b, one).

%!  digits(-Ds:list(integer))// is det.
digits([D]) --> [D].
%!  twice(+X:number, -Y) is det.
twice(X, X).
twice(X, Y) :- Y is X + X.
%!  whole(++T, -Y:list)
whole(T, [T|_]).
%!  any(+X:thing) is det.
any(_).
:- multifile error:has_type/2.
error:has_type(even, X) :- integer(X), 0 is X mod 2.
%!  even(+X:even) is semidet.
even(_).

:- det(sure/1).
sure(1).
free.

:- op(1150, fx, type), op(1150, fx, pred), op(1130, xfx, --->).
user:term_expansion((:- type _), []).
user:term_expansion((:- pred _), []).
:- type colour ---> red ; green ; mixed(colour, colour).
:- type tree(T) ---> leaf ; node(tree(T), T, tree(T)).
:- type shade == colour.
:- pred paint(shade, list(colour)).
% :- pred paint(integer, integer).
paint(X, [X, blue]).
:- pred insert(T, tree(T), tree(T)).
insert(X, leaf, node(leaf, X, lefa)).
insert(X, T, node(T, X, _)).
:- pred depth(tree(_), integer), other.
:- pred depth(tree(unheard_of), integer).
depth(node(_, _, _), N) :- N = one.
depth(leaf, 0).
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as started:
        yield started


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("declared") / "p.pl"
    file.write_text(PROGRAM)
    return file


def said(engine: Engine, program: Path, goal: str, missing: bool = False) -> str | None:
    """What is said of the first answer of a goal, of its failure, or of its error."""
    execution = GoalExecution(engine, program, goal, limits=RunLimits(events=10_000))
    if execution.raised is not None:
        tree = execution.raising()
    elif missing or not execution.answers:
        tree = execution.missing()
    else:
        tree = execution.wrong(1)
    question = Question(tree.id(0), tree.call(0), "", "", 1, 1.0, 1)
    found = DeclarationOracle(execution).judge(question)
    return None if found is None else f"{found.verdict.value}: {found.reason}"


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("plus_(7, 1, Z)", "wrong: argument 3 is 7+1, which is not of type integer"),
        ("plus_(5, 1, Z)", "wrong: it is declared det, so it has an answer"),
        ("plus_(7, a, Z)", "inadmissible: argument 2 is a, which is not of type integer"),
        ("half(X, Y)", "inadmissible: argument 1 is unbound, declared +"),
        ("total([x], S)", "inadmissible: argument 1 is [x], which is not of type list(integer)"),
        ("pick(a, Y)", "wrong: argument 2 is 1, which is not of type atom|string"),
        ("pick(X, z)", None),
        ("pick(d, Y)", "inadmissible: argument 1 is d, which is not of type oneof([a,b])"),
        ("digits(D, [x], R)", "wrong: argument 1 is [x], which is not of type list(integer)"),
        ("whole(f(_), Y)", "inadmissible: argument 1 is not ground, declared ++"),
        ("even(3)", "inadmissible: argument 1 is 3, which is not of type even"),
        ("sure(2)", "wrong: it is declared det, so it has an answer"),
        ("paint(red, L)", "wrong: argument 2 is [red, blue], which is not of type list(colour)"),
        ("paint(mixed(red, 1), L)",
         "inadmissible: argument 1 is mixed(red, 1), which is not of type shade"),
        ("insert(1, leaf, T)",
         "wrong: argument 3 is node(leaf, 1, lefa), which is not of type tree(_)"),
        ("insert(1, twig, T)", "inadmissible: argument 2 is twig, which is not of type tree(_)"),
        ("depth(node(leaf, x, leaf), N)",
         "wrong: argument 2 is one, which is not of type integer"),
    ],
)  # fmt: skip
def test_what_is_declared_is_held_against_a_call(
    engine: Engine, program: Path, goal: str, expected: str | None
) -> None:
    assert said(engine, program, goal) == expected


@pytest.mark.parametrize(
    "goal",
    [
        "plus_(1, 1, Z)",
        "half(3, Y)",  # semidet
        "total([1|T], S)",  # a list so far
        "whole(1, Y)",  # may become a list
        "any(1)",  # no type that is known
        "pick(b, Y)",
        "free",
        "even(4)",
        "insert(1, node(_, _, leaf), T)",
        "depth(leaf, N)",
    ],
)
def test_what_the_declarations_allow_or_leave_open_is_not_judged(
    engine: Engine, program: Path, goal: str
) -> None:
    assert said(engine, program, goal) is None


def test_two_answers_of_what_is_det_are_not_judged_one_by_one(
    engine: Engine, program: Path
) -> None:
    assert said(engine, program, "twice(2, Y)") is None
    assert said(engine, program, "twice(2, Y)", missing=True) is None


def test_modes_are_the_first_lines_of_comments(tmp_path: Path) -> None:
    file = tmp_path / "m.pl"
    file.write_text(
        "%!  a(+X) is det.\n%!  a(-X) is nondet.\n%\n%   b(X) is det\na(1).\n"
        "/** <module> M\n\nc(X) is det\n*/\n%  d(+X) is det.\n%!  e(+X,\n%     -Y) is\n%  det.\n"
        "%!  f// is semidet.\n"
    )
    assert modes_in(str(file)) == [
        ("head", "a(+X) is det"),
        ("head", "a(-X) is nondet"),
        ("head", "<module> M"),
        ("head", "e(+X, -Y) is det"),
        ("dcg", "f is semidet"),
    ]
    assert modes_in(str(tmp_path / "gone.pl")) == []
