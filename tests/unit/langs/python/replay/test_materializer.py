"""Calls that a bounded recording only counted come to light when the program is run again."""

from __future__ import annotations

import gc
import io
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from whence.cli.main import main
from whence.errors import CannotExpand, WhenceError
from whence.langs.python.record.journal.journal_choice import obstacle
from whence.langs.python.replay.program_reruns import ProgramReruns
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.replay_settings import ReplaySettings
from whence.tree.column_tree import ColumnTree, all_ids
from whence.tree.shrinking import without
from whence.tree.tree_file import open_tree

pytestmark = pytest.mark.skipif(obstacle(None) is not None, reason="nothing here keeps a journal")

PROGRAM = """
    import random

    def leaf(n):
        return random.random() * n

    def node(n, depth):
        if depth == 0:
            return leaf(n)
        return node(2 * n, depth - 1) + node(2 * n + 1, depth - 1)

    print(node(1, 5))
"""


def recorded(folder: Path, name: str, *options: str, source: str = PROGRAM) -> Path:
    script = folder / "program.py"
    if not script.exists():
        script.write_text(textwrap.dedent(source))
    words = ["record", *options, "-o", str(folder / name), str(script)]
    subprocess.run([sys.executable, "-m", "whence", *words], cwd=folder, check=True, timeout=60)
    return folder / name


def opened(path: Path, budget: int) -> ColumnTree:
    return ProgramReruns(path, open_trace(path), ReplaySettings(node_budget=budget)).tree


def expanded(tree: ColumnTree) -> ColumnTree:
    """With nothing implicit any more."""
    while len(hidden := np.flatnonzero(tree.columns.implicit)):
        tree = tree.expand(int(hidden[-1]), 3)
    return tree


def names(tree: ColumnTree) -> list[str]:
    return [tree.functions[number].short() for number in tree.columns.function.tolist()]


def test_no_two_calls_are_taken_for_equal_because_their_values_were_cut(tmp_path: Path) -> None:
    source = """
        def at(values, place):
            return values[place]

        def step(values, text, place):
            return at(values, place) + len(text)

        def block(values, text, first):
            return sum([step(values, text, place) for place in range(first, first + 20)])

        def total(values, text):
            return sum([block(values, text, first) for first in range(0, 60, 20)])

        print(total(list(range(100_000)), "x" * 1_000_000))
    """
    path = recorded(tmp_path, "run.whence", "--journal", "--depth", "3", source=source)
    bounded = opened(path, 100_000)
    tree = expanded(bounded)
    assert len(tree.columns) > len(bounded.columns) + 100
    functions: dict[int, set[int]] = {}
    for equation, function in zip(tree.columns.equation, tree.columns.function, strict=True):
        functions.setdefault(int(equation), set()).add(int(function))
    assert all(len(equal) == 1 for equal in functions.values())
    before = dict(zip(all_ids(bounded).tolist(), bounded.columns.equation.tolist(), strict=True))
    after = dict(zip(all_ids(tree).tolist(), tree.columns.equation.tolist(), strict=True))
    assert {node: after[node] for node in before if node in after} == {
        node: before[node] for node in before if node in after
    }


@pytest.fixture(scope="module")
def bounded_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("run"), "run.whence", "--journal", "--depth", "3")


@pytest.mark.parametrize("budget", [100_000, pytest.param(12, marks=pytest.mark.soak)])
def test_all_that_was_counted_comes_to_light_as_if_it_had_been_recorded(
    budget: int, bounded_run: Path
) -> None:
    bounded = opened(bounded_run, budget)
    full = open_trace(recorded(bounded_run.parent, "full.whence"))
    assert len(bounded.columns) < 6
    tree = expanded(bounded)
    assert names(tree) == names(full)
    for column in ("parent", "end", "weight", "own", "depth"):
        assert getattr(tree.columns, column).tolist() == getattr(full.columns, column).tolist()
    # Its values are those of the first run, whatever chance said: so they are the same once more.
    again = expanded(opened(bounded_run, budget))
    leaves = [place for place, name in enumerate(names(tree)) if name == "leaf"]
    assert len(leaves) == 32
    for place in leaves:
        assert tree.call(place).equation() == again.call(place).equation()


def test_weights_and_ids_stay_what_they_are_while_the_tree_grows(bounded_run: Path) -> None:
    tree = opened(bounded_run, 10)
    weight, known = float(tree.columns.weight[0]), set(all_ids(tree).tolist())
    grown = tree.expand(int(np.flatnonzero(tree.columns.implicit)[0]), 2)
    assert float(grown.columns.weight[0]) == weight
    assert known <= set(all_ids(grown).tolist())
    assert len(grown.columns) > len(tree.columns)


