"""No clause is blamed for a fault in a part of the program that the tracer does not see."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from prolog import need_swipl
from prolog_hidden import KINDS, debugged_by_person, generated

from whence.model.diagnosis import Status

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


@pytest.mark.soak
@pytest.mark.parametrize(("kind", "seed"), MANY)
def test_only_the_hidden_part_is_blamed_in_100_programs(
    kind: str, seed: int, tmp_path: Path
) -> None:
    check(kind, seed, tmp_path)
