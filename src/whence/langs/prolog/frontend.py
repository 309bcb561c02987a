"""The front end of Prolog: runs a goal and opens the tree that explains its outcome.

A Prolog program leaves no recording: its terms live in the `swipl` process that ran the goal. So a
front end is made for one engine and one goal, and a tree is usable while that engine runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from whence.langs.prolog.declarations import DeclarationOracle
from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.hidden_parts import HiddenParts
from whence.langs.prolog.plunit import TestOracle, Tests
from whence.langs.prolog.reference_program import ReferenceProgram, ReferenceProgramOracle
from whence.langs.prolog.stable_equations import stable_equation
from whence.langs.prolog.swipl_process import Engine
from whence.model.replay_settings import Progress
from whence.ports import Opened, Oracle, OracleSet
from whence.tree.column_tree import ColumnTree


def likely_tree(execution: GoalExecution) -> ColumnTree:
    """The tree of what is most likely wrong: an exception, a missing answer, the first answer."""
    if execution.answers:
        return execution.wrong(1)
    if execution.raised is not None:
        return execution.raising()
    return execution.missing() if execution.stopped is None else execution.endless()


@dataclass(frozen=True)
class PrologFrontend:
    """Opens one goal of a Prolog program."""

    engine: Engine
    goal: str
    choose: Callable[[GoalExecution], ColumnTree] = likely_tree
    name: str = "prolog"

    def recognizes(self, start: bytes) -> bool:
        """Never: a Prolog file needs a goal as well."""
        return False

    def open(self, path: Path, progress: Progress | None = None) -> Opened:
        """Run the goal, and open the tree that `choose` picks."""
        execution = GoalExecution(self.engine, path, self.goal)
        return opened_goal(execution, self.choose(execution))


def opened_goal(
    execution: GoalExecution,
    tree: ColumnTree,
    tests: Tests | None = None,
    reference: ReferenceProgram | None = None,
) -> Opened:
    """A tree of a goal that was run, with its provenance and oracles."""
    oracles: list[Oracle] = [HiddenParts(execution.source), DeclarationOracle(execution)]
    if tests is not None:
        oracles.append(TestOracle(tests, execution))
    if reference is not None:
        oracles.append(ReferenceProgramOracle(reference, execution))
    source = execution.source
    return Opened(
        tree,
        execution.provenance(tree),
        oracles=PrologOracles(oracles),
        identify=lambda project: partial(stable_equation, source, project),
    )


@dataclass(frozen=True)
class PrologOracles:
    """Declarations, then tests, then a reference program, which is chosen before the goal runs."""

    oracles: Sequence[Oracle]

    def gather(self, reference: str | None) -> OracleSet:
        """All of them; `reference` is ignored."""
        return OracleSet(self.oracles)
