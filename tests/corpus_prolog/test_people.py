"""Programs as people write them: with tables, asserted clauses, output, constraints, exceptions."""

from __future__ import annotations

from pathlib import Path

import pytest
from prolog import need_swipl
from prolog_people import BuggyProgram, located, programs

need_swipl()

EACH = [pytest.param(program, id=program.name) for program in programs()]
QUESTIONS = 30


def test_there_are_twelve_programs() -> None:
    assert len(EACH) >= 12


@pytest.mark.parametrize("program", EACH)
def test_the_bug_is_located(program: BuggyProgram, tmp_path: Path) -> None:
    found = located(program, tmp_path)
    blamed = program.blame.replace("//1", "/3")
    assert found.predicate == blamed, found.reason
    assert 0 <= found.questions <= QUESTIONS
