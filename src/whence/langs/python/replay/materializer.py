"""Materializes implicit calls: runs the program again and records the calls below one of them.

A bounded recording (`--depth`, `--max-calls`) knows only how many calls were made below some calls.
When a search has to look into such a call, a partial replay records it, down to as many levels as
stay within a budget (Naish's and Mercury's *implicit subtree*). The result is believed only if as
many calls are below it as were counted.

Only recordings with a journal are run again without permission: other re-runs have effects.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from whence.errors import CannotExpand, WhenceError
from whence.langs.python.replay.partial_replay import TOP, PartialReplay
from whence.langs.python.replay.recorded_windows import RecordedWindow
from whence.langs.python.replay.rerun_process import divergence_message, journal_beside, trace_of
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

        If only some callees of a call were recorded, a stand-in has the others: below it, the whole
        call is materialized with all its callees.
        """
        tree = self.recorded.tree
        detail, number = number, number if number >= 0 else skipped_by(number)[0]
        node = self._id(number)
        try:
            window = self.replay.record(node, self.replay.settings.node_budget)
        except WhenceError as problem:
            raise CannotExpand(str(problem)) from problem
        counted = int(tree.columns.weight[tree.position(number)])
        counted_again = int(window.tree.columns.weight[TOP])
        if counted != counted_again:
            raise CannotExpand(
                divergence_message(f"{counted_again:,} calls were made instead of {counted:,}")
            )
        trace_of(window.tree).expand_with(Materializer(self.replay, window))
        below = _cut(window, node, self.replay.windows.first_id)
        if detail >= 0:
            return below
        position = int(np.flatnonzero(tree.details == detail)[0])
        is_first = self.recorded is self.replay.windows.whole
        top = tree.id(position) if is_first else node + self.replay.windows.first_id
        below = _with_old_equations(self.recorded, window, below)
        return _in_place_of(tree, position, top, below)

    @property
    def gives_again(self) -> bool:
        """Whether its calls get the same ids whenever they are materialized."""
        return self.recorded is not self.replay.windows.whole

    def _id(self, number: int) -> int:
        if not self.gives_again:
            return number
        if number == TOP:
            return self.recorded.node
        return int(self.recorded.ordinals[number]) + self.replay.windows.first_id


def _with_old_equations(
    ours: RecordedWindow, window: RecordedWindow, materialized: ColumnTree
) -> ColumnTree:
    """Give calls that were recorded before their old equations, so that answers still apply."""
    again = np.flatnonzero(materialized.details > 0)
    ordinals = window.ordinals[materialized.details[again]]
    number = np.minimum(np.searchsorted(ours.ordinals, ordinals), len(ours.ordinals) - 1)
    is_recorded = ours.ordinals[number] == ordinals
    positions = ours.tree.positions(number[is_recorded].tolist())
    equation = materialized.columns.equation.copy()
    equation[again[is_recorded]] = ours.equations[positions]
    return replace(materialized, columns=replace(materialized.columns, equation=equation))


def _in_place_of(ours: ColumnTree, position: int, top: int, materialized: ColumnTree) -> ColumnTree:
    """The same calls below the stand-in for some of them, which is never asked about."""
    stand_in = function_at(ours, position)
    columns = materialized.columns
    details, ids = materialized.details.copy(), all_ids(materialized).copy()
    function, rule = columns.function.copy(), columns.rule.copy()
    equation, own, outcome = columns.equation.copy(), columns.own.copy(), columns.outcome.copy()
    function[0], rule[0] = len(materialized.functions), len(materialized.rules)
    equation[0], own[0] = ours.columns.equation[position], 0.0
    outcome[0] = ours.columns.outcome[position]
    details[0], ids[0] = ours.details[position], top
    return replace(
        materialized,
        columns=replace(
            columns,
            function=function,
            rule=rule,
            equation=equation,
            own=own,
            outcome=outcome,
            weight=subtree_sums(own, columns.end),
        ),
        functions=[*materialized.functions, stand_in],
        rules=[*materialized.rules, ours.rules[int(ours.columns.rule[position])]],
        details=details,
        ids=ids,
    )


def _cut(window: RecordedWindow, top: int, first_id: int) -> ColumnTree:
    """The calls below the window's target call, down to the last level that is complete."""
    tree, old = window.tree, window.tree.columns
    area = slice(TOP, int(old.end[TOP]))
    parent = old.parent[area] - TOP
    parent[0] = -1
    columns = replace(
        Columns(**{column.name: getattr(old, column.name)[area] for column in fields(old)}),
        parent=parent,
        end=old.end[area] - TOP,
        depth=old.depth[area] - old.depth[TOP],
        equation=window.equations[area],
    )
    details, source_of = tree.details[area], tree.source_of[area]
    below = replace(tree, columns=columns, details=details, source_of=source_of, ids=None)
    below = collapse(below, columns.depth == _complete_levels(tree, area))
    return replace(below, ids=_ids(window, below.details, below.columns.parent, top, first_id))


def _ids(
    window: RecordedWindow, details: Int64s, parent: Int32s, top: int, first_id: int
) -> Int64s:
    ids = window.ordinals[np.maximum(details, 0)] + first_id
    ids[0] = top
    # A stand-in for unrecorded calls is no call; its id is made of its caller's.
    others = details < 0
    makers = window.ordinals[np.maximum(details[parent[others]], 0)]
    ids[others] = makers + 2 * first_id
    return ids


def _complete_levels(tree: ColumnTree, area: slice) -> int:
    """The last level below its first call on which all calls are recorded; at least one."""
    columns, details = tree.columns, tree.details[area]
    depth = columns.depth[area] - columns.depth[area.start]
    # Counted calls are a stand-in below their caller, or the caller is implicit.
    hidden = np.where(details < 0, depth - 1, depth)[columns.implicit[area] != 0]
    return max(1, int(hidden.min()) if len(hidden) else int(depth.max()))
