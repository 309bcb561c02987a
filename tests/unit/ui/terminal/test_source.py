from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from whence.errors import WhenceError
from whence.model.call import Call, Function, Location, Rule
from whence.ui.terminal.source import source_lines

Build = Callable[..., Call]

TEXT = """\
import os


def first(
    x,
):
    return x


def second(y):
    if y:

        return 1
    return 2


third = 3
"""


def at(call: Call, file: str, line: int | None) -> Call:
    place = Location(file, line)
    return replace(call, function=Function("f"), rule=Rule("f", "f", place))


def test_the_source_in_the_tree_is_shown_with_its_line_numbers(call: Build) -> None:
    made = call(source="def f(x):\n    return x", line=9, site=Location("n.py", 4))
    assert source_lines(made) == [
        "m.py:9",
        "   9  def f(x):",
        "  10      return x",
        "called at n.py:4",
    ]


def test_a_definition_is_read_from_its_file(call: Build, tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text(TEXT)
    lines = source_lines(at(call(), str(file), 10))
    assert [line.split() for line in lines[1:]] == [
        ["10", "def", "second(y):"],
        ["11", "if", "y:"],
        ["12"],
        ["13", "return", "1"],
        ["14", "return", "2"],
    ]
    assert source_lines(at(call(), str(file), 4))[-1].split() == ["7", "return", "x"]


@pytest.mark.parametrize(("file", "line"), [("gone.py", 1), (".", 1), ("/dev/zero", 1)])
def test_a_file_that_cannot_be_read_is_told(call: Build, file: str, line: int) -> None:
    with pytest.raises(WhenceError):
        source_lines(at(call(), file, line))


def test_names_and_lines_that_make_no_sense_are_told(call: Build, tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text(TEXT)
    for place in ((str(file), 999), (str(file), -3), (str(file), None), ("a\0b", 1)):
        with pytest.raises(WhenceError):
            source_lines(at(call(), *place))


def test_long_source_is_cut_off(call: Build) -> None:
    lines = source_lines(call(source="\n".join(["x = 1"] * 100)))
    assert lines[-1] == "… and 60 more lines"
