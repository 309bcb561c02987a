"""Runs the program, or the failing test, with some changes of the reference version.

Each run is in a process and a folder of its own, and limited in time. It is started as the recorded
run was: arguments, environment, standard input, and a working folder in the mixture where the
recorded one is in the program's own.

Invariant: a mixture that cannot be imported or does not end is an outcome, not an error.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.python.experiments.definition_changes import NotComparable
from whence.langs.python.experiments.run_outcome import (
    NOT_ENDED,
    RunOutcome,
    outcome_of_program,
    outcome_of_test,
)
from whence.langs.python.experiments.version_changes import VersionChanges
from whence.langs.python.oracles.program_versions import ReferenceVersion, VersionPair, is_below
from whence.langs.python.oracles.reference_runs import DidNotEnd, record_run
from whence.langs.python.recording_signature import require_own
from whence.langs.python.trace.call_recipes import place_of
from whence.langs.python.trace.trace_source import TraceSource
from whence.tree.column_tree import ColumnTree

AT_ONCE = 2
"""So many runs go on at the same time."""
SEEDS = "1", "2"
"""The seeds of hashes of a run and of its repetition."""
SHORTEST = 10.0
"""The least that a run may take, in seconds."""
_FACTOR = 5
"""How many times longer than the reference a run may take."""


@dataclass(frozen=True)
class Experiment:
    """A run of a mixture."""

    outcome: RunOutcome
    tree: ColumnTree | None
    reference: ReferenceVersion | None
    """The mixture as a version of the program."""
    seconds: float = 0.0


class ExperimentRuns:
    """Runs mixtures of the program and a reference version."""

    def __init__(
        self, tree: ColumnTree, versions: VersionPair, changes: VersionChanges, folder: Path,
        limit: float,
    ) -> None:  # fmt: skip
        source, _ = place_of(tree, 0)
        self._source: TraceSource = source
        self._stdin = versions.own().stdin
        self._folder = folder
        self._changes = changes
        self.is_test = is_test(tree)
        self.limit = limit
        self.count = 0
        self.seconds = 0.0

    def run_all(
        self, sets: Sequence[Iterable[int]], seeds: Sequence[str] = SEEDS[:1]
    ) -> list[Experiment]:
        """Run some mixtures, several at once; with one seed, or with one for each."""
        work = [
            (self._next(), frozenset(chosen), seeds[min(number, len(seeds) - 1)])
            for number, chosen in enumerate(sets)
        ]
        began = time.monotonic()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            done = list(pool.map(lambda job: self._run(*job), work))
        self.seconds += time.monotonic() - began
        return done

    def allow(self, seconds: float) -> None:
        """Limit further runs by what a run of the reference took."""
        self.limit = min(self.limit, max(SHORTEST, _FACTOR * seconds))

    def _next(self) -> int:
        self.count += 1
        return self.count

    def _run(self, number: int, chosen: frozenset[int], seed: str) -> Experiment:
        anchor = self._changes.reference.anchor
        place = self._folder / f"experiment-{number}"
        folder = place / (os.path.basename(anchor) or "program")
        try:
            folder.mkdir(parents=True)
            reference = self._changes.write(folder, chosen)
        except (NotComparable, OSError, shutil.Error) as problem:
            return Experiment(RunOutcome("", False, problem=str(problem)), None, None)
        require_own(self._source.file.path)
        pair = VersionPair(self._source, reference, self._stdin)
        output = place / "run.whence"
        began = time.monotonic()
        try:
            version, report = pair.other(), place / "report.xml"
            if self.is_test:
                arguments = (*version.arguments, f"--junitxml={report}")
                version = replace(version, arguments=arguments)
            tree = record_run(version, output, seed, self.limit, whole=False)
            outcome = self._outcome(tree, reference, report)
        except DidNotEnd:
            outcome = RunOutcome(NOT_ENDED, False)
            return Experiment(outcome, None, reference, time.monotonic() - began)
        except WhenceError as problem:
            return Experiment(RunOutcome("", False, problem=str(problem)), None, reference)
        return Experiment(outcome, tree, reference, time.monotonic() - began)

    def _outcome(self, tree: ColumnTree, reference: ReferenceVersion, report: Path) -> RunOutcome:
        source, _ = place_of(tree, 0)
        cwd = source.file.header.cwd
        for code in source.tables.codes():
            file = os.path.normpath(os.path.join(cwd, code.file))
            if not code.is_text and self._is_own(file, reference):
                return RunOutcome("", False, problem=f"it ran {code.file} of the program itself")
        folders = (reference.folder, reference.anchor)
        if self.is_test:
            return outcome_of_test(report, folders)
        return outcome_of_program(tree, folders)

    def _is_own(self, file: str, reference: ReferenceVersion) -> bool:
        """Whether a file is one of the program's for which the mixture has its own."""
        if is_below(file, str(self._folder)) or not is_below(file, reference.anchor):
            return False
        if reference.script is not None:
            return False
        name = os.path.relpath(file, reference.anchor)
        return any(change.file == name for change in self._changes.changes)


def is_test(tree: ColumnTree) -> bool:
    """Whether one test was recorded, and not a program."""
    return "::" in tree.functions[int(tree.columns.function[0])].name
