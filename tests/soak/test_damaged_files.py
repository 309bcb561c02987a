"""Ten thousand damaged files of each kind, read in processes with little memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from damaged_files import SAMPLES, check_damaged

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("kind", SAMPLES)
def test_ten_thousand_damaged_files_are_refused_or_read(kind: str, tmp_path: Path) -> None:
    check_damaged(kind, 10_000, tmp_path, first=1_000_000)
