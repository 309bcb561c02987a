"""Describes a recorded call so that a re-run recognizes it: by its code, and by counting."""

from __future__ import annotations

import numpy as np

from whence.langs.python.debuggee.order import TargetCall
from whence.langs.python.replay.rerun_process import CannotReplay
from whence.langs.python.trace.trace_source import TraceSource
from whence.langs.python.trace.trace_tables import CodeEntry
from whence.tree.column_tree import ColumnTree, all_ids
from whence.tree.readable_call import function_at


def target_at(tree: ColumnTree, position: int, count: int = 1) -> TargetCall:
    """The `count`-th call of the code at a position; `CannotReplay` for generators."""
    code = _code(tree, position)
    if code.is_stepped:
        raise CannotReplay("that is not available for generators and coroutines")
    return _target(code, count)


def target_in_run(tree: ColumnTree, node: int) -> TargetCall:
    """A call, counted among all recorded calls of its function."""
    position = tree.position(node)
    return target_at(tree, position, _calls_before(tree, node, position) + 1)


def target_since(tree: ColumnTree, first: int, node: int) -> TargetCall:
    """A call, counted from call `first` on; generators are counted too."""
    position = tree.position(node)
    before = _calls_before(tree, first, position)
    return _target(_code(tree, position), _calls_before(tree, node, position) - before + 1)


def _target(code: CodeEntry, count: int) -> TargetCall:
    return TargetCall(code.file, code.first_line, code.qualname, count)


def _calls_before(tree: ColumnTree, node: int, position: int) -> int:
    """How many calls of the function at a position began before call `node`."""
    function = tree.columns.function
    same_function = all_ids(tree)[function == function[position]]
    return int(np.count_nonzero(same_function < node))


def _code(tree: ColumnTree, position: int) -> CodeEntry:
    source = tree.sources[int(tree.source_of[position])]
    if function_at(tree, position).location is None or not isinstance(source, TraceSource):
        raise CannotReplay("the location of its code was not recorded")
    return source.code(int(tree.details[position]))
