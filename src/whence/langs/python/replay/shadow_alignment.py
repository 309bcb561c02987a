"""Matches the calls of a shadow run to the recorded calls.

The tree of calls below the shadowed call must be the recorded one: each call makes as many calls of
each function as it did, in the order in which they began. Bodies of modules and classes, and
functions compiled from a string at run time (`exec`), are calls of the recording only; their
callees count as callees of their caller. Generators begin later than they are created: if the order
in which a call created several of one kind is not known, they are not matched.

Invariant: a run in which some call makes other calls than it did is a `ShadowRunDiverged`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from whence.langs.python.oracles.program_versions import is_body
from whence.langs.python.provenance.shadow_run import WHOLE
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
    """The recorded call of each call of the run with tags, by its place there."""
    others: frozenset[int]
    """Recorded calls of the subtree of which it is not known which they are there."""


def code_at(tree: ColumnTree, position: int) -> CodeEntry:
    """The code of a recorded call."""
    source: Any = tree.sources[int(tree.source_of[position])]
    if not isinstance(source, TraceSource):
        raise ShadowRunDiverged("it lies in a process that the program started")
    return source.code(int(tree.details[position]))


def align(tree: ColumnTree, top: int, calls: Sequence[Mapping[str, Any]]) -> CallAlignment:
    """The calls below `top` (its id), given what a run with tags says of its calls."""
    below: dict[int, list[int]] = {}
    for place, call in enumerate(calls[1:], 1):
        below.setdefault(call["parent"], []).append(place)
    tagged = {(call["name"], call["line"]) for call in calls}
    ids = {0: top}
    pending = [0]
    while pending:
        place = pending.pop()
        recorded = _callees(tree, ids[place], tagged)
        theirs: dict[Key, list[int]] = {}
        for each in below.get(place, ()):
            theirs.setdefault((calls[each]["name"], calls[each]["line"]), []).append(each)
        for key in theirs.keys() | recorded.keys():
            ours, again = recorded.get(key, []), theirs.get(key, [])
            if len(ours) != len(again):
                raise ShadowRunDiverged(
                    f"call {ids[place]} called {key[0]} {_times(len(ours))}, "
                    f"now {_times(len(again))}"
                )
            if len(again) > 1 and calls[again[0]]["is_stepped"]:
                # In which order they began is not in which they were made.
                made = [calls[each]["made"] for each in again]
                if not all(made):
                    continue
                again = [each for _, each in sorted(zip(made, again, strict=True))]
            ids.update(zip(again, ours, strict=True))
            pending += again
    position = tree.position(top)
    everything = {tree.id(each) for each in range(position, int(tree.columns.end[position]))}
    return CallAlignment(ids, frozenset(everything.difference(ids.values())))


def _times(count: int) -> str:
    return {0: "not at all", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _callees(tree: ColumnTree, node: int, tagged: Set[Key]) -> dict[Key, list[int]]:
    """What a call called, by function; what never carries tags is looked through."""
    columns = tree.columns
    position = tree.position(node)
    callees: dict[Key, list[int]] = {}
    below, end = position + 1, int(columns.end[position])
    while below < end:
        if columns.implicit[below]:
            raise ShadowRunDiverged("calls below it were left out of the recording")
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
