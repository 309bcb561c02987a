"""Bugs made from PyPI packages: whence blames the function that was changed, or says what kept it.

`WHENCE_MUTANTS` is how many mutants with another outcome are debugged for each package. A few of
them are debugged by a person too, without marks and with them.
"""

from __future__ import annotations

import os
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from mutation import DRIVERS, KEPT, MISTAKEN, Result, Subject, debugged
from mutation import packages as installed

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


def test_marks_lose_no_mutant_and_spare_half_of_the_questions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(DRIVERS.parent))
    from questions import on_mutants

    packages = [each for each in installed() if each != "sqlparse"]  # takes minutes for each
    found = [each for package in packages for each in on_mutants(package, 2, print)[0]]
    assert len(found) == 2 * len(packages)
    missed = [each.bug.about for each in found if not (each.plain.located and each.marked.located)]
    assert not missed
    plain, marked = (
        sum(each.questions for each in some)
        for some in ([each.plain for each in found], [each.marked for each in found])
    )
    assert marked * 2 <= plain, f"{marked} questions with marks, {plain} without"
