"""Hundreds of kills at random moments: of sessions, and of recorded programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from kills import kill_recording, kill_session
from recorded import BACKENDS

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]


def test_no_answer_is_lost_in_hundreds_of_kills(tmp_path: Path) -> None:
    assert sum(kill_session(tmp_path, seed) for seed in range(1000, 1100)) > 100


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_call_is_lost_in_hundreds_of_kills(tmp_path: Path, backend: str) -> None:
    assert sum(kill_recording(tmp_path, backend, seed) for seed in range(1000, 1100)) > 100
