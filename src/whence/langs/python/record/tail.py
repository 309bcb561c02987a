"""The tail of a trace: a file beside it with the records that are in no page yet.

A killed process leaves it behind, and readers of the trace continue in it (*The tail* in
docs/trace-format.md). This is the tail of the recorder in Python, which writes every record at
once; the recorder in C (`native/tail.c`) maps its page to such a file.

Invariant: the file says how many bytes of it are whole records, and at which offset of the trace
they belong. A trace needs no tail, so any failure here only ends the tail.
"""

from __future__ import annotations

import contextlib
import os

from whence.langs.python.trace import trace_format as f
from whence.user_folders import open_private_file

# Bound here: the program may replace them.
_pwrite, _fstat, _open, _close, _unlink = os.pwrite, os.fstat, os.open, os.close, os.unlink


class Tail:
    """An open tail, until `forget` or `remove`."""

    def __init__(self, path: str, descriptor: int, check: int, at: int) -> None:
        self._path = path
        self._check = check
        self._descriptor: int | None = descriptor
        self._inode = _fstat(descriptor).st_ino
        self._length = 0
        self.restart(at)

    def add(self, records: bytes | bytearray) -> None:
        """Append whole records: first their bytes, then the new length."""
        self._write(records, f.TAIL.size + self._length)
        self._length += len(records)
        self._write(self._length.to_bytes(8, "little"), f.TAIL_LENGTH_AT)

    def restart(self, at: int) -> None:
        """All of it is in the trace now; what follows belongs at this offset."""
        self._length = 0
        self._write(f.TAIL.pack(f.TAIL_MAGIC, self._check, at, 0, 0), 0)

    def _write(self, data: bytes | bytearray, at: int) -> None:
        if self._descriptor is None:
            return
        try:
            # The program may have closed it, and another file may have its number.
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

    def stop(self, error: int) -> None:
        """The recording has failed: keep what the file holds, and add the reason."""
        if self._descriptor is None:
            # The program closed it, or there was no room for more records.
            with contextlib.suppress(OSError):
                self._descriptor = _open(self._path, os.O_WRONLY | os.O_CLOEXEC)
        self._write(error.to_bytes(8, "little"), f.TAIL_ERROR_AT)
        self.forget()

    def remove(self) -> None:
        """The recording has ended."""
        self.forget()
        with contextlib.suppress(OSError):
            _unlink(self._path)


def new_tail(output: str) -> tuple[str, int] | None:
    """Create the file for the tail of a trace: its path and descriptor; None if that fails.

    The tail of an earlier trace is removed.
    """
    path = output + f.TAIL_SUFFIX
    try:
        if os.path.lexists(path):
            with open(path, "rb") as file:
                if file.read(len(f.TAIL_MAGIC)) not in (f.TAIL_MAGIC, b""):
                    return None  # a file of the user
            os.unlink(path)
        # The old file is not truncated: a process that has it mapped would be killed.
        return path, open_private_file(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    except OSError:
        return None
