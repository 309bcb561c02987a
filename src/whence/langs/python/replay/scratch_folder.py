"""The folders in which programs are run again; what a session that was killed left is removed.

Each is locked while it is used, and a lock ends with its process, however that ends. So a folder
that is not locked is nobody's. One that was touched a moment ago may be about to be locked.
"""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import tempfile
import time
from pathlib import Path

PREFIX = "whence-again-"
_A_MOMENT = 600.0


class ScratchFolder(tempfile.TemporaryDirectory[str]):
    """A new folder, which is gone when it is left."""

    def __init__(self) -> None:
        _remove_left_once()
        super().__init__(prefix=PREFIX)
        self._lock = os.open(self.name, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def cleanup(self) -> None:
        """Remove it with all that is in it."""
        super().cleanup()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def remove_left(folder: Path) -> None:
    """Remove those in a folder that are nobody's any more."""
    for each in folder.glob(f"{PREFIX}*"):
        try:
            if time.time() - each.lstat().st_mtime < _A_MOMENT:
                continue
            opened = os.open(each, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # gone, or somebody else's
            continue
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(each, ignore_errors=True)
        except OSError:  # in use
            pass
        finally:
            os.close(opened)


@functools.cache
def _remove_left_once() -> None:
    remove_left(Path(tempfile.gettempdir()))
