"""The entries of a session log: a session's events, as JSON objects.

Some events are never logged: what they carry (a tree, what a re-run found) is made again when the
session resumes. `store/session_log.py` has the file; nothing here reads or writes one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whence.model.call import Mark
from whence.model.verdict import Answer, Trust, TrustScope, Verdict
from whence.ports import Tree
from whence.session.events import (
    Answered,
    Begun,
    Event,
    Expand,
    NotExpandable,
    OracleTurned,
    Redone,
    Rejected,
    Resolved,
    RestSearched,
    StrategyChosen,
    SwitchTurned,
    TrustGiven,
    TrustWithdrawn,
    Undone,
)
from whence.tree.fingerprint import fingerprint


@dataclass(frozen=True, slots=True)
class InsideCall:
    """An entry of the session inside a call, which is about the tree of the call's steps."""

    node: int
    tree: str
    """The fingerprint of that tree."""
    entry: LogEntry


LogEntry = Event | Expand | InsideCall
"""What a log holds: events, and the expansions of the tree that were made between them."""


class InnerLog:
    """The entries about the inside of one call, kept in the log of the session around it."""

    def __init__(
        self,
        outer: Sequence[LogEntry],
        append: Callable[[LogEntry], None],
        node: int,
        tree: Tree,
        path: Path | None,
    ) -> None:
        """`outer`: what the outer log holds; `append` adds to it, and to the file at `path`."""
        self.path = path
        self._append, self._node, self._tree = append, node, fingerprint(tree)
        inside = [entry for entry in outer if isinstance(entry, InsideCall) and entry.node == node]
        self.entries = [entry.entry for entry in inside if entry.tree == self._tree]
        self.has_outdated = len(inside) > len(self.entries)
        """Whether some entries are about steps that the call no longer has."""

    def append(self, entry: LogEntry) -> None:
        """Add one entry."""
        self._append(InsideCall(self._node, self._tree, entry))


def encode(entry: LogEntry) -> dict[str, object]:
    """The JSON of an event."""
    match entry:
        case Answered(answers):
            return {"event": "answered", "answers": [encode_answer(answer) for answer in answers]}
        case TrustGiven(trust):
            return {"event": "trusted", "scope": trust.scope.value, "name": trust.name}
        case TrustWithdrawn(trust):
            return {"event": "distrusted", "scope": trust.scope.value, "name": trust.name}
        case StrategyChosen(name):
            return {"event": "strategy", "name": name}
        case SwitchTurned(name, on):
            return {"event": "switch", "name": name, "on": on}
        case OracleTurned(name, on):
            return {"event": "oracle", "name": name, "on": on}
        case Resolved(keep_earlier):
            return {"event": "resolved", "keep_earlier": keep_earlier}
        case Begun():
            return {"event": "begun"}
        case Undone():
            return {"event": "undone"}
        case Redone():
            return {"event": "redone"}
        case Rejected():
            return {"event": "rejected"}
        case RestSearched():
            return {"event": "rest"}
        case Expand(node, levels):
            return {"event": "expanded", "node": node, "levels": levels}
        case InsideCall(node, tree, inner):
            return {"event": "inside", "node": node, "tree": tree, "entry": encode(inner)}
        case NotExpandable(node, reason):
            return {"event": "not expandable", "node": node, "reason": reason}
        case _:
            raise AssertionError(f"{entry} is not kept in session logs")


def decode(record: Any) -> LogEntry:
    """The event that a line describes."""
    match record["event"]:
        case "answered":
            return Answered(tuple(decode_answer(answer) for answer in record["answers"]))
        case "trusted":
            return TrustGiven(Trust(TrustScope(record["scope"]), str(record["name"])))
        case "distrusted":
            return TrustWithdrawn(Trust(TrustScope(record["scope"]), str(record["name"])))
        case "strategy":
            return StrategyChosen(str(record["name"]))
        case "switch":
            return SwitchTurned(str(record["name"]), bool(record["on"]))
        case "oracle":
            return OracleTurned(str(record["name"]), bool(record["on"]))
        case "resolved":
            return Resolved(bool(record["keep_earlier"]))
        case "begun":
            return Begun()
        case "undone":
            return Undone()
        case "redone":
            return Redone()
        case "rejected":
            return Rejected()
        case "rest":
            return RestSearched()
        case "expanded":
            return Expand(int(record["node"]), int(record["levels"]))
        case "inside":
            return InsideCall(int(record["node"]), str(record["tree"]), decode(record["entry"]))
        case "not expandable":
            return NotExpandable(int(record["node"]), str(record["reason"]))
        case other:
            raise ValueError(f"unknown event {other!r}")


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