def test_calls_beyond_a_number_come_to_light_too(tmp_path: Path) -> None:
    tree = opened(recorded(tmp_path, "run.whence", "--journal", "--max-calls", "4"), 100_000)
    hidden = [
        place
        for place in np.flatnonzero(tree.columns.implicit).tolist()
        if tree.details[place] >= 0
    ]
    grown = tree.expand(hidden[-1], 3)
    assert len(grown.columns) > len(tree.columns)
    assert float(grown.columns.weight[0]) == float(tree.columns.weight[0])


def test_materialize_shows_what_one_call_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recorded(tmp_path, "run.whence", "--journal", "--depth", "2")
    output = tmp_path / "tree.jsonl"
    assert main(["materialize", str(path), "--node-budget", "9", "-o", str(output)]) == 0
    said = capsys.readouterr().out
    assert "call 2: 6 of the 94 calls below it were recorded" in said
    assert "node × 4" in said
    tree = open_tree(output)
    assert len(tree.columns) == 9
    assert float(tree.columns.weight[0]) == 97


def test_without_a_journal_nothing_is_run_unasked(tmp_path: Path) -> None:
    tree = opened(recorded(tmp_path, "run.whence", "--depth", "3"), 100)
    with pytest.raises(CannotExpand, match="--journal"):
        tree.expand(int(np.flatnonzero(tree.columns.implicit)[0]), 3)


def test_nothing_is_believed_of_a_program_that_was_changed(tmp_path: Path) -> None:
    path = recorded(tmp_path, "run.whence", "--journal", "--depth", "3")
    script = tmp_path / "program.py"
    script.write_text(script.read_text().replace("node(1, 5)", "node(1, 4)"))
    tree = opened(path, 100)
    with pytest.raises(CannotExpand, match="the re-run diverged"):
        tree.expand(int(np.flatnonzero(tree.columns.implicit)[0]), 3)


def test_a_session_looks_into_what_was_only_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = """
        def double(n):
            return n * 2 if n != 3 else 7

        def middle(n):
            return double(n)

        def outer(n):
            return middle(n)

        print(outer(3))
    """
    path = recorded(tmp_path, "run.whence", "--journal", "--depth", "2", source=source)
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\nfull\nran\nn\nn\nn\n"))
    words = ["--wrong", "output:1", "--answers", "-", "--strategy", "top-down"]
    assert main(["debug", str(path), *words]) == 0
    assert "The fault is in double" in capsys.readouterr().out


def test_what_was_given_up_comes_to_light_again_with_the_same_ids(bounded_run: Path) -> None:
    tree = opened(bounded_run, 12)
    top = next(each for each in np.flatnonzero(tree.columns.implicit) if tree.details[each] >= 0)
    node, count = tree.id(int(top)), len(tree.columns)
    grown = tree.expand(int(top), 1)
    known = all_ids(grown).tolist()
    smaller = without(grown, np.zeros(len(grown.columns), dtype=bool))
    assert len(smaller.columns) == count
    again = smaller.expand(smaller.position(node), 1)
    assert all_ids(again).tolist() == known
    assert [again.call(place) for place in range(len(known))] == [
        grown.call(place) for place in range(len(known))
    ]


def test_a_window_goes_when_no_tree_has_calls_of_it(bounded_run: Path) -> None:
    reruns = ProgramReruns(bounded_run, open_trace(bounded_run), ReplaySettings(node_budget=12))
    tree, windows = reruns.tree, reruns.partial.windows
    top = next(each for each in np.flatnonzero(tree.columns.implicit) if tree.details[each] >= 0)
    nodes = []
    for _ in range(2):
        grown = tree.expand(int(top), 1)
        nodes.append(grown.id(int(top) + 1))
        assert windows.locate(nodes[-1])
        del grown
    gc.collect()
    with pytest.raises(WhenceError):
        windows.locate(nodes[-1])


def test_it_is_told_for_what_the_program_is_run_again_and_how_far_it_is(tmp_path: Path) -> None:
    source = """
        def leaf(n):
            return n

        def many(count):
            return [leaf(n) for n in range(count)]

        many(2500)
        many(1)
    """
    path = recorded(tmp_path, "run.whence", "--journal", "--depth", "2", source=source)
    told: list[tuple[str, int, int]] = []
    settings = ReplaySettings(node_budget=100, on_progress=lambda *what: told.append(what))
    tree = ProgramReruns(path, open_trace(path), settings).tree
    tree.expand(int(np.flatnonzero(tree.columns.implicit)[-1]), 1)
    what, calls, of = told[-1]
    assert (what, of) == ("many, call 2,503", 2504)
    assert 2000 <= calls <= of
