from __future__ import annotations

import os
from pathlib import Path

import pytest

from whence.app import diagnosing, session_opening
from whence.app.session_request import SessionRequest
from whence.errors import WhenceError
from whence.model.call import Call, Function, Outcome, OutcomeKind, Rule
from whence.model.verdict import Trust, TrustScope
from whence.ports import Opened, OracleSet
from whence.session import log_entries
from whence.session.events import TrustGiven
from whence.store.session_log import SessionLog
from whence.tree.column_tree import Node, tree_of

CALL = Call(Function("f"), Rule("f", "f"), Outcome(OutcomeKind.RETURNED))
TREE = tree_of([Node(0, None, CALL)])
TRUST = TrustGiven(Trust(TrustScope.FUNCTION, "f"))
LONG_AGO = 1_000_000.0


def test_a_recording_that_was_touched_or_copied_keeps_its_session(tmp_path: Path) -> None:
    recording, file = tmp_path / "run.whence", tmp_path / "session.jsonl"
    recording.touch()
    opened = Opened(TREE, began=LONG_AGO)
    session_opening.own_log(file, opened, recording, print).append(TRUST)
    os.utime(recording, (file.stat().st_mtime + 100,) * 2)
    notes: list[str] = []
    assert session_opening.own_log(file, opened, recording, notes.append).entries == [TRUST]
    assert not notes


def test_a_recording_made_anew_in_the_same_place_puts_the_session_aside(tmp_path: Path) -> None:
    recording, file = tmp_path / "run.whence", tmp_path / "session.jsonl"
    session_opening.own_log(file, Opened(TREE, began=LONG_AGO), recording, print).append(TRUST)
    anew = Opened(TREE, began=file.stat().st_mtime + 1)
    notes: list[str] = []
    assert not session_opening.own_log(file, anew, recording, notes.append).entries
    aside = tmp_path / "session.jsonl.old"
    assert notes == [f"{recording} was recorded again; the earlier session is in {aside}."]
    assert SessionLog(aside, TREE, "the same tree", log_entries).entries == [TRUST]


def test_a_second_recording_in_the_same_place_does_not_overwrite_what_was_put_aside(
    tmp_path: Path,
) -> None:
    recording, file = tmp_path / "run.whence", tmp_path / "session.jsonl"
    for began in (LONG_AGO, 4e9, 5e9):
        log = session_opening.own_log(file, Opened(TREE, began=began), recording, print)
        assert not log.entries
        log.append(TRUST)
        log.close()
    for name in ("session.jsonl.old", "session.jsonl.old.2", "session.jsonl"):
        assert SessionLog(tmp_path / name, TREE, "a tree", log_entries).entries == [TRUST]


def test_a_log_whose_beginning_is_destroyed_is_put_aside(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(b"\0" * 512)
    notes: list[str] = []
    log = session_opening.own_log(file, Opened(TREE), tmp_path / "run.whence", notes.append)
    assert not log.entries
    assert (tmp_path / "session.jsonl.old").read_bytes() == b"\0" * 512
    assert notes == [f"{file} is damaged; it is in {file}.old now, and a new session begins."]


def a_scripted_session(folder: Path, log: Path, *, fresh: bool) -> None:
    answers = folder / "answers"
    answers.write_text("quit\n")
    request = SessionRequest(answers=str(answers), session=log, fresh=fresh)
    diagnosing.diagnose(request, Opened(TREE), folder / "tree")


def test_a_fresh_session_keeps_the_earlier_one(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    log = SessionLog(file, TREE, "the same tree", log_entries)
    log.append(TRUST)
    log.close()
    a_scripted_session(tmp_path, file, fresh=True)
    aside = SessionLog(tmp_path / "session.jsonl.old", TREE, "the same tree", log_entries)
    assert aside.entries == [TRUST]


def test_a_fresh_session_leaves_one_alone_that_another_process_holds(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    first = SessionLog(file, TREE, "the same tree", log_entries)
    with pytest.raises(WhenceError, match="held by another whence"):
        a_scripted_session(tmp_path, file, fresh=True)
    first.append(TRUST)
    first.close()
    assert SessionLog(file, TREE, "the same tree", log_entries).entries == [TRUST]


def test_what_was_opened_for_a_session_that_fails_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, log = tmp_path / "answers", tmp_path / "session.jsonl"
    answers.write_text("quit\n")
    closed: list[str] = []

    class Oracle:
        name = "it"

        def judge(self, question: object) -> None:
            """Nothing."""

        def notes(self) -> list[str]:
            return []

        def close(self) -> None:
            closed.append("oracle")

    class Oracles:
        def gather(self, reference: str | None) -> OracleSet:
            return OracleSet([Oracle()])

    class Priors:
        def prior(self, *_: object) -> None:
            return None

        def presumption(self) -> None:
            raise WhenceError("no prior")

    monkeypatch.chdir(tmp_path)
    request = SessionRequest(answers=str(answers), session=log)
    opened = Opened(TREE, oracles=Oracles(), priors=Priors())
    with pytest.raises(WhenceError, match="no prior"):
        diagnosing.diagnose(request, opened, tmp_path / "tree")
    assert closed == ["oracle"]
    SessionLog(log, TREE, "the same tree", log_entries).close()  # else it is still locked
