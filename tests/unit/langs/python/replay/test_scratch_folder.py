"""Folders of re-runs are gone when they are not needed, however their process ended."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from whence.langs.python.replay.scratch_folder import PREFIX, ScratchFolder, remove_abandoned


def test_what_is_nobodys_any_more_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, new, other = (tmp_path / name for name in (f"{PREFIX}left", f"{PREFIX}new", "whence-x"))
    for each in (left, new, other):
        each.mkdir()
        (each / "file").touch()
    with ScratchFolder() as used:
        for name in (left, other, used):
            os.utime(name, (0, 0))
        remove_abandoned(tmp_path)
        assert sorted(tmp_path.iterdir()) == sorted([new, other, Path(used)])
    assert sorted(tmp_path.iterdir()) == sorted([new, other])
