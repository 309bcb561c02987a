"""Programs that are hard on a recorder: each is debugged, or it is said what cannot be known."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hard_programs import PROGRAMS
from recorded import environment

from whence.cli.main import main
from whence.langs.python.record.backend_choice import NATIVE, candidates

if not any(each.name == NATIVE and each.can_be_used for each in candidates()):
    pytest.skip("the recorder in C knows what is printed", allow_module_level=True)

# Who is silent about the function at fault: that is asked of a person.
ORACLE = """
def judge(call):
    name = call["function"].removeprefix("__main__.")
    return None if name == {blamed!r} else not name.startswith({above!r})
"""
TEST = "test_regression.py"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("COLUMNS", "1000")
    return tmp_path


def written(folder: Path, name: str) -> None:
    hard = PROGRAMS[name]
    (folder / "program.py").write_text(hard.text())
    (folder / "repaired").mkdir()
    (folder / "repaired" / "program.py").write_text(hard.text(repaired=True))
    (folder / "asked.py").write_text(
        ORACLE.format(blamed=hard.blamed, above=("process ", *hard.above))
    )
    what = "" if hard.symptom else "\n"
    allowed = "y\n" if hard.runs_again else ""
    (folder / "answers").write_text(f"{what}full\n{allowed}" + "n\n" * 20)


def told(text: str) -> str:
    """In one line: where lines are broken depends on how wide the terminal is."""
    return " ".join(text.split())


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hard_program_is_debugged_as_it_runs_without(
    name: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    hard = PROGRAMS[name]
    written(folder, name)
    plain = subprocess.run(
        [sys.executable, "program.py"], capture_output=True, text=True, check=False, timeout=60
    )
    wrong = ["--wrong", hard.symptom] if hard.symptom else []
    status = main([
        "run", "--no-session", "--oracle", "python:asked:judge", "--answers", "answers",
        "--regression-test", TEST, *wrong, *hard.options, "program.py",
    ])  # fmt: skip
    sys.modules.pop("asked", None)
    out, err = capfd.readouterr()
    assert out.startswith(plain.stdout)
    assert err.startswith(plain.stderr)
    assert status == 0, out + err
    assert f"The fault is in {hard.blamed} (program.py:" in out
    assert hard.full in out
    assert told(hard.reported) in told(out)
    assert told(hard.doubt) in told(out)
    if hard.no_test and not hard.output_test:
        assert f"No regression test was written: {told(hard.no_test)}" in told(out)
        assert not (folder / TEST).exists()
    else:
        assert f"Written to {TEST}" in out
        if hard.output_test:
            reason = hard.no_test.removeprefix("no test can be written of ")
            said = f"It is a test of what the program prints; not of {told(reason)}"
            assert said in told(out)
        check_the_test(folder)


def check_the_test(folder: Path) -> None:
    """It fails with the fault, and passes without it."""
    command = [sys.executable, "-m", "pytest", "-q", "--assert=plain", "-p", "no:cacheprovider"]
    quiet = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}

    def run() -> str:
        done = subprocess.run(
            [*command, "--rootdir=.", TEST], cwd=folder, env=quiet, capture_output=True,
            text=True, check=False, timeout=60,
        )  # fmt: skip
        return done.stdout + done.stderr

    assert "1 failed" in run()
    shutil.copy(folder / "repaired" / "program.py", folder / "program.py")
    assert "1 passed" in run()


SLOW = {"huge values"}
"""With a reference they take more than ten seconds."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=pytest.mark.soak) if each in SLOW else each for each in PROGRAMS],
)
def test_the_reference_finds_the_fault_or_says_why_it_cannot(
    name: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    hard = PROGRAMS[name]
    written(folder, name)
    status = main([
        "run", "--no-session", "--reference", "repaired/program.py", "--answers", os.devnull,
        *hard.options, "program.py",
    ])  # fmt: skip
    out, err = capfd.readouterr()
    if hard.not_known:
        assert status == 1, out + err
        assert "could not be transferred: " in out
        assert told(hard.not_known) in told(out)
        assert "The fault is in" not in out
    else:
        assert status == 0, out + err
        assert f"The fault is in {hard.blamed} (program.py:" in out
