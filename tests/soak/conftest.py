from __future__ import annotations

from pathlib import Path

import pytest
from foreign_suites import Suite


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)
