"""Runs a recorded program again from its start, recording what the first run recorded.

It takes as long as the program does, but needs no journal. Invariant: nothing is believed of a run
that diverged before the target call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from whence.langs.python.debuggee.order import Task
from whence.langs.python.replay.alignment import first_divergence
from whence.langs.python.replay.divergence_causes import likely_cause
from whence.langs.python.replay.partial_replay import PartialReplay
from whence.langs.python.replay.rerun_process import (
    TIME_LIMIT,
    ReplayDiverged,
    RerunOutcome,
    header_of,
    rerun,
)
from whence.langs.python.trace.trace_reader import open_trace
from whence.tree.column_tree import ColumnTree


@dataclass(frozen=True)
class FullReplay:
    """Re-runs of one recording's program as a whole."""

    recording: Path
    tree: ColumnTree
    partial: PartialReplay
    """Says whether the program may run again at all."""
    time_limit: float = TIME_LIMIT

    @contextmanager
    def run(self, node: int, task: Callable[[Path], Task]) -> Iterator[tuple[ColumnTree, Path]]:
        """The tree of another run, which agrees with the recorded one up to a call, and its folder.

        The run can write only in that folder; `task` is given the folder.
        """
        self.partial.check_allowed()
        run = rerun(self.recording, self.tree, task, time_limit=self.time_limit, limits_calls=False)
        with run as (output, outcome, folder):
            tree = open_trace(output)
            divergence = first_divergence(self.tree, tree, node)
            if divergence is not None:
                raise self.diverged(str(divergence), outcome)
            yield tree, folder

    def diverged(self, how: str, outcome: RerunOutcome) -> ReplayDiverged:
        """The error of a run that diverged, with its likely cause."""
        return ReplayDiverged(how, likely_cause(self.tree, header_of(self.tree), outcome, how))
