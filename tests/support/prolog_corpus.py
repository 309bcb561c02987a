"""The corpus of Prolog programs: each mutant whose answers differ, with a session that explains it.

The original is the reference, so whatever is asked is answered truly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from prolog_debugging import Blamed, blamed
from prolog_mutation import Mutant, goals_of

from whence.errors import WhenceError
from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.port_events import RunLimits
from whence.langs.prolog.reference_program import ReferenceProgram, first_difference
from whence.langs.prolog.swipl_process import Engine
from whence.model.verdict import Judgement
from whence.search.registry import DEFAULT
from whence.tree.column_tree import ColumnTree

FOLDER = Path(__file__).parents[1] / "corpus_prolog" / "programs"
LIMITS = RunLimits(events=30_000, depth=3_000, seconds=20)
SOLUTIONS = 50
_INFERENCES = 1_000_000


def programs() -> list[Path]:
    """The programs, by name."""
    return sorted(FOLDER.glob("*.pl"))


@dataclass
class Symptom:
    """A goal whose answers a slip changes, and the tree of what is wrong with them."""

    mutant: Mutant
    goal: str
    execution: GoalExecution
    program: ReferenceProgram
    tree: ColumnTree
    judged: dict[int, Judgement] = field(default_factory=dict)

    def debugged(self, strategy: str = DEFAULT) -> Blamed:
        """How a session about it ends."""
        return blamed(self.execution, self.program, self.tree, strategy, self.judged)


@contextmanager
def reference(file: Path) -> Iterator[ReferenceProgram]:
    """The original, to be asked."""
    program = ReferenceProgram(file, inferences=_INFERENCES)
    try:
        yield program
    finally:
        program.close()


def symptoms(
    file: Path, program: ReferenceProgram, slips: Iterable[Mutant], folder: Path
) -> Iterator[Symptom]:
    """For each slip the first goal whose answers it changes; slips that change none are left out.

    So are goals that cannot be stopped: a slip may make numbers of millions of digits.
    A symptom is to be looked at before the next one is taken.
    """
    place = folder / "wrong.pl"
    for mutant in slips:
        place.write_text(mutant.text)
        for goal in goals_of(file):
            with Engine() as engine:
                try:
                    execution = GoalExecution(
                        engine, place, goal, solutions=SOLUTIONS, limits=LIMITS
                    )
                except WhenceError as problem:
                    if "could not be stopped" not in str(problem):
                        raise
                    continue
                tree = first_difference(execution, program, lambda _: None)
                if tree is not None:
                    yield Symptom(mutant, goal, execution, program, tree)
                    break
