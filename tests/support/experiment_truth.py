"""Checks experiments and aligned pairs of a bug against the simulated truth.

The truth is what the repaired twin would do in the place of each call (`bug_corpus.verdicts`). The
reference differs from that twin in many more functions, none of which matters.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from bug_corpus import Bug, verdicts

from whence.langs.python.experiments.reference_repair import adopt_repair, find_repair
from whence.langs.python.experiments.repair_search import NoRepair, Repair
from whence.langs.python.experiments.run_outcome import SymptomState
from whence.langs.python.oracles.recipe_comparison import Match
from whence.langs.python.oracles.reference_oracle import ReferenceOracle
from whence.model.verdict import Verdict


@dataclass
class Checked:
    """What was checked, and what contradicts the truth."""

    counts: Counter[str] = field(default_factory=Counter)
    contradictions: list[str] = field(default_factory=list)
    problem: str = ""
    """Why there were no experiments."""


def check_experiments(bug: Bug, oracle: ReferenceOracle) -> Checked:
    """Find the repair of a recorded bug, and check all that it rests on and leads to."""
    checked = Checked()
    try:
        repair = find_repair(oracle, [])
    except NoRepair as problem:
        checked.problem = str(problem)
        return checked
    _check_sets(bug, repair, checked)
    adopt_repair(oracle, repair)
    oracle.is_run_wrong = True
    _check_pairs(bug, oracle, checked)
    return checked


def _check_sets(bug: Bug, repair: Repair, checked: Checked) -> None:
    """A set repairs the program only with the function at fault, and that is the cause."""

    def has_fault(names: list[str]) -> bool:
        outermost = {name.partition(".<locals>")[0] for name in (bug.function, *bug.also)}
        return bool(outermost & set(names))

    for changes, state in repair.tried:
        names = [change.definition.name for change in changes if change.definition]
        checked.counts[f"experiment {state.value}"] += 1
        if state is SymptomState.GONE and not has_fault(names):
            checked.contradictions.append(f"{names} repair it")
        if state is SymptomState.STILL and has_fault(names):
            checked.contradictions.append(f"{names} do not repair it")
    causes = [change.definition.name for change in repair.causes if change.definition]
    if not has_fault(causes):
        checked.contradictions.append(f"{causes} are the cause")


def _check_pairs(bug: Bug, oracle: ReferenceOracle, checked: Checked) -> None:
    """A call that differs side by side is wrong, and one that is the same is not."""
    tree, beside = oracle.tree, oracle._side_by_side
    assert beside is not None
    truth = verdicts(bug, tree)
    for position in range(1, len(tree.columns)):
        compared = beside.compare(position).match
        expected = truth[tree.id(position)]
        if compared is Match.UNKNOWN or expected is Verdict.UNKNOWN:
            continue
        checked.counts[f"pair {compared.value}"] += 1
        if (compared is Match.DIFFERENT) is not (expected is Verdict.WRONG):
            call = tree.call(position).equation()
            checked.contradictions.append(f"{call} is {compared.value}, in truth {expected.value}")
