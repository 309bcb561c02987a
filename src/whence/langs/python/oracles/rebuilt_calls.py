"""Compares a recorded call with the same call on rebuilt inputs, made by a worker of each version.

The own version must repeat what was recorded before the reference's outcome is believed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.python.oracles.call_requests import CannotRequest, request_for_call
from whence.langs.python.oracles.program_versions import VersionPair
from whence.langs.python.oracles.recipe_comparison import (
    CallEquation,
    Comparison,
    Match,
    compare_equations,
    compare_state,
    hidden_changes,
    is_opaque,
)
from whence.langs.python.oracles.reference_runs import NotFullyRecorded, equation_at
from whence.langs.python.oracles.worker.worker_protocol import CallDone, CallRequest
from whence.langs.python.oracles.worker_process import Worker, WorkerFailed
from whence.langs.python.trace.call_recipes import place_of
from whence.langs.python.trace.trace_reader import open_trace
from whence.langs.python.trace.trace_source import TraceSource
from whence.langs.python.trace.value_recipes import QualifiedName, Recipe, why_unknown
from whence.tree.column_tree import ColumnTree

REPEATED = 3
"""How often a call is made before it is called wrong."""


class NotKnownHere(Exception):
    """Why a call cannot be judged in one way."""


class NeverKnown(NotKnownHere):
    """Why no way may judge a call."""


class RebuiltCalls:
    """Makes calls again in a worker of each version."""

    def __init__(self, versions: VersionPair, folder: Path, limit: float) -> None:
        self._versions = versions
        self._folder = folder
        self._limit = limit
        self.workers = [Worker(versions.own()), Worker(versions.other())]
        self._calls = 0

    def close(self) -> None:
        """End the workers."""
        for worker in self.workers:
            worker.close()

    def compare(
        self, source: TraceSource, number: int, ours: CallEquation, confirm: bool
    ) -> Comparison:
        """How the outcomes compare; `NeverKnown` if no other way may judge the call, either.

        With `confirm`, a difference does not count if unrecorded state differs before the call.
        """
        try:
            own, other = self.workers
            request, unsent = request_for_call(source, number, ours, own.version.modules)
            again = self._repeat(own, request, ours, unsent)
            theirs = self._equation(other, request, ours, unsent)
            compared = compare_equations(ours, theirs)
            unseen = hidden_changes(again, theirs) if compared.match is Match.SAME else []
            if unseen:
                names = ", ".join(unseen[:3]).replace(":", ".")
                raise NeverKnown(f"it changes or reads {names}, which a recording does not show")
            if confirm and compared.match is Match.DIFFERENT:
                _check_same_state(again, theirs)
            for _ in range(1, REPEATED if compared.match is Match.DIFFERENT else 1):
                self._repeat(own, request, ours, unsent)
                more = self._equation(other, request, ours, unsent)
                if compare_equations(theirs, more).match is not Match.SAME:
                    raise NotKnownHere("its outcome varies there")
            return compared
        except NeverKnown:
            raise
        except (CannotRequest, NotKnownHere) as problem:
            return Comparison(Match.UNKNOWN, str(problem))

    def _repeat(
        self,
        own: Worker,
        request: CallRequest,
        ours: CallEquation,
        unsent: dict[QualifiedName, Recipe],
    ) -> CallEquation:
        """The call as the own version repeats it; `NotKnownHere` if its outcome differs."""
        theirs = self._equation(own, request, ours, unsent)
        again = compare_equations(ours, theirs)
        if again.match is not Match.SAME:
            raise NotKnownHere(
                f"made again by its own version, it has a different outcome ({again.why})"
            )
        return theirs

    def _equation(
        self,
        worker: Worker,
        request: CallRequest,
        ours: CallEquation,
        unsent: dict[QualifiedName, Recipe],
    ) -> CallEquation:
        """The call as a worker made it."""
        self._calls += 1
        output = self._folder / f"call-{self._calls}.whence"
        is_own = worker is self.workers[0]
        line = ours.call.code.first_line if is_own else None
        try:
            numbered = replace(request, trace=str(output), seed=self._calls, line=line)
            done = worker.ask(numbered, CallDone, self._limit)
            tree = open_trace(output)
            theirs = equation_at(tree, 1) if len(tree.columns) > 1 else None
        except (WorkerFailed, NotFullyRecorded, WhenceError) as problem:
            raise NotKnownHere(str(problem)) from None
        finally:
            output.unlink(missing_ok=True)
        if theirs is None or theirs.call.code.qualname != ours.call.code.qualname:
            raise NotKnownHere("it was not recorded there")
        self._check(tree, ours, theirs, unsent, is_own)
        return replace(theirs, hidden=(done.hidden_before, done.hidden_after))

    def _check(
        self,
        tree: ColumnTree,
        ours: CallEquation,
        theirs: CallEquation,
        unsent: dict[QualifiedName, Recipe],
        is_own: bool,
    ) -> None:
        """Check that it started from the state of the recorded call."""
        source, _ = place_of(tree, 1)
        for code in source.tables.codes():
            file = self._versions.absolute(code.file)
            if not is_own and self._versions.reference.replaces(file, self._versions.main):
                raise NotKnownHere("the reference has not all of the program's modules")
        state = compare_state(ours, theirs)
        if state.match is not Match.SAME:
            raise NotKnownHere(f"a module variable could not be given its value ({state.why})")
        for name in theirs.variables.keys() & unsent.keys():
            if not is_opaque(unsent[name]):
                why = why_unknown(unsent[name])
                raise NotKnownHere(f"it reads {name.qualname}, which cannot be made again: {why}")


def _check_same_state(one: CallEquation, other: CallEquation) -> None:
    """Refuse a difference that may come from attributes of classes, or from other defaults."""
    ours, theirs = one.hidden[0], other.hidden[0]
    names = [name for name in ours.keys() & theirs.keys() if ours[name] != theirs[name]]
    # Others are module variables; those that it uses are recorded.
    unrecorded = sorted(name for name in names if ":" in name or "(" in name)
    if unrecorded:
        listed = ", ".join(unrecorded[:3]).replace(":", ".")
        raise NotKnownHere(f"its outcome differs there, but so does {listed}")
