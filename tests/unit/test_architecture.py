"""ARCHITECTURE.md and CONTRIBUTING.md name files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "whence"
FOLDERS = [
    ROOT,
    ROOT / "src",
    PACKAGE,
    PACKAGE / "langs/prolog",
    PACKAGE / "langs/python",
    PACKAGE / "langs/python/oracles",
    PACKAGE / "langs/python/record/journal",
    PACKAGE / "langs/python/record/native",
]
"""Where a path on these pages may start."""
NAMED = re.compile(r"`([\w./<>-]+(?:\.(?:py|c|h|pl|md|toml|txt)|/))`")


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "GLOSSARY.md"])
def test_every_file_that_a_page_names_exists(page: str) -> None:
    names = set(NAMED.findall((ROOT / page).read_text(encoding="utf-8")))
    missing = [
        name
        for name in sorted(names)
        if "<" not in name and not any((folder / name).exists() for folder in FOLDERS)
    ]
    assert not missing
