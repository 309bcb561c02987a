"""A trace file as pages: what its header says, and the payload of each page.

Knows nothing of records. A file that is still being written, or was cut short by a crash, is whole
up to its last good page. Pages are read with `pread` and not mapped: they are packed, so that a
mapping would save nothing, and a mapped file that shrinks kills the process that reads it.

Invariant: whatever is wrong with a file is a `TraceError`, or ends the file before the page.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import struct
import threading
import weakref
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from whence.errors import TreeFormatError
from whence.langs.python.recording_signature import why_foreign
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.native_or_python_scan import decode_page
from whence.langs.python.trace.trace_format import MalformedTrace

_MAX_HEADER: Final = 16 * 2**20
_KEPT_BYTES: Final = 32 * 2**20
"""The most bytes of decoded pages kept in memory."""
_MAX_PAGES: Final = 2**34
_MOST_RATIO: Final = 30
"""How many times its size a foreign trace may have when it is unpacked."""
_FREE: Final = 16 * 2**20
"""So many bytes more, for small traces of equal records."""
DAMAGED: Final = "a page is damaged: its bytes do not fit its check sum"


class TraceError(TreeFormatError):
    """A trace file cannot be read; the text says what, why, and what to do."""

    def __init__(self, path: Path, problem: str, cure: str = "") -> None:
        super().__init__(str(path), None, problem, cure)


@dataclass(frozen=True, slots=True)
class TraceHeader:
    """The header of a trace. Fields that the file leaves out are empty."""

    root: str = ""
    command: tuple[str, ...] = ()
    cwd: str = ""
    python: str = ""
    backend: str = ""
    started: str = ""
    pid: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    run: str = ""
    """The recording that it belongs to, of which there may be several processes."""
    clock: int = 0
    """When it was started, in nanoseconds."""
    parent: str = ""
    """The trace of the process that started this one."""
    parent_call: int | None = None
    words: tuple[str, ...] = ()
    """The command as it was given, unlike `command` not made printable."""
    repeatable: Mapping[str, Any] = field(default_factory=dict)
    """How the run was made repeatable."""
    test: str = ""
    """The pytest test that was recorded, instead of the whole program."""
    with_teardown: bool = False
    """Whether the teardown of that test was recorded, too."""

    @property
    def knows_effects(self) -> bool:
        """Whether all that a call read and changed was recorded."""
        return self.options.get("detail") == "full"


@dataclass(frozen=True, slots=True)
class _Page:
    offset: int
    codec: int
    stored: int
    length: int
    check: int


def is_trace(start: bytes) -> bool:
    """Whether a file that starts like this is a trace."""
    return start[: len(f.MAGIC)] == f.MAGIC


class TraceFile:
    """An open trace file; it is closed by `close` or when it is freed.

    A file that stays open can be read when it was removed. One that does not is opened again for
    each read: there may be more of them than a process may have open files.
    """

    def __init__(self, path: Path, *, stays_open: bool = True) -> None:
        self.path = path
        descriptor = _opened(path)
        about = os.fstat(descriptor)
        self._identity = about.st_dev, about.st_ino
        self.size = about.st_size
        self._descriptor = descriptor if stays_open else None
        self.close: Callable[[], object] = lambda: None
        if stays_open:
            self.close = weakref.finalize(self, os.close, descriptor)
        else:
            os.close(descriptor)
        self.header, self._start = self._read_header()
        self._pages, self._stop, self._why = self._frames()
        self._check_unpacked()
        self.error = 0
        """The number of the error that ended the recording before the run ended; 0: none."""
        self._tail = self._read_tail()
        if self._tail:
            self._pages.append(_Page(self._stop + f.PAGE.size, 0, 0, len(self._tail), 0))
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._kept_bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def has_tail(self) -> bool:
        """Whether its last page comes from the tail of a process that was killed."""
        return bool(self._tail)

    @property
    def tail_check(self) -> int:
        """A check sum of the tail."""
        return zlib.crc32(self._tail)

    @property
    def unread(self) -> int:
        """How many bytes at the end of the file belong to no whole page."""
        return 0 if self._tail else self.size - self._stop

    @property
    def why_unread(self) -> str:
        """Why the file ends before its last byte; empty if it does not."""
        return self._why if self.unread else ""

    @property
    def why_stopped(self) -> str:
        """Why the recording ended before the run did; empty if that is not known."""
        return f.ending_error(self.error) if self.error else ""

    def end_before(self, page: int, why: str) -> None:
        """From now on the file has only the pages before this one."""
        self._stop = self._pages[page].offset - f.PAGE.size
        self._why = why
        self._tail = b""
        del self._pages[page:]

    def length(self, page: int) -> int:
        """How many bytes a page's payload has."""
        return self._pages[page].length

    def payload(self, page: int) -> bytes:
        """The records of a page; `MalformedTrace` if it is damaged."""
        with self._lock:
            kept = self._kept.get(page)
            if kept is not None:
                self._kept.move_to_end(page)
                return kept
        data = self.decoded(page)
        with self._lock:
            if page not in self._kept:
                self._kept[page] = data
                self._kept_bytes += len(data)
            while self._kept_bytes > _KEPT_BYTES and len(self._kept) > 1:
                self._kept_bytes -= len(self._kept.popitem(last=False)[1])
        return data

    def decoded(self, page: int) -> bytes:
        """The same without caching, for reading all pages in turn."""
        try:
            about = self._pages[page]
        except IndexError:
            raise MalformedTrace(f"there is no page {page}") from None
        if self._tail and page in (len(self._pages) - 1, -1):
            return self._tail
        stored = self._read(about.offset, about.stored)
        if len(stored) != about.stored or zlib.crc32(stored) != about.check:
            raise MalformedTrace(DAMAGED)
        return decode_page(about.codec, stored, about.length)

    def open(self) -> int:
        """A new descriptor of the file, which the caller closes."""
        if self._descriptor is not None:
            return os.dup(self._descriptor)
        descriptor = _opened(self.path)
        about = os.fstat(descriptor)
        if (about.st_dev, about.st_ino) != self._identity:
            os.close(descriptor)
            raise TraceError(self.path, "another file has replaced it", "open the recording again")
        return descriptor

    def _read(self, offset: int, length: int) -> bytes:
        try:
            if self._descriptor is not None:
                return os.pread(self._descriptor, length, offset)
            descriptor = self.open()
            try:
                return os.pread(descriptor, length, offset)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise TraceError(self.path, f"cannot be read: {error.strerror or error}") from None

    def _read_header(self) -> tuple[TraceHeader, int]:
        head = self._read(0, f.HEADER.size)
        if not head:
            raise TraceError(
                self.path,
                "the file is empty",
                "the recording ended before anything was written; record again",
            )
        if not is_trace(head):
            raise TraceError(
                self.path, "this is not a trace file", "`whence record -o FILE script.py` makes one"
            )
        damaged = TraceError(
            self.path,
            "the header is damaged, so that nothing in the file can be trusted",
            "record again",
        )
        if len(head) < f.HEADER.size:
            raise damaged
        _, version, length, check = f.HEADER.unpack(head)
        self._check = check
        if version > f.VERSION:
            raise TraceError(
                self.path,
                f"the file has version {version} of the format, and this whence knows up to "
                f"{f.VERSION}",
                "open it with a newer whence",
            )
        text = self._read(f.HEADER.size, length) if length <= _MAX_HEADER else b""
        if version < 1 or len(text) != length or zlib.crc32(text) != check:
            raise damaged
        try:
            about = json.loads(text)
        except (ValueError, RecursionError):
            raise damaged from None
        return _header(about), f.HEADER.size + length

    def _frames(self) -> tuple[list[_Page], int, str]:
        """The whole pages, where the last of them ends, and why there."""
        pages: list[_Page] = []
        place, why = self._start, ""
        while place < self.size and len(pages) < _MAX_PAGES:
            frame = self._read(place, f.PAGE.size)
            if len(frame) < f.PAGE.size:
                why = "the last page is cut short"
                break
            magic, codec, stored, length, check = f.PAGE.unpack(frame)
            packed = length > (stored + 1) * f.MAX_RATIO
            if magic != f.PAGE_MAGIC or length > f.MAX_PAGE or packed:
                why = "what follows is not a page"
                break
            if stored > self.size - place - f.PAGE.size:
                why = "the last page is cut short"
                break
            pages.append(_Page(place + f.PAGE.size, codec, stored, length, check))
            place += f.PAGE.size + stored
        return pages, place, why

    def _check_unpacked(self) -> None:
        """Refuse a small file that would fill the memory: a few bytes may unpack to many calls.

        A program that makes equal calls only has such a recording too, so the user's own is read.
        """
        unpacked, most = sum(page.length for page in self._pages), _FREE + self.size * _MOST_RATIO
        if unpacked <= most:
            return
        why = why_foreign(_recording_of(self.path))
        if why:
            raise TraceError(
                self.path,
                f"its {self.size:,} bytes unpack to {unpacked:,}, over {_MOST_RATIO} times as "
                f"many, and {why}",
                "record again",
            )

    def _read_tail(self) -> bytes:
        """The records that were in no page yet; empty if there is no such tail.

        One that belongs elsewhere is from before the last page was written.
        """
        wanted = f.TAIL_MAGIC, self._check, self._stop
        try:
            with open(f"{self.path}{f.TAIL_SUFFIX}", "rb", opener=_without_waiting) as file:
                *about, length, error = f.TAIL.unpack(file.read(f.TAIL.size))
                if tuple(about[:2]) == wanted[:2]:
                    self.error = error
                # A buffer of this length is allocated.
                left = os.fstat(file.fileno()).st_size - f.TAIL.size
                if tuple(about) != wanted or length > min(left, f.MAX_PAGE):
                    return b""
                records = file.read(length)
                file.seek(0)
                # It may still be written to: what was read counts unless it was begun anew.
                *about, _, _ = f.TAIL.unpack(file.read(f.TAIL.size))
        except (OSError, ValueError, struct.error):
            return b""
        return records if tuple(about) == wanted and len(records) == length else b""


