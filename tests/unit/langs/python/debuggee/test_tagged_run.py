"""One call of a program, shadowed in a process of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from whence.errors import WhenceError
from whence.langs.python.debuggee.order import (
    Order,
    PartStep,
    StepKind,
    TagTask,
    TargetCall,
    Task,
)
from whence.langs.python.debuggee.run_as_python import Target
from whence.langs.python.debuggee.tag_report import TagAnswer, TagReport
from whence.langs.python.launching.debuggee_process import start_debuggee
from whence.langs.python.record.recording import Settings

PROGRAM = """
import sys
from helper import twice
def read(text): return [int(word) for word in text.split()]
def total(numbers):
    seen = []
    for number in numbers: seen.append(twice(number))
    return {"sum": sum(seen), "seen": seen}
def main(text):
    print("begins", *sys.argv[1:])
    return total(read(text))
main("1 2")
main("3 4")
print("ends")
"""
HELPER = """
def twice(n): return n * 2
"""


def lines(source: str, name: str) -> int:
    return next(n for n, text in enumerate(source.splitlines(), 1) if text.startswith(name))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text(HELPER)
    return tmp_path


def shadow(
    folder: Path,
    function: str,
    count: int,
    *path: str | int,
    root: str = "result",
    is_input: bool = False,
    words: tuple[str, ...] = ("program.py", "a", "b"),
) -> tuple[TagAnswer, str]:
    """The answer about a part at a path of items, and what the program printed."""
    call = TargetCall(str(folder / "program.py"), lines(PROGRAM, f"def {function}"), function)
    task = TagTask(
        shadowed=TargetCall(call.file, call.first_line, call.name, count), marked=call,
        root=root, steps=tuple(PartStep(StepKind.ITEM, key) for key in path), is_input=is_input,
        answer=str(folder / "answer"), progress=str(folder / "progress"),
    )  # fmt: skip
    order = Order(Target.from_words(words), Settings(""), Task(tags=task))
    process = start_debuggee(
        order, environment=os.environ, cwd=str(folder), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    printed, complained = process.communicate(timeout=60)
    assert not complained, complained.decode()
    answer = TagAnswer.from_text((folder / "answer").read_text(encoding="utf-8"))
    return answer, printed.decode()


def report(answer: tuple[TagAnswer, str]) -> TagReport:
    assert answer[0].report is not None, answer[0].unknown
    return answer[0].report


def names(report: TagReport, calls: tuple[int, ...] | range) -> list[str]:
    return [report.calls.function_of(call).name for call in calls]


def test_the_origin_of_a_part_is_in_the_call_that_made_it(folder: Path) -> None:
    told = report(shadow(folder, "main", 2, "seen", 1))
    [maker] = told.origin.makers
    assert maker.expression == "n * 2"
    assert maker.file == str(folder / "helper.py")
    assert names(told, (maker.call,)) == ["twice"]
    assert names(told, told.chain) == ["main", "total", "twice"]
    assert names(told, range(len(told.calls))) == ["main", "read", "total", "twice", "twice"]
    assert told.calls.parent == (-1, 0, 0, 2, 2)
    narrow, wider, widest = map(set, told.slices)
    assert narrow <= wider <= widest


def test_the_program_runs_as_it_does_up_to_the_end_of_the_call(folder: Path) -> None:
    _, printed = shadow(folder, "main", 2, "sum")
    assert printed == "begins a b\nbegins a b\n"


def test_what_a_call_was_given_is_a_part_of_its_parameter(folder: Path) -> None:
    told = report(shadow(folder, "total", 1, 1, root="numbers", is_input=True))
    [maker] = told.origin.makers
    assert (maker.parameter, maker.path) == ("numbers", (PartStep(StepKind.ITEM, 1),))
    assert maker.call == 0


def test_a_program_that_is_run_as_a_module_is_shadowed_too(folder: Path) -> None:
    told = report(shadow(folder, "main", 1, "seen", 0, words=("-m", "program", "a", "b")))
    assert [maker.expression for maker in told.origin.makers] == ["n * 2"]


def test_a_call_that_is_not_reached_is_unknown(folder: Path) -> None:
    answer, printed = shadow(folder, "main", 3, "sum")
    assert answer == TagAnswer(unknown="the call was not reached")
    assert printed.endswith("ends\n")


def test_a_part_that_is_not_there_is_unknown(folder: Path) -> None:
    answer, _ = shadow(folder, "main", 1, "none")
    assert answer == TagAnswer(unknown="there is no 'none' in a dict")


def test_an_answer_is_read_as_it_was_written(folder: Path) -> None:
    answer, _ = shadow(folder, "main", 2, "seen", 1)
    assert TagAnswer.from_text(answer.text()) == answer


def test_an_answer_that_is_not_complete_is_refused(folder: Path) -> None:
    text = shadow(folder, "main", 2, "seen", 1)[0].text()
    with pytest.raises(WhenceError, match=r"answer\.report\.marked: is of type str, not int"):
        TagAnswer.from_text(text.replace('"marked": 0', '"marked": "0"'))
    with pytest.raises(WhenceError, match=r"answer\.report\.calls\.parent\[1\]: is of type"):
        TagAnswer.from_text(text.replace('"parent": [-1, 0', '"parent": [-1, "0"'))
    with pytest.raises(WhenceError, match="answer: is not JSON"):
        TagAnswer.from_text(text[:-1])
