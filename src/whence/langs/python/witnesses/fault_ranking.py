"""Ranks the functions and calls of one failed test, without a question.

The order is evidence: nobody judged a call, so a ranking names no fault. `evidence` gathers facts,
`suspicion` weighs them, `reasons` says them; here they are put together.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.python.priors.learned_prior import changed_functions
from whence.langs.python.priors.learned_store import FILE
from whence.langs.python.witnesses.evidence import Evidence, EvidenceGathering, place_of
from whence.langs.python.witnesses.reasons import reasons
from whence.langs.python.witnesses.recent_changes import RecentChanges
from whence.langs.python.witnesses.suspicion import terms
from whence.langs.python.witnesses.witness_run import STRETCH, RanLines, run_witnesses
from whence.model.call import OutcomeKind
from whence.model.ranking import RankedCall, RankedFunction, Ranking
from whence.model.symptom import Symptom
from whence.ports import Tree

_SHORTEST_NAME = 4
"""Shorter names say little about what a test file is about."""
_MOST_FUNCTIONS_WITH_CALLS = 10
_MOST_CALLS_OF_FUNCTION = 2
_MOST_AGES = 15
"""Of how many functions git is asked for the age."""
_RAISED = 1.0
"""What it adds to the score of a call that an exception left."""
_LATE = 0.1
"""What it adds if a call was the last."""


@dataclass(frozen=True, slots=True)
class WitnessSettings:
    """How witnesses are run."""

    arguments: Sequence[str] = ()
    """Those that pytest had."""
    seconds: float = 10.0
    """Of the processor; 0: no other test is run."""
    stretch: float = STRETCH
    """How many times as many by the clock."""
    user_code: Sequence[str] = ()


def rank(
    tree: Tree, symptom: Symptom | None, settings: WitnessSettings, project: Path | None = None
) -> Ranking:
    """The functions and calls of a recorded test that failed, the most suspicious first.

    `project` is the `.whence` folder, which may hold what was learned from tests.
    """
    test, root = tree.functions[0].name, root_of(tree)
    began = time.monotonic()
    lines = RanLines(problem="no other test was run")
    if settings.seconds > 0:
        lines = run_witnesses(
            test, names_in(tree), settings.arguments, settings.seconds, settings.user_code,
            settings.stretch,
        )  # fmt: skip
    evidence = EvidenceGathering(tree, root, lines, symptom).gathered()
    _add_changes(evidence, tree, root, project)
    evidence.sort(key=lambda item: (-_score(item), item.place))
    functions = tuple(_ranked(item, len(lines.passing)) for item in evidence)
    notes = []
    if lines.problem:
        notes.append(f"Nothing is known from passing tests: {lines.problem}")
    elif lines.failed is None:
        notes.append("The test did not run again beside others, so its lines are not known")
    return Ranking(
        test, functions, _calls(tree, evidence), len(lines.passing), time.monotonic() - began,
        tuple(notes),
    )  # fmt: skip


def _score(evidence: Evidence) -> float:
    return sum(terms(evidence).values())


def _ranked(evidence: Evidence, witnesses: int) -> RankedFunction:
    parts, place = terms(evidence), evidence.place
    return RankedFunction(
        place.qualname,
        place.file,
        evidence.line,
        round(sum(parts.values()), 4),
        reasons(evidence, parts, witnesses),
        {name: round(part, 4) for name, part in parts.items()},
        evidence.facts(),
    )


def _add_changes(
    evidence: Sequence[Evidence], tree: Tree, root: Path, project: Path | None
) -> None:
    """What changed since the last commit, and since tests passed if that was learned."""
    changes = RecentChanges(root)
    for item in evidence:
        if item.line is not None and item.last_line is not None:
            item.changed = changes.has_new_lines(item.place.file, item.line, item.last_line)
    if project is not None and (project / FILE).is_file():
        with contextlib.suppress(WhenceError):  # a session says so; here it is one term less
            places = {
                place_of(function.location.file, function.qualname)
                for function in changed_functions(tree, project / FILE)
                if function.location is not None
            }
            for item in evidence:
                item.changed |= item.place in places
    for item in sorted(evidence, key=lambda item: -_score(item))[:_MOST_AGES]:
        if item.line is not None and item.last_line is not None and not item.changed:
            item.days_old = changes.days_old(item.place.file, item.line, item.last_line)


def _calls(tree: Tree, evidence: Sequence[Evidence]) -> tuple[RankedCall, ...]:
    """Calls of the most suspicious functions: those that an exception left, and the last ones."""
    count = max(1, len(tree.columns))
    calls = []
    for item in evidence[:_MOST_FUNCTIONS_WITH_CALLS]:
        score = _score(item)
        of_function = []
        for position in item.positions:
            raised = tree.columns.outcome[position] == OutcomeKind.RAISED
            own = score + _RAISED * bool(raised) + _LATE * position / count
            why = ("an exception left it",) if raised else ()
            of_function.append(RankedCall(tree.id(position), item.place.qualname, own, why))
        of_function.sort(key=lambda call: -call.score)
        calls += of_function[:_MOST_CALLS_OF_FUNCTION]
    return tuple(sorted(calls, key=lambda call: -call.score))


def root_of(tree: Tree) -> Path:
    """The folder that the name of a test is relative to."""
    file = tree.functions[0].name.partition("::")[0]
    for function in tree.functions:
        if function.location is not None and Path(function.location.file).match(file):
            return Path(function.location.file.removesuffix(file))
    return Path.cwd()


def names_in(tree: Tree) -> set[str]:
    """What a test file names if it is about the code that ran."""
    names: set[str] = set()
    for function in tree.functions:
        if function.location is not None:
            names.update(part for part in function.qualname.split(".") if not part.startswith("<"))
            names.add(function.module.rpartition(".")[2])
    return {name for name in names if len(name) >= _SHORTEST_NAME}
