"""A Prolog program of ten million inferences is debugged in little memory."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from prolog import need_swipl

need_swipl()
pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

BENCH = Path(__file__).parents[2] / "bench" / "prolog.py"
MOST = 500


def test_a_long_run_is_debugged_in_half_a_gigabyte() -> None:
    command = [sys.executable, str(BENCH), "--long"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1800)
    assert "odd_one/1 named" in done.stdout
    sizes = re.search(r"whence (\d+) MB, the largest swipl (\d+) MB", done.stdout)
    assert sizes is not None
    assert 0 < sum(map(int, sizes.groups())) <= MOST
