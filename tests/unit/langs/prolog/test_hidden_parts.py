"""No clause is blamed for a fault in a part of the program that the tracer does not see."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from prolog import need_swipl
from prolog_hidden import KINDS, debugged_by_person, generated

from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.hidden_parts import HiddenParts
from whence.langs.prolog.swipl_process import Engine
from whence.model.diagnosis import Status
from whence.ports import Acquitter

need_swipl()

SEEDS = [pytest.param(kind, 1, id=kind) for kind in KINDS] + [
    pytest.param("tabled", 2, id="tabled, again"),
    pytest.param("chr", 2, id="chr, again"),
    pytest.param("thread", 2, id="thread, again"),
]
MANY = [pytest.param(KINDS[n % len(KINDS)], 100 + n, id=f"{n}") for n in range(100)]
FOUND = ("tabled",)


def check(kind: str, seed: int, folder: Path) -> None:
    if kind == "foreign" and not (shutil.which("swipl-ld") and shutil.which("gcc")):
        pytest.skip("needs a C compiler and swipl-ld")
    fault = generated(kind, seed, folder)
    diagnosis, blamed = debugged_by_person(fault)
    text = fault.wrong.read_text()
    assert blamed in fault.guilty | {""}, f"{blamed} is innocent:\n{text}"
    if blamed:
        return
    assert kind not in FOUND, f"not found: {diagnosis.reason}\n{text}"
    assert diagnosis.status is not Status.FOUND
    assert diagnosis.reason, "it says what was not seen"


@pytest.mark.parametrize(("kind", "seed"), SEEDS)
def test_only_the_hidden_part_is_blamed(kind: str, seed: int, tmp_path: Path) -> None:
    check(kind, seed, tmp_path)


def test_a_session_asks_for_doubts() -> None:
    assert issubclass(HiddenParts, Acquitter), "a session asks only acquitters"


TABLED = """
top(X) :- Y = 1, inner(Y, X).
inner(Y, X) :- same(Y, Z), tabled(Z, X).
same(X, Y) :- Y is X + 0.
:- table tabled/2.
tabled(X, X).
tabled(X, Y) :- Y is X + 1.
tabled(X, Y) :- tabled(X, Z), Z < 6, Y is Z + 1.
"""


def test_a_tabled_call_explains_each_of_its_answers(tmp_path: Path) -> None:
    file = tmp_path / "program.pl"
    file.write_text(TABLED)  # is/2 had the frame number that filling the table has after it
    with Engine() as engine:
        execution = GoalExecution(engine, file, "top(X)")
        seen = []
        for number in range(1, 7):
            tree = execution.wrong(number)
            calls = [tree.call(node).equation() for node in range(len(tree.columns))]
            top = calls[0].removeprefix("top(").removesuffix(")")
            assert f"tabled(1, {top})" in calls
            seen.append(int(top))
        assert sorted(seen) == [1, 2, 3, 4, 5, 6]
        execution.close()


@pytest.mark.soak
@pytest.mark.parametrize(("kind", "seed"), MANY)
def test_only_the_hidden_part_is_blamed_in_100_programs(
    kind: str, seed: int, tmp_path: Path
) -> None:
    check(kind, seed, tmp_path)
