"""The order to run one failed test again and record it, and the reply to it.

`failures` writes the order and reads the reply, `recorded_test` does the opposite, in a fresh
process. Both are files of JSON.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from whence.langs.python.debuggee.typed_json import reader, to_data
from whence.langs.python.record.recording import Settings

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
class RetestOrder:
    """One test, how pytest was called when it failed, and where its recording goes."""

    test: str
    arguments: tuple[str, ...]
    command: tuple[str, ...]
    """What follows `python` to run this test alone, without its name."""
    program: str
    first_path: str
    root: str
    reply: str
    temporary: str
    settings: Settings
    with_teardown: bool = False
    """Whether the test failed in its teardown."""

    def write(self, path: Path) -> None:
        """For `read`."""
        path.write_text(json.dumps(to_data(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> RetestOrder:
        """The order in a file."""
        return reader(cls)(json.loads(path.read_text(encoding="utf-8")), "order")


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of the test. Without `failed` it passed, or `problem` says why it did not run."""

    failed: FailurePlace | None = None
    calls: int = 0
    cut_off: bool = False
    """Whether the recording is too large to hold all calls."""
    problem: str = ""

    def write(self, path: Path) -> None:
        """For `read`."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Reply:
        """The reply in a file."""
        fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        failed = fields.pop("failed")
        return cls(None if failed is None else FailurePlace(**failed), **fields)


def place_of(report: pytest.TestReport) -> FailurePlace | None:
    """Where a test failed; None if its report does not tell (no exception made it fail)."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        return _place_in_doctest(report)
    error, colon, _ = crash.message.partition(":")
    named = colon and error.replace(".", "").isidentifier()
    if not named:
        # A name alone is an exception without a text.
        error = crash.message if crash.message.replace(".", "").isidentifier() else ""
    return FailurePlace(report.when or "", str(crash.path), crash.lineno, error)


def _place_in_doctest(report: pytest.TestReport) -> FailurePlace | None:
    """Where an example of a docstring failed, as pytest's own report of it tells."""
    for place, _ in getattr(report.longrepr, "reprlocation_lines", ()):
        return FailurePlace(
            report.when or "", str(place.path), place.lineno or 0, str(place.message)
        )
    return None
