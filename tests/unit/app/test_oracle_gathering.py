"""Which oracles a session has, and whose answers are kept."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from whence.app import oracle_gathering
from whence.app.session_request import SessionRequest
from whence.cli import session_options
from whence.errors import UsageError
from whence.model.call import Call, Function, Outcome, OutcomeKind, Rule
from whence.ports import Opened
from whence.session.events import OracleTurned
from whence.tree.column_tree import Node, tree_of

CALL = Call(Function("f"), Rule("f", "f"), Outcome(OutcomeKind.RETURNED))
TREE = tree_of([Node(0, None, CALL)])


def request(*words: str) -> SessionRequest:
    parser = argparse.ArgumentParser()
    session_options.add_options(parser)
    return session_options.read(parser.parse_args(words))


class Input:
    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize(
    ("words", "terminal", "folder", "kept"),
    [
        ((), True, True, True),
        ((), True, False, False),
        ((), False, True, False),
        (("--answers", "x"), True, True, False),
        (("--answers", "x", "--remember"), True, True, True),
        (("--remember",), False, False, True),
        (("--no-remember",), True, True, False),
    ],
)
def test_a_persons_answers_are_kept_where_the_project_has_a_folder(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    terminal: bool,
    folder: bool,
    kept: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", Input(terminal))
    if folder:
        (tmp_path / ".whence").mkdir()
    found = oracle_gathering.answer_writer(request(*words), Opened(TREE), tmp_path / "tree", print)
    assert (found is not None) is kept
    if found is not None:
        assert found.file.path == tmp_path / ".whence" / "answers.jsonl"


def test_a_recording_belongs_to_the_project_that_it_lies_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for each in (one, other):
        (each / ".whence" / "runs").mkdir(parents=True)
    monkeypatch.chdir(other)
    inside = one / ".whence" / "runs" / "a-1.whence"
    assert oracle_gathering.project_folder(inside) == one / ".whence"
    assert oracle_gathering.project_folder(tmp_path / "a.whence") == other / ".whence"


def test_oracles_are_named_loosely_and_those_unknown_are_told() -> None:
    turned = oracle_gathering.turned_off(request("--no-oracle", "Type-Hints"), [])
    assert turned == [OracleTurned("type hints", on=False)]
    with pytest.raises(UsageError, match="there is no oracle nix; there is remembered, "):
        oracle_gathering.turned_off(request("--no-oracle", "nix"), [])
