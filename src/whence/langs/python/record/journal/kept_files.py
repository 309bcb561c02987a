"""Keeps the content of files that a recorded program opens, and gives re-runs copies of them.

The content of a file when it is opened is kept under its digest, in a folder beside the recording.
In a re-run the file has the same path below the folder of the re-run. The program writes to that
copy; each time it opens the file, the copy gets the content that the file had in the first run.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from _blake2 import blake2b
from typing import Any

from whence.user_folders import make_private_folder, write_private_file

LARGE = 64 * 2**20
"""Of files larger than this, only the size and the time of the last change are kept."""
MOST = 2**30
"""The most bytes that are kept of all files together."""
_CHUNK = 2**20
_SETTLED = 2 * 10**9
"""If the last change is older than this (ns), another change will have another time."""
_NOT_KEPT = ("/proc/", "/sys/")

CONTENT, EMPTY, TOO_LARGE, FOLDER, OTHER, NAMELESS = "c", "e", "l", "d", "o", "t"
"""What was opened: a file whose content is kept, an empty file, one too large to be kept, a folder,
something else such as a device, a file without a name."""

Opened = tuple[Any, ...]
"""One of the above; for files, path and inode number; then the digest, or size and time."""


class KeptFiles:
    """The kept contents of one recording."""

    def __init__(self, folder: str):
        self._folder = folder
        self._known: dict[tuple[int, int, int, int], str] = {}
        self._room = MOST

    def path(self, digest: str) -> str:
        """The path of the content with this digest."""
        return os.path.join(self._folder, digest)

    def opened(self, descriptor: int, flags: int, name: str) -> Opened:
        """Describe what was just opened, and keep its content."""
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            return (FOLDER,)
        if not stat.S_ISREG(status.st_mode):
            return (OTHER,)
        path = _path(descriptor, name)
        if path.startswith(_NOT_KEPT):
            return (OTHER,)
        if flags & getattr(os, "O_TMPFILE", 0) == getattr(os, "O_TMPFILE", -1):
            return (NAMELESS,)
        identity = path, status.st_ino
        if status.st_size == 0 or flags & os.O_TRUNC:
            return (EMPTY, *identity)
        if status.st_size > min(LARGE, self._room):
            return (TOO_LARGE, *identity, status.st_size, status.st_mtime_ns)
        digest = self._kept(descriptor, path, status)
        if digest is None:
            return (TOO_LARGE, *identity, status.st_size, status.st_mtime_ns)
        return (CONTENT, *identity, digest)

    def _kept(self, descriptor: int, path: str, status: os.stat_result) -> str | None:
        key = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
        if key in self._known:
            return self._known[key]
        data = _read(descriptor, path)
        if data is None:
            return None
        digest = str(blake2b(data, digest_size=16).hexdigest())
        place = self.path(digest)
        if not os.path.exists(place):
            self._room -= len(data)
            make_private_folder(self._folder)
            write_private_file(f"{place}.new", data)
            os.replace(f"{place}.new", place)
        if time.time_ns() - status.st_mtime_ns > _SETTLED:
            self._known[key] = digest
        return digest


def _path(descriptor: int, name: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}").removesuffix(" (deleted)")
    except OSError:
        return os.path.abspath(name)


def _read(descriptor: int, path: str) -> bytes | None:
    """The whole content, by another descriptor: the offset of the program's stays the same."""
    for place in (f"/proc/self/fd/{descriptor}", path):
        try:
            opened = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        pieces = []
        try:
            while piece := os.read(opened, _CHUNK):
                pieces.append(piece)
        finally:
            os.close(opened)
        return b"".join(pieces)
    return None


class Missing(Exception):
    """The content of a file is not available; the text says why."""


class Sandbox:
    """The files of a re-run, in a folder of their own."""

    def __init__(self, folder: str, kept: KeptFiles):
        self.folder = folder
        self._kept = kept
        self._inodes: dict[str, int] = {}

    def place(self, opened: Opened, flags: int) -> str:
        """The path under which to open what was opened in the first run, with its content."""
        what = opened[0]
        if what in (FOLDER, NAMELESS):
            return self.folder
        if what == OTHER:
            return os.devnull
        path, inode = str(opened[1]), opened[2]
        place = self.folder + path
        is_same = self._inodes.get(path) == inode and not flags & os.O_EXCL
        self._inodes[path] = inode
        if what == TOO_LARGE:
            return self._large(place, path, flags, *opened[3:])
        if what == CONTENT:
            if not is_same or _digest(place) != opened[3]:
                _write(place, self._content(path, opened[3]))
        elif flags & os.O_EXCL:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            _remove(place)
        elif (
            not is_same
            or not os.path.exists(place)
            or (os.stat(place).st_size and not flags & os.O_TRUNC)
        ):
            _write(place, b"")
        return place

    def _content(self, path: str, digest: str) -> bytes:
        try:
            with open(self._kept.path(digest), "rb") as file:
                content = file.read()
        except OSError:
            raise Missing(f"what {path} held is no longer kept beside the recording") from None
        if blake2b(content, digest_size=16).hexdigest() != digest:
            raise Missing(f"what {path} held has been changed beside the recording")
        return content

    def _large(self, place: str, path: str, flags: int, size: int, changed: int) -> str:
        try:
            if os.stat(place).st_size == size:
                return place
        except OSError:
            pass
        try:
            status = os.stat(path)
        except OSError:
            raise Missing(f"{path} was too large to be kept, and is gone") from None
        if (status.st_size, status.st_mtime_ns) != (size, changed):
            raise Missing(f"{path} was too large to be kept, and has changed since")
        if flags & os.O_ACCMODE != os.O_RDONLY:
            raise Missing(f"{path} is written to, and is too large for a copy")
        return path


def _digest(place: str) -> str:
    try:
        with open(place, "rb") as file:
            return str(blake2b(file.read(), digest_size=16).hexdigest())
    except OSError:
        return ""


def _write(place: str, content: bytes) -> None:
    """Write a new file, even if there is one: the program may still have that one open."""
    os.makedirs(os.path.dirname(place), exist_ok=True)
    _remove(place)
    with open(place, "wb") as file:
        file.write(content)


def _remove(place: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(place)
