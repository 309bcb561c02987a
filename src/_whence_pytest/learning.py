"""In every process that runs tests, for `whence test --learn`: records each test as it runs.

The recordings go to a folder, with a line for each that names its test and says whether the test
passed; `whence test` reads them. They are small: how often a function runs matters little, and the
first calls of a test that makes many are enough.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest

from _whence_pytest.retest_request import HOOKS
from whence.errors import WhenceError
from whence.langs.python.record.options import Bound, RecordOptions
from whence.langs.python.record.recording import Recording, Settings
from whence.langs.python.record.user_code import UserCodeRules

_MOST_CALLS = 20_000
_MOST_BYTES = 8 * 2**20


class Learning:
    """The plugin that records every test."""

    def __init__(self, config: pytest.Config, folder: Path):
        self._folder = folder
        self._user_code: list[str] = config.getoption("whence_user_code")
        self._recording: Recording | None = None
        self._path = folder
        self._count = 0

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, None, None]:
        """Start the recording of a test with its set-up."""
        self._start(item)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        """End the recording with the test's call."""
        yield
        if self._recording is not None:
            self._recording.stop()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write down which test was recorded, and whether it passed."""
        if self._recording is None or report.when not in ("setup", "call"):
            return
        if report.when == "setup" and report.passed:
            return
        recording, self._recording = self._recording, None
        recording.finish(0, None)
        if report.skipped or hasattr(report, "wasxfail"):
            self._path.unlink(missing_ok=True)
            return
        line = {"test": report.nodeid, "file": self._path.name, "passed": report.passed}
        with (self._folder / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")

    def _start(self, item: pytest.Item) -> None:
        if self._recording is not None:  # a test that ended without a report
            self._recording.discard()
        self._count += 1
        self._path = self._folder / f"{os.getpid()}-{self._count}.whence"
        bound = Bound(depth=8, width=100, attributes=50, text=1000, budget=400)
        options = RecordOptions(
            bound=bound, first_bound=bound, max_calls=_MOST_CALLS, max_bytes=_MOST_BYTES
        )
        rules = UserCodeRules(tuple(self._user_code), left_out=HOOKS)
        settings = Settings(str(self._path), options, rules, keeps_tail=False)
        try:
            self._recording = Recording(settings, [item.nodeid])
            self._recording.start()
        except WhenceError:
            self._recording = None
