"""Answers that are remembered, and what became of the calls after a fix: as commands."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from whence.cli.main import main
from whence.langs.python.recording_signature import allow
from whence.langs.python.recordings import recordings, write_symptom
from whence.model.symptom import Symptom, SymptomKind
from whence.model.verdict import Verdict
from whence.store.answer_file import AnswerFile, from_line

PROGRAM = """
import sys
def begun(grams: int) -> int:
    return grams // 1000
def price(grams):
    return begun(grams) * 2
def total(all_grams):
    return sum(price(each) for each in all_grams)
print(total([700, 2000]))
"""
FIXED = PROGRAM.replace("grams // 1000", "-(-grams // 1000)")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".whence").mkdir()
    (tmp_path / "ship.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.name")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "Ada")
    return tmp_path


def debug(project: Path, *lines: str, options: tuple[str, ...] = ("--remember",)) -> int:
    """Run the program, and answer; with top-down, so that the order is plain."""
    (project / "lines").write_text("".join(line + "\n" for line in lines))
    how = ["--plain", "-s", "top-down", "--wrong", "output:1", "--answers", "lines"]
    return main(["run", *how, *options, "ship.py"])


FOUND = ("n = 6", "n", "n = 1")


def test_what_was_said_answers_in_the_next_run(project: Path, capfd: Any) -> None:
    assert debug(project, *FOUND) == 0
    seen = capfd.readouterr().out
    assert "Answers are remembered in" in seen
    assert debug(project) == 0
    seen = capfd.readouterr().out
    assert "begun(grams=700) → 0 is wrong, says remembered: Ada said so on 20" in seen
    assert "The fault is in begun" in seen
    assert "It should be   1" in seen
    assert debug(project, options=("--no-oracle", "remembered")) == 1


def test_counts_of_each_oracle_and_reasons_are_in_the_report(project: Path, capfd: Any) -> None:
    debug(project, *FOUND)
    assert debug(project, options=("--format", "json", "-o", "report.json")) == 0
    report = json.loads((project / "report.json").read_text())
    assert report["oracles"] == {"remembered": 3}
    assert report["questions"] == {"person": 0, "oracle": 3}
    last = report["answers"][-1]
    assert (last["by"], last["expected"]) == ("remembered", "1")
    assert last["reason"].startswith("Ada said so")


def test_a_scripts_answers_are_not_remembered_by_themselves(project: Path) -> None:
    debug(project, *FOUND, options=())
    assert not (project / ".whence" / "answers.jsonl").exists()


def test_undo_withdraws_what_was_remembered(project: Path) -> None:
    debug(project, "n = 6", "n", "undo", "y", "undo", "undo")
    lines = (project / ".whence" / "answers.jsonl").read_text().splitlines()
    verdicts = [json.loads(line)["verdict"] for line in lines]
    assert verdicts == ["wrong", "wrong", "withdrawn", "right", "withdrawn", "withdrawn"]


def test_answers_are_listed_and_forgotten(project: Path, capfd: Any) -> None:
    debug(project, *FOUND)
    capfd.readouterr()
    assert main(["answers"]) == 0
    seen = capfd.readouterr().out
    assert "begun(grams=700) → 0 is wrong, should be 1  (Ada, 20" in seen
    assert seen.count(" is wrong") == 3
    name = seen.split("begun(grams=700)")[0].split()[-1]
    assert main(["answers", "forget", name, "ship.py.price"]) == 0
    assert capfd.readouterr().out.count("forgotten: ") == 2
    main(["answers"])
    assert capfd.readouterr().out.count(" is wrong") == 1
    assert main(["answers", "forget", name]) == 2
    assert main(["answers", "forget"]) == 2
    assert main(["answers", "remove", name]) == 2


def test_answers_of_two_persons_that_differ_are_told(project: Path, capfd: Any) -> None:
    debug(project, *FOUND)
    path = project / ".whence" / "answers.jsonl"
    first = from_line(path.read_text().splitlines()[0])
    assert (first.by, first.verdict) == ("Ada", Verdict.WRONG)
    AnswerFile(path).append([replace(first, by="Bob", verdict=Verdict.RIGHT)])
    capfd.readouterr()
    main(["answers"])
    assert capfd.readouterr().out.count("(contradicted)") == 2
    assert debug(project, "n") == 0
    seen = capfd.readouterr().out
    assert "contradict each other: wrong (Ada" in " ".join(seen.split())
    main(["answers"])
    assert "contradicted" not in capfd.readouterr().out


def test_without_a_folder_nothing_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["answers"]) == 2
    assert "no folder .whence" in capfd.readouterr().err


def test_before_the_fix_all_is_still_wrong(project: Path, capfd: Any) -> None:
    debug(project, *FOUND)
    capfd.readouterr()
    assert main(["check"]) == 1
    seen = capfd.readouterr().out
    assert "Line 1 of the output was '4' and is still the same." in seen
    assert "begun(grams=700) → 0 was wrong: it still does that" in seen
    assert len(recordings()) == 2


def test_after_the_fix_nothing_that_was_wrong_is_left(project: Path, capfd: Any) -> None:
    debug(project, *FOUND)
    (project / "ship.py").write_text(FIXED)
    capfd.readouterr()
    assert main(["check"]) == 0
    seen = capfd.readouterr().out
    assert "Line 1 of the output was '4' and is now '6'." in seen
    assert "begun(grams=700) → 0 was wrong: now → 1, as expected" in seen
    assert "price(grams=700) → 0 was wrong: now → 2" in seen
    assert seen.endswith("Nothing that was called wrong occurs now.\n")


def test_another_value_than_the_expected_one_is_still_wrong(project: Path, capfd: Any) -> None:
    debug(project, *FOUND)
    (project / "ship.py").write_text(PROGRAM.replace("grams // 1000", "1 + grams // 1000 + 1"))
    capfd.readouterr()
    assert main(["check"]) == 1
    assert "now → 2, but 1 was expected" in capfd.readouterr().out


def test_calls_that_are_not_made_any_more_are_told(project: Path, capfd: Any) -> None:
    debug(project, "n", "n", "i grams")
    (project / "ship.py").write_text(PROGRAM.replace("[700, 2000]", "[1000, 2000]"))
    capfd.readouterr()
    assert main(["check"]) == 0
    assert capfd.readouterr().out.count("it is no longer made") == 3


def test_input_that_should_never_be_given_is_wrong_while_it_is_given(
    project: Path, capfd: Any
) -> None:
    debug(project, "n", "n", "i grams")
    (project / "ship.py").write_text(FIXED)
    capfd.readouterr()
    assert main(["check"]) == 1
    assert "called with what it should never get: it is still made" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("before", "after", "code", "words"),
    [
        ("1 / 0", "1 / 1", 0, "That is gone"),
        ("1 / 0", "[][0]", 1, "still wrong: The program raised IndexError"),
        ("1 / 0", "raise SystemExit(3)", 1, "ended with exit status 3"),
        ("1 / 0", "raise SystemExit(enum.IntEnum('E', {'OK': 0}).OK)", 0, "gone: The program end"),
    ],
)
def test_an_exception_is_gone_when_the_program_ends_well(
    project: Path, capfd: Any, before: str, after: str, code: int, words: str
) -> None:
    program = project / "ship.py"
    program.write_text(f"def f(): {before}\nf()\n")
    main(["run", "--plain", "--wrong", "exception", "--answers", "/dev/null", "ship.py"])
    program.write_text(f"import enum\ndef f(): {after}\nf()\n")
    capfd.readouterr()
    assert main(["check"]) == code
    assert words in capfd.readouterr().out


def test_the_program_gets_the_input_arguments_and_folder_that_it_had(
    project: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = project / "ship.py"
    source = "import sys, os\ndef f(): return 1\nf()\nprint(input(), sys.argv[1:], os.getcwd())\n"
    program.write_text(source)
    debug(project, options=("--no-session",))
    (recording,) = recordings()
    Path(f"{recording}.stdin").write_text("typed\n")
    allow(recording)
    write_symptom(recording, Symptom(SymptomKind.OUTPUT, line=1))
    (project / "below").mkdir()
    monkeypatch.chdir(project / "below")
    capfd.readouterr()
    assert main(["check"]) in (0, 1)
    assert f"typed [] {project}" in capfd.readouterr().out


def test_what_cannot_be_run_again_is_told(project: Path, capfd: Any) -> None:
    assert main(["check"]) == 2
    assert "no recording in this project" in capfd.readouterr().err
    debug(project, *FOUND)
    (project / "ship.py").unlink()
    capfd.readouterr()
    assert main(["check"]) == 2
    assert "could not be run again" in capfd.readouterr().err
    assert len(recordings()) == 1


def test_the_command_to_continue_with_is_quoted_for_the_shell(
    project: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = project / "my ship"
    (inner / ".whence").mkdir(parents=True)
    (inner / "ship.py").write_text(PROGRAM)
    monkeypatch.chdir(inner)
    assert debug(inner, *FOUND) == 0
    monkeypatch.chdir(project)
    (recording,) = recordings(inner / ".whence")
    assert main(["check", str(recording)]) == 1
    hint = capfd.readouterr().out.rpartition("`whence debug ")[2].partition("`")[0]
    (file,) = shlex.split(hint)
    assert " " in file
    assert Path(file).is_file()
