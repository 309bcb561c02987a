import os
import signal
from pathlib import Path

import pytest
from prolog import need_swipl

from whence.errors import WhenceError
from whence.langs.prolog.engine import Engine, EngineProblem, find_swipl, plain, quoted
from whence.langs.prolog.events import Run, RunLimits, read, run_goal

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
        assert list(run_goal(engine, "p(X)", run, solutions=1))
        assert run.answers == ["X = 1"]


def test_a_program_that_halts_says_so(tmp_path: Path) -> None:
    with Engine() as engine, pytest.raises(EngineProblem, match="exit code 3 before it was done"):
        engine.load(program(tmp_path, ":- halt(3)."))


def test_a_goal_that_goes_on_for_ever_is_stopped(tmp_path: Path) -> None:
    with Engine() as engine:
        engine.load(program(tmp_path, "p(X) :- q(X), p(X).\nq(_)."))
        run = Run()
        limits = RunLimits(events=1000)
        assert 1000 <= len(list(run_goal(engine, "p(1)", run, solutions=1, limits=limits))) < 1010
        assert run.stopped == "events"
        again = Run()
        limits = RunLimits(depth=100)
        assert list(run_goal(engine, "p(1)", again, solutions=1, limits=limits))
        assert again.stopped == "depth"


def test_a_goal_that_catches_everything_is_stopped_by_the_clock(tmp_path: Path) -> None:
    text = "p :- catch(loop, _, true), p.\nloop :- repeat, fail.\n"
    with Engine() as engine:
        engine.load(program(tmp_path, text))
        run = Run()
        limits = RunLimits(seconds=0.2)
        events = list(run_goal(engine, "p", run, solutions=1, limits=limits))
        assert events and run.stopped == "seconds"
        assert engine.numbered("terms", [events[0].term])[0][2] == "p"  # type: ignore[union-attr]


def test_a_request_that_is_none_is_a_problem() -> None:
    with Engine() as engine, pytest.raises(EngineProblem, match="the request failed"):
        engine.do("nonsense")


def test_a_program_may_write_what_looks_like_the_protocol(tmp_path: Path) -> None:
    text = "p('a\\tb\\nok\\\\n') :- format(user_error, 'ok~n', []).\n"
    with Engine() as engine:
        engine.load(program(tmp_path, text))
        run = Run()
        assert len(list(read(engine.stream("run('p(X)', 5, limits(0, 0, 0, 0, []))"), run))) > 3
        assert run.answers == [r"X = 'a\tb\nok\\n'"]


def test_ctrl_c_at_a_terminal_does_not_end_it(tmp_path: Path) -> None:
    with Engine() as engine:
        engine.load(program(tmp_path, "p(1)."))
        os.kill(engine.pid, signal.SIGINT)
        run = Run()
        assert list(run_goal(engine, "p(X)", run, solutions=1))


def test_a_goal_leaves_nothing_in_the_program(tmp_path: Path) -> None:
    text = "p(1).\n:- dynamic 'whence goal'/1.\nleft :- clause('whence goal'(_), _).\n"
    with Engine() as engine:
        engine.load(program(tmp_path, text))
        assert list(run_goal(engine, "p(X), p(Y)", Run(), solutions=1))
        run = Run()
        assert list(read(engine.stream("plain(left, 1)"), run)) == []
        assert (run.answers, run.raised) == ([], None)


@pytest.mark.parametrize("text", ["", "a\tb", "\\n", "\n\r\t\\", "plain", "Ä's"])
def test_texts_come_back_as_they_were(text: str) -> None:
    with Engine() as engine:
        run = Run()
        lines = engine.stream(f"plain({quoted(f'X = {quoted(text)}')}, 1)")
        assert list(read(lines, run)) == []
        expected = Run()
        codes = quoted(f"atom_codes(X, {[ord(each) for each in text]})")
        assert list(read(engine.stream(f"plain({codes}, 1)"), expected)) == []
        assert run.answers == expected.answers != []


def test_escapes_of_a_line_are_undone() -> None:
    assert plain("a\\tb\\nc\\\\nd") == "a\tb\nc\\nd"
