"""`whence prolog` as scripts use it."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import forked_whence
import pytest
from prolog import need_swipl

need_swipl()

PROGRAM = """\
double(X, Y) :- Y is X + X.
quadruple(X, Z) :- double(X, Y), triple(Y, Z).
triple(X, Y) :- Y is X * 3.
greet(X) :- format("hello ~w~n", [X]), member(X, [1,2,3,4]).
oops(X) :- Y is X / 0, triple(Y, _).
:- dynamic kept/1.
remember(X) :- assertz(kept(X)), kept(_).
"""


TOP_DOWN = ("-s", "top-down")
"""So that the order of questions is plain."""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    place = tmp_path / "numbers.pl"
    place.write_text(PROGRAM)
    return place


def whence(*words: str | Path, typed: str = "", **more: Any) -> subprocess.CompletedProcess[str]:
    return forked_whence.whence("prolog", *words, stdin=typed, **more)


def report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_what_ran_in_a_thread_is_said_not_to_be_looked_into(file: Path) -> None:
    with file.open("a") as program:
        program.write("aside(X) :- first_solution(X, [triple(2, X)], []).\n")
    done = whence(file, "aside(X)", typed="q\n")
    assert "   1  X = 6\n" in done.stdout
    assert "What engines or threads did was not traced" in done.stdout
    assert "not traced" not in whence(file, "triple(2, X)", typed="q\n").stdout


def test_a_wrong_answer_ends_at_the_clause(file: Path) -> None:
    words = ("--wrong", "1", *TOP_DOWN, "--format", "json")
    done = whence(file, "quadruple(2, X)", *words, typed="y\nn\n")
    assert done.returncode == 0
    found = report(done)
    assert found["status"] == "found"
    assert found["at_fault"]["function"] == "user:triple/2"
    assert found["at_fault"]["qualname"] == "triple/2"
    assert found["at_fault"]["rule"] == "user:triple/2 clause 1"
    assert (found["at_fault"]["file"], found["at_fault"]["line"]) == (str(file), 3)
    assert found["at_fault"]["equation"] == "triple(4, 12)"
    assert "X = 12" in done.stderr


def test_a_missing_answer_ends_at_the_predicate(file: Path) -> None:
    done = whence(file, "quadruple(2, 8)", "--format", "json", typed="y\ny\nn\n")
    found = report(done)
    assert found["at_fault"]["equation"] == "triple(4, 8) has no answer"
    assert found["at_fault"]["rule"] == "user:triple/2"
    assert found["at_fault"]["line"] == 3


def test_an_error_ends_where_it_was_raised(file: Path) -> None:
    found = report(whence(file, "oops(1)", "--format", "json"))
    assert found["at_fault"]["kind"] == "raised"
    assert found["at_fault"]["qualname"] == "oops/1"


def test_an_oracle_answers_for_the_person(file: Path, tmp_path: Path) -> None:
    (tmp_path / "known.py").write_text(
        "def judge(call):\n    return not call['equation'].startswith('triple')\n"
    )
    words = ("--wrong", "1", "--oracle", "python:known:judge", "--format", "json")
    done = whence(file, "quadruple(2, X)", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert report(done)["questions"]["person"] == 0
    assert report(done)["at_fault"]["qualname"] == "triple/2"


def test_the_report_goes_to_a_file_and_answers_come_from_one(file: Path, tmp_path: Path) -> None:
    (tmp_path / "answers.txt").write_text("y\nn\n")
    words = ("--answers", tmp_path / "answers.txt", "--output", tmp_path / "found.txt")
    done = whence(file, "quadruple(2, X)", "--wrong", "1", *TOP_DOWN, *words)
    assert done.returncode == 0
    assert (tmp_path / "found.txt").read_text().startswith("The fault is in triple/2")
    unclear = whence(file, "quadruple(2, X)", *words)
    assert unclear.returncode == 2
    assert "say --wrong N or --missing" in unclear.stderr


def test_a_session_is_kept_and_gone_on_with(file: Path, tmp_path: Path) -> None:
    words = (
        file,
        "quadruple(2, X)",
        "--wrong",
        "1",
        *TOP_DOWN,
        "--session",
        tmp_path / "kept.jsonl",
    )
    assert whence(*words, typed="y\n").returncode == 1
    again = whence(*words, typed="n\n")
    assert again.returncode == 0
    assert "Resuming the session" in again.stdout
    assert "double" not in again.stdout.split("Question")[1]


def test_what_the_program_prints_comes_before_the_answers(file: Path) -> None:
    done = whence(file, "greet(3)", typed="q\n")
    assert done.returncode == 1
    assert done.stdout.startswith("hello 3\nAnswers:\n   1  true\n")


def test_more_answers_than_were_asked_for_hide_what_is_missing(file: Path) -> None:
    done = whence(file, "greet(X)", "--solutions", "2", "--missing")
    assert done.returncode == 2
    assert "There may be more." in done.stdout
    assert "--solutions N asks for more" in done.stderr


def test_a_goal_that_is_no_user_predicate_is_debugged_too(file: Path) -> None:
    goal = "double(1, X), triple(X, Y)"
    found = report(whence(file, goal, "--wrong", "1", "--format", "json", typed="y\nn\n"))
    assert found["at_fault"]["equation"] == "triple(2, 6)"
    found = report(whence(file, goal, "--wrong", "1", "--format", "json", typed="y\ny\n"))
    assert found["at_fault"]["equation"] == "double(1, 2), triple(2, 6)"
    assert found["at_fault"]["qualname"] == "goal"


def test_a_clause_that_was_added_at_run_time_is_said_to_be(file: Path) -> None:
    with file.open("a") as program:
        program.write("learn(X) :- assertz((kept(Y) :- Y > 3)), kept(X).\n")
    done = whence(file, "learn(5)", "--wrong", "1", typed="n\n")
    assert "This clause was added while the program ran" in done.stdout


def test_a_marked_part_leads_to_the_call_that_made_it(file: Path) -> None:
    words = ("--wrong", "1", "--part", "X", "--format", "json")
    done = whence(file, "quadruple(2, X)", *words, typed="n\n")
    assert "Wrong: arg2. It was made in call 3: triple(4, 12)" in done.stderr.replace("\n", " ")
    found = report(done)
    assert found["at_fault"]["equation"] == "triple(4, 12)"
    assert [each.get("mark") for each in found["answers"]] == ["arg2", None]


def test_the_part_may_be_named_with_the_answer(file: Path) -> None:
    done = whence(file, "quadruple(2, X), Y = f(X)", typed="1 Z[1]\n1 Y[1]\nn\n")
    assert "there is no Z here; there is X, Y" in done.stdout
    assert "It was made in call" in done.stdout
    assert "The fault is in triple/2" in done.stdout


def test_the_slices_of_an_argument_are_printed_and_drawn(file: Path, tmp_path: Path) -> None:
    words = ("quadruple(2, X)", "--slice", "X", "--picture", "calls.svg")
    done = whence(file, *words, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-7:-2] == [
        "1 + fd  quadruple(2, 12)",
        "2 + fd    double(2, 4)",
        "3 + fd      4 is 2+2",
        "4 + fd    triple(4, 12)",
        "5 + fd      12 is 4*3",
    ]
    assert (
        done.stdout.splitlines()[-2] == "Of 5 calls the data-flow slice has 5, the debug slice 5."
    )
    path = Path(shutil.which("swipl") or "").parent
    alone = tmp_path / "bin"
    alone.mkdir()
    (alone / "swipl").symlink_to(path / "swipl")
    done = whence(file, *words, cwd=tmp_path, env={**os.environ, "PATH": str(alone)})
    assert "Graphviz (dot) is not installed, so the calls are in calls.txt" in done.stdout
    assert "triple(4, 12)" in (tmp_path / "calls.txt").read_text()


RIGHT = """\
double(X, Y) :- Y is X + X.
quadruple(X, Z) :- double(X, Y), double(Y, Z).
triple(X, Y) :- Y is X * 2.
greet(X) :- member(X, [1,2,3,4,5]).
oops(X) :- Y is X / 1, triple(Y, _).
down(0).
down(N) :- N > 0, M is N - 1, down(M).
:- dynamic kept/1.
remember(X) :- assertz(kept(X)), kept(_), kept(7).
"""


@pytest.mark.parametrize(
    ("goal", "kind", "equation"),
    [
        ("quadruple(2, X)", "wrong result", "triple(4, 12)"),
        ("quadruple(2, 8)", "missing answer", "triple(4, 8) has no answer"),
        ("oops(1)", "raised", "oops(1) raised error(evaluation_error(zero_divisor), "),
        ("greet(X)", "missing answer", "greet(_A) has no answer but greet(1); greet(2);"),
        ("down(2)", "bad input passed", "down(0) did not end"),
    ],
)
def test_a_reference_finds_what_is_wrong_and_answers_everything(
    file: Path, goal: str, kind: str, equation: str
) -> None:
    file.write_text(PROGRAM + "down(N) :- M is N - 1, down(M).\n")
    good = file.with_name("good.pl")
    good.write_text(RIGHT)
    words = ("--reference", good, "--max-events", "500", "--format", "json")
    done = whence(file, goal, *words)
    assert done.returncode == 0, done.stderr
    found = report(done)
    assert found["questions"]["person"] == 0
    assert found["at_fault"]["kind"] == kind
    assert found["at_fault"]["equation"].startswith(equation)


def test_a_reference_that_does_the_same_leaves_nothing_to_find(file: Path) -> None:
    done = whence(file, "greet(X)", "--reference", file)
    assert done.returncode == 1
    assert "The reference does the same" in done.stdout
    assert done.stdout.count("hello") == 1, "what the reference prints is not shown"


def test_what_depends_on_asserted_clauses_is_judged_with_the_same_clauses(file: Path) -> None:
    good = file.with_name("good.pl")
    good.write_text(RIGHT)
    done = whence(file, "remember(5)", "--reference", good)
    assert "remember(5): the reference has no such answer" in done.stdout
    assert "The fault is in remember/1" in done.stdout
    assert "It was         remember(5); it added kept(5)" in done.stdout


def test_a_goal_without_end_is_stopped_and_debugged(file: Path) -> None:
    file.write_text("down(N) :- step(N).\n\nstep(N) :- M is N + 1, down(M).\n")
    words = ("--max-depth", "200", "--endless", *TOP_DOWN)
    done = whence(file, "down(1)", *words, typed="n\ni\n")
    assert "It did not end within a depth of 200 calls." in done.stdout
    assert "step(1) did not end" in done.stdout
    assert "passed on what should never have been passed" in done.stdout
    assert f"The fault is in step/1 ({file}:3)" in done.stdout


def test_a_call_that_comes_again_is_named(file: Path) -> None:
    file.write_text("path(X, Y) :- path(X, Z), edge(Z, Y).\nedge(a, b).\n")
    found = report(whence(file, "path(a, X)", "--max-events", "300", "--format", "json"))
    assert found["at_fault"]["kind"] == "did not end"
    assert found["at_fault"]["equation"] == "path(a, _A) did not end: it came to path(a, _A) again"
    assert found["at_fault"]["line"] == 1


def test_the_missing_answer_can_be_named(file: Path) -> None:
    text = "big(X) :- n(X), large(X).\nn(5). n(50). n(500).\nlarge(X) :- X > 100.\n"
    file.write_text(text)
    words = ("--missing-answer", "X = 50", *TOP_DOWN, "--format", "json")
    found = report(whence(file, "big(X)", *words, typed="y\nn\n"))
    assert found["at_fault"]["kind"] == "missing answer"
    assert found["at_fault"]["equation"] == "large(50) has no answer"
    assert found["at_fault"]["line"] == 3
    typed = whence(file, "big(X)", *TOP_DOWN, typed="m big(50)\ny\nn\n")
    assert "The fault is in large/1" in typed.stdout


def test_an_answer_that_is_only_missing_from_the_whole_is_looked_for_there(file: Path) -> None:
    file.write_text("first(X) :- member(X, [1,2,3]), !.\n")
    done = whence(file, "first(X)", "--missing-answer", "first(2)")
    assert "Asked for alone, first(2) is found" in done.stdout
    assert "first(_A) has no answer but first(1)" in done.stdout


TESTS = """\
:- begin_tests(numbers).
test(double, Y == 4) :- double(2, Y).
test(quadruple, Y == 8) :- quadruple(2, Y).
test(greet, [setup(nb_setval(n, 5)), all(X == [1,2,3,4,5])]) :- nb_getval(n, 5), greet(X).
:- end_tests(numbers).
"""


def test_a_failing_test_is_the_symptom_and_a_passing_one_answers(file: Path) -> None:
    file.with_suffix(".plt").write_text(TESTS)
    words = ("--test", "numbers:quadruple", *TOP_DOWN, "--no-slicing", "--format", "json")
    done = whence(file, *words, typed="n\n")
    assert "Taken from the test: it should be Y==8." in done.stderr
    assert "double(2, 4) is right, says tests: test numbers:double." in done.stderr
    found = report(done)
    assert found["at_fault"]["equation"] == "triple(4, 12)"
    assert found["oracles"] == {"tests": 1}
    done = whence(file, *words, "--no-oracle", "tests", typed="y\nn\n")
    assert report(done)["questions"] == {"person": 2, "oracle": 0}


def test_what_a_test_sets_up_is_there_when_its_body_is_looked_into(file: Path) -> None:
    tests = file.with_name("elsewhere.pl")
    tests.write_text(TESTS)
    words = ("--tests", tests, "--test", "greet", "--depth", "1", "--format", "json")
    found = report(whence(file, *words, typed="n\n"))
    assert found["at_fault"]["kind"] == "missing answer"
    assert found["at_fault"]["qualname"] == "greet/1"


def test_answers_are_remembered_in_every_run(file: Path) -> None:
    (file.parent / ".whence").mkdir()
    words = ("--wrong", "1", *TOP_DOWN)
    done = whence(file, "quadruple(2, X)", *words, "--remember", typed="y\nn\n", cwd=file.parent)
    assert "Answers are remembered in" in done.stdout
    done = whence(file, "quadruple(2, X)", *words, cwd=file.parent)
    assert done.returncode == 0
    assert "triple(4, 12) is wrong, says remembered" in " ".join(done.stdout.split())
    goal = "remember(5), remember(6)"
    done = whence(file, goal, *words, "--remember", typed="info\ny\n", cwd=file.parent)
    said = "holds in this session, not in other runs: its answers depend on assertz/1"
    assert said in " ".join(done.stdout.split())


def test_declarations_answer_and_can_be_turned_off(file: Path) -> None:
    file.write_text(
        "top(Y) :- part(1, X), Y = X.\n%!  part(+N:integer, -X:atom) is det.\npart(_, 3).\n"
    )
    done = whence(file, "top(Y)", "--wrong", "1")
    said = "part(1, 3) is wrong, says declarations: argument 2 is 3, which is not of type atom."
    assert said in " ".join(done.stdout.split())
    assert "The fault is in part/2" in done.stdout
    done = whence(file, "top(Y)", "--wrong", "1", "--no-oracle", "declarations", typed="y\n")
    assert "The fault is in top/1" in done.stdout


def test_slices_of_a_run_that_was_looked_at_to_a_depth(file: Path) -> None:
    done = whence(file, "quadruple(2, X)", "--slice", "X", "--depth", "1")
    assert done.stdout.splitlines()[-4:] == [
        "2 + fd    double(2, 4) …",
        "3 + fd    triple(4, 12) …",
        "Of 3 calls the data-flow slice has 3, the debug slice 3.",
        "Below --depth lies what 2 of them called (…).",
    ]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("numbers.pl",), "give a GOAL, or a plunit test of it with --test UNIT:NAME"),
        (("numbers.pl", " "), "give a GOAL, or a plunit test of it with --test UNIT:NAME"),
        (("numbers.pl", "?- halt."), "the program calls halt"),
        (("numbers.pl", "greet(X)", "--test", "a:b"), "give a GOAL, or a plunit test of it"),
        (("numbers.pl", "--test", "a:b"), "numbers.pl has no plunit tests; --tests FILE"),
        (("gone.pl", "p(X)"), "there is no such file"),
        (("numbers.pl", "double(X"), "yntax"),
        (("numbers.pl", "double(1, X)", "--wrong", "2"), "its answers are 1 to 1"),
        (("numbers.pl", "double(1, X)", "--raised"), "the goal raised nothing"),
        (("numbers.pl", "double(1, X)", "--slice", "Y"), "there is no Y here; there is arg1, arg2"),
        (("numbers.pl", "double(1, X)", "--wrong", "1", "--part", "X[1]"), "has no part [1]"),
        (("numbers.pl", "greet(X)", "--endless"), "the goal ended"),
        (("numbers.pl", "greet(X)", "--missing-answer", "other(3)"), "is no answer of greet(X)"),
        (("numbers.pl", "greet(X)", "--reference", "gone.pl"), "there is no such file"),
    ],
)
def test_what_cannot_be_had_is_said(file: Path, words: tuple[str, ...], problem: str) -> None:
    done = whence(*words, cwd=file.parent)
    assert done.returncode == 2
    assert problem in done.stderr
    assert "Traceback" not in done.stderr


def test_without_swipl_the_install_command_is_named(file: Path) -> None:
    done = whence(file, "double(1, X)", env={"PATH": "/nowhere"})
    assert done.returncode == 2
    assert "swi-prolog-nox" in done.stderr
