"""`whence bench waiting` measures the default command."""

from __future__ import annotations

import pytest

from whence.cli.main import main


def test_waiting_measures_recording_and_the_first_questions(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, "")  # restored after the test
    monkeypatch.setattr("sys.stdin", None)
    words = ["bench", "waiting", "--largest", "10000", "--program", "loop"]
    assert main(words) == 0
    head, _, row = capsys.readouterr().out.splitlines()
    assert "first question, ms" in head
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:2] == ["loop", "10,000"]
    assert len(cells) == 7 and "-" not in cells


def test_an_option_of_another_measurement_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "waiting", "--bug", "knapsack"]) == 2
    assert "--bug has no meaning for whence bench waiting" in capsys.readouterr().err