def _recording_of(path: Path) -> Path:
    """The recording that a trace is part of: those of child processes are in a folder beside it."""
    folder = path.absolute().parent
    if folder.name.endswith(f.FOLDER):
        recording = folder.with_name(folder.name.removesuffix(f.FOLDER))
        return recording if recording.is_file() else path
    return path


def _without_waiting(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file", path)
    return descriptor


def _opened(path: Path) -> int:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise TraceError(path, "this is not a regular file", "copy the trace into a file first")
        return os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a null character in the path
        raise TraceError(path, f"cannot be read: {error}") from None


def _header(about: Any) -> TraceHeader:
    """The fields of the JSON that have the right type."""
    if not isinstance(about, dict):
        about = {}

    def text(key: str) -> str:
        value = about.get(key)
        return without_nul(printable(value)) if isinstance(value, str) else ""

    parent, clock = about.get("parent"), about.get("clock")
    repeatable, test = about.get("repeatable"), about.get("test")
    if not isinstance(parent, dict):
        parent = {}
    if not isinstance(test, dict):
        test = {}
    by, call = parent.get("file"), parent.get("call")
    command, options, pid = about.get("command"), about.get("options"), about.get("pid")
    return TraceHeader(
        root=text("root"),
        command=tuple(without_nul(printable(str(word))) for word in command)
        if isinstance(command, list)
        else (),
        cwd=text("cwd"),
        python=text("python"),
        backend=text("backend"),
        started=text("started"),
        pid=pid if isinstance(pid, int) else None,
        options=options if isinstance(options, dict) else {},
        run=text("run"),
        clock=clock if isinstance(clock, int) else 0,
        words=tuple(without_nul(str(word)) for word in command)
        if isinstance(command, list)
        else (),
        repeatable=repeatable if isinstance(repeatable, dict) else {},
        test=without_nul(str(test.get("name", ""))),
        with_teardown=test.get("with_teardown") is True,
        parent=printable(by) if isinstance(by, str) else "",
        parent_call=call if isinstance(call, int) else None,
    )


def without_nul(text: str) -> str:
    """The text with NUL characters escaped, which no file name and no command line can have."""
    return text.replace("\0", "\\x00")


def printable(text: str) -> str:
    """The text with unpaired surrogates escaped, so that it can be printed."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
