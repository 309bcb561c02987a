"""The session log: an append-only file of a session's events.

One JSON object a line; the first is a header that names the tree. Each line is written in one
piece before the next question is asked, so a killed process loses at most the line that it was
writing: reading stops before an incomplete last line, and writing continues from there. Nothing
is ever rewritten; undo is an event like any other.

This module has the file, its header and its lock. What the entries are is given to it as an
`EntryFormat` (`session/log_entries.py`), because the session stands above this package.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Generic, Protocol, TypeVar

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

from whence.errors import WhenceError
from whence.ports import Tree
from whence.tree.fingerprint import fingerprint
from whence.user_folders import make_private_folder, open_private_file, state_folder

VERSION = 1
_FIRST_BYTES = b'{"whence": "session"'

Entry = TypeVar("Entry")


class EntryFormat(Protocol[Entry]):
    """How the entries of a log are written as JSON objects."""

    def encode(self, entry: Entry) -> Mapping[str, object]:
        """The JSON object of an entry."""

    def decode(self, record: Any) -> Entry:
        """The entry that a JSON object stands for; `ValueError` and the like if there is none."""


class OtherTree(WhenceError):
    """The file is a session, but about another tree."""


def is_session(path: Path) -> bool:
    """Whether a file is a session, or the beginning of one."""
    with path.open("rb") as file:
        return _FIRST_BYTES.startswith(file.read(len(_FIRST_BYTES)))


class SessionLog(Generic[Entry]):
    """An append-only file of entries. Only one process holds it at a time."""

    def __init__(self, path: Path, tree: Tree, name: str, entry_format: EntryFormat[Entry]) -> None:
        """Open the log at `path`, or start it. `entries` are those that it holds."""
        self.path = path
        self.entries: list[Entry] = []
        self._format = entry_format
        header: dict[str, object] = {
            "whence": "session",
            "version": VERSION,
            "tree": name,
            "fingerprint": fingerprint(tree),
        }
        try:
            make_private_folder(path.parent)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._file: BinaryIO = os.fdopen(open_private_file(path, flags), "a+b")
        except OSError as problem:
            raise self._not_writable(problem) from problem
        try:
            self._lock()  # before reading: another process could still append
            complete = self._read(header)
            self._file.truncate(complete)
            if complete == 0:
                self._write(header)
        except BaseException as problem:
            self._file.close()
            if isinstance(problem, OSError):
                raise self._not_writable(problem) from problem
            raise

    def _not_writable(self, problem: OSError) -> WhenceError:
        return WhenceError(
            f"{self.path}: the session cannot be kept there ({problem.strerror}); "
            "name another file with --session, or go on without with --no-session"
        )

    def _lock(self) -> None:
        """Two processes that append to one log would contradict each other."""
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
        """Write one entry. The operating system has it when this returns."""
        self._write(self._format.encode(entry))
        self.entries.append(entry)

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()

    def _write(self, record: Mapping[str, object]) -> None:
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as problem:
            raise WhenceError(
                f"{self.path}: this answer could not be saved ({problem.strerror}); "
                "the session goes on, but only in memory"
            ) from problem

    def _read(self, header: Mapping[str, object]) -> int:
        """Read the entries and return how many bytes of the file are complete lines."""
        complete = 0
        self._file.seek(0)
        for number, line in enumerate(self._file, 1):
            if not line.endswith(b"\n"):
                break
            try:
                record = json.loads(line)
                if number == 1:
                    self._check(record, header)
                else:
                    self.entries.append(self._format.decode(record))
            except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as problem:
                raise WhenceError(
                    f"{self.path}:{number}: not a line of a whence session ({problem}); "
                    "delete the file to start again, or cut it off before this line"
                ) from problem
            complete += len(line)
        if complete == 0 and not is_session(self.path):
            raise self._no_session()
        return complete

    def _check(self, header: Any, expected: Mapping[str, object]) -> None:
        if not isinstance(header, dict) or header.get("whence") != "session":
            raise self._no_session()
        if header.get("version") != VERSION:
            raise WhenceError(
                f"{self.path} is a session of version {header.get('version')}; this whence reads "
                f"version {VERSION}: use the whence that wrote it, or start again with --fresh"
            )
        if header.get("fingerprint") != expected["fingerprint"]:
            raise OtherTree(
                f"{self.path} is a session about another tree ({header.get('tree')}); "
                "start again with --fresh, or name another file with --session"
            )

    def _no_session(self) -> WhenceError:
        return WhenceError(f"{self.path} is not a whence session; name another file with --session")


def default_path(tree_path: Path, about: str = "") -> Path:
    """Where the session about a tree file is kept unless another file is named.

    `about` tells sessions apart that are about different trees of one file.
    """
    key = f"{tree_path.resolve()}{about}"
    digest = hashlib.blake2b(key.encode(), digest_size=8).hexdigest()
    return state_folder() / "sessions" / f"{tree_path.name}-{digest}.jsonl"
