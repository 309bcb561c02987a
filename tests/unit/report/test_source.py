import os
from pathlib import Path

import pytest

from whence.errors import WhenceError
from whence.model.call import Call, Function, Location, Outcome, OutcomeKind, Rule
from whence.report.source import Block, Sources, source_lines

RETURNED = Outcome(OutcomeKind.RETURNED)

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


def at(file: str, line: int | None, source: str = "", site: Location | None = None) -> Call:
    rule = Rule("f", "f", Location(file, line), source)
    return Call(Function("f"), rule, RETURNED, site=site)


def lines_of(call: Call) -> list[str]:
    return source_lines(call, Sources())


def test_the_source_in_the_tree_is_shown_with_its_line_numbers() -> None:
    made = at("m.py", 9, "def f(x):\n    return x", Location("n.py", 4))
    assert lines_of(made) == [
        "m.py:9",
        "   9  def f(x):",
        "  10      return x",
        "called at n.py:4",
    ]


def test_a_definition_is_read_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text(TEXT)
    lines = lines_of(at(str(file), 10))
    assert [line.split() for line in lines[1:]] == [
        ["10", "def", "second(y):"],
        ["11", "if", "y:"],
        ["12"],
        ["13", "return", "1"],
        ["14", "return", "2"],
    ]
    assert lines_of(at(str(file), 4))[-1].split() == ["7", "return", "x"]


@pytest.mark.parametrize(("file", "line"), [("gone.py", 1), (".", 1), ("/dev/zero", 1)])
def test_a_file_that_cannot_be_read_is_told(file: str, line: int) -> None:
    with pytest.raises(WhenceError):
        lines_of(at(file, line))


def test_names_and_lines_that_make_no_sense_are_told(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text(TEXT)
    for place in ((str(file), 999), (str(file), -3), (str(file), None), ("a\0b", 1)):
        with pytest.raises(WhenceError):
            lines_of(at(*place))


def test_long_source_is_cut_off() -> None:
    lines = lines_of(at("m.py", 3, "\n".join(["x = 1"] * 100)))
    assert lines[-1].strip() == "… and 60 more lines"


def test_a_relative_file_is_looked_for_where_the_program_ran(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(TEXT)
    found = Sources(tmp_path).block(at("m.py", 10))
    assert found.lines[0] == "def second(y):"
    with pytest.raises(WhenceError):
        Sources().block(at("m.py", 10))


def test_a_file_that_was_changed_after_the_recording_is_said_to_be(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text(TEXT)
    os.utime(file, (1000, 1000))
    assert not Sources(tmp_path, 1001.0).block(at("m.py", 10)).changed
    assert Sources(tmp_path, 999.0).block(at("m.py", 10)).changed
    lines = source_lines(at("m.py", 10), Sources(tmp_path, 999.0))
    assert lines[-1] == "(the file was changed after the recording)"


def test_a_file_below_this_directory_is_named_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    inside = Location(str(tmp_path / "pkg" / "m.py"), 3)
    assert Sources(tmp_path).shown(inside) == str(Path("pkg") / "m.py:3")
    assert Sources(tmp_path).shown(Location("/elsewhere/m.py", 3)) == "/elsewhere/m.py:3"
    assert Sources().shown(inside) == str(inside)


def test_a_decorated_definition_is_shown_with_its_decorators(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("@first(\n    1,\n)\n@second\ndef f():\n    return 1\nx = 2\n")
    block = Sources(tmp_path).block(at("m.py", 1))
    assert block.lines[-2:] == ("def f():", "    return 1")


def test_lines_that_ran_are_marked_where_they_are_known() -> None:
    block = Block(("def f(x):", "    if x:", "        return 1"), 7, executed=frozenset({7, 8}))
    assert block.numbered(9) == ["> 7  def f(x):", "> 8      if x:", "  9          return 1"]


def test_of_a_long_definition_what_is_not_marked_is_folded() -> None:
    lines = ["def f(x):", *(f"    line_{number}" for number in range(2, 101))]
    ran = frozenset((2, 3, 7, 60, 61))
    shown = Block(tuple(lines), 1, executed=ran).numbered(40)
    assert shown == [
        "    1  def f(x):",
        ">   2      line_2",
        ">   3      line_3",
        "    4      line_4",
        "    5      line_5",
        "    6      line_6",
        ">   7      line_7",
        "    8      line_8",
        "           … 50 lines without a mark …",
        "   59      line_59",
        ">  60      line_60",
        ">  61      line_61",
        "   62      line_62",
        "       … and 38 more lines without a mark",
    ]
    everything = Block(tuple(lines), 1, executed=frozenset(range(2, 101))).numbered(40)
    assert everything[-1] == "       … and 60 more lines"


def test_long_documentation_is_folded() -> None:
    lines = ["def f(x):", '    """Say it.', "", *(f"    line {n}" for n in range(9)), '    """']
    block = Block((*lines, "    return x"), 10)
    assert block.numbered(40) == [
        "  10  def f(x):",
        '  11      """Say it.',
        "          … 11 more lines of documentation …",
        "  23      return x",
    ]
    assert len(Block(("def f():", '    """Short."""', "    pass"), 1).numbered(40)) == 3


def test_the_line_that_raised_is_in_a_listing_that_was_cut():
    text = ("def long():", *(f"    step({number})" for number in range(1, 100)))
    shown = Block(text, 1, raised=80).shown_lines(10)
    assert shown[0] == (1, "def long():")
    assert shown[-2:] == [(80, "    step(79)"), (None, "… and 20 more lines")]
    assert len(shown) == 11
    hidden = next(line for number, line in shown if number is None)
    assert hidden.strip() == f"… {80 - 6 - 3} lines …"


def test_the_line_that_raised_is_among_the_lines_that_ran():
    text = ("def long():", *(f"    step({number})" for number in range(1, 100)))
    shown = Block(text, 1, executed=frozenset({1, 2, 3}), raised=80).numbered(20)
    assert any(line.strip() == "80      step(79)" for line in shown)


def test_omitted_lines_are_counted_once():
    text = ("def long():", *(f"    step({number})" for number in range(1, 100)))
    executed = frozenset({1, 2, 30, 50, 60, 70, 80})
    shown = Block(text, 1, executed=executed, raised=80).shown_lines(9)
    numbers = [number for number, _ in shown]
    assert numbers == [1, 2, None, 69, 70, 71, None, 79, 80, None]
    assert shown[2][1].strip() == f"… {69 - 2 - 1} lines …"
    assert shown[-1][1] == "… and 20 more lines"


def test_without_an_exception_a_cut_listing_has_the_first_lines():
    text = tuple(f"step({number})" for number in range(1, 21))
    shown = Block(text, 1).shown_lines(5)
    assert [number for number, _ in shown] == [1, 2, 3, 4, 5, None]
