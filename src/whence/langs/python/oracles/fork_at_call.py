"""Compares both versions of a call by forking the re-run program where the call begins.

A worker runs the program again up to the call and forks there; one child makes the call with the
program's own code, the other with the reference's (`worker/forked_versions.py`). No value has to be
transferred: iterators, closures and open files are the real ones. This works if the versions differ
only inside functions and the program takes the same path again.

If several functions differ, a difference is believed only if the reference, in a run of its own,
makes the call with the same inputs and the versions differ there in the same way. Otherwise the
call may differ because of what it was given, or because of state that an earlier call left behind.

Invariant: a call whose second run contradicts the recording is not judged.
"""

from __future__ import annotations

import filecmp
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from whence.errors import UsageError, WhenceError
from whence.langs.python.oracles.program_versions import VersionPair
from whence.langs.python.oracles.rebuilt_calls import NeverKnown
from whence.langs.python.oracles.recipe_comparison import (
    Comparison,
    Match,
    contradiction,
    first_difference,
)
from whence.langs.python.oracles.worker.forked_versions import BEFORE
from whence.langs.python.oracles.worker.version_call import ERRORS, VARIABLE
from whence.langs.python.oracles.worker.worker_protocol import Digests, ForkDone, ForkRequest
from whence.langs.python.oracles.worker_process import Worker, WorkerFailed
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.call_recipes import CallRecipe, RecipeSource, place_of
from whence.langs.python.trace.joined_processes import main_process
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.call import OutcomeKind
from whence.tree.column_tree import ColumnTree

SLOW = 5.0
"""Seconds that a call may take on average before other ways are tried first."""
_SAME = Comparison(Match.SAME)


