"""What a person reads before the program of a foreign recording is executed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from debuggee_runs import record_repeatably

from whence.langs.python.recording_trust import PythonRecordingTrust
from whence.langs.python.recordings import beside
from whence.langs.python.trace.trace_reader import open_trace, recording_summary


@pytest.fixture
def trust(tmp_path: Path) -> PythonRecordingTrust:
    (tmp_path / "program.py").write_text("print(1)")
    recording = tmp_path / "run.whence"
    record_repeatably(recording, ["program.py", "a b"], tmp_path)
    summary = recording_summary(open_trace(recording))
    assert summary is not None
    return PythonRecordingTrust(recording, summary.header)


def keep(trust: PythonRecordingTrust, variables: dict[str, str]) -> None:
    beside(trust.recording, "environment.json").write_text(json.dumps(variables))


def test_the_command_and_its_folder_are_shown(trust: PythonRecordingTrust) -> None:
    command, folder, *_ = trust.consequences()
    assert command == "command      python program.py 'a b'"
    assert folder == f"folder       {trust.recording.parent}"


def test_variables_that_differ_are_shown_and_long_values_are_cut(
    trust: PythonRecordingTrust, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONLY_HERE", "1")
    here = {name: value for name, value in os.environ.items() if name != "ONLY_HERE"}
    keep(trust, {**here, "LD_PRELOAD": "evil.so", "MUCH": "x" * 200})
    assert list(trust.consequences()[2:]) == [
        "environment  LD_PRELOAD=evil.so",
        f"             MUCH={'x' * 95}…",
        "             without ONLY_HERE",
    ]


def test_more_variables_than_a_person_reads_are_counted(trust: PythonRecordingTrust) -> None:
    keep(trust, {**os.environ, **{f"V{number:02}": "1" for number in range(30)}})
    shown = trust.consequences()[2:]
    assert (len(shown), shown[-1].strip()) == (21, "and 10 more differences")


def test_an_equal_environment_and_none_are_the_present_one(trust: PythonRecordingTrust) -> None:
    keep(trust, dict(os.environ))
    assert list(trust.consequences()[2:]) == ["environment  the present one"]
    beside(trust.recording, "environment.json").unlink()
    assert list(trust.consequences()[2:]) == ["environment  the present one"]


def test_an_environment_that_cannot_be_read_is_said(trust: PythonRecordingTrust) -> None:
    beside(trust.recording, "environment.json").write_text("[")
    [said] = trust.consequences()[2:]
    assert said.startswith("environment  ") and "environment.json" in said
