"""How fast the next question comes, how it grows, and how many questions each strategy asks.

    python bench/search.py [--largest 10000000] [--file] [--trees 300]
    python bench/search.py --default-command [--largest 10000000]

Part 1 searches trees of 10^4 … 10^7 calls in three shapes and prints, for each strategy, the
longest time from an answer to the next question in one session, and the exponent with which it
grows; for `auto` also with likelihoods that were learned, and with a part marked in the call at
the top. Part 2 (`--file`) writes such a tree as a file, and prints what indexing and opening it
take. Part 3 counts questions on small random trees against the exact optimum. Times are of this
machine, in this run; what can be compared elsewhere are the ratios and the exponents.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from math import log10
from pathlib import Path
from typing import Any

import numpy as np
import waiting

from whence.model.call import Mark
from whence.model.origin import Influence, Origin
from whence.model.verdict import Answer, Verdict
from whence.ports import Tree
from whence.session.engine import step
from whence.session.events import Answered, Ask, Found, Started
from whence.session.state import Facts, State
from whence.testing.answerer import run
from whence.testing.meanings import one_fault
from whence.testing.trees import random_parents, tree_from_parents, tree_from_shape
from whence.tree.column_tree import ColumnTree

TIMED = ["top-down", "heaviest-first", "divide-and-query", "optimal-divide-and-query", "auto"]
COUNTED = [
    "auto",
    "optimal-divide-and-query",
    "divide-and-query",
    "divide-and-query-shapiro",
    "divide-by-yes-and-query",
    "middleweight",
    "combination",
    "heaviest-first",
    "less-yes-first",
    "top-down",
    "hat-delta-yes",
    "single-stepping",
]
LEARNED, MARKED = "auto, learned", "auto, marked"
SEARCHED = [*TIMED, LEARNED, MARKED]
RULES = 500
QUESTIONS = 40


# --- large trees -------------------------------------------------------------------------------


def bushy(count: int, seed: np.random.Generator) -> ColumnTree:
    """A tree like a program's: depth about 30, a few calls each, some with thousands."""
    depth = np.zeros(count, dtype=np.int32)
    steps = seed.choice([1, 1, 1, 0, 0, -1, -2, -4, -12], size=count)
    level = 0
    for position in range(1, count):
        level = max(1, min(30, level + int(steps[position])))
        depth[position] = level if level <= depth[position - 1] + 1 else depth[position - 1] + 1
    return _from_depths(depth, seed)


def deep(count: int, seed: np.random.Generator) -> ColumnTree:
    """A tree with a path through half of its calls, as deep recursion makes."""
    depth = np.zeros(count, dtype=np.int32)
    depth[1::2] = np.arange(1, len(depth[1::2]) + 1)
    depth[2::2] = depth[1::2][: len(depth[2::2])] + 1
    return _from_depths(depth, seed)


def wide(count: int, seed: np.random.Generator) -> ColumnTree:
    """A tree whose top makes nearly all calls, as a loop does."""
    depth = np.ones(count, dtype=np.int32)
    depth[0] = 0
    depth[2::3] = 2
    return _from_depths(depth, seed)


def _from_depths(depth: np.ndarray, seed: np.random.Generator) -> ColumnTree:
    count = len(depth)
    parent = np.full(count, -1, dtype=np.int32)
    end = np.full(count, count, dtype=np.int32)
    path = [0]
    for position, level in enumerate(depth.tolist()):
        if position == 0:
            continue
        while len(path) > level:
            end[path.pop()] = position
        parent[position] = path[-1]
        path.append(position)
    rules = seed.integers(0, RULES, size=count).astype(np.int32)
    return tree_from_shape(parent, end, depth.astype(np.int32), rules)


SHAPES: dict[str, Callable[[int, np.random.Generator], ColumnTree]] = {
    "bushy": bushy,
    "deep": deep,
    "wide": wide,
}


class Learned:
    """Says how likely the calls of each function are to be at fault, as tests would."""

    def factors(self, tree: Tree) -> np.ndarray:
        return np.random.default_rng(3).random(RULES)[tree.columns.rule]


class UnknownOrigin:
    """Of what was marked only calls are known that may have mattered, among them the fault."""

    def __init__(self, fault: int) -> None:
        self.influenced = Influence(frozenset(range(max(0, fault - 50_000), fault + 1)), False)

    def origin(self, node: int, part: Mark) -> Origin:
        return Origin(None, unknown="it is not known")

    def influence(self, node: int, part: Mark) -> Influence:
        return self.influenced

    def with_tree(self, tree: Tree) -> UnknownOrigin:
        return self


def longest_wait(tree: ColumnTree, strategy: str, fault: int) -> tuple[float, float, int]:
    """The time to the first question, the longest to a later one, and how many were asked.

    With a mark, the first question is the one that follows the mark.
    """
    columns = tree.columns
    clock = time.perf_counter
    facts = Facts(strategy=strategy.partition(",")[0])
    prior = Learned() if strategy == LEARNED else None
    marks: Any = UnknownOrigin(fault) if strategy == MARKED else None
    started = clock()
    state, outcome = step(State(tree, marks, prior=prior, facts=facts), Started())
    if strategy == MARKED:
        marked = Answer(0, Verdict.WRONG, mark=Mark("result"))
        started = clock()
        state, outcome = step(state, Answered((marked,)))
    first, longest, asked = clock() - started, 0.0, 0
    while isinstance(outcome, Ask) and asked < QUESTIONS:
        position = tree.position(outcome.question.node)
        wrong = position <= fault < columns.end[position]
        answer = Answer(outcome.question.node, Verdict.WRONG if wrong else Verdict.RIGHT)
        started = clock()
        state, outcome = step(state, Answered((answer,)))
        longest = max(longest, clock() - started)
        asked += 1
    if isinstance(outcome, Found):
        assert outcome.diagnosis.node == fault, "the wrong call was blamed"
    return first, longest, asked


