"""Sessions that are kept and gone on with."""

from __future__ import annotations

import random
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
from whence.store.session_log import SessionLog, default_path
from whence.testing.meanings import one_fault
from whence.testing.trees import partly_implicit, random_parents, tree_from_parents


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
    complete = max(0, whole[:cut].count(b"\n") - 1)
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


def test_garbage_inside_a_journal_is_named_with_its_line(tmp_path: Path) -> None:
    path, tree = tmp_path / "session.jsonl", a_tree()
    kept_session(path, tree, 17, 3)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b'{"event": "sung"}\n', *lines[2:]]))
    with pytest.raises(WhenceError, match=r":3: .*sung"):
        SessionLog(path, tree, "tree", log_entries)


def test_a_session_whose_disk_is_full_goes_on_in_memory(tmp_path: Path) -> None:
    tree = a_tree()
    log = SessionLog(tmp_path / "session.jsonl", tree, "tree", log_entries)

    class Full:
        def write(self, _: bytes) -> int:
            raise OSError(28, "No space left on device")

        def flush(self) -> None:
            pass

    log._file = Full()  # type: ignore[assignment]
    notes: list[str] = []
    debugging = SessionDriver(State(tree), log=log, notify=notes.append)
    outcome = debugging.start()
    assert isinstance(outcome, Ask)
    outcome = debugging.send(Answered((Answer(outcome.question.node, Verdict.WRONG),)))
    assert isinstance(outcome, Ask | Found)
    assert len(notes) == 1
    assert "No space left" in notes[0]


def test_a_session_is_kept_apart_for_each_tree(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first, second = default_path(Path("a/tree.jsonl")), default_path(Path("b/tree.jsonl"))
    assert first != second
    assert first.is_relative_to(tmp_path)
