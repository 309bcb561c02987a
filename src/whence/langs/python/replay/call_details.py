"""Details of one call that only a re-run can tell: its whole values, the lines that it ran."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from whence.langs.python.debuggee.order import ExecutedLines, Task
from whence.langs.python.replay.alignment import contradiction
from whence.langs.python.replay.call_target import target_at, target_in_run
from whence.langs.python.replay.full_replay import FullReplay
from whence.langs.python.replay.partial_replay import TOP, PartialReplay
from whence.langs.python.replay.rerun_process import CannotReplay, RerunOutcome
from whence.langs.python.replay.single_call import lines_of_call
from whence.model.call import Call
from whence.tree.column_tree import ColumnTree

_LINES = "lines.json"


@dataclass(frozen=True)
class CallDetails:
    """Learns details of calls, each by one re-run, and keeps them.

    With a journal it runs the program up to the call only, else as a whole.
    """

    tree: ColumnTree
    partial: PartialReplay
    full: FullReplay
    _whole: dict[int, Call] = field(default_factory=dict)
    _lines: dict[int, frozenset[int]] = field(default_factory=dict)

    def whole(self, node: int) -> Call:
        """The call with its values in full."""
        if node not in self._whole:
            self._whole[node] = self._whole_call(node)
        return self._whole[node]

    def lines(self, node: int) -> frozenset[int]:
        """The lines that the call itself ran."""
        if node not in self._lines:
            self._lines[node] = self._lines_of(node)
        return self._lines[node]

    def lines_alone(self, node: int) -> frozenset[int]:
        """The same, learned by making this one call again, isolated from the world."""
        if node not in self._lines:
            self._lines[node] = lines_of_call(self.tree, node)
        return self._lines[node]

    def _whole_call(self, node: int) -> Call:
        if self.partial.is_harmless:
            task = Task(whole_calls=(TOP, TOP))
            with self.partial.run(node, 1, lambda _: task) as (tree, _):
                return tree.call(TOP)
        with self.full.run(node, lambda _: Task(whole_calls=(node, node))) as (tree, _):
            recorded = self.tree.call(self.tree.position(node))
            again = tree.call(tree.position(node))
            difference = contradiction(recorded, again)
            if difference:
                raise self.full.diverged(f"at call {node}, {difference}", RerunOutcome())
            return again

    def _lines_of(self, node: int) -> frozenset[int]:
        is_partial = self.partial.is_harmless
        target = (
            target_at(*self.partial.windows.locate(node))
            if is_partial
            else target_in_run(self.tree, node)
        )

        def task(folder: Path) -> Task:
            return Task(lines=ExecutedLines(target, str(folder / _LINES)))

        run = self.partial.run(node, 1, task) if is_partial else self.full.run(node, task)
        with run as (_, folder):
            try:
                return frozenset(json.loads((folder / _LINES).read_text(encoding="utf-8")))
            except FileNotFoundError:
                raise CannotReplay(
                    "which lines ran is not known: the program ended differently, or traces itself"
                ) from None
