"""With the original as the oracle, the predicate with the slip is named: whatever the slip was."""

from __future__ import annotations

from pathlib import Path

import pytest
from prolog import need_swipl
from prolog_corpus import Symptom, programs, reference, symptoms
from prolog_mutation import Mutant, mutants, spread

need_swipl()

KINDS = [
    "dropped goal",
    "misplaced cut",
    "missing clause",
    "swapped arguments",
    "wrong comparison",
    "wrong constant",
]
MOST_OF_A_KIND = 6
EACH = [pytest.param(file, id=file.stem) for file in programs()]
SAMPLE = EACH[::3]


def check(symptom: Symptom) -> None:
    found = symptom.debugged()
    assert found.predicate == symptom.mutant.predicate, f"{symptom.mutant}\n{symptom.goal}: {found}"


def test_there_are_enough_programs_and_slips_of_every_kind() -> None:
    assert len(programs()) >= 30
    assert {each.kind for each in mutants(programs()[0])} <= set(KINDS)


@pytest.mark.parametrize("file", SAMPLE)
def test_a_slip_in_a_program_is_found(file: Path, tmp_path: Path) -> None:
    """One of another kind in each program."""
    first = programs().index(file) % len(KINDS)
    order = KINDS[first:] + KINDS[:first]

    def rank(mutant: Mutant) -> tuple[int, int]:
        return order.index(mutant.kind), -mutant.number

    slips = sorted(mutants(file), key=rank)
    with reference(file) as program:
        for symptom in symptoms(file, program, slips, tmp_path):
            check(symptom)
            return
    pytest.fail("no slip changes an answer")


@pytest.mark.soak
@pytest.mark.parametrize("file", EACH)
def test_every_slip_that_changes_an_answer_is_found(file: Path, tmp_path: Path) -> None:
    count = 0
    with reference(file) as program:
        for symptom in symptoms(file, program, spread(mutants(file), MOST_OF_A_KIND), tmp_path):
            check(symptom)
            count += 1
    assert count >= 5, "too few slips change an answer"
