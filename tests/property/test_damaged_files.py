"""Whatever is wrong with a file, whence refuses it or reads what is left of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from damaged_files import SAMPLES, check_damaged


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_damaged_file_is_refused_or_read_as_far_as_it_goes(kind: str, tmp_path: Path) -> None:
    check_damaged(kind, 100, tmp_path)
