"""How many questions it takes to find a fault in large Prolog runs.

    python bench/prolog_large.py [--sizes 10000 100000 1000000] [--depths 0 3 10]

Three programs with a fault in one of many calls: a naive reverse, the towers of Hanoi, a long tail
recursion. The original answers. The bar is 2·log2(nodes) + 6 questions. Prints a table.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from prolog_debugging import blamed

from whence.langs.prolog.goal_execution import LIMITS, GoalExecution
from whence.langs.prolog.reference_program import ReferenceProgram
from whence.langs.prolog.swipl_process import Engine

STRATEGIES = ("auto", "divide-and-query", "optimal-divide-and-query")
REVERSE = """
go(N, S) :- numlist(1, N, L), rev(L, R), total(R, S).
rev([], []).
rev([X|Xs], R) :- rev(Xs, R0), app(R0, [X], R).
app([], Ys, Ys){fault}.
app([X|Xs], Ys, [X|Zs]) :- app(Xs, Ys, Zs).
total([], 0).
total([X|Xs], S) :- total(Xs, S0), S is S0 + X.
"""
HANOI = """
go(N, C) :- moves(N, a, b, c, C).
moves(0, _, _, _, 0) :- !.
moves(N, A, B, C, K) :-
    M is N - 1, moves(M, A, C, B, K1), cost(N, A, B, C1), moves(M, C, B, A, K2),
    K is K1 + K2 + C1.
{fault}cost(_, _, _, 1).
"""
LOOP = """
go(N, S) :- sum(N, 0, S).
sum(0, S, S) :- !.
sum(N, S0, S) :- step(N, S0, S1), M is N - 1, sum(M, S1, S).
{fault}step(N, S0, S1) :- S1 is S0 + N mod 7.
"""


@dataclass(frozen=True)
class Program:
    """A program, its fault, the predicate at fault, and the argument that gives a size."""

    name: str
    text: str
    fault: str
    guilty: str

    def argument(self, nodes: int) -> int:
        """The argument of the goal for about so many nodes."""
        if self.name == "reverse":
            return int(math.sqrt(2 * nodes))
        return int(math.log2(nodes / 4)) if self.name == "hanoi" else nodes // 4


PROGRAMS = (
    Program("reverse", REVERSE, " :- Ys \\= [37].\napp([], [37], [38])", "app/3"),
    Program("hanoi", HANOI, "cost(2, _, c, 2) :- !.\n", "cost/4"),
    Program("loop", LOOP, "step(78, S0, S0) :- !.\n", "step/3"),
)


def measured(program: Program, size: int, depth: int, folder: Path) -> list[str]:
    """A row of the table."""
    right, wrong = folder / "right.pl", folder / "wrong.pl"
    right.write_text(program.text.format(fault=""))
    wrong.write_text(program.text.format(fault=program.fault))
    limits = replace(LIMITS, events=1 << 40, depth=1 << 40, seconds=0, skip_below=depth)
    cells: list[str] = []
    for strategy in STRATEGIES:
        reference = ReferenceProgram(right, inferences=500_000_000, seconds=600)
        with Engine() as engine:
            goal = f"go({program.argument(size)}, X)"
            execution = GoalExecution(engine, wrong, goal, solutions=1, limits=limits)
            tree = execution.wrong(1)
            nodes = float(tree.columns.own.sum())
            end = blamed(execution, reference, tree, strategy)
            execution.close()
        reference.close()
        if not cells:
            cells = [f"{nodes:,.0f}", f"{2 * math.log2(nodes) + 6:.0f}"]
        cells.append(str(end.questions) if end.predicate == program.guilty else "–")
    return [program.name, str(depth or "all"), *cells]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--depths", type=int, nargs="*", default=[0, 3, 10])
    options = parser.parse_args()
    head = ["program", "--depth", "nodes", "bar", *STRATEGIES]
    print("| " + " | ".join(head) + " |\n| --- |" + " --: |" * (len(head) - 1), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            for program in PROGRAMS:
                for depth in options.depths:
                    row = measured(program, size, depth, Path(folder))
                    print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