class ForkAtCall:
    """Compares calls of one recording by forking the re-run program where each begins."""

    def __init__(
        self, tree: ColumnTree, versions: VersionPair, folder: Path, limit: float, running: float
    ) -> None:
        self._joined = tree
        self._tree = main_process(tree)
        self._versions = versions
        self._folder = folder
        self._limit = limit
        self._running = running
        source, _ = place_of(tree, 0)
        self._source = RecipeSource(source)
        self._repeatable = source.file.header.repeatable
        self._own = versions.own()
        bare = replace(self._own, kind="", modules=())
        self._worker = Worker(bare, seed=self._repeatable.get("hash_seed") or None)
        self._calls = 0
        self._begins: dict[int, list[int]] = {}
        self._barred: tuple[int, str] | None = None
        """Where the first call begins that a re-run cannot reach, and why."""
        self._seconds = 0.0

    @property
    def is_slow(self) -> bool:
        """Whether other ways should be tried first."""
        return self._seconds > SLOW * self._calls

    def close(self) -> None:
        """End the worker."""
        self._worker.close()

    def compare(self, position: int, ours: CallRecipe, confirm: bool) -> Comparison:
        """How the effects of both versions compare.

        With `confirm`, a difference has to show in the reference's own run, too: otherwise
        `NeverKnown` is raised.
        """
        try:
            position = self._tree.position(self._joined.id(position))
        except UsageError:
            return Comparison(Match.UNKNOWN, "it is in a process that the program started")
        if obstacle := self._obstacle(ours):
            return Comparison(Match.UNKNOWN, obstacle)
        begin = self._source.begins(self._tree.details[position : position + 1], ours.code)[0]
        if self._barred is not None and begin >= self._barred[0]:
            return Comparison(Match.UNKNOWN, self._barred[1])
        self._calls += 1
        began = time.monotonic()
        trace = self._folder / f"place-{self._calls}.whence"
        try:
            request = replace(self._request(begin, position, ours, trace), wants_inputs=confirm)
            done = self._worker.ask(request, ForkDone, self._running)
            again = RecipeSource(place_of(open_trace(trace), 1)[0]).call_recipe(1)
        except (WorkerFailed, WhenceError) as problem:
            if str(problem).startswith(BEFORE):
                self._barred = begin, str(problem)
            return Comparison(Match.UNKNOWN, str(problem))
        finally:
            self._seconds += time.monotonic() - began
            trace.unlink(missing_ok=True)
        different = contradiction(ours, again)
        if different:
            why = f"made again in its place, it differs from the recording ({different})"
            return Comparison(Match.UNKNOWN, why)
        compared = compare_states(done.own, done.reference)
        if confirm and compared.match is Match.DIFFERENT:
            self._confirm(request, done)
        return compared

    def _confirm(self, request: ForkRequest, done: ForkDone) -> None:
        """Check that the versions differ in the reference's own run as they do in the program's.

        There the inputs and all state are as they should be.
        """
        why = next((digest[2] for digest in done.inputs.values() if digest[2]), "")
        if why:
            raise NeverKnown(f"its outcome differs there, but its inputs are not all known: {why}")
        began = time.monotonic()
        again = replace(
            request,
            wants_inputs=False,
            runs_reference=True,
            inputs=done.inputs,
            outcomes=[done.own[0], done.reference[0]],
        )
        try:
            there = self._worker.ask(again, ForkDone, self._running)
        except WorkerFailed as problem:
            raise NeverKnown(f"its outcome differs there, but {problem}") from None
        finally:
            self._seconds += time.monotonic() - began
        if compare_states(there.own, there.reference).match is not Match.DIFFERENT:
            raise NeverKnown("its outcome differs there, but not in a run of the reference")

    def _obstacle(self, ours: CallRecipe) -> str:
        """Why it cannot be tried."""
        if not self._versions.only_functions_differ:
            return "the versions differ in more than functions"
        if bool(self._tree.columns.implicit.any()):
            return "not all calls were recorded"
        if ours.code.flags & (f.COROUTINE | f.ASYNC_GENERATOR):
            return "it is a coroutine"
        if not self._own.kind:
            return "how the program was started was not recorded"
        return ours.disturbed

    def _request(self, begin: int, position: int, ours: CallRecipe, trace: Path) -> ForkRequest:
        own, code, outcome = self._own, ours.code, ours.outcome
        ended_itself = outcome.kind in (OutcomeKind.RETURNED, OutcomeKind.RAISED)
        return ForkRequest(
            kind=own.kind,
            program=own.program,
            arguments=own.arguments,
            stdin=own.stdin if Path(own.stdin).exists() else "",
            hash_seed_by=self._repeatable.get("hash_seed_by", ""),
            file=code.file if code.is_text else self._versions.absolute(code.file),
            first_line=code.first_line,
            qualname=code.qualname,
            line_table=code.line_table.hex(),
            count=self._count(begin, position, ours),
            files=self._different_files,
            modules=["__main__", *own.modules],
            flags=code.flags,
            steps=len(outcome.yielded) + ended_itself,
            limit=self._limit,
            trace=str(trace),
        )

    def _count(self, begin: int, position: int, ours: CallRecipe) -> int:
        """Which call of its code it is, counted from 1 in the order in which they begin."""
        tree = self._tree
        function = int(tree.columns.function[position])
        if function not in self._begins:
            numbers = tree.details[tree.columns.function == function]
            self._begins[function] = self._source.begins(np.sort(numbers), ours.code)
        return sum(0 <= number <= begin for number in self._begins[function])

    @cached_property
    def _different_files(self) -> list[tuple[str, str]]:
        """The files that are not the same, each with the one that stands in for it."""
        files = []
        for own in self._versions.files():
            other = self._versions.reference.file(own, self._versions.main)
            if other is not None and not filecmp.cmp(own, other, shallow=False):
                files.append((own, other))
        return files


def compare_states(own: Sequence[Digests], reference: Sequence[Digests]) -> Comparison:
    """Compare what both versions left behind. Each ran once, or twice if they differed."""
    names = dict.fromkeys(name for state in (*own, *reference) for name in state)
    return first_difference(_compared(name, own, reference) for name in names)


def _compared(name: str, own: Sequence[Digests], reference: Sequence[Digests]) -> Comparison:
    ours, theirs = own[0].get(name), reference[0].get(name)
    reasons = (side[2] for side in (ours, theirs) if side is not None and side[2])
    unknown = "" if name.startswith(VARIABLE) else next(reasons, "")
    if ours == theirs:
        return Comparison(Match.UNKNOWN, f"{name}: {unknown}") if unknown else _SAME
    for sides in (own, reference):
        if len({str(state.get(name)) for state in sides}) > 1:
            return Comparison(Match.UNKNOWN, f"{name}: it is not always the same")
    if unknown:
        return Comparison(Match.UNKNOWN, f"{name}: {unknown}")
    if ours is not None and theirs is not None and ours[1] == theirs[1]:
        why = "it differs in what may be an address, or in which objects are one"
        return Comparison(Match.UNKNOWN, f"{name}: {why}")
    if name == ERRORS:
        return Comparison(Match.UNKNOWN, "something else was written to standard error")
    return Comparison(Match.DIFFERENT, f"{name} differs")
