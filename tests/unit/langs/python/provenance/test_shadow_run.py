"""One call of a program, shadowed in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from marked_runs import steps

from whence.langs.python.debuggee.order import TargetCall
from whence.langs.python.provenance.shadow_run import Request

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


def shadow(folder: Path, function: str, count: int, path: str, **more: Any) -> Any:
    line = lines(PROGRAM, f"def {function}")
    root = more.pop("root", "result")
    request = Request(
        words=more.pop("words", ("program.py", "a", "b")),
        wanted=TargetCall(str(folder / "program.py"), line, function, count),
        marked=TargetCall(str(folder / "program.py"), line, function, 1),
        root=root, steps=steps(path), is_input=more.pop("is_input", False),
    )  # fmt: skip
    (folder / "request.json").write_text(request.text())
    run = subprocess.run(
        [sys.executable, "-m", "whence.langs.python.provenance.shadow_run", "request.json",
         "answer.json", "progress"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not run.stderr, run.stderr
    answer = json.loads((folder / "answer.json").read_text())
    answer["printed"] = run.stdout
    return answer


def names(answer: Any, places: list[int]) -> list[str]:
    return [answer["calls"][place]["name"] for place in places]


def test_the_origin_of_a_part_is_in_the_call_that_made_it(folder: Path) -> None:
    answer = shadow(folder, "main", 2, "['seen'][1]")
    [maker] = answer["origin"]["makers"]
    assert maker["expression"] == "n * 2"
    assert maker["file"] == str(folder / "helper.py")
    assert answer["calls"][maker["call"]]["name"] == "twice"
    assert names(answer, answer["chain"]) == ["main", "total", "twice"]
    assert [each["name"] for each in answer["calls"]] == ["main", "read", "total", "twice", "twice"]
    assert set(answer["slices"]["L1"]) <= set(answer["slices"]["L2"]) <= set(answer["slices"]["L3"])


def test_the_program_runs_as_it_does_up_to_the_end_of_the_call(folder: Path) -> None:
    answer = shadow(folder, "main", 2, "['sum']")
    assert answer["printed"] == "begins a b\nbegins a b\n"


def test_what_a_call_was_given_is_a_part_of_its_parameter(folder: Path) -> None:
    answer = shadow(folder, "total", 1, "[1]", root="numbers", is_input=True)
    [maker] = answer["origin"]["makers"]
    assert (maker["parameter"], maker["path"]) == ("numbers", [["item", 1]])
    assert maker["call"] == 0


def test_a_program_that_is_run_as_a_module_is_shadowed_too(folder: Path) -> None:
    answer = shadow(folder, "main", 1, "['seen'][0]", words=("-m", "program", "a", "b"))
    assert [each["expression"] for each in answer["origin"]["makers"]] == ["n * 2"]


def test_a_call_that_is_not_reached_is_unknown(folder: Path) -> None:
    answer = shadow(folder, "main", 3, "['sum']")
    assert answer["unknown"] == "the call was not reached"
    assert answer["printed"].endswith("ends\n")


def test_a_part_that_is_not_there_is_unknown(folder: Path) -> None:
    answer = shadow(folder, "main", 1, "['none']")
    assert answer["unknown"] == "there is no 'none' in a dict"
