"""What one process asks of another: to run one test again and record it, and what came of it.

Both are plain data, written to a file as JSON.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

HOOKS = ("conftest.pytest_*", "*.conftest.pytest_*")
"""User code that is about how tests are run, and no part of any: hooks of conftest files."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where and how a test failed: enough to tell whether two runs of it failed alike."""

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
class Order:
    """One test, how pytest was called when it failed, and where its recording goes."""

    test: str
    arguments: list[str]
    command: list[str]
    """What follows `python` to run this test alone, but for its name."""
    program: str
    first_path: str
    root: str
    output: str
    reply: str
    temporary: str
    user_code: list[str]
    whole_values: bool
    with_teardown: bool = False
    """Whether it is in its teardown that it failed."""

    def write(self, path: Path) -> None:
        """For `read`."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Order:
        """The order in a file."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of it. Without a `failed` the test passed, or `problem` says what kept it."""

    failed: Place | None = None
    calls: int = 0
    cut_off: bool = False
    """Whether the recording became too large to hold all calls."""
    problem: str = ""

    def write(self, path: Path) -> None:
        """For `read`."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Reply:
        """The reply in a file."""
        fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        failed = fields.pop("failed")
        return cls(None if failed is None else Place(**failed), **fields)


def place_of(report: pytest.TestReport) -> Place | None:
    """Where a test failed; None if its report does not tell (no exception made it fail)."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        return _place_in_doctest(report)
    error, colon, _ = crash.message.partition(":")
    named = colon and error.replace(".", "").isidentifier()
    if not named:
        # A name alone is an exception without a text.
        error = crash.message if crash.message.replace(".", "").isidentifier() else ""
    return Place(report.when or "", str(crash.path), crash.lineno, error)


def _place_in_doctest(report: pytest.TestReport) -> Place | None:
    """Where an example of a docstring failed, as pytest's own report of it tells."""
    for place, _ in getattr(report.longrepr, "reprlocation_lines", ()):
        return Place(report.when or "", str(place.path), place.lineno or 0, str(place.message))
    return None
