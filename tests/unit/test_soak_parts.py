"""`tools/soak.py` leaves no test out."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_test_file_belongs_to_one_part_of_the_soak() -> None:
    parts = runpy.run_path(str(ROOT / "tools" / "soak.py"))["PARTS"]
    selected = [
        file
        for paths in parts.values()
        for path in paths
        for file in ([ROOT / path] if path.endswith(".py") else (ROOT / path).rglob("test_*.py"))
    ]
    there = [file for file in (ROOT / "tests").rglob("test_*.py") if "support" not in file.parts]
    assert sorted(selected) == sorted(there)
