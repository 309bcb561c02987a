"""What the tests of tree files share: a cache of their own, and files made of lines."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HEADER = {"whence": "tree", "version": 1}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keeps indexes out of the home of whoever runs the tests."""
    directory = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(directory))
    return directory


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Writes a tree file: the header, then each line, as JSON unless it is bytes."""

    def write(*lines: Any, name: str = "tree.jsonl", header: Any = HEADER) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            b"".join(
                line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n"
                for line in (header, *lines)
            )
        )
        return path

    return write
