"""No experiment and no aligned pair contradicts the truth, for mutants of PyPI packages.

`WHENCE_MUTANTS` is how many mutants are tried for each package.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import pytest
from bug_corpus import Refused, record
from experiment_truth import check_experiments
from mutation import DRIVERS, Subject, bugs

from whence.langs.python.oracles.reference_oracle import reference_oracle_for

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(7200),
    pytest.mark.skipif(sys.version_info < (3, 12), reason="the simulated person needs 3.12"),
]

PACKAGES = sorted(path.name.removesuffix("_driver.py") for path in DRIVERS.glob("*_driver.py"))
EACH = int(os.environ.get("WHENCE_MUTANTS", "20"))


@pytest.mark.parametrize("package", PACKAGES)
def test_experiments_do_not_contradict_the_truth(
    package: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    subject = Subject(package, tmp_path / "subject")
    subject.rewrite_reference(seed=5, share=1.0, interfaces=False)
    counts: Counter[str] = Counter()
    contradictions: list[str] = []
    for number, bug in enumerate(islice(bugs(subject), EACH)):
        tree = record(bug, "buggy", tmp_path / f"{number}.whence", whole=True)
        oracle = reference_oracle_for(tree, str(subject.reference))
        try:
            checked = check_experiments(bug, oracle)
        except Refused as why:
            counts[f"no truth: {why}"] += 1
            continue
        finally:
            oracle.close()
        counts += checked.counts
        counts["mutants"] += 1
        counts["without a repair"] += bool(checked.problem)
        contradictions += [f"{bug.about}: {text}" for text in checked.contradictions]
    with capsys.disabled():
        print(f"\n{package}: {dict(counts)}")
    assert not contradictions, contradictions
