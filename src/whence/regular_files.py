"""Bounded reading of files that somebody else named: in a recording, or in a cloned repository.

A name may lead to a device that never ends, or to a FIFO that nobody writes to. Invariant: only
regular files are read, and no more of one than the caller allows.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 8 * 2**20
"""The most bytes of a source file."""
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def read_regular_file(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """The contents of a file; `OSError` if it is not regular, too large, or cannot be read."""
    with open_regular_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(min(size, most) + 1)  # a buffer of this size is allocated
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return data


def open_regular_file(path: str | Path) -> BinaryIO:
    """A file, open for reading; `OSError` if it is not regular, or cannot be read."""
    try:
        _require_regular(Path(path).stat(), path)
        descriptor = os.open(path, _FLAGS)
    except ValueError:  # a name with a NUL, or with characters that no file name has
        raise OSError(errno.EINVAL, "no file can have this name", str(path)) from None
    file = os.fdopen(descriptor, "rb")
    try:
        # Once more, because the name may lead to another file by now.
        _require_regular(os.fstat(descriptor), path)
    except OSError:
        file.close()
        raise
    return file


def _require_regular(status: os.stat_result, path: str | Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
