"""Puts the parts of a replay together: all that re-runs of one recording's program offer.

This is the one place that knows all the parts; each of them does one kind of run. Invariant:
nothing is believed of a run that diverged, and the recording itself never changes.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.python.replay.call_details import CallDetails
from whence.langs.python.replay.call_target import target_at
from whence.langs.python.replay.call_zoom import CallZoom
from whence.langs.python.replay.full_replay import FullReplay
from whence.langs.python.replay.materializer import make_expandable
from whence.langs.python.replay.partial_replay import PartialReplay
from whence.langs.python.replay.rerun_process import TIME_LIMIT, CannotReplay, header_of
from whence.langs.python.replay.shadow_run_provenance import ShadowRunProvenance, has_call
from whence.langs.python.trace.joined_processes import main_process
from whence.langs.python.zoom.step_provenance import StepProvenance
from whence.model.call import Call, MarkedPart
from whence.model.primitive import WorkedOut
from whence.model.replay_settings import DEFAULT_SETTINGS, ReplaySettings
from whence.model.trial import Trial, trial_of
from whence.tree.column_tree import ColumnTree


class ProgramReruns:
    """The ports `Reruns`, `Following`, `Freezing` and `Zooming`; delegates to the parts.

    Implicit calls of the tree can be expanded from now on, if the recording has a journal. If the
    program had child processes, only calls of its main process can be looked at again.
    """

    def __init__(
        self,
        recording: Path,
        tree: ColumnTree,
        settings: ReplaySettings = DEFAULT_SETTINGS,
        time_limit: float = TIME_LIMIT,
    ) -> None:
        self.tree = tree
        self._main = main = main_process(tree)
        self.partial = PartialReplay(recording, main, settings)
        full = FullReplay(recording, main, self.partial, time_limit)
        self._details = CallDetails(main, self.partial, full)
        self._zoom = CallZoom(main, full)
        self.provenance = ShadowRunProvenance(
            recording, main, self.partial, time_limit, has_children=main is not tree
        )
        make_expandable(main, self.partial)

    # --- settings --------------------------------------------------------------------------------

    @property
    def settings(self) -> ReplaySettings:
        """How the program may run again."""
        return self.partial.settings

    def configure(self, settings: ReplaySettings) -> None:
        """Obey other settings from now on: `configure(replace(reruns.settings, mode=…))`."""
        self.partial.configure(settings)

    def close(self) -> None:
        """End the processes that sleep at checkpoints."""
        self.partial.close()

    # --- Reruns ----------------------------------------------------------------------------------

    @property
    def is_harmless(self) -> bool:
        """Whether a re-run changes nothing in the world."""
        return self.partial.is_harmless

    @property
    def command(self) -> str:
        """What is run and where."""
        header = header_of(self.tree)
        return f"python {shlex.join(header.command)}, in {header.cwd}"

    @property
    def how(self) -> str:
        """How it is run again."""
        if not self.is_harmless:
            return "from its start, with all that it does (there is no journal)"
        return self.partial.describe()

    def whole(self, node: int) -> Call:
        """The call with its values in full."""
        self._check_process(node)
        return self._details.whole(node)

    def lines(self, node: int) -> frozenset[int]:
        """The lines that the call itself ran."""
        self._check_process(node)
        return self._details.lines(node)

    def lines_alone(self, node: int) -> frozenset[int]:
        """The same, learned by making this one call again, isolated from the world."""
        self._check_process(node)
        return self._details.lines_alone(node)

    def tried(self, expected: Mapping[int, str]) -> Trial:
        """How the run ends if calls return these values instead of their own."""
        self._need_journal("to try a value")
        windows = self.partial.windows
        targets = {node: target_at(*windows.locate(node)) for node in expected}
        after = self.partial.try_values(
            {node: (targets[node], expected[node]) for node in expected}
        )
        return trial_of(self.tree.call(0), after.call(0))

    def debug(self, node: int, *, at_end: bool = False) -> None:
        """Step through a call, from its start or from its end."""
        self._need_journal("to step through a call")
        target = target_at(*self.partial.windows.locate(node))
        self.partial.debug(node, target, at_end=at_end)

    def _check_process(self, node: int) -> None:
        # A recording with several processes has no journal, so no call was materialized.
        if self._main is not self.tree and not has_call(self._main, node):
            raise CannotReplay(
                f"call {node} is in a process that the program started, and only the main process "
                "is recorded when it runs again"
            )

    def _need_journal(self, purpose: str) -> None:
        if not self.is_harmless:
            raise CannotReplay(
                f"{purpose}, the program has to be run again as it was: record it with --journal"
            )

    # --- Freezing --------------------------------------------------------------------------------

    def frozen(self, node: int) -> str:
        """Whether a call is frozen in re-runs, or why it is not."""
        if self._main is not self.tree:
            return ""
        ordinal, freezing = self.partial.windows.ordinal(node), self.partial.freezing
        effects = freezing.frozen.get(ordinal)
        if effects is not None:
            return f"frozen: it is not made again, nor the {effects.calls:,} calls below it"
        why = freezing.refused.get(ordinal, "")
        return f"not frozen: {why}" if why else ""

    # --- Zooming ---------------------------------------------------------------------------------

    def can_zoom(self, node: int) -> bool:
        """Whether the process of a call is recorded again, and its text is known."""
        try:
            self._check_process(node)
            self._zoom.check(node)
        except WhenceError:
            return False
        return True

    def zoom(self, node: int) -> tuple[ColumnTree, StepProvenance]:
        """The steps of a call as a tree, and where values came from among them."""
        self._check_process(node)
        return self._zoom.zoom(node)

    def worked_out(self, node: int) -> WorkedOut:
        """The variables and operands of a call at the point where it raised."""
        self._check_process(node)
        return self._zoom.worked_out(node)

    # --- Following -------------------------------------------------------------------------------

    def needs_run(self, node: int, part: MarkedPart) -> bool:
        """Whether it takes a run to know where a part came from."""
        return self.provenance.needs_run(node, part)

    def follow(self, node: int, part: MarkedPart) -> None:
        """Make the runs for a part, if they were not made."""
        self.provenance.follow(node, part)

    def give_up(self, node: int, part: MarkedPart, why: str) -> None:
        """Make no run for a part until `follow` is called."""
        self.provenance.give_up(node, part, why)
