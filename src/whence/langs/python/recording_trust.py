"""The port `RecordingTrust` for Python recordings: what a re-run would execute, and the permission.

`recording_signature` decides which recordings are foreign; this says what their user would allow.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.python import recording_signature
from whence.langs.python.launching.first_run import kept_environment
from whence.langs.python.trace.trace_pages import TraceHeader

_MOST_VARIABLES = 20
_LONGEST_VALUE = 100


@dataclass(frozen=True)
class PythonRecordingTrust:
    """Whether the program of one recording may be executed."""

    recording: Path
    header: TraceHeader

    def why_foreign(self) -> str:
        """Why the recording is not this user's own; empty if it is."""
        return recording_signature.why_foreign(self.recording)

    def allow(self) -> None:
        """Count the recording as this user's own."""
        recording_signature.allow(self.recording)

    def consequences(self) -> Sequence[str]:
        """What would be executed, line by line."""
        return [
            f"command      python {shlex.join(self.header.command)}",
            f"folder       {self.header.cwd or 'not recorded'}",
            *self._environment(),
        ]

    def _environment(self) -> Iterator[str]:
        """The recorded variables that differ from those of this process."""
        try:
            recorded = kept_environment(self.recording)
        except WhenceError as problem:
            yield f"environment  {problem}"
            return
        if recorded is None:
            yield "environment  the present one"
            return
        changed = [
            f"{name}={value}"
            for name, value in sorted(recorded.items())
            if os.environ.get(name) != value
        ]
        removed = [f"without {name}" for name in sorted(os.environ.keys() - recorded.keys())]
        differences = [*changed, *removed]
        if not differences:
            yield "environment  the present one"
        for number, text in enumerate(differences[:_MOST_VARIABLES]):
            short = text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
            yield f"{'' if number else 'environment':11}  {short}"
        if len(differences) > _MOST_VARIABLES:
            yield f"{'':11}  and {len(differences) - _MOST_VARIABLES} more differences"
