"""Whole runs of the program by the reference version, searched for calls equal to a recorded one.

The reference runs the program twice, with whole values and different hash seeds, so that chance
shows. The calls of the same function with the same inputs judge a recorded call.

Invariant: a result counts only if all calls with these inputs, in both runs, had the same outcome.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from whence.errors import WhenceError
from whence.langs.python.launching.own_python import WHOLE_RUN, start_command
from whence.langs.python.oracles.recipe_comparison import (
    CallEquation,
    Comparison,
    Match,
    canonical,
    compare_equations,
    compare_inputs,
    compare_state,
    compare_texts,
    compare_values,
    first_difference,
)
from whence.langs.python.oracles.worker.worker_protocol import RunConfig, encode_message
from whence.langs.python.oracles.worker_process import ProgramVersion
from whence.langs.python.recording_signature import require_own
from whence.langs.python.trace.call_recipes import (
    CallRecipe,
    CallTooLong,
    RecipeSource,
    place_of,
)
from whence.langs.python.trace.joined_processes import main_process
from whence.langs.python.trace.trace_format import MalformedTrace
from whence.langs.python.trace.trace_reader import open_trace
from whence.langs.python.trace.value_recipes import (
    EntriesRecipe,
    ExtendedRecipe,
    Recipe,
    SecretRecipe,
    UnknownRecipe,
    walk,
)
from whence.model.call import OutcomeKind
from whence.tree.column_tree import ColumnTree

_ENDED = (OutcomeKind.RETURNED, OutcomeKind.RAISED)
_MOST = 200
"""More calls with the same inputs are not compared with one."""
_MOST_READ = 20_000
"""Among more calls of a function, none with the same inputs is looked for."""
MOST_BELOW = 20_000
"""A call with more calls below it is not compared: all would be read."""


def equation_at(tree: ColumnTree, position: int, most: int = MOST_BELOW) -> CallEquation:
    """A call of a trace with all that it called.

    `NotFullyRecorded` if some is missing, or if it is more than `most` calls.
    """
    end = int(tree.columns.end[position])
    if end - position > most:
        raise NotFullyRecorded("it called too much to be read as a whole")
    source, first = place_of(tree, position)
    numbers = tree.details[position:end]
    if int(numbers.min()) < 1 or bool(tree.columns.implicit[position:end].any()):
        raise NotFullyRecorded("some of what it called was not recorded")
    if first < 1 or place_of(tree, end - 1)[0] is not source or numbers.max() >= 2**41:
        raise NotFullyRecorded("it started other processes")
    recipes = RecipeSource(source)
    try:
        return CallEquation(
            recipes.call_recipe(first),
            recipes.variables_during(numbers),
            recipes.printed_by(numbers),
        )
    except (CallTooLong, MalformedTrace) as problem:
        raise NotFullyRecorded(str(problem)) from None


class NotFullyRecorded(Exception):
    """Why a call is not known with all that it called."""


def inputs_key(call: CallRecipe) -> str | None:
    """A text that is equal for equal inputs; None if they are not known in full."""
    texts = []
    sent = ((f"sent {number}", recipe) for number, recipe in enumerate(call.sent))
    for name, recipe in (*call.arguments.items(), *call.captured.items(), *sent):
        if any(_is_unknown(part) or _may_hide_order(part) for part in walk(recipe)):
            return None
        texts.append(f"{name}={canonical(recipe)}")
    return ";".join(texts)


def _is_unknown(recipe: Recipe) -> bool:
    return isinstance(recipe, UnknownRecipe) and not isinstance(recipe, SecretRecipe)


def _may_hide_order(recipe: Recipe) -> bool:
    """Whether it is an instance of a dict subclass, which may hide its order."""
    return (
        isinstance(recipe, ExtendedRecipe)
        and isinstance(recipe.content, EntriesRecipe)
        and recipe.of.module != "collections"
    )


@dataclass
class RecordedReferenceRun:
    """A recorded run of the reference."""

    tree: ColumnTree

    def __post_init__(self) -> None:
        self._keys: dict[int, str | None] = {}

    def equal(self, wanted: CallRecipe, key: str) -> list[int]:
        """The calls of the same function with the same inputs; none if there are too many."""
        code = wanted.code
        numbers = [
            number
            for number, function in enumerate(self.tree.functions)
            if (function.module, function.qualname) == (code.module, code.qualname)
        ]
        calls = np.flatnonzero(np.isin(self.tree.columns.function, numbers))
        calls = calls[calls > 0]
        if len(calls) > _MOST_READ:
            return []
        return [position for position in calls.tolist() if self._key(position) == key]

    def _key(self, position: int) -> str | None:
        if position not in self._keys:
            source, number = place_of(self.tree, position)
            try:
                call = RecipeSource(source).call_recipe(number) if number > 0 else None
            except CallTooLong:
                call = None
            self._keys[position] = None if call is None else inputs_key(call)
        return self._keys[position]


class ReferenceRuns:
    """What whole runs of the reference say."""

    def __init__(
        self,
        version: ProgramVersion,
        folder: Path,
        limit: float,
        is_own: Callable[[str], bool] = lambda file: False,
    ) -> None:
        self._version = version
        self._is_own = is_own
        self._folder = folder
        self._limit = limit
        self.problem = ""
        """Why there are no runs."""
        self._cut_off: list[RecordedReferenceRun] = []
        """Runs with whole values that did not end in time."""

    @cached_property
    def runs(self) -> list[RecordedReferenceRun]:
        """Two runs with whole values, recorded when they are first needed; none if that failed."""
        return [RecordedReferenceRun(tree) for tree in self._recorded(whole=True)]

    @cached_property
    def endings(self) -> list[ColumnTree]:
        """Two runs with the usual bounds of values, for their output and how they ended."""
        return self._recorded(whole=False)

    def _recorded(self, whole: bool) -> list[ColumnTree]:
        try:
            require_own(self._version.recording)
            trees, cut_off = [], ""
            for seed in ("1", "2"):
                output = self._folder / f"run-{seed}-{whole}.whence"
                try:
                    trees.append(record_run(self._version, output, seed, self._limit, whole))
                except DidNotEnd as problem:
                    cut_off = str(problem)
                    if output.exists():  # it may have been stopped before its first call
                        trees.append(open_trace(output))
            for tree in trees:
                self._check(tree)
        except WhenceError as problem:
            self.problem = str(problem)
            return []
        if cut_off:
            self.problem = cut_off
            self._cut_off = [RecordedReferenceRun(tree) for tree in trees] if whole else []
            return []
        return trees

    def _check(self, tree: ColumnTree) -> None:
        """Refuse a run that used the program's own files: it says nothing about the reference."""
        for code in place_of(tree, 0)[0].tables.codes():
            if self._is_own(code.file):
                raise WhenceError(f"{self._version.name} ran {code.file} all the same")

    def compare(self, ours: CallEquation, confirm: bool = False) -> Comparison:
        """What the reference's runs say of a call.

        To `confirm` what is known otherwise, a run counts as far as it came.
        """
        key = inputs_key(ours.call)
        if key is None:
            return Comparison(Match.UNKNOWN, "its inputs are not known in full")
        comparisons: list[Comparison] = []
        for run in self.runs or (self._cut_off if confirm else ()):
            positions = run.equal(ours.call, key)
            if not positions or len(positions) > _MOST:
                return Comparison(Match.UNKNOWN, "the reference makes no such call")
            comparisons += [self._compare(ours, run.tree, position) for position in positions]
        matches = {comparison.match for comparison in comparisons}
        if len(matches) == 1:
            return comparisons[0]
        if not comparisons:
            return Comparison(Match.UNKNOWN, self.problem or "the reference was not run")
        unknown = [comparison for comparison in comparisons if comparison.match is Match.UNKNOWN]
        return unknown[0] if unknown else Comparison(Match.UNKNOWN, "its outcome varies")

    def ends(self, ours: CallEquation) -> bool:
        """Whether all equal calls of the reference's runs end, and there are some."""
        key = inputs_key(ours.call)
        found = []
        for run in self.runs if key is not None else ():
            positions = run.equal(ours.call, key or "")
            if not positions or len(positions) > _MOST:
                return False
            for position in positions:
                found.append(run.tree.columns.outcome[position] in _ENDED)
                try:
                    theirs = equation_at(run.tree, position)
                except NotFullyRecorded:
                    return False
                is_same = compare_inputs(ours.call, theirs.call).match is Match.SAME
                if not is_same or compare_state(ours, theirs).match is not Match.SAME:
                    return False
        return bool(found) and all(found)

    @staticmethod
    def _compare(ours: CallEquation, tree: ColumnTree, position: int) -> Comparison:
        try:
            theirs = equation_at(tree, position)
        except NotFullyRecorded as problem:
            return Comparison(Match.UNKNOWN, str(problem))
        if compare_inputs(ours.call, theirs.call).match is not Match.SAME:
            return Comparison(Match.UNKNOWN, "its inputs are not known to be the same")
        state = compare_state(ours, theirs)
        if state.match is not Match.SAME:
            return Comparison(Match.UNKNOWN, f"module variables differ ({state.why})")
        return compare_equations(ours, theirs)


