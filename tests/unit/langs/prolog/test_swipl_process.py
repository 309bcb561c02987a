import os
import signal
from pathlib import Path

import pytest
from prolog import need_swipl

from whence.errors import WhenceError
from whence.langs.prolog import goal_execution
from whence.langs.prolog.port_events import Run, RunLimits, run_goal
from whence.langs.prolog.swipl_process import Engine, EngineProblem, find_swipl, plain, quoted
from whence.langs.prolog.trace_tree import TraceTree

need_swipl()


def program(folder: Path, text: str) -> Path:
    file = folder / "program.pl"
    file.write_text(text, encoding="utf-8")
    return file


def test_without_swipl_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(WhenceError, match="apt-get install swi-prolog-nox"):
        find_swipl()


def test_a_file_that_is_not_there_is_named() -> None:
    with Engine() as engine, pytest.raises(WhenceError, match=r"gone\.pl: there is no such file"):
        engine.load(Path("gone.pl"))


def test_a_goal_that_is_no_prolog_is_a_problem_and_not_the_end(tmp_path: Path) -> None:
    with Engine() as engine:
        engine.load(program(tmp_path, "p(1)."))
        with pytest.raises(EngineProblem, match=r"[Ss]yntax"):
            engine.do("run('p(X', 1, limits(0, 0, 0, 0, []))")
        run = Run()
        assert TraceTree(run_goal(engine, "p(X)", solutions=1), run).length
        assert run.answers == ["X = 1"]


def test_a_goal_that_halts_says_so(tmp_path: Path) -> None:
    with Engine() as engine, pytest.raises(EngineProblem, match="exit code 3 before it was done"):
        engine.load(program(tmp_path, "p :- halt(3)."))
        TraceTree(run_goal(engine, "p", solutions=1), Run())


def test_a_script_that_halts_when_it_is_loaded_can_be_debugged(tmp_path: Path) -> None:
    with Engine() as engine:
        engine.load(program(tmp_path, ":- initialization(main).\n:- halt.\nmain :- halt.\np(1)."))
        run = Run()
        TraceTree(run_goal(engine, "p(X)", solutions=1), run)
        assert run.answers == ["X = 1"]


def test_a_goal_that_goes_on_for_ever_is_stopped(tmp_path: Path) -> None:
    with Engine() as engine:
        engine.load(program(tmp_path, "p(X) :- q(X), p(X).\nq(_)."))
        run = Run()
        limits = RunLimits(events=1000)
        trace = TraceTree(run_goal(engine, "p(1)", solutions=1, limits=limits), run)
        assert 1000 <= trace.length < 1010
        assert run.stopped == "events"
        again = Run()
        limits = RunLimits(depth=100)
        assert TraceTree(run_goal(engine, "p(1)", solutions=1, limits=limits), again).length
        assert again.stopped == "depth"


def test_a_goal_that_catches_everything_is_stopped_by_the_clock(tmp_path: Path) -> None:
    text = "p :- catch(loop, _, true), p.\nloop :- repeat, fail.\n"
    with Engine() as engine:
        engine.load(program(tmp_path, text))
        run = Run()
        limits = RunLimits(seconds=0.2)
        trace = TraceTree(run_goal(engine, "p", solutions=1, limits=limits), run)
        assert run.stopped == "seconds"
        assert engine.numbered("terms", [trace.root.term])[0][2] == "p"


def test_a_call_that_takes_too_long_to_be_stopped_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(goal_execution, "_PATIENCE", 0.1)
    file = program(tmp_path, "p(X) :- X is 3 ** 400000000 mod 7.\n")
    with Engine() as engine, pytest.raises(WhenceError, match="could not be stopped after 1 s"):
        goal_execution.GoalExecution(engine, file, "p(X)", limits=RunLimits(seconds=1))


def test_a_request_that_is_none_is_a_problem() -> None:
    with Engine() as engine, pytest.raises(EngineProblem, match="the request failed"):
        engine.do("nonsense")


def test_a_program_may_write_what_looks_like_the_protocol(tmp_path: Path) -> None:
    text = "p('a\\tb\\nok\\\\n') :- format(user_error, 'ok~n', []).\n"
    with Engine() as engine:
        engine.load(program(tmp_path, text))
        run = Run()
        assert TraceTree(run_goal(engine, "p(X)", solutions=5), run).length > 3
        assert run.answers == [r"X = 'a\tb\nok\\n'"]


def test_ctrl_c_at_a_terminal_does_not_end_it(tmp_path: Path) -> None:
    with Engine() as engine:
        engine.load(program(tmp_path, "p(1)."))
        os.kill(engine.pid, signal.SIGINT)
        run = Run()
        assert TraceTree(run_goal(engine, "p(X)", solutions=1), run).length


def test_a_goal_leaves_nothing_in_the_program(tmp_path: Path) -> None:
    text = "p(1).\n:- dynamic 'whence goal'/1.\nleft :- clause('whence goal'(_), _).\n"
    with Engine() as engine:
        engine.load(program(tmp_path, text))
        assert TraceTree(run_goal(engine, "p(X), p(Y)", solutions=1), Run()).length
        run = Run()
        assert TraceTree(engine.stream("plain(left, 1)"), run).length == 0
        assert (run.answers, run.raised) == ([], None)


@pytest.mark.parametrize("text", ["", "a\tb", "\\n", "\n\r\t\\", "plain", "Ä's"])
def test_texts_come_back_as_they_were(text: str) -> None:
    with Engine() as engine:
        run = Run()
        lines = engine.stream(f"plain({quoted(f'X = {quoted(text)}')}, 1)")
        assert TraceTree(lines, run).length == 0
        expected = Run()
        codes = quoted(f"atom_codes(X, {[ord(each) for each in text]})")
        assert TraceTree(engine.stream(f"plain({codes}, 1)"), expected).length == 0
        assert run.answers == expected.answers != []


def test_escapes_of_a_line_are_undone() -> None:
    assert plain("a\\tb\\nc\\\\nd") == "a\tb\nc\\nd"
