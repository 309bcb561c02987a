"""plunit tests: how each ends, what those that pass show, and what is wrong where one fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from prolog import need_swipl

from whence.errors import UsageError, WhenceError
from whence.langs.prolog.plunit import Tests, find_tests
from whence.langs.prolog.swipl_process import quoted

need_swipl()

PROGRAM = """\
add(X, Y, Z) :- Z is X + Y.
double(X, Y) :- add(X, X, Y).
triple(X, Y) :- Y is X * 3.
small(X) :- member(X, [1,2,3]).
check(X) :- must_be(integer, X).
rev([], []).
rev([H|T], R) :- rev(T, S), append(S, [H], R).
:- dynamic kept/1.
kept(1).
known(X) :- kept(X).
:- multifile rate/1.
taxed(X, Y) :- rate(R), Y is X * R.
"""
UNIT = """\
rate(2).
:- begin_tests(arith).
case(3, 9).
case(4, 12).
test(add, X == 3) :- add(1, 2, X).
test(pair, X-Y == 4-6) :- double(2, X), double(3, Y).
test(in_body) :- double(7, X), X == 14.
test(ground) :- triple(1, 3).
test(lax, X > 3) :- triple(2, X).
test(indirect, Z == 24) :- double(4, Y), triple(Y, Z).
test(all, all(X == [1,2,3])) :- small(X).
test(none, fail) :- small(7).
test(both, fail) :- small(X), small(Y), X > Y, X < Y.
test(negated) :- \\+ small(8).
test(raises, error(type_error(integer, a))) :- check(a).
test(raises_some, error(type_error(integer, _))) :- check(b).
test(each, [forall(member(X-Y, [5-10, 6-12])), true(Z == Y)]) :- double(X, Z).
test(facts, [forall(case(X, Y)), Z == Y]) :- triple(X, Z).
test(data, [forall(user:small(X)), true(Z =:= 3*X)]) :- triple(X, Z).
test(set_up, [setup(Y = 9), true(Z == 18)]) :- double(Y, Z).
test(state, [setup(assertz(user:kept(2))), cleanup(retract(user:kept(2))), nondet]) :- known(2).
test(cuts, X == 1) :- small(X), !.
test(once, X == 1) :- once(small(X)).
test(mocked, Y == 4) :- taxed(2, Y).
test(off, [blocked(later)]) :- fail.
test(later, [fixme(soon), X == 1]) :- small(X).
test(unless, [condition(fail)]) :- fail.
:- end_tests(arith).
:- begin_tests(bad).
test(value, L == [3,1,1]) :- rev([1,2,3], L).
test(values, p(1, X) == p(1, f(2, 4))) :- X = f(2, 3).
test(extra, all(X == [1,2])) :- small(X).
test(lacks, set(X == [1,2,3,4])) :- small(X).
test(order, all(X == [2,1,3])) :- small(X).
test(missing) :- triple(1, 4).
test(succeeds, fail) :- small(1).
test(raised, X == 1) :- add(1, a, X).
test(no_error, throws(no)) :- add(1, 2, _).
test(endless) :- repeat, fail.
:- end_tests(bad).
"""


@pytest.fixture(scope="module")
def tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tests]:
    folder = tmp_path_factory.mktemp("plunit")
    (folder / "arith.pl").write_text(PROGRAM)
    (folder / "arith.plt").write_text(UNIT)
    found = find_tests(folder / "arith.pl", ())
    assert found is not None
    yield found
    found.close()


def shown(tests: Tests, port: str, goal: str, *items: str) -> str | None:
    texts = [quoted(f"c({text}, [])") for text in (goal, *items)]
    return tests.shows(f"tested({port}, user, {texts[0]}, [{', '.join(texts[1:])}])")


def test_tests_end_as_plunit_says(tests: Tests) -> None:
    ended = {str(each): each.ended for each in tests.results() if each.unit == "arith"}
    assert {name for name, how in ended.items() if how == "left_out"} == {
        "arith:off", "arith:later", "arith:unless",
    }  # fmt: skip
    assert set(ended.values()) == {"passed", "left_out"}
    assert "arith:each (instance 2)" in ended


@pytest.mark.parametrize(
    ("port", "goal", "items", "who"),
    [
        ("exit", "add(1, 2, X)", ["add(1, 2, 3)"], "add"),
        ("exit", "double(3, X)", ["double(3, 6)"], "pair"),
        ("exit", "double(7, X)", ["double(7, 14)"], "in_body"),
        ("exit", "triple(1, 3)", ["triple(1, 3)"], "ground"),
        ("exit", "small(X)", ["small(2)"], "all"),
        ("fail", "small(X)", ["small(1)", "small(2)", "small(3)"], "all"),
        ("fail", "small(7)", [], "none"),
        ("fail", "small(8)", [], "negated"),
        ("exception", "check(a)", ["error(type_error(integer, a), elsewhere)"], "raises"),
        ("exit", "double(6, X)", ["double(6, 12)"], "each"),
        ("exit", "triple(4, X)", ["triple(4, 12)"], "facts"),
    ],
)
def test_a_goal_that_a_passing_test_fixes_is_known(
    tests: Tests, port: str, goal: str, items: list[str], who: str
) -> None:
    assert shown(tests, port, goal, *items) == f"test arith:{who}"


@pytest.mark.parametrize(
    ("port", "goal", "items"),
    [
        ("exit", "add(1, 2, 3)", ["add(1, 2, 3)"]),  # called otherwise
        ("exit", "add(1, 2, X)", ["add(1, 2, 4)"]),  # another answer
        ("exit", "add(2, 2, X)", ["add(2, 2, 4)"]),  # below a goal of a test
        ("exit", "triple(2, X)", ["triple(2, 6)"]),  # the condition allows others; given by data
        ("exit", "double(4, X)", ["double(4, 8)"]),  # compared with nothing
        ("exit", "triple(8, X)", ["triple(8, 24)"]),  # given what nothing fixes
        ("fail", "small(X)", ["small(1)"]),
        ("fail", "small(9)", []),
        ("exception", "check(b)", ["error(type_error(integer, b), _)"]),
        ("exit", "double(9, X)", ["double(9, 18)"]),  # given by the setup
        ("exit", "known(2)", ["known(2)"]),  # depends on what was asserted
        ("exit", "taxed(2, Y)", ["taxed(2, 4)"]),  # depends on what the test file adds
    ],
)
def test_what_a_test_does_not_fix_is_not_known(
    tests: Tests, port: str, goal: str, items: list[str]
) -> None:
    assert shown(tests, port, goal, *items) is None


def test_a_failing_test_says_what_is_wrong(tests: Tests) -> None:
    ended = {each.name: each for each in tests.results() if each.unit == "bad"}
    assert {name: each.ended for name, each in ended.items()} == {
        "value": "wrong",
        "values": "wrong",
        "extra": "wrong",
        "lacks": "missing",
        "order": "order",
        "missing": "missing",
        "succeeds": "wrong",
        "raised": "raised",
        "no_error": "wrong",
        "endless": "endless",
    }
    assert (ended["value"].number, ended["value"].part) == (1, "L[2]")
    assert ended["values"].part == "X[2]"
    assert (ended["extra"].number, ended["extra"].part) == (3, "")
    assert ended["lacks"].missing == "X = 4"
    assert ended["value"].why == "it should be L==[3, 1, 1]"


def test_the_test_that_is_meant_is_found(tests: Tests) -> None:
    assert str(tests.failing("bad:extra")) == "bad:extra"
    assert str(tests.failing("bad")) == "bad:value"
    assert str(tests.failing("missing")) == "bad:missing"
    with pytest.raises(UsageError, match="passes: there is nothing to find"):
        tests.failing("arith")
    with pytest.raises(UsageError, match="left out: it is blocked: later"):
        tests.failing("arith:off")
    with pytest.raises(UsageError, match="there is no test nope; there is arith:add"):
        tests.failing("nope")


def test_a_program_has_tests_beside_it_in_it_or_none(tmp_path: Path) -> None:
    program = tmp_path / "p.pl"
    program.write_text("p.\n")
    assert find_tests(program, ()) is None
    with pytest.raises(WhenceError, match="there is no such file with tests"):
        find_tests(program, [tmp_path / "gone.plt"])
    program.write_text("p.\n:- begin_tests(own).\ntest(p) :- p.\n:- end_tests(own).\n")
    own = find_tests(program, ())
    assert own is not None
    try:
        assert [(str(each), each.ended) for each in own.results()] == [("own:p", "passed")]
    finally:
        own.close()


def test_tests_that_do_not_end_are_said_to_tell_nothing(tmp_path: Path) -> None:
    program = tmp_path / "p.pl"
    program.write_text(":- begin_tests(own).\ntest(p) :- sleep(60).\n:- end_tests(own).\n")
    own = Tests(program, (), seconds=0.5)
    assert own.results() == []
    assert own.problem == "it did not end within 0.5 s"
