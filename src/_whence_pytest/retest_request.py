"""The request to run one failed test again and record it, and the reply to it.

`failures` writes the request and reads the reply; `recorded_test`, in a fresh process, does the
opposite. Both are JSON files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from whence.langs.python.record.recording import Settings
from whence.typed_json import reader, to_data

HOOKS = ("conftest.pytest_*", "*.conftest.pytest_*")
"""Hooks of conftest files: user code, but part of no test."""


@dataclass(frozen=True, slots=True)
class FailurePlace:
    """Where and how a test failed: enough to compare two failures of it."""

    when: str
    """`setup`, `call` or `teardown`."""
    file: str
    line: int
    error: str
    """The name of the exception; empty for an `assert`, of which pytest shows none."""

    def __str__(self) -> str:
        what = self.error or "assert"
        phase = {"setup": " in set-up", "teardown": " in teardown"}.get(self.when, "")
        return f"{what} at {self.file}:{self.line}{phase}"


@dataclass(frozen=True, slots=True)
class RetestRequest:
    """One test, how pytest was called when it failed, and where its recording goes."""

    test: str
    arguments: tuple[str, ...]
    command: tuple[str, ...]
    """What follows `python` to run this test alone, without its name."""
    program: str
    first_path: str
    main_module: str
    """The name of the module that ran as `__main__` with `-m`; empty if a file did."""
    main_file: str
    root: str
    reply: str
    temporary: str
    settings: Settings
    with_teardown: bool = False
    """Whether the test failed in its teardown."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The result. Without `failed` the test passed, or `problem` says why it did not run."""

    failed: FailurePlace | None = None
    calls: int = 0
    cut_off: bool = False
    """Whether the recording is too large to hold all calls."""
    problem: str = ""


_Message = TypeVar("_Message", RetestRequest, Reply)


def write(message: RetestRequest | Reply, path: Path) -> None:
    """Write a message to a file, for `read`."""
    path.write_text(json.dumps(to_data(message)), encoding="utf-8")


def read(kind: type[_Message], path: Path) -> _Message:
    """The message in a file."""
    return reader(kind)(json.loads(path.read_text(encoding="utf-8")), path.name)


def place_of(report: pytest.TestReport) -> FailurePlace | None:
    """Where a test failed; None if no exception made it fail."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        # An example in a docstring.
        for place, _ in getattr(report.longrepr, "reprlocation_lines", ()):
            line, message = place.lineno or 0, str(place.message)
            return FailurePlace(report.when or "", str(place.path), line, message)
        return None
    error = crash.message.partition(":")[0]
    error = error if error.replace(".", "").isidentifier() else ""
    return FailurePlace(report.when or "", str(crash.path), crash.lineno, error)
