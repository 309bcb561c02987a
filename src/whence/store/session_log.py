"""The session log: an append-only file of a session's events.

One JSON object a line; the first is a header that names the tree. Each line is written in one
piece before the next question is asked, so a killed process loses at most the line that it was
writing. Nothing is ever rewritten; undo is an event like any other.

Every line carries a checksum (`checked_lines.py`), into which the tree's fingerprint goes, too. So
a damaged line is left out, and the others are known to be about this tree even if the header is
damaged. Version 1 had no checksums; such a log is read, and goes on with checked lines.

Invariant: no log is ever deleted or overwritten. One that is in the way is renamed, under its lock
(`put_aside`). A log that disappears while its session goes on is written anew.

This module has the file, its header and its lock. What the entries are is given to it as an
`EntryFormat` (`session/log_entries.py`), because the session stands above this package.
"""

from __future__ import annotations

import errno
import hashlib
import io
import itertools
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

from whence.errors import WhenceError
from whence.ports import Tree
from whence.regular_files import open_regular_file
from whence.store.checked_lines import checked_line, intact_parts, is_checked
from whence.tree.fingerprint import fingerprint
from whence.user_folders import make_private_folder, open_private_file, state_folder

VERSION = 2
_FIRST_BYTES = b'{"whence": "session"'
_LONGEST_HEADER = 1 << 16
_DAMAGED = (ValueError, LookupError, TypeError, OverflowError, RecursionError)

Entry = TypeVar("Entry")


class EntryFormat(Protocol[Entry]):
    """How the entries of a log are written as JSON objects."""

    def encode(self, entry: Entry) -> Mapping[str, object]:
        """The JSON object of an entry."""

    def decode(self, record: Any) -> Entry:
        """The entry that a JSON object stands for; `ValueError` and the like if there is none."""


class OtherTree(WhenceError):
    """The file is a session, but about another tree."""


class NoSession(WhenceError):
    """The file is no session, or its beginning is damaged."""


class SessionHeld(WhenceError):
    """Another process has the session open."""


def is_session(path: Path) -> bool:
    """Whether a file is a session, or the beginning of one."""
    with open_regular_file(path) as file:
        return _FIRST_BYTES.startswith(file.read(len(_FIRST_BYTES)))


def log_header(path: Path) -> dict[str, str]:
    """The name of the tree that a session is about, and its fingerprint."""
    try:
        with open_regular_file(path) as file:
            header = json.loads(file.readline(_LONGEST_HEADER))
        return {name: str(header[name]) for name in ("tree", "fingerprint")}
    except (OSError, *_DAMAGED) as problem:
        raise NoSession(f"{path}: the beginning of this session cannot be read") from problem


def put_aside(path: Path) -> Path:
    """Rename a session log that no process has open; returns its new name.

    `SessionHeld` if a process has it open. An earlier log that was put aside is not overwritten.
    """
    file = _open_locked(path)
    try:
        for number in itertools.count(1):
            aside = path.with_name(f"{path.name}.old{f'.{number}' if number > 1 else ''}")
            try:
                aside.touch(mode=0o600, exist_ok=False)  # so that no other process takes the name
            except FileExistsError:
                continue
            return path.replace(aside)
        raise AssertionError("there is always another number")
    finally:
        file.close()


