"""Matches the calls of a shadow run to the recorded calls.

Each call in the shadow run must call each function as often as its recorded call did; calls of one
function are matched in the order in which they began. Bodies of modules and classes, and functions
compiled from a string at run time (`exec`), are calls of the recording only; their callees count as
callees of their caller. Generators begin later than they are created: if a call created several of
one function and their order of creation is not known, they are not matched.

Invariant: a run in which some call makes other calls than recorded is a `ShadowRunDiverged`.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from whence.langs.python.debuggee.tag_report import WHOLE, TaggedCalls
from whence.langs.python.oracles.program_versions import is_body
from whence.langs.python.trace.trace_source import TraceSource
from whence.langs.python.trace.trace_tables import CodeEntry
from whence.tree.column_tree import ColumnTree

Key = tuple[str, int]
"""A function: its qualified name and first line."""


class ShadowRunDiverged(Exception):
    """How two runs differ, or why they cannot be compared."""


@dataclass(frozen=True, slots=True)
class CallAlignment:
    """The recorded calls of a shadowed subtree."""

    ids: Mapping[int, int]
    """The id of the recorded call, by the index of its call in the shadow run."""
    others: frozenset[int]
    """Recorded calls of the subtree that are not matched."""


def code_at(tree: ColumnTree, position: int) -> CodeEntry:
    """The code of a recorded call."""
    source = tree.sources[int(tree.source_of[position])]
    if not isinstance(source, TraceSource):
        raise ShadowRunDiverged("it is in a process that the program started")
    return source.code(int(tree.details[position]))


def align(tree: ColumnTree, top: int, calls: TaggedCalls) -> CallAlignment:
    """Match the calls below `top` (an id) to those that a shadow run reports."""
    callees: dict[int, list[int]] = {}
    for call in range(1, len(calls)):
        callees.setdefault(calls.parent[call], []).append(call)
    keys = [(function.name, function.line) for function in calls.functions]
    tagged = frozenset(keys)
    ids = {0: top}
    pending = [0]
    while pending:
        caller = pending.pop()
        recorded = _callees(tree, ids[caller], tagged)
        again: dict[Key, list[int]] = {}
        for callee in callees.get(caller, ()):
            again.setdefault(keys[calls.function[callee]], []).append(callee)
        for key in again.keys() | recorded.keys():
            before, now = recorded.get(key, []), again.get(key, [])
            if len(before) != len(now):
                raise ShadowRunDiverged(
                    f"call {ids[caller]} called {key[0]} {_times(len(before))}, "
                    f"now {_times(len(now))}"
                )
            if len(now) > 1 and calls.function_of(now[0]).is_stepped:
                # Generators may begin in another order than they were created.
                created = [calls.made[callee] for callee in now]
                if not all(created):
                    continue
                now = [callee for _, callee in sorted(zip(created, now, strict=True))]
            ids.update(zip(now, before, strict=True))
            pending += now
    position = tree.position(top)
    subtree = {tree.id(index) for index in range(position, int(tree.columns.end[position]))}
    return CallAlignment(ids, frozenset(subtree.difference(ids.values())))


def _times(count: int) -> str:
    return {0: "not at all", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _callees(tree: ColumnTree, node: int, tagged: Set[Key]) -> dict[Key, list[int]]:
    """The recorded callees of a call, by function; calls that never carry tags are skipped."""
    columns = tree.columns
    position = tree.position(node)
    callees: dict[Key, list[int]] = {}
    below, end = position + 1, int(columns.end[position])
    while below < end:
        if columns.implicit[below]:
            raise ShadowRunDiverged("some calls below it were not recorded")
        code = code_at(tree, below)
        key = code.qualname, code.first_line
        if is_body(code) or (code.is_text and key not in tagged):
            below += 1
            continue
        callees.setdefault(key, []).append(tree.id(below))
        below = int(columns.end[below])
    return {key: sorted(ids) for key, ids in callees.items()}


def is_module_body(code: CodeEntry) -> bool:
    """Whether code is the body of a module."""
    return code.qualname == WHOLE
