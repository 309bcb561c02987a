"""Sessions that are kept and gone on with."""

from __future__ import annotations

import json
import os
import random
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.app.session_driver import SessionDriver
from whence.errors import WhenceError
from whence.model.verdict import Answer, Verdict
from whence.session import log_entries
from whence.session.events import (
    Answered,
    Ask,
    Found,
    Redone,
    StrategyChosen,
    Undone,
)
from whence.session.state import State
from whence.store.session_log import SessionHeld, SessionLog, default_path, put_aside
from whence.testing.meanings import one_fault
from whence.testing.trees import partly_implicit, random_parents, tree_from_parents
from whence.ui.terminal.messages import left_early


def a_tree(count: int = 30, seed: int = 3) -> Any:
    return tree_from_parents(random_parents(random.Random(seed), count))


def kept_session(path: Path, tree: Any, fault: int, answers: int) -> SessionDriver:
    """A session that was left after some answers."""
    debugging = SessionDriver(State(tree), log=SessionLog(path, tree, "tree", log_entries))
    outcome = debugging.start()
    meaning = one_fault(tree, fault)
    for _ in range(answers):
        if not isinstance(outcome, Ask):
            break
        outcome = debugging.send(Answered((meaning(outcome.question),)))
    assert isinstance(debugging.log, SessionLog)
    debugging.log.close()
    return debugging


def test_a_session_goes_on_where_it_was_left(tmp_path: Path) -> None:
    path, tree = tmp_path / "session.jsonl", a_tree()
    left = kept_session(path, tree, fault=17, answers=2)
    again = SessionDriver(State(tree), log=SessionLog(path, tree, "tree", log_entries))
    outcome = again.start()
    assert again.state.facts == left.state.facts
    meaning = one_fault(tree, 17)
    while isinstance(outcome, Ask):
        outcome = again.send(Answered((meaning(outcome.question),)))
    assert isinstance(outcome, Found)
    assert outcome.diagnosis.node == 17


@given(data=st.data())
def test_a_journal_cut_at_any_byte_resumes_with_all_complete_answers(
    tmp_path_factory: Any, data: Any
) -> None:
    folder = tmp_path_factory.mktemp("log")
    path, tree = folder / "session.jsonl", a_tree()
    kept_session(path, tree, fault=data.draw(st.integers(0, 29)), answers=6)
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    # Only the end of its line may be missing from an entry.
    complete = max(0, (whole[:cut] + whole[cut : cut + 1]).count(b"\n") - 1)
    log = SessionLog(path, tree, "tree", log_entries)
    assert len(log.entries) == complete
    again = SessionDriver(State(tree), log=log)
    again.start()
    assert len(again.state.facts.answers) == complete
    again.send(StrategyChosen("top-down"))
    log.close()
    assert len(SessionLog(path, tree, "tree", log_entries).entries) == complete + 1


@given(
    seed=st.integers(0, 1000),
    moves=st.lists(st.sampled_from(["answer", "undo", "redo", "strategy"]), max_size=25),
)
def test_replaying_a_journal_gives_the_state_that_wrote_it(
    tmp_path_factory: Any, seed: int, moves: list[str]
) -> None:
    path = tmp_path_factory.mktemp("log") / "session.jsonl"
    tree = partly_implicit(a_tree(40, seed), 2)
    meaning = one_fault(a_tree(40, seed), seed % 40)
    debugging = SessionDriver(State(tree), log=SessionLog(path, tree, "tree", log_entries))
    outcome = debugging.start()
    for move in moves:
        state = debugging.state
        if move == "undo" and state.past:
            outcome = debugging.send(Undone())
        elif move == "redo" and state.future:
            outcome = debugging.send(Redone())
        elif move == "strategy":
            outcome = debugging.send(
                StrategyChosen(random.Random(seed).choice(["top-down", "middleweight"]))
            )
        elif isinstance(outcome, Ask):
            outcome = debugging.send(Answered((meaning(outcome.question),)))
    assert isinstance(debugging.log, SessionLog)
    debugging.log.close()
    again = SessionDriver(State(tree), log=SessionLog(path, tree, "tree", log_entries))
    resumed = again.start()
    assert again.state.facts == debugging.state.facts
    for side in ("past", "future"):
        moments = getattr(again.state, side), getattr(debugging.state, side)
        told, kept = ([(each.facts, len(each.tree.columns)) for each in m] for m in moments)
        assert told == kept
    assert type(resumed) is type(outcome)
    if isinstance(resumed, Ask):
        assert resumed.question.node == outcome.question.node  # type: ignore[union-attr]


