"""Experiments for a session with a reference version: when they are worth it, and what follows.

Invariant: without a repair the session goes on with the reference as it is, and the reason is said.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.python.experiments.definition_changes import ChangeKind
from whence.langs.python.experiments.repair_search import NoRepair, Repair, RepairSearch
from whence.langs.python.experiments.version_changes import Change, TooLarge, VersionChanges
from whence.langs.python.oracles.reference_oracle import ReferenceOracle
from whence.langs.python.oracles.repaired_version import ChangedPlace, RepairedVersion

_MOST_NAMED = 4
_MODULE = "<module>"
_LAST_LINE = 2**31


def find_repair(oracle: ReferenceOracle, tests: Sequence[str]) -> Repair:
    """The smallest set of changes that repairs the recorded run; `NoRepair` says why there is none.

    `tests`: the files of the test that was recorded, which stay as they are.
    """
    folder = Path(oracle.folder) / "experiments"
    folder.mkdir()
    try:
        changes = VersionChanges(oracle.reference, oracle.versions.main, frozenset(tests))
        search = RepairSearch(oracle.tree, oracle.versions, changes, folder, oracle.running)
        return search.find()
    except (TooLarge, WhenceError, OSError) as problem:
        raise NoRepair(str(problem)) from None


def adopt_repair(oracle: ReferenceOracle, repair: Repair) -> str:
    """Have the oracle judge by the repaired program; returns what a person should know of it."""
    names = [change.name for change in repair.changes]
    anchor = oracle.reference.anchor
    places = [_place(change, anchor) for change in repair.causes]
    causes = [change.name for change in repair.causes]
    oracle.adopt(RepairedVersion(repair.reference, repair.runs, places, causes, repair.experiments))
    shown = ", ".join(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        shown += f" and {len(names) - _MOST_NAMED} more"
    few = "" if repair.is_minimal else ", though not all of it may be needed"
    return f"With {shown} of the reference it is right{few} ({repair.experiments} runs tell)."


def _place(change: Change, anchor: str) -> ChangedPlace:
    file = os.path.join(anchor, change.file)
    definition = change.definition
    if definition is None:
        return ChangedPlace(file, (1, _LAST_LINE), _MODULE)
    if definition.is_function and definition.kind is not ChangeKind.ADDED:
        return ChangedPlace(file, definition.lines, is_header=definition.is_header)
    return ChangedPlace(file, definition.lines, definition.in_class or _MODULE)
