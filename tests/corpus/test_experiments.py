"""No experiment and no aligned pair contradicts the truth, for the bugs of the corpus.

A few bugs; outside of soak runs only these. tests/soak has mutants of packages.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from bug_corpus import Bug, corpus, record, spread
from experiment_truth import check_experiments
from rewritten_references import write_rewritten

from whence.langs.python.oracles.reference_oracle import reference_oracle_for


pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="the simulated person needs 3.12"
)


@pytest.mark.parametrize("bug", spread(corpus(), 30))
def test_experiments_do_not_contradict_the_truth(bug: Bug, tmp_path: Path) -> None:
    if not bug.can_run:
        pytest.skip(f"needs {', '.join(bug.needs)}")
    tree = record(bug, "buggy", tmp_path / "buggy.whence", whole=True)
    reference = write_rewritten(bug, tmp_path, 1, interfaces=False)
    oracle = reference_oracle_for(tree, str(reference))
    try:
        checked = check_experiments(bug, oracle)
    finally:
        oracle.close()
    assert not checked.contradictions
    assert not checked.problem or "not alike" in checked.problem or "each time" in checked.problem
