from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from debuggee_runs import order_for

from whence.langs.python.launching import first_run
from whence.langs.python.launching.first_run import FirstRun, run_first

COUNTS = "import sys\nopen('count', 'w').write(str(len(sys.stdin.read())))\n"
SIZE = 12_000


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Standard input is a pipe with so many bytes."""
    source, sink = os.pipe()
    os.write(sink, b"x" * SIZE)
    os.close(sink)
    before = os.dup(0)
    os.dup2(source, 0)
    os.close(source)
    monkeypatch.setattr(first_run, "_CHUNK", 1000)
    yield
    os.dup2(before, 0)
    os.close(before)


def counted(folder: Path) -> int:
    (folder / "program.py").write_text(COUNTS)
    os.chdir(folder)
    run_first(FirstRun(order_for(folder / "run.whence", ["program.py"])))
    return int((folder / "count").read_text())


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_is_piped_in_is_copied(tmp_path: Path, piped: None) -> None:
    assert counted(tmp_path) == SIZE
    assert (tmp_path / "run.whence.stdin").stat().st_size == SIZE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_takes_no_input_from_the_program(tmp_path: Path, piped: None) -> None:
    copy = tmp_path / "run.whence.stdin"
    copy.symlink_to("/dev/full")
    assert counted(tmp_path) == SIZE
    assert not copy.is_symlink()


def test_a_copy_that_cannot_be_opened_takes_no_input_either(tmp_path: Path, piped: None) -> None:
    (tmp_path / "run.whence.stdin").mkdir()
    assert counted(tmp_path) == SIZE


def test_input_that_is_too_large_is_not_copied(
    tmp_path: Path, piped: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_run, "_MAX_INPUT", SIZE - 1)
    assert counted(tmp_path) == SIZE
    assert not (tmp_path / "run.whence.stdin").exists()


def test_a_system_without_termios_runs_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "termios", None)
    with first_run._terminal_restored():
        pass