def test_a_journal_of_another_tree_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    kept_session(path, a_tree(30), 3, 2)
    with pytest.raises(WhenceError, match="another tree"):
        SessionLog(path, a_tree(31), "tree", log_entries)


def test_a_file_that_is_no_journal_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello\n")
    with pytest.raises(WhenceError, match=r"notes\.txt:1"):
        SessionLog(path, a_tree(), "tree", log_entries)
    assert path.read_text() == "hello\n"


def test_garbage_inside_a_log_costs_only_its_own_line(tmp_path: Path) -> None:
    path, tree = tmp_path / "session.jsonl", a_tree()
    kept = kept_session(path, tree, 17, 3).entries
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b'{"event": "sung"}\n', *lines[2:]]))
    notes: list[str] = []
    log = SessionLog(path, tree, "tree", log_entries, notes.append)
    assert log.entries == kept
    assert notes == [
        f"{path}: 1 line is damaged and left out. An answer that was there is asked for again; "
        "what was taken back there holds again."
    ]


def test_any_damaged_byte_costs_at_most_one_entry(tmp_path: Path) -> None:
    path, tree = tmp_path / "session.jsonl", a_tree()
    kept = kept_session(path, tree, 17, 4).entries
    whole = path.read_bytes()
    for place in range(len(whole)):
        for byte in {0, 0x0A, 0x0D, 0x20, 0x31, whole[place] ^ 1, whole[place] ^ 0x80}:
            if whole[place] == byte:
                continue
            path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
            log = SessionLog(path, tree, "tree", log_entries)
            log.close()
            assert len(log.entries) >= len(kept) - 1, (place, byte)
            assert all(entry in kept for entry in log.entries), (place, byte)


def test_an_undo_after_a_damaged_answer_takes_back_nothing_else(tmp_path: Path) -> None:
    path, tree = tmp_path / "session.jsonl", a_tree()
    debugging = SessionDriver(State(tree), log=SessionLog(path, tree, "tree", log_entries))
    for node in (5, 6):
        debugging.start()
        debugging.send(Answered((Answer(node, Verdict.RIGHT),)))
    debugging.send(Undone())
    assert isinstance(debugging.log, SessionLog)
    debugging.log.close()
    lines = path.read_bytes().splitlines(keepends=True)
    [damaged] = [number for number, line in enumerate(lines) if b'"node": 6' in line]
    lines[damaged] = lines[damaged].replace(b'"node": 6', b'"node": 7')
    path.write_bytes(b"".join(lines))
    again = SessionDriver(State(tree), log=SessionLog(path, tree, "tree", log_entries))
    again.start()
    assert [answer.node for answer in again.state.facts.answers] == [5]


def test_a_log_without_checksums_is_read_and_goes_on(tmp_path: Path) -> None:
    path, tree = tmp_path / "session.jsonl", a_tree()
    kept = kept_session(path, tree, 17, 3).entries
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    for record in records:
        del record["check"]
    records[0]["version"] = 1
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    log = SessionLog(path, tree, "tree", log_entries)
    assert log.entries == kept
    log.append(StrategyChosen("top-down"))
    log.close()
    assert SessionLog(path, tree, "tree", log_entries).entries == [
        *kept,
        StrategyChosen("top-down"),
    ]


