"""The trace file of the recorder in Python: records go into pages, and at once into the tail.

Knows nothing of what records mean. If the program closes the file, or a write fails, `problem` says
so and nothing more is written; the tail keeps what is in no page, and the reason.

Invariant: only whole pages are written, and a page holds only whole records.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time

from whence.langs.python.record.tail import Tail
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace import trace_writer as w

_FLUSH_AFTER_SECONDS = 1.0
_RECORDS_BETWEEN_CLOCKS = 512
# Bound here: the program may replace them.
_write, _fstat, _truncate, _clock = os.write, os.fstat, os.ftruncate, time.monotonic


class TraceOutput:
    """An open trace file whose header is written."""

    def __init__(self, descriptor: int, max_bytes: int | None) -> None:
        self._descriptor = descriptor
        self._max_bytes = max_bytes
        self._identity = self._file_identity()
        self._pages = w.PageWriter(self._write_page)
        self._tail: Tail | None = None
        self._written = 0
        self._is_full = False
        self._until_clock = _RECORDS_BETWEEN_CLOCKS
        self._flushed_at = _clock()
        self.problem: str | None = None
        """Why nothing more is written."""

    def keep_tail(self, path: str, descriptor: int, check: int) -> None:
        """Keep in this file, too, what is in no page yet."""
        self._tail = Tail(path, descriptor, check, _fstat(self._descriptor).st_size)

    def is_full(self) -> bool:
        """Whether the size limit was reached."""
        if self._max_bytes is not None and not self._is_full:
            # Once full it stays so, although a page takes less room when it is packed.
            self._is_full = self._written + len(self._pages.buffer) >= self._max_bytes
        return self._is_full

    def add(self, records: bytearray) -> None:
        """Append whole records; from time to time, write a page."""
        self._pages.buffer += records
        if self._tail is not None and records:
            self._tail.add(records)
        self._until_clock -= 1
        if self._until_clock > 0 and not self._pages.page_is_full():
            return
        self._until_clock = _RECORDS_BETWEEN_CLOCKS
        now = _clock()
        if self._pages.page_is_full() or now - self._flushed_at >= _FLUSH_AFTER_SECONDS:
            self._flushed_at = now
            self._pages.flush()

    def flush(self) -> None:
        """Write what is in no page yet."""
        self._pages.flush()

    def close_tail(self) -> None:
        """All is in the trace: remove the tail."""
        if self._tail is not None and self.problem is None:
            self._tail.remove()

    def drop(self) -> None:
        """In a forked child: write nothing more, and forget what the parent will write."""
        self._pages.buffer.clear()
        if self._tail is not None:
            self._tail.forget()
            self._tail = None
        self.problem = "this is a forked process"

    def _write_page(self, page: bytes) -> None:
        if self.problem is not None:
            return
        try:
            if self._file_identity() != self._identity:
                self._fail(errno.EBADF)
                return
            size = _fstat(self._descriptor).st_size
        except OSError as problem:
            self._fail(problem.errno or errno.EBADF)
            return
        try:
            view = memoryview(page)
            while view:
                view = view[_write(self._descriptor, view) :]
        except OSError as problem:
            with contextlib.suppress(OSError):
                _truncate(self._descriptor, size)
            self._fail(problem.errno or errno.EIO)
            return
        self._written += len(page)
        if self._tail is not None:
            self._tail.restart(size + len(page))

    def _fail(self, error: int) -> None:
        self.problem = f.ending_error(error)
        if self._tail is not None:
            self._tail.stop(error)

    def _file_identity(self) -> tuple[int, int, int]:
        status = _fstat(self._descriptor)
        return status.st_dev, status.st_ino, stat.S_IFMT(status.st_mode)
