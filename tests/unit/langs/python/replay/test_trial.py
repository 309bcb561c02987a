"""What a person says that a call should have given is tried: the run is made once more with it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from whence.errors import WhenceError
from whence.langs.python.record.journal.choosing import obstacle
from whence.langs.python.replay.materializing import materializable
from whence.langs.python.replay.rerun import ProgramReruns
from whence.langs.python.trace.opening import open_trace
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

    first = random.random()
    print(drawn(3, 4, factor=2, name=5))
    print(made([1, 2]))
    nothing()
    print(len(calls), list(numbers()), first == first)
    print(sorted([3, 1, 2], key=lambda n: -n))
    print(max(map(abs, [drawn(1)[0]])))
    print(checked(""))
"""


class Run:
    def __init__(self, folder: Path, *options: str) -> None:
        (folder / "program.py").write_text(textwrap.dedent(PROGRAM))
        self.path = folder / "run.whence"
        words = ["record", "--journal", *options, "-o", str(self.path), "program.py"]
        command = [sys.executable, "-m", "whence", *words]
        subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=60)
        self.tree = materializable(self.path, open_trace(self.path))
        self.reruns = ProgramReruns(self.path, self.tree)

    def node(self, name: str) -> int:
        functions = self.tree.columns.function.tolist()
        names = [self.tree.functions[number].short() for number in functions]
        return self.tree.id(next(n for n, each in enumerate(names) if each.endswith(name)))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("trial"))


def test_what_was_expected_takes_the_place_of_what_came_of_a_call(run: Run) -> None:
    trial = run.reruns.tried(run.node("drawn"), "['this', 1 + 1]")
    assert trial.lines == (ChangedLine(1, "[6, 4, 'name']", "['this', 2]"),)
    assert "ValueError" in trial.ended
    assert trial.ends == trial.ended
    assert trial.helps is False


def test_the_call_does_what_it_does_all_the_same(run: Run) -> None:
    trial = run.reruns.tried(run.node("made"), "-17")
    assert trial.lines == (ChangedLine(2, "4", "-17"),), "calls is as long as before"
    trial = run.reruns.tried(run.node("<lambda>"), "9")
    assert trial.lines == (ChangedLine(4, "[3, 2, 1]", "[2, 1, 3]"),), (
        "its caller is no Python code"
    )


def test_an_exception_that_does_not_come_any_more_is_a_symptom_that_goes_away(run: Run) -> None:
    trial = run.reruns.tried(run.node("checked"), "'full'")
    assert trial.helps is True
    assert trial.lines == (ChangedLine(6, "(no such line)", "full"),)


def test_what_cannot_be_tried_is_said(run: Run) -> None:
    with pytest.raises(WhenceError, match="raises NameError"):
        run.reruns.tried(run.node("checked"), "unheard_of")
    with pytest.raises(WhenceError, match="not the call of a function"):
        run.reruns.tried(run.tree.id(1), "1")
    with pytest.raises(WhenceError, match="an exception is raised"):
        run.reruns.tried(run.node("checked"), "ValueError('full')")
    with pytest.raises(WhenceError, match="generators"):
        run.reruns.tried(run.node("numbers"), "1")
    if sys.version_info >= (3, 12):
        with pytest.raises(WhenceError, match="nothing but constants"):
            run.reruns.tried(run.node("nothing"), "1")
