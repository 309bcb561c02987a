from collections.abc import Callable
from pathlib import Path

import pytest

from whence.app.session_driver import SessionDriver
from whence.session import log_entries
from whence.session.state import State
from whence.store.session_log import SessionLog

Session = Callable[..., tuple[str, SessionDriver, str]]


def resumed(state: State, path: Path) -> State:
    debugging = SessionDriver(state, log=SessionLog(path, state.tree, "", log_entries))
    debugging.start()
    return debugging.state


@pytest.mark.parametrize(
    "lines",
    [
        ["n", "y"],
        ["n", "trust h", "switch compression on", "strategy auto", "?"],
        ["y", "rest", "?"],
        ["n", "n", "y", "y", "reject", "y"],
        ["n", "y 3", "n 3"],
    ],
)
def test_a_session_that_was_not_kept_can_be_saved_and_resumed(
    small: State, session: Session, tmp_path: Path, lines: list[str]
) -> None:
    path = tmp_path / "s.jsonl"
    seen, debugging, _ = session(small, *lines, f"save {path}")
    assert "Saved in" in seen
    assert resumed(small, path).facts == debugging.state.facts


def test_a_session_that_is_kept_is_copied(small: State, session: Session, tmp_path: Path) -> None:
    log = SessionLog(tmp_path / "kept.jsonl", small.tree, "t", log_entries)
    copy = tmp_path / "copy.jsonl"
    seen, _, _ = session(small, "n", "save", f"save {copy}", log=log)
    assert "kept in" in seen
    assert copy.read_text().splitlines()[1:] == log.path.read_text().splitlines()[1:]


def test_nothing_is_overwritten_and_failures_are_told(
    small: State, session: Session, tmp_path: Path
) -> None:
    precious = tmp_path / "main.py"
    precious.write_text("x = 1")
    seen, _, left = session(
        small, f"save {precious}", f"save {tmp_path}", "save a\0b", "save ~nobody-here/x", "q"
    )
    seen = " ".join(seen.split())
    assert precious.read_text() == "x = 1"
    assert seen.count("exists already") == 2
    assert seen.count("cannot be written") == 2
    assert left == "left with quit"
