from __future__ import annotations

import os
from pathlib import Path

import pytest

from whence.app.frontends import open_any
from whence.errors import WhenceError


def test_a_fifo_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", Path("/dev/zero"), tmp_path):
        with pytest.raises(WhenceError, match="it is no regular file"):
            open_any(path)