class SessionLog(Generic[Entry]):
    """An append-only file of entries. Only one process holds it at a time."""

    def __init__(
        self,
        path: Path,
        tree: Tree,
        name: str,
        entry_format: EntryFormat[Entry],
        notify: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Open the log at `path`, or start it. `entries` are those that it holds.

        `notify` is told what is damaged, and where the session goes on if its file disappears.
        """
        self.path = path
        self.entries: list[Entry] = []
        self.gaps: list[int] = []
        """For each damaged line, which was left out, how many entries come before it."""
        self._format = entry_format
        self._notify = notify
        self._unsaved = b""
        """Lines that could not be written, such as on a full disk."""
        self._failed = False
        self._about = fingerprint(tree)
        self._header: dict[str, object] = {
            "whence": "session",
            "version": VERSION,
            "tree": name,
            "fingerprint": self._about,
        }
        try:
            make_private_folder(path.parent)
            self._file = _open_locked(path)  # before reading: another process could still append
        except OSError as problem:
            raise self._not_writable(problem) from problem
        try:
            if self._read() == 0:
                self._write(checked_line(self._header))
        except BaseException as problem:
            self._file.close()
            if isinstance(problem, OSError):
                raise self._not_writable(problem) from problem
            raise
        if self.gaps:
            lines = "1 line is" if len(self.gaps) == 1 else f"{len(self.gaps)} lines are"
            self._notify(
                f"{path}: {lines} damaged and left out. An answer that was there is asked for "
                "again; what was taken back there holds again."
            )

    def _not_writable(self, problem: OSError) -> WhenceError:
        return WhenceError(
            f"{self.path}: the session cannot be kept there ({problem.strerror}); "
            "name another file with --session, or go on without with --no-session"
        )

    def append(self, entry: Entry) -> None:
        """Write one entry. The operating system has it when this returns.

        A `WhenceError` says that it is not saved. The next call tries again, and raises no second
        time.
        """
        line = checked_line(self._format.encode(entry), self._about)
        self.entries.append(entry)
        try:
            if not self._is_in_place():
                self._move_on()  # which writes all entries
            else:
                self._unsaved += line
                self._write(self._unsaved)
        except OSError as problem:
            if not self._failed:
                self._failed = True
                raise WhenceError(
                    f"{self.path}: this answer could not be saved ({problem.strerror}); the "
                    "session goes on in memory, and saving is tried again after the next answer"
                ) from problem
            return
        self._unsaved = b""
        if self._failed:
            self._failed = False
            self._notify(f"All answers are saved in {self.path} again.")

    @property
    def is_saved(self) -> bool:
        """Whether the file holds all entries."""
        return not self._failed and self._is_in_place()

    def close(self) -> None:
        """Close the file and release its lock. What is not saved is tried once more."""
        if self._unsaved and self._is_in_place():
            try:
                self._write(self._unsaved)
            except OSError:
                pass  # it was said when it failed first
            else:
                self._unsaved, self._failed = b"", False
        self._file.close()

    def _is_in_place(self) -> bool:
        """Whether the log is still where it was, and not moved or deleted by somebody."""
        return not self._file.closed and _is_at(self._file, self.path)

    def _move_on(self) -> None:
        """Write the whole session to a new file, because the old one is gone."""
        gone = self.path
        gone.parent.mkdir(parents=True, exist_ok=True)
        for path in itertools.chain(
            [gone], (gone.with_name(f"{gone.name}.{number}") for number in itertools.count(2))
        ):
            try:
                file = _open_locked(path, os.O_EXCL)
            except FileExistsError:
                continue
            break
        lines = [checked_line(self._header)]
        lines += (checked_line(self._format.encode(entry), self._about) for entry in self.entries)
        self._file.close()
        self._file, self.path = file, path
        self._unsaved = b"".join(lines)
        self._write(self._unsaved)
        self._notify(
            f"{gone} was moved or deleted during this session; all answers are kept in {path} now."
        )

    def _write(self, lines: bytes) -> None:
        """Append whole lines, or nothing."""
        end = os.fstat(self._file.fileno()).st_size
        left = memoryview(lines)
        try:
            while left:
                left = left[self._file.write(left) or 0 :]
        except OSError:
            self._file.truncate(end)
            raise

    def _read(self) -> int:
        """Read the entries and return how many bytes the file has.

        The last line is incomplete if a process was killed while it wrote it. It is cut off.
        """
        self._file.seek(0)
        lines = list(io.BytesIO(self._file.readall() or b""))
        if lines and not lines[-1].endswith(b"\n"):
            self._mend_last_line(lines)
        if not lines:
            return 0
        # If the end of the first line is damaged, the first entry is in it.
        version = self._version(next(intact_parts(lines[0]), lines[0]))
        self.entries += self._decoded(intact_parts(lines[0], self._about))
        for line in lines[1:]:
            decoded = list(self._decoded(self._parts(line, version)))
            self.entries += decoded
            if not decoded and line.strip():
                self.gaps.append(len(self.entries))
        if version is None and not self.entries:
            raise NoSession(
                f"{self.path}:1: not a whence session; name another file with --session"
            )
        return sum(map(len, lines))

    def _mend_last_line(self, lines: list[bytes]) -> None:
        """End an incomplete last line, or cut it off if it holds nothing."""
        is_whole = any(True for _ in intact_parts(lines[-1], self._about if lines[1:] else ""))
        if (
            not is_whole
            and not lines[1:]
            and not _FIRST_BYTES.startswith(lines[0][: len(_FIRST_BYTES)])
        ):
            return  # a file of the user
        if is_whole:
            self._file.write(b"\n")
            lines[-1] += b"\n"
        else:
            self._file.truncate(sum(map(len, lines[:-1])))
            del lines[-1]

    def _parts(self, line: bytes, version: int | None) -> Iterator[bytes]:
        if version == 1 and not is_checked(line):
            return iter((line,))
        return intact_parts(line, self._about)

    def _decoded(self, parts: Iterator[bytes]) -> Iterator[Entry]:
        for part in parts:
            try:
                yield self._format.decode(json.loads(part))
            except _DAMAGED:
                continue

    def _version(self, line: bytes) -> int | None:
        """The version of the log with this first line; None if it is damaged."""
        try:
            header = json.loads(line)
        except _DAMAGED:
            return None
        if not isinstance(header, dict) or header.get("whence") != "session":
            return None
        if is_checked(line) and not any(True for _ in intact_parts(line)):
            return None
        if header.get("version") not in (1, VERSION):
            raise WhenceError(
                f"{self.path} is a session of version {header.get('version')}; this whence reads "
                f"version {VERSION}: use the whence that wrote it, or start again with --fresh"
            )
        if header.get("version") == VERSION and not is_checked(line):
            return None
        if header.get("fingerprint") != self._about:
            raise OtherTree(
                f"{self.path} is a session about another tree ({header.get('tree')}); "
                "start again with --fresh, or name another file with --session"
            )
        return int(header["version"])


def _open_locked(path: Path, flags: int = 0) -> io.FileIO:
    """The file, opened for appending and locked. Two processes must not append to one log."""

    def opener(name: str, _: int) -> int:
        return open_private_file(name, os.O_RDWR | os.O_CREAT | os.O_APPEND | flags)

    while True:
        file = io.FileIO(str(path), "a+", opener=opener)
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            file.close()
            raise SessionHeld(
                f"{path} is held by another whence; end that one, or go on apart from it "
                "with --no-session"
            ) from problem
        if _is_at(file, path):
            return file
        file.close()  # it was renamed before we had the lock


def _is_at(file: io.FileIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        return False


def default_path(tree_path: Path, about: str = "") -> Path:
    """Where the session about a tree file is kept unless another file is named.

    `about` tells sessions apart that are about different trees of one file.
    """
    key = f"{tree_path.resolve()}{about}"
    digest = hashlib.blake2b(os.fsencode(key), digest_size=8).hexdigest()
    return state_folder() / "sessions" / f"{tree_path.name}-{digest}.jsonl"
