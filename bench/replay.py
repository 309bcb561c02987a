"""How long it takes to find out what a late call of a long program did, by running it again.

    python bench/replay.py [--seconds 1 2 5 10] [--repeat 3]

For each length a program of about so many seconds is run plain, recorded with a journal down to a
few levels, and then one call after nine tenths of it is looked into, whose callees were only
counted. Told are the seconds of CPU time (the median; others may use the machine meanwhile), what
they are of those of the plain run, and the memory of the largest process. Times are of this
machine; what can be compared are the ratios.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np

from whence.langs.python.replay.materializing import materializable, windows_of
from whence.langs.python.trace.opening import open_trace
from whence.tree.memory import ColumnTree

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
SHARE = 0.9
ROUNDS = 60


def spent() -> float:
    """The seconds of CPU time of this process and of those that it waited for."""
    return sum(os.times()[:4])


def timed(words: list[str], folder: Path) -> float:
    """The seconds that a command takes."""
    began = spent()
    subprocess.run(
        [sys.executable, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=3600
    )
    return spent() - began


def late_call(tree: ColumnTree) -> int:
    """The position of a call that was only counted into, nine tenths into the run."""
    hidden = np.flatnonzero(tree.columns.implicit)
    calls = hidden[tree.details[hidden] >= 0]
    return int(calls[int(len(calls) * SHARE)])


def measured(rounds: int, repeat: int, folder: Path) -> str:
    """One row of the table."""
    words = ["program.py", str(rounds)]
    plain = median(timed(words, folder) for _ in range(repeat))
    record = ["-m", "whence", "record", "--quiet", "--journal", "--depth", str(LEVELS)]
    record += ["-o", "run.whence", *words]
    recorded = median(timed(record, folder) for _ in range(repeat))
    path = folder / "run.whence"
    taken, tree = [], open_trace(path)
    for _ in range(repeat):
        tree = materializable(path, open_trace(path))
        began = spent()
        tree.expand(late_call(tree), 1)
        taken.append(spent() - began)
    windows = windows_of(path, tree)
    assert windows.runs == 1
    calls, again = int(tree.columns.weight[0]), median(taken)
    largest = max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return (
        f"| {calls:,} | {plain:.1f} | {recorded:.1f} ({recorded / plain:.1f}) "
        f"| {again:.1f} ({again / plain:.1f}) | {largest // 1024} |"
    )


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
        print("| calls | plain, s | recorded (× plain) | a late call (× plain) | MB |")
        print("|---|---|---|---|---|")
        for seconds in options.seconds:
            rounds = max(20, int(seconds / each))
            print(measured(rounds, options.repeat, folder), flush=True)


if __name__ == "__main__":
    main()
