"""The three kinds of failure, each printed in its own way."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from whence.app.diagnosing import _session_log
from whence.app.session_request import SessionRequest
from whence.cli import main as whence
from whence.cli import strategies
from whence.cli.record import protected, target_of
from whence.errors import WhenceError
from whence.langs.python.recording_signature import key_folder
from whence.ports import Opened
from whence.testing.trees import tree_from_parents
from whence.tree import tree_index
from whence.user_folders import state_folder


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


@pytest.mark.parametrize("command", ["run", "test", "call", "bisect"])
def test_an_option_before_two_dashes_takes_no_word_of_the_program(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parsed: list[argparse.Namespace] = []

    def parse(self: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
        options = self.parse_known_args(words)[0]
        parsed.append(options)
        options.run = lambda _: 0
        return options

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse)
    assert whence([command, "--regression-test", "--", "-q"]) == 0
    assert parsed[0].regression_test == ""
    with pytest.raises(SystemExit) as ended:
        whence([command, "--trust", "--", "-q"])
    assert ended.value.code == 2
    assert "--trust needs a value" in capsys.readouterr().err


def test_the_program_gets_its_own_option_and_dashes() -> None:
    words = protected(["run", "--regression-test", "--", "p.py", "--regression-test", "--", "-x"])
    assert not any(word == "--" for word in words)
    options = sys.modules["whence.cli.main"].parser(("run",)).parse_args(words)
    target = target_of(options, "")
    assert (target.name, target.arguments) == ("p.py", ("--regression-test", "--", "-x"))


def test_an_interrupt_while_the_commands_are_imported_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(names: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["whence.cli.main"], "parser", interrupted)
    assert whence(["strategies"]) == 130
    assert capsys.readouterr().err == "whence: stopped\n"


def test_without_a_home_folder_a_session_goes_on_and_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def no_home() -> NoReturn:
        raise RuntimeError("Could not determine home directory.")

    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(WhenceError, match="set HOME or XDG_STATE_HOME"):
        state_folder()
    assert key_folder() == ""
    tree, stamp = tree_from_parents([-1, 0]), tree_index.Stamp(0, 0, "")
    assert not tree_index.save(tmp_path / "tree", stamp, tree)
    notes: list[str] = []
    request, opened = SessionRequest(), Opened(tree)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    assert _session_log(request, opened, tmp_path / "tree", "", notes.append) is None
    assert notes[0].startswith("This session is not kept: this user has no home folder")
