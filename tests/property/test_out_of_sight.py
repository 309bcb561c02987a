"""No diagnosis without evidence: what the recorder could not see is the other candidate.

A generated program is a chain of functions, each of which calls the next. One of them leaves part
of its work to code that is not recorded. There is one fault, in a function or in that hidden part.
The twin without the fault answers the questions. Law: a call outside the hidden part is called at
fault only if its function has the fault, or if the diagnosis names the hidden part as the other
candidate.
"""

from __future__ import annotations

import importlib
import itertools
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.langs.python.frontend import PythonFrontend
from whence.langs.python.record.recording import Recording, Settings
from whence.langs.python.record.user_code import UserCodeRules
from whence.model.diagnosis import Status
from whence.model.question import Question
from whence.model.value import Value, show
from whence.model.verdict import Answer, Verdict
from whence.report.explanation import explain
from whence.report.source import Sources
from whence.session.state import State
from whence.testing.answerer import run

HIDDEN = {
    "process": """
    ends = os.pipe()
    if os.fork() == 0:
        os.write(ends[1], str(hidden(x)).encode())
        os._exit(0)
    os.wait()
    x = int(os.read(ends[0], 100))
    os.close(ends[0])
    os.close(ends[1])
""",
    "left out": """
    x = hidden(x)
""",
    "library": """
    x = hidden_library.apply(same, x)
""",
    "exec": """
    space = {"x": x}
    exec(HIDDEN_TEXT, space)
    x = space["x"]
""",
    "state": """
    x = x + STATE
""",
}
LIBRARY = "SHIFT = 0\ndef apply(function, x):\n    return function(x) + SHIFT\n"
EXAMPLES = 2_000 if os.environ.get("WHENCE_HYPOTHESIS_PROFILE") == "soak" else 40
_numbers = itertools.count()


@dataclass(frozen=True)
class Program:
    """A chain of functions f0, f1, …; `faulty` is the one with the fault, None: the hidden part."""

    hidden: str
    steps: tuple[int, ...]
    place: int
    faulty: int | None
    in_body: bool
    """Whether the last statement is one of a cell that uses what another one computed."""

    def text(self, *, repaired: bool) -> str:
        wrong = 0 if repaired or self.faulty is not None else 7
        lines = [
            "import os, hidden_library", f"HIDDEN_TEXT = 'x = x + {wrong}'", f"STATE = {wrong}",
            f"def hidden(x):\n    return x + {wrong}", "def same(x):\n    return x",
        ]  # fmt: skip
        for number, step in enumerate(self.steps):
            lines.append(f"def f{number}(x):")
            if number == self.place:
                lines.append(HIDDEN[self.hidden].strip("\n"))
            if number + 1 < len(self.steps):
                lines.append(f"    x = f{number + 1}(x)")
            extra = 100 if number == self.faulty and not repaired else 0
            lines.append(f"    return x + {step + extra}")
        return "\n".join(lines) + "\n"


@st.composite
def programs(draw: st.DrawFn) -> Program:
    steps = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    place = draw(st.integers(0, len(steps) - 1))
    faulty = draw(st.one_of(st.none(), st.integers(0, len(steps) - 1)))
    return Program(draw(st.sampled_from(sorted(HIDDEN))), steps, place, faulty, draw(st.booleans()))


@contextmanager
def library(folder: Path, *, shift: int) -> Iterator[Any]:
    """The library that the program imports, as if it were installed."""
    packages = folder / "site-packages"
    packages.mkdir()
    (packages / "hidden_library.py").write_text(LIBRARY)
    sys.path.insert(0, str(packages))
    importlib.invalidate_caches()
    try:
        module: Any = importlib.import_module("hidden_library")
        module.SHIFT = shift
        yield module
    finally:
        sys.path.remove(str(packages))
        sys.modules.pop("hidden_library", None)
        sys.path_importer_cache.pop(str(packages), None)


def number_of(value: Value | None) -> int:
    assert value is not None
    return int(show(value))


class Twin:
    """Answers as the program without the fault would."""

    def __init__(self, program: Program) -> None:
        self.space: dict[str, Any] = {"__name__": "program"}
        self.program = program

    def start(self, file: Path) -> None:
        exec(compile(self.program.text(repaired=True), str(file), "exec"), self.space)

    def judge(self, question: Question) -> Answer:
        call, node = question.call, question.node
        reads = {binding.name: binding.value for binding in call.reads}
        if "STATE" in reads and number_of(reads["STATE"]) != self.space["STATE"]:
            return Answer(node, Verdict.INADMISSIBLE)
        name = call.function.qualname
        if node == 0:
            return Answer(node, Verdict.WRONG)
        if name == "<module>":
            before = self.space["f0"](1)
            if "early" in reads and number_of(reads["early"]) != before:
                return Answer(node, Verdict.INADMISSIBLE)
            return Answer(node, Verdict.WRONG)
        given_number = number_of(call.arguments[0].value)
        right = self.space[name](given_number) == number_of(call.outcome.value)
        return Answer(node, Verdict.RIGHT if right else Verdict.WRONG)


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
@given(programs())
@settings(max_examples=EXAMPLES)
def test_the_hidden_part_is_the_other_candidate(program: Program) -> None:
    twin = Twin(program)
    hidden_wrong = 7 if program.faulty is None else 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / f"program_{next(_numbers)}.py"
        file.write_text(program.text(repaired=False))
        body = "print(early)\n" if program.in_body else "early = f0(1)\nprint(early)\n"
        cell = folder / f"cell_{file.stem}.py"
        cell.write_text(body)
        with library(folder, shift=hidden_wrong) as module:
            space: dict[str, Any] = {"__name__": "program", "__file__": str(file), "print": str}
            exec(compile(file.read_text(), str(file), "exec"), space)
            if program.in_body:
                exec("early = f0(1)", space)  # in a cell that was not recorded
            rules = UserCodeRules(
                only=(str(file), str(cell)),
                left_out=("hidden", "same") if program.hidden != "library" else (),
            )
            recording = Recording(Settings(str(folder / "t.whence"), rules=rules), ("cell",))
            recording.start()
            try:
                exec(compile(body, str(cell), "exec"), space)
            finally:
                recording.finish(0, 0)
            module.SHIFT = 0
            twin.start(file)
            opened = PythonFrontend().open(folder / "t.whence")
            state = State(opened.tree, None)
            transcript = run(state, twin.judge)
            diagnosis = transcript.diagnosis
            if diagnosis.status is not Status.FOUND or diagnosis.node is None:
                return
            blamed = opened.tree.call(opened.tree.position(diagnosis.node)).function.qualname
            assert transcript.state is not None
            sources = Sources(opened.folder, opened.began, opened.syntax)
            headline = explain(transcript.state, diagnosis, sources).headline
    if program.faulty is not None and not program.in_body:
        assert blamed == f"f{program.faulty}"
    else:
        assert "out of sight" in headline, (blamed, headline)
