"""Where whence keeps files of this user that belong to no project: state and caches.

Both follow the XDG base directory specification. What is kept may hold values of programs, so
folders and files are for this user only, whatever the umask.

A debuggee imports this, so nothing here imports `pathlib` before it is needed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whence.errors import WhenceError

if TYPE_CHECKING:
    from pathlib import Path

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600


def state_folder() -> Path:
    """For what must not be lost: sessions, the key that signs recordings."""
    return _base("XDG_STATE_HOME", ".local/state") / "whence"


def cache_folder() -> Path:
    """For what can be made again: indexes, reference versions."""
    return _base("XDG_CACHE_HOME", ".cache") / "whence"


def make_private_folder(path: str | os.PathLike[str]) -> None:
    """Create a folder for this user only, and the missing folders above it."""
    os.makedirs(path, mode=PRIVATE_FOLDER, exist_ok=True)


def open_private_file(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file, which is created for this user only."""
    return os.open(path, flags | os.O_CLOEXEC, PRIVATE_FILE)


def _base(variable: str, default: str) -> Path:
    from pathlib import Path

    folder = Path(os.environ.get(variable, ""))
    if folder.is_absolute():  # the specification says to ignore a relative one
        return folder
    try:
        return Path.home() / default
    except RuntimeError:
        raise WhenceError(
            f"this user has no home folder, so nothing can be kept there; set HOME or {variable}"
        ) from None
