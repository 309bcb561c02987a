"""Searches the smallest set of changes of a reference version that repairs the program.

The versions may differ in hundreds of definitions, of which a few matter. Runs of the program with
some of them tell which (`delta_debugging.py`). Changes of functions that the recorded run called
are tried first, then what else the reference's own run uses, then the rest.

Invariant: a set is said to repair the program only if the symptom showed twice in the program, and
twice not with the set; with any single change less, it did not go away.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from whence.langs.python.experiments.definition_changes import ChangeKind
from whence.langs.python.experiments.delta_debugging import ChangeSet, minimal_set
from whence.langs.python.experiments.experiment_runs import (
    SEEDS,
    Experiment,
    ExperimentRuns,
)
from whence.langs.python.experiments.run_outcome import Symptom, SymptomState
from whence.langs.python.experiments.version_changes import Change, VersionChanges
from whence.langs.python.oracles.program_versions import ReferenceVersion, VersionPair
from whence.langs.python.trace.call_recipes import place_of
from whence.tree.column_tree import ColumnTree

MOST_SECONDS = 240.0
"""After so many seconds no more changes are tried."""
_RAN, _USED_THERE, _LOADED, _REST = range(4)


class NoRepair(Exception):
    """Why no set of changes is known to repair the program; the text is for a person."""


@dataclass(frozen=True)
class Repair:
    """A smallest set of changes with which the symptom is gone."""

    changes: tuple[Change, ...]
    reference: ReferenceVersion
    """The program with these changes."""
    runs: tuple[ColumnTree, ...]
    """Its runs, recorded."""
    experiments: int
    """So many runs it took."""
    is_minimal: bool = True
    """Whether all of the changes are known to be needed."""
    tried: tuple[tuple[tuple[Change, ...], SymptomState], ...] = ()
    """The sets that were tried, and whether the symptom was there."""

    @property
    def causes(self) -> tuple[Change, ...]:
        """The changes to what the program has; if there are none, what it lacks."""
        own = tuple(change for change in self.changes if change.kind is not ChangeKind.ADDED)
        return own or self.changes


class RepairSearch:
    """The search for one recorded run."""

    def __init__(
        self, tree: ColumnTree, versions: VersionPair, changes: VersionChanges, folder: Path,
        limit: float,
    ) -> None:  # fmt: skip
        self._tree = tree
        self._versions = versions
        self._changes = changes
        self.runs = ExperimentRuns(tree, versions, changes, folder, limit)
        self._symptom: Symptom | None = None
        self._deadline = 0.0
        self._is_late = False
        self._last: dict[ChangeSet, Experiment] = {}
        self._repeated: dict[ChangeSet, Experiment] = {}

    def find(self) -> Repair:
        """The smallest set; `NoRepair` if there is none."""
        if not self._changes.changes:
            raise NoRepair("the versions do not differ")
        self._deadline = time.monotonic() + MOST_SECONDS
        there = self._check_ends()
        found = self._search(there)
        self._confirm(found)
        chosen = self._named(found)
        assert self._symptom is not None
        tried = tuple(
            (self._named(some), self._symptom.state(run.outcome))
            for some, run in self._last.items()
        )
        again = self._last[found]
        reference = again.reference
        assert reference is not None
        runs = tuple(run.tree for run in self._confirming if run.tree is not None)
        return Repair(chosen, reference, runs, self.runs.count, not self._is_late, tried)

    def _named(self, chosen: ChangeSet) -> tuple[Change, ...]:
        return tuple(self._changes.changes[number] for number in sorted(chosen))

    # --- the two ends ----------------------------------------------------------------------------

    def _check_ends(self) -> ColumnTree | None:
        """Check that the program shows its symptom again, and that all changes repair it."""
        everything = frozenset(range(len(self._changes.changes)))
        for _ in range(2):
            right = self.runs.run_all([everything, everything], SEEDS)
            if right[0].outcome.is_right or not self._changes.coarsen():
                break
            # The changes of definitions do not add up: whole files do.
            everything = frozenset(range(len(self._changes.changes)))
        for run in right:
            if run.outcome.problem:
                raise NoRepair(f"the reference cannot be run here: {run.outcome.problem}")
            if run.outcome.import_error:
                raise NoRepair(f"the reference cannot be imported here: {run.outcome.import_error}")
        if right[0].outcome != right[1].outcome:
            raise NoRepair("runs of the reference are not alike")
        if not right[0].outcome.is_right and self.runs.is_test:
            raise NoRepair("the test does not pass with the reference, either")
        self.runs.allow(max(run.seconds for run in right))
        wrong = self.runs.run_all([(), ()], SEEDS)
        self._symptom = Symptom(wrong[0].outcome, right[0].outcome)
        if wrong[0].outcome.problem:
            raise NoRepair(f"the program cannot be run again: {wrong[0].outcome.problem}")
        if not self._symptom.is_visible:
            raise NoRepair("run again, the program does what the reference does")
        if self._symptom.state(wrong[1].outcome) is not SymptomState.STILL:
            raise NoRepair("the symptom does not show each time that the program runs")
        self._last[everything], self._repeated[everything] = right
        return right[0].tree

    # --- the search ------------------------------------------------------------------------------

    def _search(self, there: ColumnTree | None) -> ChangeSet:
        ranks = self._ranks(there)
        ordered = sorted(range(len(ranks)), key=lambda number: (ranks[number], number))
        chosen: list[int] = []
        for rank in (_RAN, _USED_THERE, _LOADED, _REST):
            more = [number for number in ordered if ranks[number] == rank]
            chosen += more
            if more and self._succeed([self._changes.closed(chosen)])[0]:
                return minimal_set(chosen, self._succeed, self._changes.closed)
        raise NoRepair("no set of the changes was seen to repair it")

    def _succeed(self, sets: Sequence[ChangeSet]) -> list[bool]:
        if self._last and time.monotonic() > self._deadline:
            self._is_late = True
            return [False] * len(sets)
        assert self._symptom is not None
        unknown = [chosen for chosen in sets if chosen not in self._last]
        self._last.update(zip(unknown, self.runs.run_all(unknown), strict=True))
        states = [self._symptom.state(self._last[chosen].outcome) for chosen in sets]
        return [state is SymptomState.GONE for state in states]

    def _confirm(self, found: ChangeSet) -> None:
        """Run the repaired program once more, with other hashes."""
        assert self._symptom is not None
        again = self._repeated.get(found) or self.runs.run_all([found], SEEDS[1:])[0]
        if self._symptom.state(again.outcome) is not SymptomState.GONE:
            raise NoRepair("what repairs it does not do so each time")
        self._confirming = (self._last[found], again)

    # --- what is likely --------------------------------------------------------------------------

    def _ranks(self, there: ColumnTree | None) -> list[int]:
        ours = self._ran_in(self._tree)
        theirs = {} if there is None else self._ran_in(there)
        return [self._rank(change, ours, theirs) for change in self._changes.changes]

    def _rank(
        self, change: Change, ours: dict[str, set[int]], theirs: dict[str, set[int]]
    ) -> int:  # fmt: skip
        definition = change.definition
        if definition is None:
            if not change.is_source:
                return _REST
            return _LOADED if change.file in ours or change.file in theirs else _REST
        if definition.is_function:
            if _is_within(ours.get(change.file), definition.lines):
                return _RAN
            if _is_within(theirs.get(change.file), definition.other_lines):
                return _USED_THERE
        is_loaded = change.file in ours or change.file in theirs
        if not is_loaded:
            return _REST
        return _LOADED if definition.is_function else _USED_THERE

    def _ran_in(self, tree: ColumnTree) -> dict[str, set[int]]:
        """By file of the versions: the first lines of the code that ran."""
        lines: dict[str, set[int]] = {}
        source, _ = place_of(tree, 0)
        for code in source.tables.codes():
            if code.is_text:
                continue
            file = os.path.normpath(os.path.join(source.file.header.cwd, code.file))
            name = self._name_in_version(file)
            if name is not None:
                lines.setdefault(name, set()).add(code.first_line)
        return lines

    def _name_in_version(self, file: str) -> str | None:
        for folder in self._folders:
            if file.startswith(folder + os.sep):
                return os.path.relpath(file, folder)
        return None

    @cached_property
    def _folders(self) -> list[str]:
        folders = [self._changes.reference.anchor]
        folders += [run.reference.folder for run in self._last.values() if run.reference]
        return folders


def _is_within(lines: set[int] | None, span: tuple[int, int]) -> bool:
    return lines is not None and any(span[0] <= line <= span[1] for line in lines)
