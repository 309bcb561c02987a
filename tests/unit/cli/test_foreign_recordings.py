"""Opening a recording that somebody else made executes nothing of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import forked_whence
import pytest

PROGRAM = """
import os
import whence  # contracts might be declared with it
def total(prices):
    return sum(prices) + 1
with open(os.environ["WITNESS"], "a") as file:
    file.write("ran\\n")
print(total([1, 2]))
"""
COMMANDS = (
    ["debug", "--answers", "-"],
    ["debug", "--answers", "-", "--rerun"],
    ["debug", "--answers", "-", "--replay=rerun", "--format", "json"],
    ["why", "total", "result"],
    ["rerun", "--live"],
    ["zoom", "total", "--answers", "-"],
    ["check"],
)


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recording of a program that notes every run, as if it came from another machine."""
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.setenv("WITNESS", str(tmp_path / "witness"))
    monkeypatch.chdir(tmp_path)
    whence("record", "-o", "run.whence", "program.py")
    assert witness(tmp_path) == 1
    (tmp_path / "run.whence.signature").unlink()
    return tmp_path


def whence(*words: str, answers: str = "") -> subprocess.CompletedProcess[str]:
    return forked_whence.whence(*words, stdin=answers)


def witness(folder: Path) -> int:
    """How often the program ran."""
    return (folder / "witness").read_text().count("ran")


def on_recording(words: list[str]) -> list[str]:
    return [words[0], "run.whence", *words[1:]]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_nothing_of_a_foreign_recording_is_executed(foreign: Path, words: list[str]) -> None:
    ran = whence(*on_recording(words), answers="n\nn\nn\n")
    assert witness(foreign) == 1
    assert "it was not recorded by you on this machine" in ran.stdout + ran.stderr
    assert "--trust-recording" in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_session_about_a_foreign_recording_finds_the_fault_all_the_same(foreign: Path) -> None:
    ran = whence("debug", "run.whence", "--answers", "-", "--format", "json", answers="n\nn\n")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["status"] == "found"
    assert witness(foreign) == 1


def test_the_command_that_would_be_executed_is_shown(foreign: Path) -> None:
    ran = whence("rerun", "--live", "run.whence")
    assert ran.returncode == 2
    assert "command      python program.py" in ran.stderr
    assert f"folder       {foreign}" in ran.stderr


@pytest.mark.parametrize("words", COMMANDS[1::2], ids=" ".join)
def test_a_foreign_recording_is_executed_if_the_user_says_so(
    foreign: Path, words: list[str]
) -> None:
    whence(*on_recording(words), "--trust-recording", answers="n\nn\nn\n")
    assert witness(foreign) > 1
    before = witness(foreign)
    whence(*on_recording(words), answers="n\nn\nn\n")  # it is the user's own from now on
    assert witness(foreign) > before


def test_the_environment_beside_a_foreign_recording_is_not_applied(foreign: Path) -> None:
    evil = foreign / "evil"
    evil.mkdir()
    (evil / "sitecustomize.py").write_text(
        "import os\nopen(os.environ['WITNESS'], 'a').write('ran')"
    )
    (foreign / "run.whence.environment.json").write_text(json.dumps({"PYTHONPATH": str(evil)}))
    ran = whence("debug", "run.whence", "--answers", "-", "--rerun", answers="n\nn\n")
    assert witness(foreign) == 1, ran.stdout


def test_what_an_earlier_recording_left_is_not_taken_for_the_new_ones(foreign: Path) -> None:
    (foreign / "run.whence.environment.json").write_text(json.dumps({"PYTHONPATH": "evil"}))
    whence("record", "-o", "run.whence", "program.py")
    assert not (foreign / "run.whence.environment.json").exists()


def test_a_folder_that_was_cloned_counts_as_foreign(foreign: Path) -> None:
    runs = foreign / ".whence" / "runs"
    runs.mkdir(parents=True)
    (foreign / "run.whence").rename(runs / "program-1.whence")
    ran = whence("debug", "--answers", "-", "--wrong", "output", answers="n\nn\n")
    assert "it was not recorded by you on this machine" in ran.stdout + ran.stderr
    assert witness(foreign) == 1