def test_a_session_whose_log_is_moved_or_deleted_goes_on_in_a_new_file(tmp_path: Path) -> None:
    path, tree = tmp_path / "session.jsonl", a_tree()
    notes: list[str] = []
    log = SessionLog(path, tree, "tree", log_entries, notes.append)
    log.append(StrategyChosen("top-down"))
    path.unlink()
    log.append(StrategyChosen("middleweight"))
    assert notes == [
        f"{path} was moved or deleted during this session; all answers are kept in {path} now."
    ]
    path.rename(tmp_path / "elsewhere")
    path.write_text("somebody else's")
    log.append(StrategyChosen("auto"))
    assert path.read_text() == "somebody else's"
    assert log.path == tmp_path / "session.jsonl.2"
    entries = log.entries
    log.close()
    assert SessionLog(log.path, tree, "tree", log_entries).entries == entries
    assert len(entries) == 3


def test_a_log_that_another_process_holds_is_not_put_aside(tmp_path: Path) -> None:
    path, tree = tmp_path / "session.jsonl", a_tree()
    log = SessionLog(path, tree, "tree", log_entries)
    with pytest.raises(SessionHeld, match="held by another whence"):
        put_aside(path)
    log.append(StrategyChosen("top-down"))
    log.close()
    assert SessionLog(path, tree, "tree", log_entries).entries == [StrategyChosen("top-down")]


def test_no_log_that_was_put_aside_is_overwritten(tmp_path: Path) -> None:
    path, tree = tmp_path / "session.jsonl", a_tree()
    names = []
    for strategy in ("top-down", "middleweight", "auto"):
        log = SessionLog(path, tree, "tree", log_entries)
        log.append(StrategyChosen(strategy))
        log.close()
        names.append(put_aside(path))
    assert [name.name for name in names] == [
        "session.jsonl.old",
        "session.jsonl.old.2",
        "session.jsonl.old.3",
    ]
    kept = [SessionLog(name, tree, "tree", log_entries).entries for name in names]
    assert kept == [
        [StrategyChosen("top-down")],
        [StrategyChosen("middleweight")],
        [StrategyChosen("auto")],
    ]


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """Let writes fail as on a full disk. Python ignores the signal that comes with it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_session_whose_disk_is_full_goes_on_and_is_saved_once_there_is_room(
    tmp_path: Path,
) -> None:
    path, tree = tmp_path / "session.jsonl", a_tree()
    notes: list[str] = []
    log = SessionLog(path, tree, "tree", log_entries, notes.append)
    debugging = SessionDriver(State(tree), log=log, notify=notes.append)
    outcome = debugging.start()
    size = path.stat().st_size
    with no_file_larger_than(size + 10):
        for _ in range(2):
            assert isinstance(outcome, Ask)
            outcome = debugging.send(Answered((Answer(outcome.question.node, Verdict.WRONG),)))
        assert len(notes) == 1
        assert "could not be saved (File too large)" in notes[0]
        assert not log.is_saved
        assert path.stat().st_size == size
        assert "Not all answers could be saved" in left_early(debugging, "left")
    assert isinstance(outcome, Ask)
    debugging.send(Answered((Answer(outcome.question.node, Verdict.WRONG),)))
    assert notes[1:] == [f"All answers are saved in {path} again."]
    log.close()
    assert len(SessionLog(path, tree, "tree", log_entries).entries) == 3


def test_a_session_is_kept_apart_for_each_tree(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first, second = default_path(Path("a/tree.jsonl")), default_path(Path("b/tree.jsonl"))
    assert first != second
    assert first.is_relative_to(tmp_path)


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", Path("/dev/zero")):
        with pytest.raises(WhenceError, match="cannot be kept there"):
            SessionLog(path, a_tree(), "tree", log_entries)
