"""Whenever a session or a recorded program is killed, nothing is lost that it had acknowledged."""

from __future__ import annotations

from pathlib import Path

import pytest
from kills import kill_recording, kill_session
from recorded import BACKENDS


def test_no_answer_is_lost_whenever_a_session_is_killed(tmp_path: Path) -> None:
    assert sum(kill_session(tmp_path, seed) for seed in range(6)) > 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_call_is_lost_whenever_a_program_is_killed(tmp_path: Path, backend: str) -> None:
    assert sum(kill_recording(tmp_path, backend, seed) for seed in range(2)) > 0
