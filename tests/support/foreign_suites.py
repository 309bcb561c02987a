"""Test suites of other projects, run plainly and recorded: the results must be the same."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

Results = dict[str, str]
_MINUTES = 15
_MOST_CALLS = 2_000_000
"""Some suites make a hundred million: past this they are counted, and traces stay small."""


@dataclass(frozen=True)
class Suite:
    """Runs test suites in a folder of its own."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    def compare(
        self, arguments: Sequence[str], read: object, user_code: Sequence[str], backend: str
    ) -> tuple[Results, Results, Path]:
        """The results without and with a recording of `python ARGUMENTS`, and the trace."""
        trace = self.folder / "run.whence"
        options = ["-o", str(trace), "--backend", backend, "--max-calls", str(_MOST_CALLS)]
        for name in user_code:
            options += ["--user-code", name]
        plain = self.run([sys.executable, *arguments], read)
        recorded = self.run([sys.executable, "-m", "whence", "record", *options, *arguments], read)
        return plain, recorded, trace

    def run(self, command: Sequence[str], read: object) -> Results:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, **self.environ},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_MINUTES * 60,
            check=False,
        )
        results = read(done)  # type: ignore[operator]
        results["exit code"] = str(done.returncode)
        return dict(results)


def from_unittest(done: subprocess.CompletedProcess[str]) -> Results:
    """What `unittest -v` says of each test."""
    found: Results = {}
    for line in done.stderr.splitlines():
        name, separator, outcome = line.rpartition(" ... ")
        if separator:
            found[name] = outcome.split(" ")[0].split("'")[0]
    return found


def from_junit(path: Path) -> object:
    """What pytest wrote of each test."""

    def read(done: subprocess.CompletedProcess[str]) -> Results:
        assert path.exists(), done.stdout[-2000:] + done.stderr[-2000:]
        found: Results = {}
        for case in ET.parse(path).iter("testcase"):
            outcome = next((each.tag for each in case), "passed")
            found[f"{case.get('classname')}::{case.get('name')}"] = outcome
        path.unlink()
        return found

    return read


def differences(plain: Results, recorded: Results) -> dict[str, tuple[str | None, str | None]]:
    """What a recording changed."""
    names = plain.keys() | recorded.keys()
    pairs = {name: (plain.get(name), recorded.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
