from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from debuggee_runs import record_repeatably

from whence.langs.python.replay import frozen_check
from whence.langs.python.replay.frozen_check import FrozenDifference, first_frozen_difference
from whence.langs.python.replay.rerun_process import RerunOutcome
from whence.langs.python.trace.trace_reader import open_trace
from whence.tree.column_tree import ColumnTree

PROGRAM = """
def frozen():
    return 0
def same(n):
    return n
frozen()
for n in range(100):
    same(1)
same({other})
for n in range(100):
    same(1)
"""
FROZEN = {2: 0}
OTHER = 103


def recorded(folder: Path, name: str, other: int) -> ColumnTree:
    program = folder / "program.py"
    program.write_text(textwrap.dedent(PROGRAM.format(other=other)))
    path = folder / name
    record_repeatably(path, ["program.py"], folder, check=True)
    return open_trace(path)


@pytest.fixture
def few_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Digests of the two runs cannot be compared, and hardly any calls are read."""
    monkeypatch.setattr(frozen_check, "_tables", id)
    monkeypatch.setattr(frozen_check, "MOST_READ", 5)


@pytest.mark.usefixtures("few_read")
def test_every_call_is_compared_however_many_are_equal(tmp_path: Path) -> None:
    ours = recorded(tmp_path, "ours.whence", 2)
    theirs = recorded(tmp_path, "theirs.whence", 3)
    difference = first_frozen_difference(ours, theirs, FROZEN, RerunOutcome())
    assert isinstance(difference, FrozenDifference)
    assert difference.ordinal == OTHER
    assert "n was 2, now 3" in str(difference)


@pytest.mark.usefixtures("few_read")
def test_equal_runs_have_no_difference(tmp_path: Path) -> None:
    ours = recorded(tmp_path, "ours.whence", 2)
    theirs = recorded(tmp_path, "theirs.whence", 2)
    assert first_frozen_difference(ours, theirs, FROZEN, RerunOutcome()) is None
