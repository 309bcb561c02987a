"""A reference that is written differently in many functions blames no other function.

A few bugs; outside of soak runs only these. tests/soak has packages from PyPI.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from bug_corpus import Bug, corpus, spread
from mutation import MISTAKEN, Subject, debugged
from rewritten_references import blame, write_rewritten


@pytest.mark.parametrize("bug", spread(corpus(), 30))
@pytest.mark.parametrize("interfaces", [False, True])
def test_no_other_function_is_blamed(bug: Bug, interfaces: bool, tmp_path: Path) -> None:
    if not bug.can_run:
        pytest.skip(f"needs {', '.join(bug.needs)}")
    found = blame(bug, write_rewritten(bug, tmp_path, 1, interfaces), tmp_path)
    assert all(map(bug.is_at_fault, found.functions)), found


def test_a_change_of_a_module_is_found_though_all_functions_are_rewritten(tmp_path: Path) -> None:
    subject = Subject("graphlib", tmp_path)
    assert len(subject.rewrite_reference(seed=3, share=1.0, interfaces=False)) >= 5
    [result] = debugged(subject, 1)
    assert result.how != MISTAKEN, f"{result.mutant}: {result.blamed}; {result.why}"