class DidNotEnd(WhenceError):
    """A run took too long. What was recorded until then is there."""


def record_run(
    version: ProgramVersion,
    output: Path,
    seed: str,
    limit: float,
    whole: bool = True,
    exchanged: tuple[str, ...] = (),
) -> ColumnTree:
    """Run a whole program by a version and record it, with whole values or with few.

    `exchanged` names one function whose code is of the other version (`RunConfig`).
    """
    rules = version.rules
    config = RunConfig(
        whole_values=whole,
        output=str(output),
        kind=version.kind,
        program=version.program,
        arguments=version.arguments,
        cwd=version.cwd,
        paths=version.paths,
        rules=[rules.added, rules.only, rules.left_out],
        exchanged=exchanged,
        test=version.test.name if version.test else "",
        with_teardown=bool(version.test and version.test.with_teardown),
    )
    output.unlink(missing_ok=True)
    if not version.kind:
        raise WhenceError("how the program was started was not recorded")
    stdin = _stdin(version)
    process = subprocess.Popen(
        start_command(WHOLE_RUN, encode_message(config)),
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=version.environment(seed),
        start_new_session=True,
    )
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        raise DidNotEnd(f"{version.name} did not end within {limit:g} seconds") from None
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(stdin)
    if not output.exists():
        raise WhenceError(f"{version.name} could not be run")
    return open_trace(output)


def _stdin(version: ProgramVersion) -> int:
    """The recorded standard input, if it was kept."""
    try:
        return os.open(version.stdin or os.devnull, os.O_RDONLY)
    except OSError:
        return os.open(os.devnull, os.O_RDONLY)


def compare_runs(ours: ColumnTree, theirs: ColumnTree) -> Comparison:
    """Whether two runs had the same end and output, those of their main processes."""
    ours, theirs = main_process(ours), main_process(theirs)
    sides = [RecipeSource(place_of(tree, 0)[0]) for tree in (ours, theirs)]
    one, other = (side.run_ending() for side in sides)
    if one is None or other is None:
        return Comparison(Match.UNKNOWN, "a run did not end")
    printed = [
        side.printed_by(tree.details[tree.details >= 0])
        for side, tree in zip(sides, (ours, theirs), strict=True)
    ]
    comparisons = [compare_texts(printed[0].get(1, ""), printed[1].get(1, ""))]
    if one[0] != other[0]:
        comparisons.append(Comparison(Match.DIFFERENT, "another end"))
    else:
        comparisons.append(compare_values(one[1], other[1]))
    return first_difference(comparisons)
