"""How many questions each strategy asks about slips in the Prolog corpus, and how large slices are.

    python bench/prolog_corpus.py [--of-a-kind 1] [--only PROGRAM…] > docs/prolog-corpus.md
    python bench/prolog_corpus.py --people     # only the programs as people write them

Every program of `tests/corpus_prolog` gets slips of six kinds, so many of each; those that change
an answer are debugged with the original as the oracle. The sizes are those of the original's first
goal: what the debug slicing paper's table has. Nothing is printed that was not run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from prolog_corpus import LIMITS, SOLUTIONS, programs, reference, symptoms
from prolog_mutation import goals_of, mutants, spread
from prolog_people import located
from prolog_people import programs as people_programs

from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.slice_sizes import Size, SliceSizes, slice_sizes
from whence.langs.prolog.swipl_process import Engine

STRATEGIES = ("top-down", "heaviest-first", "divide-and-query", "optimal-divide-and-query", "auto")
SETS = ("complete_tree", "success_branch", "failed_branches", "data_flow_slice", "debug_slice")
INTRODUCTION = """\
# The Prolog corpus

Written by `python bench/prolog_corpus.py{words}`; the programs are in
`tests/corpus_prolog/programs`. In each program a machine makes slips: arguments are swapped,
constants and comparisons are changed, goals are dropped, cuts are moved, clauses are left out. A
slip that changes an answer of one of the program's goals is debugged with the original as the
oracle.
"""
PEOPLE = """\
## Programs as people write them

Written by `python bench/prolog_corpus.py --people`; the programs are in
`tests/corpus_prolog/people`. They use tables, asserted clauses, output, global variables,
constraints, modules and exceptions. In each is one bug. Questions until the predicate at fault is
named (–: it is not), with the original as the oracle; the last column is the number of events that
were traced.
"""


@dataclass
class Row:
    """What came of the slips of one program."""

    name: str
    slips: int = 0
    seen: int = 0
    named: int = 0
    questions: dict[str, list[int]] = field(default_factory=dict)


def debugged(file: Path, of_a_kind: int, folder: Path) -> Row:
    """All slips of a program, with every strategy."""
    slips = list(spread(mutants(file), of_a_kind))
    row = Row(file.stem, len(slips), questions={name: [] for name in STRATEGIES})
    with reference(file) as program:
        for symptom in symptoms(file, program, slips, folder):
            found = {name: symptom.debugged(name) for name in STRATEGIES}
            row.seen += 1
            missed = [n for n, each in found.items() if each.predicate != symptom.mutant.predicate]
            row.named += not missed
            if missed:
                print(f"{symptom.mutant}\n{symptom.goal}: not by {missed}", file=sys.stderr)
            for name, each in found.items():
                row.questions[name].append(each.questions)
    print(f"{file.stem}: {row.named} of {row.seen}", file=sys.stderr, flush=True)
    return row


def sizes(file: Path) -> SliceSizes:
    """The sizes for the first goal of a program."""
    with Engine() as engine:
        goal = goals_of(file)[0]
        execution = GoalExecution(engine, file, goal, solutions=SOLUTIONS, limits=LIMITS)
        return slice_sizes(execution.trace)


def mean(numbers: Sequence[int]) -> str:
    return f"{sum(numbers) / len(numbers):.1f}" if numbers else "–"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def shown(size: Size) -> str:
    return f"{size.nodes} ({size.arguments})"


def people() -> str:
    """The section on programs as people write them."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for program in people_programs():
            cells = [program.name, program.blame]
            events = 0
            for strategy in STRATEGIES:
                end = located(program, Path(folder), strategy)
                blamed = program.blame.replace("//1", "/3")
                cells.append(str(end.questions) if end.predicate == blamed else "–")
                events = end.events
            rows.append([*cells, f"{events:,}"])
            print(f"{program.name}: {cells}", file=sys.stderr, flush=True)
    head = ["program", "predicate at fault", *STRATEGIES, "events"]
    return f"{PEOPLE}\n{table(head, rows)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--of-a-kind", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--people", action="store_true")
    options = parser.parse_args()
    if options.people:
        print(people())
        return
    files = [each for each in programs() if not options.only or each.stem in options.only]
    with tempfile.TemporaryDirectory() as folder:
        rows = [debugged(file, options.of_a_kind, Path(folder)) for file in files]
    every = Row("all", *(sum(getattr(row, n) for row in rows) for n in ("slips", "seen", "named")))
    for name in STRATEGIES:
        every.questions[name] = [number for row in rows for number in row.questions[name]]
    print(INTRODUCTION.format(words="".join(f" {word}" for word in sys.argv[1:])))
    print("## Questions\n\nFor each slip that is seen, on average.\n")
    head = ["program", "slips", "seen", "predicate named", *STRATEGIES]
    cells = [
        [row.name, *map(str, (row.slips, row.seen, row.named))]
        + [mean(row.questions[name]) for name in STRATEGIES]
        for row in [*rows, every]
    ]
    print(table(head, cells))
    print(
        "\n## Slices\n\nCalls, and their arguments in brackets, of each original's first goal, run "
        "to its end; the slices are those of its last answer.\n"
    )
    head = ["program", *(name.replace("_", " ") for name in SETS)]
    found = [(file.stem, sizes(file)) for file in files]
    print(table(head, [[name, *(shown(getattr(s, n)) for n in SETS)] for name, s in found]))
    print(f"\n{people()}")


if __name__ == "__main__":
    main()
