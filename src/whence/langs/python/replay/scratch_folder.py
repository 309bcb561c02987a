"""Folders in which programs run again; removes those that a killed session left behind.

A folder is locked while it is used, and a lock ends with its process. So a folder without a lock
is abandoned, unless it is so new that it may be about to be locked.
"""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import tempfile
import time
from pathlib import Path

from whence.langs.python.recording_signature import count_as_own

PREFIX = "whence-again-"
_A_MOMENT = 600.0


class ScratchFolder(tempfile.TemporaryDirectory[str]):
    """A new folder, removed when the context ends."""

    def __init__(self) -> None:
        _remove_abandoned_once()
        super().__init__(prefix=PREFIX)
        self._lock = os.open(self.name, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        count_as_own(self.name)

    def cleanup(self) -> None:
        """Remove the folder and its contents."""
        super().cleanup()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def remove_abandoned(folder: Path) -> None:
    """Remove abandoned scratch folders from a folder."""
    for scratch in folder.glob(f"{PREFIX}*"):
        try:
            if time.time() - scratch.lstat().st_mtime < _A_MOMENT:
                continue
            opened = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # gone, or somebody else's
            continue
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(scratch, ignore_errors=True)
        except OSError:  # in use
            pass
        finally:
            os.close(opened)


@functools.cache
def _remove_abandoned_once() -> None:
    remove_abandoned(Path(tempfile.gettempdir()))