def time_searches(largest: int) -> None:
    print("longest wait for the next question, in ms (first question in brackets)")
    sizes = [10**power for power in range(4, round(log10(largest)) + 1)]
    for shape, build in SHAPES.items():
        seed = np.random.default_rng(7)
        rows: dict[str, list[tuple[float, float, int]]] = {name: [] for name in SEARCHED}
        for size in sizes:
            tree = build(size, seed)
            for strategy in SEARCHED:
                rows[strategy].append(longest_wait(tree, strategy, fault=size * 2 // 3))
            del tree
        print(f"\n{shape:26}" + "".join(f"{size:>20,}" for size in sizes) + "   growth")
        for strategy, waits in rows.items():
            cells = "".join(f"{w[1] * 1e3:>11.1f} ({w[0] * 1e3:6.1f})" for w in waits)
            growth = (
                log10(waits[-1][1] / waits[-2][1]) / log10(sizes[-1] / sizes[-2])
                if len(sizes) > 1
                else float("nan")
            )
            print(f"{strategy:26}{cells}   n^{growth:.2f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak memory of this process: {peak:,.0f} MB")


# --- a large file ------------------------------------------------------------------------------

_OPEN_IT = """
import resource, sys, time
from whence.session.engine import step
from whence.session.events import Started, Answered
from whence.session.state import State, Facts
from whence.model.verdict import Answer, Verdict
from whence.tree.tree_file import open_tree
start = time.perf_counter()
tree = open_tree(sys.argv[1])
opened = time.perf_counter() - start
waits = []
for name in sys.argv[2:]:
    start = time.perf_counter()
    state, outcome = step(State(tree, facts=Facts(strategy=name)), Started())
    waits.append(f"{name} {(time.perf_counter() - start) * 1e3:.0f}")
    for verdict in (Verdict.WRONG, Verdict.RIGHT):
        node = outcome.question.node
        start = time.perf_counter()
        state, outcome = step(state, Answered((Answer(node, verdict),)))
        waits.append(f"{(time.perf_counter() - start) * 1e3:.0f}")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{opened:.2f} s, peak {peak:,.0f} MB; questions in ms: {' '.join(waits)}")
"""


def write_file(path: Path, count: int) -> None:
    """A tree file as a tracer would write it."""
    seed = np.random.default_rng(7)
    columns = bushy(count, seed).columns
    with path.open("w") as file:
        file.write('{"whence": "tree", "version": 1}\n')
        for position, (parent, rule) in enumerate(
            zip(columns.parent.tolist(), columns.rule.tolist(), strict=True)
        ):
            caller = "null" if parent < 0 else parent
            file.write(
                f'{{"id": {position}, "parent": {caller}, "function": "pkg.mod.f{rule}", '
                f'"args": {{"x": {position}, "ys": [1, 2, {rule}]}}, '
                f'"returned": {position % 97}}}\n'
            )


def time_file(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tree.jsonl"
        write_file(path, count)
        size = path.stat().st_size / 2**20
        print(f"\na file of {count:,} calls, {size:,.0f} MB")
        environment = {**os.environ, "XDG_CACHE_HOME": folder}
        for what in ("first indexing", "opening again"):
            command = [sys.executable, "-c", _OPEN_IT, str(path), *TIMED]
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            )
            print(f"{what}: {done.stdout.strip()}")


# --- questions ---------------------------------------------------------------------------------


def exact_average(parents: list[int]) -> float:
    """The least average number of questions over all faults, the top being known wrong."""
    count = len(parents)
    below = [1 << node for node in range(count)]
    for node in range(count - 1, 0, -1):
        below[parents[node]] |= below[node]

    @cache
    def least(top: int, left: int) -> int:
        """The sum over all faults that are left; `left`: unjudged calls below the top."""
        if left == 0:
            return 0
        faults = left.bit_count() + 1
        return faults + min(
            least(node, left & below[node] & ~(1 << node)) + least(top, left & ~below[node])
            for node in range(count)
            if left >> node & 1
        )

    return least(0, below[0] & ~1) / count


def count_questions(trees: int) -> None:
    print(f"\nquestions a session on {trees} random trees of 8 to 15 calls, every fault once")
    seed = random.Random(11)
    totals = dict.fromkeys(COUNTED, 0.0)
    best = 0.0
    for number in range(trees):
        shape = ["random", "deep", "wide", "binary"][number % 4]
        parents = random_parents(seed, seed.randint(8, 15), shape)
        best += exact_average(parents)
        tree = tree_from_parents(parents)
        for strategy in COUNTED:
            facts = Facts(strategy=strategy, answers=(Answer(0, Verdict.WRONG),))
            asked = 0
            for fault in range(len(parents)):
                asked += len(run(State(tree, facts=facts), one_fault(tree, fault)).asked)
            totals[strategy] += asked / len(parents)
    print(f"{'exact optimum':28}{best / trees:6.3f}")
    for strategy, total in totals.items():
        print(f"{strategy:28}{total / trees:6.3f}  +{100 * (total / best - 1):.1f} %")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--largest", type=int, default=10**7)
    options.add_argument("--file", action="store_true", help="write and open a large file too")
    options.add_argument("--trees", type=int, default=200)
    options.add_argument(
        "--default-command",
        action="store_true",
        help="only time `whence debug` with all default oracles, on recordings",
    )
    given = options.parse_args()
    if given.default_command:
        waiting.main(["--largest", str(given.largest), "--program", "loop"])
        return
    count_questions(given.trees)
    time_searches(given.largest)
    if given.file:
        time_file(given.largest)


if __name__ == "__main__":
    main()
