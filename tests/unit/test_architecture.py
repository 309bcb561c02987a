"""Files that the pages for contributors name exist, and pages of docs/ link to each other."""

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


LINK = re.compile(r"]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")


def test_pages_of_the_documentation_link_to_pages_of_the_site() -> None:
    """`make docs` refuses a page outside of docs/; other files are copied into the site."""
    pages = sorted((ROOT / "docs").glob("*.md"))
    links = [(page, link) for page in pages for link in LINK.findall(page.read_text("utf-8"))]
    assert len(links) > 40
    assert not [
        f"{page.name}: {link}"
        for page, link in links
        if not (page.parent / link).exists() or (link.endswith(".md") and "/" in link)
    ]
