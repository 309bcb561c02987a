"""`--filter f,g`: of all calls of user code only those of some functions are kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from recorded import BACKENDS, as_node

from whence.cli.main import main
from whence.langs.python.record.backend_choice import NATIVE
from whence.langs.python.record.journal.journal_choice import obstacle
from whence.langs.python.record.options import RecordOptions
from whence.langs.python.record.recording import Recording, Settings
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.replay.program_reruns import ProgramReruns
from whence.langs.python.trace.trace_reader import open_trace, recording_summary
from whence.langs.python.trace.trace_source import TraceSource
from whence.tree.column_tree import ColumnTree

PROGRAM = """\
def low(n):
    return n + 1

def middle(n):
    return low(n) + wrong(n)

def wrong(n):
    return low(n) * 3

def each(n):
    for one in range(n):
        yield middle(one)

class Shop:
    def total(self, n):
        return sum(each(n)) + sum([low(one) for one in range(2)])

print(Shop().total(2))
"""


def recorded(
    folder: Path, backend: str, *kept: str, options: RecordOptions | None = None
) -> ColumnTree:
    program, output = folder / "program.py", folder / f"{'-'.join(kept) or 'all'}.whence"
    program.write_text(PROGRAM)
    rules = UserCodeRules(only=(str(program),), kept=kept)
    under_way = Recording(
        Settings(str(output), options or RecordOptions(), rules, backend), (program.name,)
    )
    under_way.start()
    try:
        exec(compile(PROGRAM, str(program), "exec"), {"__name__": "program"})
    finally:
        under_way.finish(0, 0)
    return open_trace(output)


def shape(tree: ColumnTree) -> list[str]:
    """Each call with its depth; what stands for others with how many there are."""
    columns = tree.columns
    return [
        f"{'. ' * int(columns.depth[n])}{tree.functions[int(columns.function[n])].short()}"
        + (f" {int(columns.own[n])}" if columns.implicit[n] else "")
        for n in range(1, len(columns))
    ]


def ordinals(tree: ColumnTree, name: str) -> list[int]:
    """Which of all calls of the run the calls of a function are."""
    source = tree.sources[0]
    assert isinstance(source, TraceSource)
    numbers = source.ordinals()
    found = []
    for position in range(1, len(tree.columns)):
        if tree.functions[int(tree.columns.function[position])].short() == name:
            found.append(int(numbers[tree.details[position]]))
    return sorted(found)


@pytest.mark.parametrize("backend", BACKENDS)
def test_only_calls_of_the_functions_are_kept_and_all_others_are_counted(
    backend: str, tmp_path: Path
) -> None:
    assert shape(recorded(tmp_path, backend, "wrong", "Shop.total")) == [
        ". <module>",
        ". . Shop.total",
        ". . . wrong 2",
        ". . . wrong 2",
        ". . . <not recorded> 7",
        ". . <not recorded> 1",
    ]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_call_that_is_kept_is_what_it_would_be_without_a_filter(
    backend: str, tmp_path: Path
) -> None:
    kept, everything = recorded(tmp_path, backend, "low"), recorded(tmp_path, backend)
    assert kept.columns.weight[0] == everything.columns.weight[0]
    calls = [[node.arguments, node.outcome] for node in as_node(kept).all("low")]
    assert calls == [[node.arguments, node.outcome] for node in as_node(everything).all("low")]
    if backend == NATIVE:  # the other one cannot run a program up to a call
        assert ordinals(kept, "low") == ordinals(everything, "low")


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_more_calls_are_kept_than_there_is_room_for(backend: str, tmp_path: Path) -> None:
    tree = recorded(tmp_path, backend, "low", options=RecordOptions(max_calls=3))
    assert len(as_node(tree).all("low")) == 2  # the module is the first
    assert tree.columns.weight[0] == recorded(tmp_path, backend).columns.weight[0]


def test_the_command_line_takes_several_names_and_bounds_what_is_kept(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    words = ["record", "-q", "--filter", "low, wrong", "--filter", "m*", "-o", "t.whence"]
    command = [sys.executable, "-m", "whence", *words, "program.py"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60, stdout=subprocess.DEVNULL)
    tree = open_trace(tmp_path / "t.whence")
    told = recording_summary(tree)
    assert told is not None
    assert told.header.options["filter"] == ["low", "wrong", "m*"]
    assert told.header.options["max_calls"] == 100_000
    names = {tree.functions[n].short() for n in tree.columns.function.tolist()}
    assert {"low", "wrong", "middle"} <= names
    assert not {"each", "Shop.total"} & names


def test_how_deep_calls_are_nested_is_not_told_with_a_filter(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["record", "--filter", "f", "--depth-limit", "9", "-c", "pass"]) == 2
    assert "--call-limit" in capsys.readouterr().err


@pytest.mark.skipif(obstacle(None) is not None, reason="nothing here keeps a journal")
def test_what_a_filter_left_out_comes_to_light_when_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    words = ["record", "-q", "--journal", "--filter", "Shop.total,low", "-o", "t.whence"]
    command = [sys.executable, "-m", "whence", *words, "program.py"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60, stdout=subprocess.DEVNULL)
    path = tmp_path / "t.whence"
    tree = ProgramReruns(path, open_trace(path)).tree
    columns = tree.columns
    hidden = [
        n for n in np.flatnonzero(columns.implicit).tolist()
        if tree.functions[int(columns.function[columns.parent[n]])].short() == "Shop.total"
    ]  # fmt: skip
    grown = tree.expand(hidden[0], 3)
    names = [line.strip(". ") for line in shape(grown)]
    assert names.count("wrong") == names.count("middle") == 2
    # What was recorded before is there twice, and what is said of one holds for the other.
    position = [n for n, name in enumerate(names, 1) if name == "low"]
    assert len(position) == 2 * 6
    equations = grown.columns.equation[position].tolist()
    assert len(set(equations[:6])) == len(set(equations)) == 2
