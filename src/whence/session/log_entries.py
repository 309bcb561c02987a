"""The entries of a session log: a session's events, as JSON objects.

Some events are never logged: what they carry (a tree, what a re-run found) is made again when the
session resumes. `store/session_log.py` has the file; nothing here reads or writes one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

from whence.model.call import Mark
from whence.model.verdict import Answer, Trust, TrustScope, Verdict
from whence.ports import Tree
from whence.session import events
from whence.session.events import Event
from whence.tree.fingerprint import fingerprint


@dataclass(frozen=True, slots=True)
class InsideCall:
    """An entry of the session inside a call, which is about the tree of the call's steps."""

    node: int
    tree: str
    """The fingerprint of that tree."""
    entry: LogEntry


LogEntry = Event | events.Expand | InsideCall
"""What a log holds: events, and the expansions of the tree that were made between them."""


class OuterLog(Protocol):
    """Where the session around an inner one is kept."""

    @property
    def path(self) -> Path | None:
        """The file, if there is one."""

    @property
    def is_saved(self) -> bool:
        """Whether the file holds all that happened so far."""


class InnerLog:
    """The entries about the inside of one call, kept in the log of the session around it."""

    def __init__(
        self,
        outer: Sequence[LogEntry],
        append: Callable[[LogEntry], None],
        node: int,
        tree: Tree,
        outer_log: OuterLog | None,
    ) -> None:
        """`outer`: what the outer log holds; `append` adds to it and to its file."""
        self._outer_log = outer_log
        self._append, self._node, self._tree = append, node, fingerprint(tree)
        inside = [entry for entry in outer if isinstance(entry, InsideCall) and entry.node == node]
        self.entries = [entry.entry for entry in inside if entry.tree == self._tree]
        self.has_outdated = len(inside) > len(self.entries)
        """Whether some entries are about steps that the call no longer has."""

    @property
    def path(self) -> Path | None:
        """The file of the outer log, if there is one."""
        return None if self._outer_log is None else self._outer_log.path

    @property
    def is_saved(self) -> bool:
        """Whether that file holds all that happened so far."""
        return self._outer_log is None or self._outer_log.is_saved

    def append(self, entry: LogEntry) -> None:
        """Add one entry."""
        self._append(InsideCall(self._node, self._tree, entry))


_PLAIN: dict[str, type[Any]] = {
    "symptom timed": events.SymptomTimed,
    "strategy": events.StrategyChosen,
    "switch": events.SwitchTurned,
    "oracle": events.OracleTurned,
    "resolved": events.Resolved,
    "begun": events.Begun,
    "undone": events.Undone,
    "redone": events.Redone,
    "rejected": events.Rejected,
    "rest": events.RestSearched,
    "expanded": events.Expand,
    "not expandable": events.NotExpandable,
}
"""The entries whose JSON has the same names and values as their fields."""
_NAMES = {kind: name for name, kind in _PLAIN.items()}
_TYPES = {"str": str, "int": int, "bool": bool}


def encode(entry: LogEntry) -> dict[str, object]:
    """The JSON of an event."""
    match entry:
        case events.Answered(answers):
            return {"event": "answered", "answers": [encode_answer(answer) for answer in answers]}
        case events.TrustGiven(trust):
            return {"event": "trusted", "scope": trust.scope.value, "name": trust.name}
        case events.TrustWithdrawn(trust):
            return {"event": "distrusted", "scope": trust.scope.value, "name": trust.name}
        case InsideCall(node, tree, inner):
            return {"event": "inside", "node": node, "tree": tree, "entry": encode(inner)}
    assert type(entry) in _NAMES, f"{entry} is not kept in session logs"
    values = {field.name: getattr(entry, field.name) for field in fields(entry)}
    return {"event": _NAMES[type(entry)], **values}


def decode(record: Any) -> LogEntry:
    """The event that a line describes."""
    match record["event"]:
        case "answered":
            return events.Answered(tuple(decode_answer(answer) for answer in record["answers"]))
        case "trusted":
            return events.TrustGiven(Trust(TrustScope(record["scope"]), str(record["name"])))
        case "distrusted":
            return events.TrustWithdrawn(Trust(TrustScope(record["scope"]), str(record["name"])))
        case "inside":
            return InsideCall(int(record["node"]), str(record["tree"]), decode(record["entry"]))
    kind = _PLAIN.get(record["event"])
    if kind is None:
        raise ValueError(f"unknown event {record['event']!r}")
    entry: LogEntry = kind(
        **{field.name: _TYPES[str(field.type)](record[field.name]) for field in fields(kind)}
    )
    return entry


def encode_answer(answer: Answer) -> dict[str, object]:
    """The JSON of an answer."""
    record: dict[str, object] = {"node": answer.node, "verdict": answer.verdict.value}
    if answer.mark is not None:
        record["mark"] = {"root": answer.mark.root, "steps": list(answer.mark.steps)}
    record["by"] = answer.by
    if answer.expected is not None:
        record["expected"] = answer.expected
    if answer.reason:
        record["reason"] = answer.reason
    return record


def decode_answer(record: Any) -> Answer:
    """An answer from its JSON."""
    mark = None
    if "mark" in record:
        steps = tuple(str(step) for step in record["mark"]["steps"])
        mark = Mark(str(record["mark"]["root"]), steps)
    expected = record.get("expected")
    return Answer(
        node=int(record["node"]),
        verdict=Verdict(record["verdict"]),
        mark=mark,
        by=str(record["by"]),
        expected=None if expected is None else str(expected),
        reason=str(record.get("reason", "")),
    )
