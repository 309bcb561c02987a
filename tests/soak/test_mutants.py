"""Bugs made from PyPI packages: whence blames the function that was changed, or says what kept it.

`WHENCE_MUTANTS` is how many mutants with another outcome are debugged for each package.
"""

from __future__ import annotations

import os
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from mutation import DRIVERS, KEPT, MISTAKEN, Result, Subject, debugged

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

PACKAGES = sorted(path.name.removesuffix("_driver.py") for path in DRIVERS.glob("*_driver.py"))
EACH = int(os.environ.get("WHENCE_MUTANTS", "40"))


@pytest.fixture
def subject(package: str, tmp_path: Path) -> Subject:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    return Subject(package, tmp_path)


def check(results: list[Result], report: pytest.CaptureFixture[str]) -> None:
    counts = Counter(result.how for result in results)
    with report.disabled():
        print(f"\n{results[0].package}: {dict(counts)}")
        for result in results:
            if result.how == KEPT:
                print(f"  {result.mutant}: {result.blamed}; {result.why}")
    mistaken = [f"{r.mutant}: {r.blamed} ({r.why})" for r in results if r.how == MISTAKEN]
    assert not mistaken, "another function was blamed, or nothing said of what kept it"


@pytest.mark.parametrize("package", PACKAGES)
def test_the_function_that_was_changed_is_blamed_or_it_is_said_what_kept_whence_from_knowing(
    subject: Subject, capsys: pytest.CaptureFixture[str]
) -> None:
    results = list(debugged(subject, EACH))
    assert len(results) > EACH // 2
    check(results, capsys)
