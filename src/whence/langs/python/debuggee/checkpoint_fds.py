"""The file descriptors that the program has open at a checkpoint.

A fork shares open files and their offsets with its parent. So the content of files that the program
writes is copied when the checkpoint is made (`capture`), and a fork that continues the program
opens its own files (`restore`).

Invariant: a file is restored as it was at the checkpoint, or not at all.
"""

from __future__ import annotations

import _thread
import contextlib
import fcntl
import os
import stat
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

MOST_WRITTEN = 16 * 2**20
"""No checkpoint is made where more bytes would have to be copied."""
_CHUNK = 2**20
_WAITS = 100
# Bound here, because a program may replace them.
_open, _open_number, _close, _dup2, _fstat, _lseek = (
    open, os.open, os.close, os.dup2, os.fstat, os.lseek
)  # fmt: skip
_listdir, _makedirs, _readlink, _unlink = os.listdir, os.makedirs, os.readlink, os.unlink
_count, _sleep = _thread._count, time.sleep
_LASTING = os.O_ACCMODE | os.O_APPEND | os.O_NONBLOCK
"""The flags of an open file that outlast its opening."""
_NUMBERS, _INFO, _MAPS, _TASKS = (f"/proc/self/{name}" for name in ("fd", "fdinfo", "maps", "task"))
_EVENT_LOOP, _NO_FILE = "anon_inode:[eventpoll]", "anon_inode:"


class CannotCheckpoint(Exception):
    """Why no checkpoint can be made here, in half a sentence."""


@dataclass(frozen=True, slots=True)
class OpenFile:
    """One descriptor and the file that it is open on."""

    number: int
    flags: int
    inherited: bool
    """Whether a program that is started gets it."""
    name: str
    offset: int = 0
    size: int = 0
    modified: int = 0
    copy: str = ""
    """Where its content was copied to, if the program may write to it."""
    watched: tuple[tuple[int, int], ...] = ()
    """Of an epoll object: the descriptors that it watches, and the events."""

    @property
    def is_written(self) -> bool:
        """Whether it is a file that the program may write to."""
        return self.name != _EVENT_LOOP and self.flags & os.O_ACCMODE != os.O_RDONLY


def _check_threads() -> None:
    """Refuse if there is another thread. One that was joined may be listed for a moment more."""
    for _ in range(_WAITS):
        if len(_listdir(_TASKS)) == 1:
            return
        if _count():
            raise CannotCheckpoint("threads are active")
        _sleep(0.001)
    raise CannotCheckpoint(
        "a library has threads of its own (those of numpy do not begin if it is recorded with "
        "OPENBLAS_NUM_THREADS=1)"
    )


def capture(folder: str, sandbox: str, own: Collection[int]) -> list[OpenFile]:
    """The files that a fork has to open itself; the written ones are copied to a folder.

    `own` are whence's descriptors.
    """
    _check_threads()
    _check_memory(os.path.dirname(folder), sandbox)
    files: list[OpenFile] = []
    inodes: set[tuple[int, int]] = set()
    room = MOST_WRITTEN
    for number in sorted(map(int, _listdir(_NUMBERS))):
        try:
            status = _fstat(number)
        except OSError:  # that of the listing itself
            continue
        file = None if number in own else _open_file(number, status)
        if file is None:
            continue
        if stat.S_ISREG(status.st_mode):
            inode = status.st_dev, status.st_ino
            if inode in inodes:  # they may share an offset
                raise CannotCheckpoint(f"{file.name} is open twice")
            inodes.add(inode)
        if file.is_written:
            room -= file.size
            if room < 0:
                raise CannotCheckpoint(f"{file.name} is open for writing, and large")
        files.append(file)
    return [_with_copy(file, folder) for file in files]


