"""What a person says that a call should have given is tried: the run is made once more with it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from whence.errors import WhenceError
from whence.langs.python.record.journal.journal_choice import obstacle
from whence.langs.python.replay.program_reruns import ProgramReruns
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.trial import ChangedLine

pytestmark = pytest.mark.skipif(obstacle(None) is not None, reason="nothing here keeps a journal")

PROGRAM = """
    import random
    calls = []

    def drawn(n, *more, factor=1, **named):
        calls.append(n)
        return [n * factor, *more, *sorted(named)]

    def made(values):
        total = 0
        def add(n):
            nonlocal total
            total += n
            return total
        for value in values:
            add(value)
        return add(1)

    def nothing():
        calls.append("nothing")

    def numbers():
        yield 1

    def checked(text):
        if not text:
            raise ValueError("empty")
        return text

    def is_large(n):
        if n > 5:
            return True
        return False

    def down(n):
        if n:
            down(n - 1)
        return None

    def refused():
        raise KeyError("never")

    def step():
        return 1

    def until(most):
        n, by = 0, step()
        while n < most:
            n += by
        return n

    def part(n):
        calls.append(n)
        return n

    def whole(n):
        return part(n) + part(n + 1)

    first = random.random()
    print(drawn(3, 4, factor=2, name=5))
    print(made([1, 2]))
    nothing()
    print(len(calls), list(numbers()), first == first)
    print(sorted([3, 1, 2], key=lambda n: -n))
    print(max(map(abs, [drawn(1)[0]])))
    print(is_large(3), is_large(7), down(2))
    try:
        refused()
    except KeyError:
        print(whole(10), part(20), calls[3:])
    print(part(whole(0)))
    print(until(3))
    print(checked(""))
"""


class Run:
    def __init__(self, folder: Path, *options: str) -> None:
        (folder / "program.py").write_text(textwrap.dedent(PROGRAM))
        self.path = folder / "run.whence"
        words = ["record", "--journal", *options, "-o", str(self.path), "program.py"]
        command = [sys.executable, "-m", "whence", *words]
        subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=60)
        self.tree = open_trace(self.path)
        self.reruns = ProgramReruns(self.path, self.tree)

    def node(self, name: str) -> int:
        return self.nodes(name)[0]

    def nodes(self, name: str) -> list[int]:
        functions = self.tree.columns.function.tolist()
        names = [self.tree.functions[number].short() for number in functions]
        return [self.tree.id(n) for n, each in enumerate(names) if each.endswith(name)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("trial"))


def test_what_was_expected_takes_the_place_of_what_came_of_a_call(run: Run) -> None:
    trial = run.reruns.tried({run.node("drawn"): "['this', 1 + 1]"})
    assert trial.lines == (ChangedLine(1, "[6, 4, 'name']", "['this', 2]"),)
    assert "ValueError" in trial.ended
    assert trial.ends == trial.ended
    assert trial.helps is False


def test_the_call_does_what_it_does_all_the_same(run: Run) -> None:
    trial = run.reruns.tried({run.node("made"): "-17"})
    assert trial.lines == (ChangedLine(2, "4", "-17"),), "calls is as long as before"
    trial = run.reruns.tried({run.node("<lambda>"): "9"})
    assert trial.lines == (ChangedLine(4, "[3, 2, 1]", "[2, 1, 3]"),), (
        "its caller is no Python code"
    )


def test_an_exception_that_does_not_come_any_more_is_a_symptom_that_goes_away(run: Run) -> None:
    trial = run.reruns.tried({run.node("checked"): "'full'"})
    assert trial.helps is True
    assert trial.lines == (ChangedLine(10, "(no such line)", "full"),)


def test_a_run_that_does_not_end_any_more_is_stopped_and_that_is_told(run: Run) -> None:
    trial = run.reruns.tried({run.node("step"): "0"})
    assert trial.ends.startswith("it does not end: it took far longer")
    assert trial.helps is False


def test_a_value_that_takes_for_ever_is_not_tried(run: Run) -> None:
    with pytest.raises(WhenceError, match="took too long"):
        run.reruns.tried({run.node("step"): "all(n == 0 for n in iter(int, 1))"})


def test_what_cannot_be_tried_is_said(run: Run) -> None:
    with pytest.raises(WhenceError, match="raises NameError"):
        run.reruns.tried({run.node("checked"): "unheard_of"})
    with pytest.raises(WhenceError, match="not the call of a function"):
        run.reruns.tried({run.tree.id(1): "1"})
    with pytest.raises(WhenceError, match="an exception is raised"):
        run.reruns.tried({run.node("checked"): "ValueError('full')"})
    with pytest.raises(WhenceError, match="generators"):
        run.reruns.tried({run.node("numbers"): "1"})
    if sys.version_info >= (3, 12):  # before, it is not run at all
        with pytest.raises(WhenceError, match="it only ends by an exception"):
            run.reruns.tried({run.node("refused"): "1"})


def test_a_function_that_returns_constants_only_gives_something_else_once(run: Run) -> None:
    trial = run.reruns.tried({run.node("is_large"): "'maybe'"})
    assert trial.lines == (ChangedLine(6, "False True None", "maybe True None"),)
    deepest = run.nodes("down")[-1]
    assert run.reruns.tried({deepest: "5"}).lines == (), "its caller is of the same code"
    assert run.reruns.tried({run.node("down"): "5"}).lines == (
        ChangedLine(6, "False True None", "False True 5"),
    )


def test_several_values_are_tried_together(run: Run) -> None:
    parts = run.nodes("part")
    trial = run.reruns.tried({parts[2]: "2", run.node("whole"): "1"})
    assert trial.lines == (ChangedLine(7, "21 20 [10, 11, 20]", "1 2 [10, 11, 20]"),)
    both = dict(zip(parts[:3], ["1", "2", "3"], strict=True))
    assert run.reruns.tried(both).lines == (
        ChangedLine(7, "21 20 [10, 11, 20]", "3 3 [10, 11, 20]"),
    )


def test_a_call_that_is_made_otherwise_with_the_other_values_is_not_tried(run: Run) -> None:
    wholes, parts = run.nodes("whole"), run.nodes("part")
    for other in (parts[-1], parts[-2]):  # one is given what came of the first, one is below it
        with pytest.raises(WhenceError, match=f"call {other} is not made with the same inputs"):
            run.reruns.tried({wholes[1]: "7", other: "1"})
