"""Re-runs of a program with randomly chosen calls frozen."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from whence.langs.python.debuggee.order import Task
from whence.langs.python.replay.frozen_calls import FrozenCalls
from whence.langs.python.replay.rerun_process import Conditions, header_of, run_again
from whence.langs.python.trace.trace_reader import open_trace
from whence.langs.python.trace.trace_source import TraceSource
from whence.tree.column_tree import ColumnTree

COMPARED = "with it frozen"
"""How a reason begins that was found by comparing runs."""


@dataclass(frozen=True)
class Outcome:
    """What came of freezing some calls of a run."""

    frozen: int
    below: int
    """How many calls were not made, those that were frozen not counted."""
    refused: dict[int, str]
    printed: str
    """By a run with them frozen."""
    printed_before: str

    @property
    def differing(self) -> dict[int, str]:
        """What was frozen at first, and then found to change something."""
        return {at: why for at, why in self.refused.items() if why.startswith(COMPARED)}

    def __str__(self) -> str:
        reasons = "".join(f"\n  {count} {why}" for why, count in
                          Counter(self.refused.values()).most_common())  # fmt: skip
        return (
            f"{self.frozen} frozen, with {self.below} calls below them; "
            f"{len(self.refused)} refused{reasons}"
        )


def frozen_by_chance(
    script: Path, folder: Path, seed: int, count: int, options: Sequence[str], pattern: str = "*"
) -> Outcome:
    """Record a program, freeze so many calls of functions of a name, and run it with them."""
    recording = folder / "run.whence"
    words = ["record", "--journal", "-o", str(recording), *options, str(script)]
    first = subprocess.run(
        [sys.executable, "-m", "whence", *words], cwd=folder, check=True, timeout=600,
        capture_output=True, text=True,
    )  # fmt: skip
    tree = open_trace(recording)
    freezing = FrozenCalls(recording, tree)
    freezing.freeze(_chosen(tree, random.Random(seed), count, pattern))
    again = folder / "again"
    again.mkdir()
    conditions = Conditions.of(recording, header_of(tree))
    output, _ = run_again(
        conditions, again, Task(freezing=freezing.order_file(again, 2**62)), 600.0
    )
    return Outcome(
        len(freezing.frozen),
        sum(each.calls for each in freezing.frozen.values()),
        freezing.refused,
        "".join(f"{line}\n" for line in open_trace(output).call(0).output),
        first.stdout,
    )


def _chosen(tree: ColumnTree, chance: random.Random, count: int, pattern: str) -> dict[int, int]:
    """Calls that do not lie in each other, half of them such that call others."""
    source, columns = tree.sources[0], tree.columns
    assert isinstance(source, TraceSource)
    wanted = [fnmatchcase(each.short(), pattern) for each in tree.functions]
    every = [at for at in range(2, len(columns)) if wanted[int(columns.function[at])]]
    chance.shuffle(every)
    every.sort(key=lambda at: chance.random() < 0.5 or columns.weight[at] < 2)
    chosen: list[int] = []
    for at in every:
        if len(chosen) == count:
            break
        if not any(one <= at < columns.end[one] or at <= one < columns.end[at] for one in chosen):
            chosen.append(at)
    ordinals = source.ordinals()
    return {int(ordinals[tree.id(at)]): int(columns.weight[at]) - 1 for at in chosen}
