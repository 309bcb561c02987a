"""What changed lately, as far as git and the learned tests know. Nothing of the project is run.

Owns the two questions "is this line newer than the last commit" and "how old is this function".
A project without a repository, or without git, has no answers.
"""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.python.oracles.checkouts import git

_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")
_TIME = re.compile(r"^committer-time (\d+)$", re.MULTILINE)
_NO_PROGRAMS = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames")
"""A repository's settings could name programs that git would run."""
_FSMONITOR = ("-c", "core.fsmonitor=false")
_DAY = 86_400


class RecentChanges:
    """What changed in one repository."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._top: Path | None = None
        self._uncommitted: dict[str, set[int]] = {}
        with contextlib.suppress(WhenceError, OSError):
            self._top = Path(self._git("rev-parse", "--show-toplevel"))
            self._uncommitted = _new_lines(self._git("diff", "-U0", *_NO_PROGRAMS, "HEAD", "--"))

    def _git(self, *words: str) -> str:
        return git(str(self._root), *_FSMONITOR, *words)

    def has_new_lines(self, file: str, first: int, last: int) -> bool:
        """Whether lines from `first` to `last` differ from the last commit."""
        if self._top is None:
            return False
        with contextlib.suppress(ValueError):
            name = Path(file).resolve().relative_to(self._top.resolve()).as_posix()
            return any(first <= line <= last for line in self._uncommitted.get(name, ()))
        return False

    def days_old(self, file: str, first: int, last: int) -> float | None:
        """The age of the newest of some lines, in days; None if it is not known."""
        if self._top is None:
            return None
        try:
            told = self._git("blame", "--porcelain", "-L", f"{first},{last}", "--", file)
        except WhenceError:  # a file that git does not have, or is shorter there
            return None
        times = [int(found) for found in _TIME.findall(told)]
        return max(0.0, (time.time() - max(times)) / _DAY) if times else None


def _new_lines(diff: str) -> dict[str, set[int]]:
    """The lines that a diff adds, by file."""
    added: dict[str, set[int]] = {}
    current: set[int] = set()
    for line in diff.splitlines():
        if line.startswith("+++ "):
            current = added.setdefault(line[4:].removeprefix("b/").strip('"'), set())
        elif (hunk := _HUNK.match(line)) is not None:
            start, count = int(hunk[1]), int(hunk[2] or 1)
            # A hunk that only removes lines changed the line before it.
            current.update(range(start, start + max(1, count)))
    return added
