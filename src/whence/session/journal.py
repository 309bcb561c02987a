"""The journal: a session's events, appended to a file as they happen.

One JSON object a line, the first one a header that names the tree. Each line is written in one
piece before the next question is asked, so a process that is killed loses at most the line that
it was writing: reading stops before a last line that is not whole, and writing goes on from there.
Nothing is ever rewritten. Undo is an event like any other.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

from whence.errors import WhenceError
from whence.model.call import Mark
from whence.model.verdict import Answer, Scope, Trust, Verdict
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

VERSION = 1
_BEGINNING = b'{"whence": "session"'


@dataclass(frozen=True, slots=True)
class Inside:
    """What happened to the session inside a call, which is about the tree of its steps."""

    node: int
    tree: str
    """The fingerprint of that tree."""
    entry: Entry


Entry = Event | Expand | Inside
"""What a journal holds: events, and the expansions of the tree that were made between them."""


def fingerprint(tree: Tree) -> str:
    """A short digest that tells one tree from another."""
    digest = hashlib.blake2b(digest_size=8)
    for column in (tree.columns.equation, tree.columns.end):
        digest.update(np.ascontiguousarray(column).data)
    return digest.hexdigest()


class OtherTree(WhenceError):
    """The file is a session, but about another tree."""


def is_session(path: Path) -> bool:
    """Whether a file is a session, or the beginning of one."""
    with path.open("rb") as file:
        found = file.read(len(_BEGINNING))
    return _BEGINNING.startswith(found)


class Journal:
    """An append-only file of events. One process holds it at a time."""

    def __init__(self, path: Path, tree: Tree, name: str) -> None:
        """Open the journal at `path`, or start it. `entries` are the events that it holds."""
        self.path = path
        self.entries: list[Entry] = []
        header = {
            "whence": "session",
            "version": VERSION,
            "tree": name,
            "fingerprint": fingerprint(tree),
        }
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = path.open("a+b")
        except OSError as problem:
            raise self._not_kept(problem) from problem
        try:
            self._lock()  # before anything is read: what is read must be all that is there
            whole = self._read(header)
            self._file.truncate(whole)
            if whole == 0:
                self._write(header)
        except BaseException as problem:
            self._file.close()
            if isinstance(problem, OSError):
                raise self._not_kept(problem) from problem
            raise

    def _not_kept(self, problem: OSError) -> WhenceError:
        return WhenceError(
            f"{self.path}: the session cannot be kept there ({problem.strerror}); "
            "name another file with --session, or go on without with --no-session"
        )

    def _lock(self) -> None:
        """Two processes that write to one journal would contradict each other."""
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise WhenceError(
                f"{self.path} is held by another whence; end that one, or go on apart from it "
                "with --no-session"
            ) from problem

    def append(self, entry: Entry) -> None:
        """Write one event. It is in the operating system's hands when this returns."""
        self._write(encode(entry))
        self.entries.append(entry)

    def close(self) -> None:
        """No more events come."""
        self._file.close()

    def _write(self, record: dict[str, Any]) -> None:
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as problem:
            raise WhenceError(
                f"{self.path}: this answer could not be saved ({problem.strerror}); "
                "the session goes on, but only in memory"
            ) from problem

    def _read(self, header: dict[str, Any]) -> int:
        """Take in what is there and return how many of its bytes are whole lines."""
        whole = 0
        self._file.seek(0)
        for number, line in enumerate(_whole_lines(self._file), 1):
            try:
                record = json.loads(line)
                if number == 1:
                    self._check(record, header)
                else:
                    self.entries.append(decode(record))
            except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as problem:
                raise WhenceError(
                    f"{self.path}:{number}: not a line of a whence session ({problem}); "
                    "delete the file to start anew, or cut it off before this line"
                ) from problem
            whole += len(line)
        if whole == 0 and not is_session(self.path):
            raise WhenceError(
                f"{self.path} is not a whence session; name another file with --session"
            )
        return whole

    def _check(self, found: Any, expected: dict[str, Any]) -> None:
        if not isinstance(found, dict) or found.get("whence") != "session":
            raise WhenceError(
                f"{self.path} is not a whence session; name another file with --session"
            )
        if found.get("version") != VERSION:
            raise WhenceError(
                f"{self.path} is a session of version {found.get('version')}; this whence reads "
                f"version {VERSION}: use the whence that wrote it, or start anew with --fresh"
            )
        if found.get("fingerprint") != expected["fingerprint"]:
            raise OtherTree(
                f"{self.path} is a session about another tree ({found.get('tree')}); "
                "start anew with --fresh, or name another file with --session"
            )


class InnerJournal:
    """The part of a session that is about the inside of one call: it is kept with the rest."""

    def __init__(
        self, outer: Sequence[Entry], keep: Callable[[Entry], None], node: int, tree: Tree,
        path: Path | None,
    ) -> None:  # fmt: skip
        """`outer`: what the session holds already; `keep` adds to it, and to the file at `path`."""
        self.path = path
        self._keep, self._node, self._tree = keep, node, fingerprint(tree)
        inside = [each for each in outer if isinstance(each, Inside) and each.node == node]
        self.entries = [each.entry for each in inside if each.tree == self._tree]
        self.lost = len(inside) > len(self.entries)
        """Whether something was said about steps that are not there any more."""

    def append(self, entry: Entry) -> None:
        """Write one event."""
        self._keep(Inside(self._node, self._tree, entry))


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    for line in file:
        if line.endswith(b"\n"):
            yield line


def encode(entry: Entry) -> dict[str, Any]:
    """The JSON of an event."""
    match entry:
        case Answered(answers):
            return {"event": "answered", "answers": [encode_answer(each) for each in answers]}
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
        case Inside(node, tree, inner):
            return {"event": "inside", "node": node, "tree": tree, "entry": encode(inner)}
        case NotExpandable(node, reason):
            return {"event": "not expandable", "node": node, "reason": reason}
        case _:
            raise AssertionError(f"{entry} is not kept in journals")


def decode(record: Any) -> Entry:
    """The event that a line stands for."""
    match record["event"]:
        case "answered":
            return Answered(tuple(decode_answer(each) for each in record["answers"]))
        case "trusted":
            return TrustGiven(Trust(Scope(record["scope"]), str(record["name"])))
        case "distrusted":
            return TrustWithdrawn(Trust(Scope(record["scope"]), str(record["name"])))
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
            return Inside(int(record["node"]), str(record["tree"]), decode(record["entry"]))
        case "not expandable":
            return NotExpandable(int(record["node"]), str(record["reason"]))
        case other:
            raise ValueError(f"unknown event {other!r}")


def encode_answer(answer: Answer) -> dict[str, Any]:
    """The JSON of an answer."""
    record: dict[str, Any] = {"node": answer.node, "verdict": answer.verdict.value}
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


def default_path(tree_path: Path, about: str = "") -> Path:
    """Where the session about a tree file is kept unless another file is named.

    `about` tells sessions apart that are about different trees of one file.
    """
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():  # the specification says to pass over a relative one
        state = Path.home() / ".local" / "state"
    known_by = f"{tree_path.resolve()}{about}"
    digest = hashlib.blake2b(known_by.encode(), digest_size=8).hexdigest()
    return state / "whence" / "sessions" / f"{tree_path.name}-{digest}.jsonl"
