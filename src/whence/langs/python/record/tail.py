"""What is recorded but not yet in a page, kept in a file of its own beside the trace.

A process that is killed leaves it there, and whoever opens the trace reads on in it (*The tail* in
docs/trace-format.md). This is the one of the recorder in Python, which writes every record at once;
the one in C (`native/tail.c`) has its page in such a file.

Invariant: as many bytes as the file says are whole records, and belong at the place of the trace
that it says. Without a tail everything works; so whatever goes wrong here only ends it.
"""

from __future__ import annotations

import contextlib
import os

from whence.langs.python.trace import trace_format as f

# Bound here: the program may replace them.
_pwrite, _fstat, _close, _unlink = os.pwrite, os.fstat, os.close, os.unlink


class Tail:
    """An open tail; `forget` and `remove` end it."""

    def __init__(self, path: str, descriptor: int, check: int, at: int) -> None:
        self._path = path
        self._check = check
        self._descriptor: int | None = descriptor
        self._inode = _fstat(descriptor).st_ino
        self._length = 0
        self.restart(at)

    def add(self, records: bytes | bytearray) -> None:
        """Whole records: their bytes first, then that they count."""
        self._write(records, f.TAIL.size + self._length)
        self._length += len(records)
        self._write(self._length.to_bytes(8, "little"), f.TAIL_LENGTH_AT)

    def restart(self, at: int) -> None:
        """All of it is in the trace now; what follows belongs at this place."""
        self._length = 0
        self._write(f.TAIL.pack(f.TAIL_MAGIC, self._check, at, 0), 0)

    def _write(self, data: bytes | bytearray, at: int) -> None:
        if self._descriptor is None:
            return
        try:
            # The program may have closed it, and opened a file of its own under the number.
            if _fstat(self._descriptor).st_ino == self._inode:
                if _pwrite(self._descriptor, data, at) == len(data):
                    return
                self.forget()
        except OSError:
            pass
        self._descriptor = None

    def forget(self) -> None:
        """Write no more: in a forked child it is the parent's."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                if _fstat(self._descriptor).st_ino == self._inode:
                    _close(self._descriptor)
            self._descriptor = None

    def remove(self) -> None:
        """The recording has ended."""
        self.forget()
        with contextlib.suppress(OSError):
            _unlink(self._path)


def new_tail(output: str) -> tuple[str, int] | None:
    """The file for the tail of a trace, in the place of that of an earlier trace, and its number.

    None if there can be none.
    """
    path = output + f.TAIL_SUFFIX
    try:
        if os.path.lexists(path):
            with open(path, "rb") as file:
                if file.read(len(f.TAIL_MAGIC)) not in (f.TAIL_MAGIC, b""):
                    return None  # somebody's file
            os.unlink(path)
        # Made anew, never emptied: the process that has the old one mapped would be killed.
        return path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError:
        return None
