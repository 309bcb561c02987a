"""Checks whether a recorded program is deterministic: a re-run must make the same calls.

Calls are compared by number: function, caller, and the digest of the whole equation. Then the ends
of both runs are compared. A run whose end was not recorded is never called the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from whence.langs.python.debuggee.order import Task
from whence.langs.python.replay.alignment import (
    Divergence,
    callers_of,
    calls_of,
    described,
    first_difference,
)
from whence.langs.python.replay.divergence_causes import likely_cause
from whence.langs.python.replay.rerun_process import (
    TIME_LIMIT,
    RerunOutcome,
    header_of,
    rerun,
)
from whence.langs.python.trace.trace_format import STOPPED
from whence.langs.python.trace.trace_reader import open_trace
from whence.langs.python.trace.trace_source import TraceSource
from whence.tree.column_tree import ColumnTree


@dataclass(frozen=True, slots=True)
class DeterminismReport:
    """The result of running a program again and comparing it."""

    calls: int
    """How many calls are the same."""
    played: int
    """How many events were played from the journal."""
    divergence: Divergence | None = None
    cause: str = ""
    unknown: str = ""
    """A sentence about what was not recorded; empty if the run was recorded to its end."""
    ended: bool = True
    """Whether the recording has the end of the run, or was stopped by a limit."""


def check(recording: Path, tree: ColumnTree, time_limit: float = TIME_LIMIT) -> DeterminismReport:
    """Run the program of a recording again and compare all its calls; may raise `CannotReplay`."""
    with rerun(recording, tree, lambda _: Task(), time_limit=time_limit) as (output, outcome, _):
        again = open_trace(output)
        divergence = _divergence(tree, again, outcome)
        cause = ""
        if divergence is not None:
            callers = [callers_of(run, divergence.call) for run in (tree, again)]
            cause = likely_cause(tree, header_of(tree), outcome, f"{divergence} {callers}")
        count = calls_of(tree) if divergence is None else max(0, divergence.call - 1)
        return DeterminismReport(
            count, int(outcome.report.get("played", 0)), divergence, cause,
            unknown=_unknown(tree), ended=_ending(tree) is not None,
        )  # fmt: skip


def _divergence(
    recorded: ColumnTree, again: ColumnTree, outcome: RerunOutcome
) -> Divergence | None:
    last = calls_of(recorded)
    difference = first_difference(recorded, again, last)
    if difference is not None:
        return difference
    if _ending(recorded) in (None, STOPPED):
        return None
    if calls_of(again) > last:
        return Divergence(last + 1, "no such call", described(again, last + 1))
    if outcome.problem:
        return Divergence(last, "went on", outcome.problem)
    if header_of(recorded).test:
        return None  # a run of pytest ends with a status; the calls of the test were compared
    then, now = (_describe_end(run) for run in (recorded, again))
    return None if then == now else Divergence(last, then, now)


def _ending(tree: ColumnTree) -> int | None:
    source = tree.sources[0]
    return source.ending() if isinstance(source, TraceSource) else None


def _describe_end(tree: ColumnTree) -> str:
    if _ending(tree) is None:
        return "the process died"
    return f"then the end: {described(tree, 0)}"


def _unknown(recorded: ColumnTree) -> str:
    how = _ending(recorded)
    if how is None:
        return (
            "Its recording breaks off, because the process was killed or crashed: how it ended is "
            "not known, so nothing was compared after that."
        )
    return "It was stopped, and is compared up to there." if how == STOPPED else ""
