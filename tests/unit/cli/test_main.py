"""The three kinds of failure, each printed in its own way."""

from __future__ import annotations

import errno
import os
import sys
from typing import NoReturn

import pytest

from whence.cli import main as whence
from whence.cli import strategies
from whence.errors import WhenceError


def failing(monkeypatch: pytest.MonkeyPatch, problem: Exception) -> int:
    """The exit code of a command that raises."""

    def run(_: object) -> NoReturn:
        raise problem

    monkeypatch.setattr(strategies, "run", run)
    # The package has the function of the same name in the module's place.
    monkeypatch.setattr(sys.modules["whence.cli.main"], "_forget_output", lambda: None)
    return whence(["strategies"])


def test_what_cannot_be_had_is_said_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing(monkeypatch, WhenceError("there is none")) == 2
    assert capsys.readouterr().err == "whence: there is none\n"


def test_a_file_that_the_system_refuses_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/some/file")
    assert failing(monkeypatch, problem) == 2
    assert capsys.readouterr().err == "whence: /some/file: Permission denied\n"


def test_a_full_disk_is_no_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing(monkeypatch, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))) == 2
    assert capsys.readouterr().err == "whence: No space left on device\n"


@pytest.mark.parametrize(
    "problem", [OSError(errno.EBADF, os.strerror(errno.EBADF)), ValueError("no"), OSError("no")]
)
def test_a_bug_of_whence_says_what_to_report(
    problem: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing(monkeypatch, problem) == 70
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert "this is a bug in whence" in shown