def _open_file(number: int, status: os.stat_result) -> OpenFile | None:
    """The file of a descriptor; None if a fork may share it."""
    name = _readlink(f"{_NUMBERS}/{number}")
    inherited = not fcntl.fcntl(number, fcntl.F_GETFD) & fcntl.FD_CLOEXEC
    flags = fcntl.fcntl(number, fcntl.F_GETFL)
    if name == _EVENT_LOOP:
        return OpenFile(number, flags, inherited, name, watched=tuple(_watched(number)))
    if name.startswith(_NO_FILE):
        raise CannotCheckpoint(f"it holds {name.removeprefix(_NO_FILE)}")
    if not stat.S_ISREG(status.st_mode):
        return None  # the journal answers for it: no data passes through it in a re-run
    offset = _lseek(number, 0, os.SEEK_CUR)
    return OpenFile(number, flags, inherited, name, offset, status.st_size, status.st_mtime_ns)


def _watched(number: int) -> Iterator[tuple[int, int]]:
    with _open(f"{_INFO}/{number}", encoding="ascii") as file:
        for line in file:
            fields = line.split()
            if fields[:1] == ["tfd:"]:
                yield int(fields[1]), int(fields[3], 16)


def _check_memory(folder: str, sandbox: str) -> None:
    """Refuse if a fork would share memory with this process, other than whence's own."""
    with _open(_MAPS, "rb") as file:
        for line in file:
            fields = line.split(maxsplit=5)
            if fields[1][1:2] == b"w" and fields[1].endswith(b"s"):
                name = os.fsdecode(fields[5]) if len(fields) > 5 else ""
                if not name.startswith(folder) or name.startswith(sandbox):
                    raise CannotCheckpoint("it has memory that is shared with files or processes")


def _with_copy(file: OpenFile, folder: str) -> OpenFile:
    if not file.is_written:
        return file
    _makedirs(folder, exist_ok=True)
    copy = os.path.join(folder, str(file.number))
    _copy(f"{_NUMBERS}/{file.number}", copy, file.size)
    return replace(file, copy=copy)


def _copy(source: str, target: str, size: int) -> None:
    with _open(source, "rb") as file, _open(target, "wb") as copy:
        while size > 0:
            piece = file.read(min(size, _CHUNK))
            if not piece:
                raise OSError(f"{source} is shorter than it was")
            copy.write(piece)
            size -= len(piece)


def restore(files: Collection[OpenFile], before: str, sandbox: str) -> None:
    """In a fork that continues the program: open all files again, below its own folder.

    `before` is the folder in which they were. Raises `OSError` if a file cannot be restored.
    """
    for file in files:
        if file.name == _EVENT_LOOP:
            continue
        if not file.copy:
            _reopen(file)
            continue
        name = file.name.removesuffix(" (deleted)")
        inside = name.startswith(before + os.sep) and name == file.name
        path = sandbox + name.removeprefix(before) if inside else f"{sandbox}.{file.number}"
        _makedirs(os.path.dirname(path), exist_ok=True)
        _copy(file.copy, path, file.size)
        _put(file, _open_number(path, file.flags & _LASTING | os.O_CLOEXEC))
        if not inside:
            _unlink(path)
    for file in files:
        if file.name == _EVENT_LOOP:
            loop = sys.modules["select"].epoll()
            for number, events in file.watched:
                loop.register(number, events)
            _dup2(loop.fileno(), file.number, inheritable=file.inherited)
            loop.close()


def _reopen(file: OpenFile) -> None:
    """Open a file that is only read, unless it was written to since the checkpoint."""
    opened = _open_number(f"{_NUMBERS}/{file.number}", file.flags & _LASTING | os.O_CLOEXEC)
    status = _fstat(opened)
    if (status.st_size, status.st_mtime_ns) != (file.size, file.modified):
        _close(opened)
        raise OSError(f"{file.name} has changed")
    _put(file, opened)


def _put(file: OpenFile, opened: int) -> None:
    _lseek(opened, file.offset, os.SEEK_SET)
    _dup2(opened, file.number, inheritable=file.inherited)
    _close(opened)


def release(files: Collection[OpenFile]) -> None:
    """Remove the copies."""
    for file in files:
        if file.copy:
            with contextlib.suppress(OSError):
                _unlink(file.copy)
