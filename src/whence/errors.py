"""The failures that whence reports about what it was given, apart from bugs of its own.

Everything a user can cause is a `WhenceError`: it says what is wrong, why, and what to do, and is
printed without a traceback. Any other exception that leaves whence is a bug of whence.
"""

from __future__ import annotations

import errno

_EXHAUSTED = {
    errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN,
}  # fmt: skip
"""Errors that name no file and are still no bug: the system has too little of something."""


class WhenceError(Exception):
    """What was asked for cannot be done; the message says what, why and what to do."""


def cause_outside(problem: OSError) -> str | None:
    """The file or the resource that the system refused; None if whence asked for nonsense."""
    if problem.filename is not None:
        return f"{problem.filename}: {problem.strerror}"
    return problem.strerror if problem.errno in _EXHAUSTED else None


def bug_notice(version: str) -> str:
    """What to print below the traceback of an exception that should not have left whence."""
    import platform

    return (
        f"\nwhence: this is a bug in whence {version} (Python "
        f"{platform.python_version()}, {platform.system()}). Please report it with the lines "
        "above and the command that you ran."
    )


class TreeFormatError(WhenceError):
    """A tree file is malformed. Names the line, so that its writer can be fixed."""

    def __init__(self, path: str, line: int | None, problem: str, cure: str = "") -> None:
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {problem}" + (f" ({cure})" if cure else ""))
        self.path = path
        self.line = line


class CannotExpand(WhenceError):
    """The callees of an implicit call cannot be had: what lies below it stays unknown."""


class UsageError(WhenceError):
    """A command or an answer was not understood; the message shows the right form."""


class CannotWriteTest(WhenceError):
    """No regression test of a call can be written; the message says why."""
