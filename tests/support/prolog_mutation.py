"""Slips that a machine makes in a Prolog program: one clause changed or dropped in each."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from whence.langs.prolog.swipl_process import find_swipl

SCRIPT = Path(__file__).with_name("prolog_mutation.pl")
GOAL = "% goal: "


@dataclass(frozen=True)
class Mutant:
    """A program with one slip in it."""

    program: str
    number: int
    kind: str
    predicate: str
    line: int
    clause: str
    text: str

    def __str__(self) -> str:
        shown = self.clause or "(no clause)"
        return f"{self.program} #{self.number} {self.kind} in {self.predicate}: {shown}"


def goals_of(file: Path) -> list[str]:
    """The goals that a program of the corpus names, in comments."""
    lines = file.read_text().splitlines()
    return [line.removeprefix(GOAL) for line in lines if line.startswith(GOAL)]


def mutants(file: Path) -> list[Mutant]:
    """All slips, in the order of the file."""
    command = [find_swipl(), str(SCRIPT), "--", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    text = file.read_text()
    found: dict[str, Mutant] = {}
    for number, line in enumerate(done.stdout.splitlines()):
        slip = json.loads(line)
        start = slip["start"]
        changed = text[:start] + slip["text"] + text[slip["end"] :]
        found.setdefault(
            changed,
            Mutant(
                file.stem, number, slip["kind"], slip["predicate"], slip["line"], slip["text"],
                changed,
            ),
        )  # fmt: skip
    return list(found.values())


def spread(all_of_them: list[Mutant], most: int) -> Iterator[Mutant]:
    """At most so many of each kind, from all over the program."""

    def kind(mutant: Mutant) -> str:
        return mutant.kind

    for _, group in groupby(sorted(all_of_them, key=kind), key=kind):
        same = list(group)
        step = max(1.0, len(same) / most)
        yield from (same[int(n * step)] for n in range(min(most, len(same))))
