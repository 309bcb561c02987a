"""Learns from recorded tests while others are still being recorded.

The plugin writes a recording of each test to a folder, and a line about it once it is complete
(`_whence_pytest/learning.py`). The learner reads them one by one and removes them, so that neither
memory nor disk use grows with the number of tests. What was learned is kept when it is stopped.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from whence.errors import WhenceError
from whence.langs.python.priors.learned_prior import CodeDigests, digests, name_of
from whence.langs.python.priors.learned_store import FILE, Amount, LearnedStore
from whence.langs.python.recordings import folder
from whence.langs.python.trace.trace_reader import open_trace

_MOST_OF_TEST = 500
"""The most equations that are kept of one test."""
_KEPT_EVERY = 1.0
"""Seconds. Committing after each test would take longer than learning from it."""
_TRIMMED_EVERY = 1000
"""Tests."""


class Learner:
    """Learns from the recordings in a folder, one with each step."""

    def __init__(self, recordings: Path, start: Path | None = None) -> None:
        project = folder(start)
        self._recordings = recordings
        self._project = project.parent
        self._learned = LearnedStore(project / FILE)
        self._read: dict[Path, int] = {}
        """How many bytes of each list were read."""
        self._compiled = CodeDigests()
        self._waiting: deque[Mapping[str, Any]] = deque()
        self._kept_at = time.monotonic()
        self._passing = self._failing = 0

    @property
    def path(self) -> Path:
        """The file of what was learned."""
        return self._learned.path

    @property
    def waiting(self) -> int:
        """How many recorded tests were not learned from yet."""
        for path in sorted(self._recordings.glob("*.jsonl")):
            with path.open("rb") as stream:
                stream.seek(self._read.get(path, 0))
                # A line without an end is being written.
                lines = [line for line in stream if line.endswith(b"\n")]
            self._read[path] = self._read.get(path, 0) + sum(map(len, lines))
            self._waiting.extend(map(json.loads, lines))
        return len(self._waiting)

    def step(self) -> bool:
        """Learn from the next test; False if there is none yet."""
        if not self._waiting and not self.waiting:
            return False
        entry = self._waiting.popleft()
        path = self._recordings / entry["file"]
        try:
            self._learn(path, entry["test"], entry["passed"])
        finally:
            path.unlink(missing_ok=True)
        if (self._passing + self._failing) % _TRIMMED_EVERY == 0:
            self._learned.trim()
        if time.monotonic() - self._kept_at > _KEPT_EVERY:
            self._learned.keep()
            self._kept_at = time.monotonic()
        return True

    def _learn(self, path: Path, test: str, passed: bool) -> None:
        try:
            tree = open_trace(path)
        except WhenceError:  # its disk was full, or the test wrote to our file
            return
        ran = {
            name_of(function): self._compiled.of(function)
            for function in tree.functions[1:]
            if function.location is not None
        }
        every = range(1, len(tree.functions)) if passed else ()
        new_digests = set(digests(tree, self._project, _MOST_OF_TEST, every).values())
        self._learned.learn(test, passed, ran, new_digests)
        self._passing += passed
        self._failing += not passed

    def finish(self) -> Amount:
        """Keep what was learned; returns from how many tests, and how much is known now."""
        try:
            self._learned.trim()
            return replace(self._learned.amount(), passing=self._passing, failing=self._failing)
        finally:
            self._learned.close()
