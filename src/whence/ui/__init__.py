"""The interfaces: loops around a session, nothing more. They do not know each other.

They stand below `whence.app`, which joins a session with an interface. `DrivenSession` is what they
need of it; `whence.app.session_driver.SessionDriver` fits it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from whence.model.diagnosis import Diagnosis
from whence.ports import Oracle, Reruns, Waiting
from whence.report.findings import Findings
from whence.report.regression_test import LONGEST, RegressionTest
from whence.report.source import Sources
from whence.session.events import Event, Outcome
from whence.session.state import State


class KeptLog(Protocol):
    """Where a session's events are kept."""

    @property
    def path(self) -> Path | None:
        """The file, if there is one."""

    @property
    def is_saved(self) -> bool:
        """Whether the file holds all that happened so far."""


class DrivenSession(Protocol):
    """A session with all that surrounds it, as an interface sees it."""

    state: State
    """The session at this moment."""
    sources: Sources
    """Where the source of the program is."""
    reruns: Reruns | None
    """Runs the program again, if it is known how."""
    oracles: Sequence[Oracle]
    """The oracles that are asked before the person, in this order; some may be turned off."""
    may_run: bool
    """Whether a person allowed running the program again."""

    @property
    def waiting(self) -> Waiting:
        """Shows a person what is being waited for, while it lasts."""

    @property
    def log(self) -> KeptLog | None:
        """The session's log, if it has one."""

    def findings(self, diagnosis: Diagnosis) -> Findings:
        """What re-runs find out about a diagnosis, as far as they are allowed."""

    def regression_test(
        self, diagnosis: Diagnosis, path: Path | None = None, seconds: float = LONGEST
    ) -> RegressionTest:
        """A test of a diagnosis that was seen to fail; `WhenceError` says why there is none."""

    def why_not_remembered(self, node: int) -> str:
        """Why an answer about a call counts in this session only; empty if others know it."""

    def zoom(self, node: int) -> tuple[DrivenSession, Outcome]:
        """A session inside a call that is wrong, and what it needs first."""

    def send(self, event: Event) -> Outcome:
        """Take in an event and say what is needed next."""

    def outcome_since(self, before: State) -> Outcome | None:
        """What is needed next, if an event was taken in before something else failed."""

    def save(self, path: Path) -> None:
        """Write the whole session to a file."""

    def count_shown(self, text: str) -> None:
        """Count the characters that a person had to read."""
