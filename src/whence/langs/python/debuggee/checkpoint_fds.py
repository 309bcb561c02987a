"""In a re-run: the descriptors that the program holds open where a copy of its process is made.

Copies share files with the process that they were made of, and the place up to which these are read
or written. So what is written is copied beforehand, and whoever goes on in a copy opens its own.

Invariant: nothing is taken up that is not as it was when the copy was made.
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
"""No copy of the process is made while so many bytes would have to be copied with it."""
_CHUNK = 2**20
_WAITS = 100
# A program may put something else in their place.
_open, _open_number, _close, _dup2, _fstat, _lseek = (
    open, os.open, os.close, os.dup2, os.fstat, os.lseek
)  # fmt: skip
_listdir, _makedirs, _readlink, _unlink = os.listdir, os.makedirs, os.readlink, os.unlink
_count, _sleep = _thread._count, time.sleep
_LASTING = os.O_ACCMODE | os.O_APPEND | os.O_NONBLOCK
"""What was said when a file was opened and goes on to matter."""
_NUMBERS, _INFO, _MAPS, _TASKS = (f"/proc/self/{name}" for name in ("fd", "fdinfo", "maps", "task"))
_EVENT_LOOP, _NO_FILE = "anon_inode:[eventpoll]", "anon_inode:"


class CannotCopy(Exception):
    """Why no copy of the process can be made here, in half a sentence."""


@dataclass(frozen=True, slots=True)
class OpenFile:
    """One descriptor."""

    number: int
    flags: int
    inherited: bool
    """Whether programs that are started would have it."""
    name: str
    place: int = 0
    size: int = 0
    changed: int = 0
    copy: str = ""
    """Where its content was copied to, if it is written."""
    watched: tuple[tuple[int, int], ...] = ()
    """Of an event loop: descriptors, and what is waited for."""

    @property
    def is_written(self) -> bool:
        """Whether it is a file, and the program may write to it."""
        return self.name != _EVENT_LOOP and self.flags & os.O_ACCMODE != os.O_RDONLY


def _check_threads() -> None:
    """That there is no other thread; one that was joined may be listed for a moment more."""
    for _ in range(_WAITS):
        if len(_listdir(_TASKS)) == 1:
            return
        if _count():
            raise CannotCopy("threads are active")
        _sleep(0.001)
    raise CannotCopy(
        "a library has threads of its own (those of numpy do not begin if it is recorded with "
        "OPENBLAS_NUM_THREADS=1)"
    )


def capture(folder: str, sandbox: str, own: Collection[int]) -> list[OpenFile]:
    """All that has to be opened anew, what is written copied to a folder; `own` are whence's."""
    _check_threads()
    _check_memory(os.path.dirname(folder), sandbox)
    found: list[OpenFile] = []
    seen: set[tuple[int, int]] = set()
    room = MOST_WRITTEN
    for number in sorted(map(int, _listdir(_NUMBERS))):
        try:
            status = _fstat(number)
        except OSError:  # that of the listing itself
            continue
        each = None if number in own else _held(number, status)
        if each is None:
            continue
        if stat.S_ISREG(status.st_mode):
            if (status.st_dev, status.st_ino) in seen:  # they may share the place in it
                raise CannotCopy(f"{each.name} is open twice")
            seen.add((status.st_dev, status.st_ino))
        if each.is_written:
            room -= each.size
            if room < 0:
                raise CannotCopy(f"{each.name} is open for writing, and large")
        found.append(each)
    return [_copied(each, folder) for each in found]


def _held(number: int, status: os.stat_result) -> OpenFile | None:
    """What is known of a descriptor; None if nothing has to be done about it."""
    name = _readlink(f"{_NUMBERS}/{number}")
    inherited = not fcntl.fcntl(number, fcntl.F_GETFD) & fcntl.FD_CLOEXEC
    flags = fcntl.fcntl(number, fcntl.F_GETFL)
    if name == _EVENT_LOOP:
        return OpenFile(number, flags, inherited, name, watched=tuple(_watched(number)))
    if name.startswith(_NO_FILE):
        raise CannotCopy(f"it holds {name.removeprefix(_NO_FILE)}")
    if not stat.S_ISREG(status.st_mode):
        return None  # nothing comes from it, and nothing gets there: that is the journal's
    place = _lseek(number, 0, os.SEEK_CUR)
    return OpenFile(number, flags, inherited, name, place, status.st_size, status.st_mtime_ns)


def _watched(number: int) -> Iterator[tuple[int, int]]:
    with _open(f"{_INFO}/{number}", encoding="ascii") as file:
        for line in file:
            words = line.split()
            if words[:1] == ["tfd:"]:
                yield int(words[1]), int(words[3], 16)


def _check_memory(folder: str, sandbox: str) -> None:
    """Memory that a copy would share with this process, other than whence's own."""
    with _open(_MAPS, "rb") as file:
        for line in file:
            words = line.split(maxsplit=5)
            if words[1][1:2] == b"w" and words[1].endswith(b"s"):
                name = os.fsdecode(words[5]) if len(words) > 5 else ""
                if not name.startswith(folder) or name.startswith(sandbox):
                    raise CannotCopy("it has memory that is shared with files or processes")


def _copied(each: OpenFile, folder: str) -> OpenFile:
    if not each.is_written:
        return each
    _makedirs(folder, exist_ok=True)
    copy = os.path.join(folder, str(each.number))
    _copy(f"{_NUMBERS}/{each.number}", copy, each.size)
    return replace(each, copy=copy)


def _copy(source: str, target: str, size: int) -> None:
    with _open(source, "rb") as file, _open(target, "wb") as copy:
        while size > 0:
            piece = file.read(min(size, _CHUNK))
            if not piece:
                raise OSError(f"{source} is shorter than it was")
            copy.write(piece)
            size -= len(piece)


def restore(every: Collection[OpenFile], before: str, sandbox: str) -> None:
    """In a process that goes on: open all that was held, in the folder of its own files.

    `before` is the folder that these had. An `OSError` says that it cannot be.
    """
    for each in every:
        if each.name == _EVENT_LOOP:
            continue
        if not each.copy:
            _reopen(each)
            continue
        name = each.name.removesuffix(" (deleted)")
        inside = name.startswith(before + os.sep) and name == each.name
        place = sandbox + name.removeprefix(before) if inside else f"{sandbox}.{each.number}"
        _makedirs(os.path.dirname(place), exist_ok=True)
        _copy(each.copy, place, each.size)
        _put(each, _open_number(place, each.flags & _LASTING | os.O_CLOEXEC))
        if not inside:
            _unlink(place)
    for each in every:
        if each.name == _EVENT_LOOP:
            loop = sys.modules["select"].epoll()
            for number, events in each.watched:
                loop.register(number, events)
            _dup2(loop.fileno(), each.number, inheritable=each.inherited)
            loop.close()


def _reopen(each: OpenFile) -> None:
    """What is only read may have been written to since, by another descriptor."""
    opened = _open_number(f"{_NUMBERS}/{each.number}", each.flags & _LASTING | os.O_CLOEXEC)
    status = _fstat(opened)
    if (status.st_size, status.st_mtime_ns) != (each.size, each.changed):
        _close(opened)
        raise OSError(f"{each.name} has changed")
    _put(each, opened)


def _put(each: OpenFile, opened: int) -> None:
    _lseek(opened, each.place, os.SEEK_SET)
    _dup2(opened, each.number, inheritable=each.inherited)
    _close(opened)


def release(every: Collection[OpenFile]) -> None:
    """Remove the copies."""
    for each in every:
        if each.copy:
            with contextlib.suppress(OSError):
                _unlink(each.copy)
