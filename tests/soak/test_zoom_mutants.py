"""Mutants of functions of real packages: inside the wrong call the changed statement is found."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from mutation import Subject, packages
from zoom_corpus import found_line
from zoom_mutants import zoomed_mutants

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]
_MUTANTS = 20


@pytest.mark.parametrize("package", packages())
def test_the_statement_of_a_mutant_is_found_with_marks_and_without(
    package: str, tmp_path: Path
) -> None:
    found = 0
    for mutant in islice(zoomed_mutants(Subject(package, tmp_path / "subject")), _MUTANTS):
        for strategy in ("auto", "top-down", "subterm-tracking"):
            for marks in (False, True):
                _, outcome = mutant.intended.diagnose(strategy, marks=marks)
                line = found_line(mutant.intended.tree, outcome)
                assert line == mutant.line, f"{mutant.about}: {strategy}, marks: {marks}"
        found += 1
    assert found >= 5, "there are mutants that can be gone into"
