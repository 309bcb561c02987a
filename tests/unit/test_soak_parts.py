"""`tools/soak.py` leaves no test out, and a part passed only if a test of it did."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    ("body", "passed"), [("pass", True), ("pytest.skip()", False), ("raise ValueError", False)]
)
def test_a_part_passes_only_if_a_test_of_it_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, passed: bool
) -> None:
    spec = importlib.util.spec_from_file_location("soak", ROOT / "tools" / "soak.py")
    assert spec is not None
    assert spec.loader is not None
    soak = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "soak", soak)
    spec.loader.exec_module(soak)
    (tmp_path / "test_one.py").write_text(f"import pytest\ndef test_one():\n    {body}\n")
    monkeypatch.setattr(soak, "ROOT", tmp_path)
    monkeypatch.setattr(soak, "RESULTS", tmp_path / "build" / "soak.jsonl")
    monkeypatch.setitem(soak.PARTS, "one", ("test_one.py",))
    assert soak.run_part("one", "0123abcd").passed is passed
