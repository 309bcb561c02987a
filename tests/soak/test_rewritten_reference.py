"""Mutants of PyPI packages, debugged with references in which many functions are rewritten.

`WHENCE_MUTANTS` is how many mutants are debugged for each package and each kind of reference.
"""

from __future__ import annotations

import os
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from mutation import DRIVERS, MISTAKEN, Subject, debugged

pytestmark = [pytest.mark.soak, pytest.mark.timeout(7200)]

PACKAGES = sorted(path.name.removesuffix("_driver.py") for path in DRIVERS.glob("*_driver.py"))
EACH = int(os.environ.get("WHENCE_MUTANTS", "20"))


@pytest.mark.parametrize("interfaces", [False, True])
@pytest.mark.parametrize("package", PACKAGES)
def test_no_other_function_is_blamed(
    package: str, interfaces: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    subject = Subject(package, tmp_path)
    names = subject.rewrite_reference(seed=5, share=1.0, interfaces=interfaces)
    results = list(debugged(subject, EACH))
    counts = Counter(result.how for result in results)
    with capsys.disabled():
        print(f"\n{package}, {len(names)} functions rewritten: {dict(counts)}")
    mistaken = [f"{r.mutant}: {r.blamed} ({r.why})" for r in results if r.how == MISTAKEN]
    assert not mistaken, mistaken
