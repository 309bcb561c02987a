"""The source files that a tree names.

A tree file is somebody else's, so only a regular file of a modest size is read, and only to show
lines of it. What stands in a file today need not be what ran: `changed` says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from whence.errors import WhenceError
from whence.regular_files import MOST_BYTES, read_regular_file


@dataclass(frozen=True)
class SourceFiles:
    """Where the files of a program are: `folder` is the one that it ran in, if that is known."""

    folder: Path | None = None
    began: float | None = None
    """When the run began, in seconds."""

    def path(self, file: str) -> Path:
        """The file that a tree names."""
        return Path(file) if self.folder is None else self.folder / file

    def read(self, file: str) -> str:
        """The whole text of a file; `WhenceError` if it cannot be read."""
        path = self.path(file)
        try:
            if not path.is_file():
                raise WhenceError(f"{file} is not there, and the tree does not hold its text")
            if path.stat().st_size > MOST_BYTES:
                raise WhenceError(f"{file} is too large to be shown")
            return read_regular_file(path).decode("utf-8", errors="replace")
        except (OSError, ValueError) as problem:
            raise WhenceError(f"{file} cannot be read ({problem})") from problem

    def changed(self, file: str) -> bool:
        """Whether a file was written to after the run began."""
        if self.began is None:
            return False
        try:
            return self.path(file).stat().st_mtime > self.began
        except (OSError, ValueError):
            return False

    def read_unchanged(self, file: str) -> str:
        """The text of a file as it was when the run began; `WhenceError` if it cannot be known."""
        if self.began is None or self.changed(file):
            raise WhenceError(f"{file} may have been changed since the run began")
        return self.read(file)
