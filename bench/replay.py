"""How long it takes to find out what a late call of a long program did, by running it again.

    python bench/replay.py [--seconds 1 2 5 10] [--repeat 3]

For each length a program of about so many seconds is run plain, recorded with a journal down to a
few levels, and then calls after nine tenths of it are looked into, whose callees were only
counted: by runs from the start, and by runs from checkpoints, of which the first makes these.
Told are seconds by the clock (medians), what they are of those of the plain run, how many
checkpoints there are in the end, and the memory that they have together. Times are of this machine,
and of what else it does; what can be compared are the ratios.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from whence.langs.python.replay.program_reruns import ProgramReruns
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.replay_settings import ReplayMode, ReplaySettings
from whence.tree.column_tree import ColumnTree

PROGRAM = """
import random, sys

def hashed(text):
    total = 0
    for character in text:
        total = (total * 31 + ord(character)) % 1_000_003
    return total

def word(numbers, length):
    return "".join([numbers.choice("abcdefgh") for _ in range(length)])

def counted(numbers, table):
    key = hashed(word(numbers, 6))
    table[key] = table.get(key, 0) + 1
    return table[key]

def batch(numbers, table, count):
    return sum([counted(numbers, table) for _ in range(count)])

def work(rounds):
    numbers, table = random.Random(7), {}
    return [batch(numbers, table, 500) for _ in range(rounds)]

print(sum(work(int(sys.argv[1]))))
"""
LEVELS = 3
LATE = 0.9
LATER = 7
"""So many calls are looked into after the first one, between nine tenths of the run and its end."""
ROUNDS = 60


def timed(words: list[str], folder: Path) -> float:
    """The seconds that a command takes."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=3600
    )
    return time.perf_counter() - began


def late_calls(tree: ColumnTree) -> list[int]:
    """The positions of calls that were only counted into, late in the run, not in their order."""
    hidden = np.flatnonzero(tree.columns.implicit)
    calls = hidden[tree.details[hidden] >= 0]
    shares = [LATE + (1 - LATE) * (number * 3 % LATER) / LATER for number in range(LATER + 1)]
    return [int(calls[int(len(calls) * share)]) for share in shares]


def looked_into(path: Path, mode: ReplayMode, count: int) -> tuple[list[float], int, int]:
    """The seconds for each of so many late calls; the checkpoints in the end, and their bytes."""
    reruns = ProgramReruns(path, open_trace(path), ReplaySettings(mode))
    tree, partial = reruns.tree, reruns.partial
    taken = []
    for position in late_calls(tree)[:count]:
        began = time.perf_counter()
        tree.expand(position, 1)
        taken.append(time.perf_counter() - began)
    assert partial.runs == count, partial.describe()
    sleeping = partial.checkpoints
    number, memory = (0, 0) if sleeping is None else (len(sleeping), sleeping.memory)
    partial.close()
    return taken, number, memory


def measured(rounds: int, repeat: int, folder: Path) -> str:
    """One row of the table."""
    words = ["program.py", str(rounds)]
    plain = median(timed(words, folder) for _ in range(repeat))
    record = ["-m", "whence", "record", "--quiet", "--journal", "--depth", str(LEVELS)]
    record += ["-o", "run.whence", *words]
    recorded = median(timed(record, folder) for _ in range(repeat))
    path = folder / "run.whence"
    again = median(looked_into(path, ReplayMode.RERUN, repeat)[0])
    (first, *later), number, memory = looked_into(path, ReplayMode.CHECKPOINTS, LATER + 1)
    calls = int(open_trace(path).columns.weight[0])
    cells = [f"{calls:,}", f"{plain:.1f}"]
    cells += [f"{each:.2f} ({each / plain:.2f})" for each in (recorded, again, first)]
    cells += [f"{median(later):.2f} ({median(later) / plain:.2f})", f"{again / median(later):.0f}"]
    return f"| {' | '.join([*cells, str(number), str(memory >> 20)])} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, nargs="+", default=[1, 2, 5, 10])
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="whence-") as name:
        folder = Path(name)
        (folder / "program.py").write_text(PROGRAM)
        empty = min(timed(["program.py", "0"], folder) for _ in range(3))
        few = min(timed(["program.py", str(ROUNDS)], folder) for _ in range(3))
        each = (few - empty) / ROUNDS
        print("seconds (× plain); the last columns: re-run ÷ later, checkpoints, their MB")
        print("| calls | plain | recorded | re-run | first | later | ÷ | number | MB |")
        print("|---|---|---|---|---|---|---|---|---|")
        for seconds in options.seconds:
            rounds = max(20, int(seconds / each))
            print(measured(rounds, options.repeat, folder), flush=True)


if __name__ == "__main__":
    main()
