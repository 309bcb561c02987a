"""Materializes implicit calls: runs the program again and records the calls below one of them.

A bounded recording (`--depth`, `--max-calls`) knows only how many calls were made below some calls.
When a search has to look into such a call, a partial replay records it, down to as many levels as
stay within a budget (Naish's and Mercury's *implicit subtree*). The result is believed only if as
many calls are below it as were counted.

Only recordings with a journal are run again unasked: nothing else is without effect.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from whence.errors import CannotExpand, WhenceError
from whence.langs.python.replay.partial_replay import TOP, PartialReplay
from whence.langs.python.replay.recorded_windows import RecordedWindow
from whence.langs.python.replay.rerun_process import divergence_message, journal_beside
from whence.langs.python.trace.trace_source import TraceSource, skipped_by
from whence.ports import Columns, Int32s, Int64s
from whence.tree.build import subtree_sums
from whence.tree.column_tree import ColumnTree, all_ids
from whence.tree.readable_call import function_at
from whence.tree.shrinking import collapse


def make_expandable(tree: ColumnTree, replay: PartialReplay) -> None:
    """Let implicit calls of the tree be expanded, if that needs no permission."""
    source = tree.sources[0]
    if not isinstance(source, TraceSource) or len(tree.sources) != 1:
        return
    if journal_beside(replay.recording, source.file.header) is not None:
        source.expand_with(Materializer(replay, replay.windows.whole))


@dataclass(frozen=True)
class Materializer:
    """Expands the implicit calls of one recording: the first one, or a window."""

    replay: PartialReplay
    recorded: RecordedWindow

    def expand(self, number: int, _: int) -> ColumnTree:
        """The tree whose top is a call of this recording, as deep as the budget allows.

        Of a call some of whose callees were recorded, those that were not come with the others:
        below what stands for them, the whole call is had once more.
        """
        tree = self.recorded.tree
        detail, number = number, number if number >= 0 else skipped_by(number)[0]
        node = self._id(number)
        try:
            window = self.replay.record(node, self.replay.settings.node_budget)
        except WhenceError as problem:
            raise CannotExpand(str(problem)) from problem
        counted = int(tree.columns.weight[tree.position(number)])
        found = int(window.tree.columns.weight[TOP])
        if counted != found:
            raise CannotExpand(
                divergence_message(f"{found:,} calls were made where {counted:,} had been")
            )
        source = window.tree.sources[0]
        assert isinstance(source, TraceSource)
        source.expand_with(Materializer(self.replay, window))
        found_below = _cut(window, node, self.replay.windows.first_id)
        if detail >= 0:
            return found_below
        place = int(np.flatnonzero(tree.details == detail)[0])
        is_first = self.recorded is self.replay.windows.whole
        top = tree.id(place) if is_first else node + self.replay.windows.first_id
        known = _recognized(self.recorded, window, found_below)
        return _in_place_of(tree, place, top, known)

    @property
    def gives_again(self) -> bool:
        """Whether its calls have the same ids whenever they come to light."""
        return self.recorded is not self.replay.windows.whole

    def _id(self, number: int) -> int:
        if not self.gives_again:
            return number
        if number == TOP:
            return self.recorded.node
        return int(self.recorded.ordinals[number]) + self.replay.windows.first_id


def _recognized(ours: RecordedWindow, window: RecordedWindow, found: ColumnTree) -> ColumnTree:
    """The calls that were recorded before have the equations that they had: what was said of them
    holds. (Numbers of types and code, by which equations are told, are each file's own.)"""
    again = np.flatnonzero(found.details > 0)
    ordinals = window.ordinals[found.details[again]]
    number = np.minimum(np.searchsorted(ours.ordinals, ordinals), len(ours.ordinals) - 1)
    known = ours.ordinals[number] == ordinals
    positions = ours.tree.positions(number[known].tolist())
    equation = found.columns.equation.copy()
    equation[again[known]] = ours.tree.columns.equation[positions]
    return replace(found, columns=replace(found.columns, equation=equation))


def _in_place_of(ours: ColumnTree, position: int, top: int, found: ColumnTree) -> ColumnTree:
    """The same calls below what stood for some of them, which nobody is asked about."""
    stands = function_at(ours, position)
    columns, details, ids = found.columns, found.details.copy(), all_ids(found).copy()
    function, rule = columns.function.copy(), columns.rule.copy()
    equation, own, outcome = columns.equation.copy(), columns.own.copy(), columns.outcome.copy()
    function[0], rule[0] = len(found.functions), len(found.rules)
    equation[0], own[0] = ours.columns.equation[position], 0.0
    outcome[0] = ours.columns.outcome[position]
    details[0], ids[0] = ours.details[position], top
    return replace(
        found,
        columns=replace(
            columns,
            function=function,
            rule=rule,
            equation=equation,
            own=own,
            outcome=outcome,
            weight=subtree_sums(own, columns.end),
        ),
        functions=[*found.functions, stands],
        rules=[*found.rules, ours.rules[int(ours.columns.rule[position])]],
        details=details,
        ids=ids,
    )


def _cut(window: RecordedWindow, top: int, first_id: int) -> ColumnTree:
    """What is below its first call, down to the level up to which all calls were recorded."""
    tree, old = window.tree, window.tree.columns
    area = slice(TOP, int(old.end[TOP]))
    parent = old.parent[area] - TOP
    parent[0] = -1
    columns = Columns(
        parent=parent,
        end=old.end[area] - TOP,
        function=old.function[area],
        rule=old.rule[area],
        depth=old.depth[area] - old.depth[TOP],
        outcome=old.outcome[area],
        own=old.own[area],
        weight=old.weight[area],
        equation=old.equation[area],
        effort=old.effort[area],
        implicit=old.implicit[area],
    )
    below = replace(
        tree,
        columns=columns,
        details=tree.details[area],
        source_of=tree.source_of[area],
        ids=None,
    )
    below = collapse(below, columns.depth == _complete_levels(tree, area))
    return replace(below, ids=_ids(window, below.details, below.columns.parent, top, first_id))


def _ids(
    window: RecordedWindow, details: Int64s, parent: Int32s, top: int, first_id: int
) -> Int64s:
    ids = window.ordinals[np.maximum(details, 0)] + first_id
    ids[0] = top
    # What stands for calls that were not recorded is no call, and is told by who made them.
    others = details < 0
    makers = window.ordinals[np.maximum(details[parent[others]], 0)]
    ids[others] = makers + 2 * first_id
    return ids


def _complete_levels(tree: ColumnTree, area: slice) -> int:
    """Down to which level below its first call all calls are recorded; one at least."""
    columns, details = tree.columns, tree.details[area]
    depth = columns.depth[area] - columns.depth[area.start]
    # A call that was only counted stands below the one that made it, or the one is implicit.
    hidden = np.where(details < 0, depth - 1, depth)[columns.implicit[area] != 0]
    return max(1, int(hidden.min()) if len(hidden) else int(depth.max()))
