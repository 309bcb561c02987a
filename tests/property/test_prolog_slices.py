"""A slice never takes the fault away: whatever the program, the slip and the part that is marked.

Random programs with a slip, debugged with the right one as the oracle. Whoever says that an answer
is wrong says which part of it is, so the search goes by origins and slices.
"""

import random
from pathlib import Path

import pytest
from prolog import need_swipl
from prolog_marks import debugged_with_marks
from prolog_programs import random_program, slip

need_swipl()

SEEDS = range(20)
_TRIES = 30
STRATEGIES = (
    "auto",
    "subterm-tracking",
    "subterm-tracking-bisect",
    "dynamic-weighting",
    "optimal-divide-and-query",
)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_search_ends_at_the_slip_whatever_is_marked(seed: int, tmp_path: Path) -> None:
    numbers = random.Random(seed)
    for _ in range(_TRIES):
        program = random_program(numbers)
        wrong = slip(program, numbers)
        goal = f"top({numbers.randint(0, 5)}, T)"
        session = debugged_with_marks(
            program.text(),
            wrong.program.text(),
            goal,
            tmp_path,
            strategy=STRATEGIES[seed % len(STRATEGIES)],
        )
        if session is not None:
            break
    else:
        raise AssertionError("no slip shows")
    assert session.predicate == wrong.predicate
    for marked in session.marks:
        assert marked.influence is not None
        narrow, *wider = marked.influence.slices()
        assert all(narrow <= each for each in wider), "a wider slice holds the narrower one"
        if marked.origin.node is not None:
            assert marked.origin.node in narrow, "what made a part is in its data-flow slice"
