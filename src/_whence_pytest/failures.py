"""In the process whose tests fail: after the run, records each failing test in a fresh process.

With xdist this is the controller, so that no test is recorded twice. A recording is kept only if
the test fails again in the same place; otherwise it would not be about the failure that the user
is looking for, and the summary says so.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from _whence_pytest.retest_request import (
    HOOKS,
    FailurePlace,
    Reply,
    RetestRequest,
    place_of,
    read,
    write,
)
from whence.errors import WhenceError
from whence.langs.python.launching.own_python import start_command
from whence.langs.python.record.children import Children
from whence.langs.python.record.options import Bound, RecordOptions
from whence.langs.python.record.recording import MAX_BYTES, Settings
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.recording_signature import key_folder
from whence.langs.python.recordings import new_recording, remove
from whence.user_folders import write_private_file

_RECORDED_TEST = "_whence_pytest.recorded_test"
_SHORTEST, _LONGEST = 30.0, 600.0
"""How many seconds recording a test may take: at least, and at most."""
_MAX_WHOLE_BYTES = 64 * 2**20
_MAX_SLOWDOWN = 20
"""How many times slower a test may be when whole values are recorded."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A test that failed, and where; None if no exception made it fail."""

    test: str
    place: FailurePlace | None
    seconds: float


class Failures:
    """The plugin that `--whence` turns on."""

    def __init__(self, config: pytest.Config, first_path: str, environment: dict[str, str]):
        self._config = config
        self._first_path = first_path
        self._environment = environment
        self._program = sys.argv[0] if sys.argv else "pytest"
        main = sys.modules.get("__main__")
        self._main_module = str(getattr(getattr(main, "__spec__", None), "name", ""))
        self._main_file = str(getattr(main, "__file__", ""))
        self._folder = config.invocation_params.dir
        self._most: int = config.getoption("whence_most")
        self._list: Path | None = config.getoption("whence_list")
        self._failures: dict[str, Failure] = {}
        self._recorded: list[tuple[str, Path]] = []

    # --- the run -------------------------------------------------------------------------------

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what failed. The first failure of a test is the one to look at."""
        if report.failed:
            failure = Failure(report.nodeid, place_of(report), report.duration)
            self._failures.setdefault(report.nodeid, failure)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Record the failing tests, and say how to debug them."""
        if not self._failures:
            return
        terminalreporter.section("whence")
        failures = list(self._failures.values())
        for failure in failures[: self._most]:
            if terminalreporter.isatty:
                terminalreporter.rewrite(f"recording {failure.test} again …", erase=True)
            lines = self._record(failure)
            if terminalreporter.isatty:
                terminalreporter.rewrite("", erase=True)
                terminalreporter.rewrite("")  # the next line begins at the margin
            for line in lines:
                terminalreporter.write_line(line)
        left = len(failures) - self._most
        if left > 0:
            were = "1 more failed test was" if left == 1 else f"{left} more failed tests were"
            terminalreporter.write_line(
                f"{were} not recorded: --whence-most {len(failures)} records all"
            )

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Start a session about the first failure, on a page or if the user is at a terminal."""
        if not self._recorded or self._list is not None:
            return
        capture = config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.suspend_global_capture(in_=True)  # as for `--pdb`: the terminal is a person's
        on_page = bool(config.getoption("whence_web"))
        if on_page or (os.isatty(0) and os.isatty(1)):
            test = f"The first test that failed: {self._recorded[0][0]}"
            print(f"\n{test}" if len(self._recorded) > 1 else "", flush=True)
            subprocess.run(
                [
                    *(sys.executable, "-m", "whence", "web" if on_page else "debug"),
                    str(self._recorded[0][1]),
                ],
                cwd=self._folder,
                check=False,
            )

    # --- one failing test ----------------------------------------------------------------------

    def _record(self, failure: Failure) -> list[str]:
        """Record a test again; returns the lines that say what came of it."""
        test, place = failure.test, failure.place
        if place is None:
            return [f"{test}: cannot be recorded: no exception of a test function made it fail"]
        try:
            path = new_recording(test.rpartition("::")[2], self._folder)
        except WhenceError as problem:
            return [f"{test}: not recorded: {problem}"]
        reply = self._run_again(failure, path)
        if reply.failed == place and not reply.problem:
            self._recorded.append((test, path))
            if self._list is not None:
                with self._list.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps({"test": test, "recording": str(path)}) + "\n")
            calls = "1 call" if reply.calls == 1 else f"{reply.calls:,} calls"
            shown = path.relative_to(self._folder) if path.is_relative_to(self._folder) else path
            return [f"{test}: {calls} recorded", f"    whence debug {shlex.quote(str(shown))}"]
        remove(path)
        if reply.problem:
            return [f"{test}: not recorded: {reply.problem}"]
        if reply.failed is None:
            return [f"{test}: passed when it was run again by itself, so no recording is kept"]
        return [
            f"{test}: failed differently when it was run again by itself, so no recording is kept",
            f"    before: {place}",
            f"    again:  {reply.failed}",
        ]

    def _run_again(self, failure: Failure, output: Path) -> Reply:
        """Record the test, with whole values unless that takes too long or too much space."""
        limit = min(_LONGEST, max(_SHORTEST, _MAX_SLOWDOWN * failure.seconds))
        reply = self._run_once(failure, output, limit, whole_values=True)
        if reply is None or reply.cut_off:
            write_private_file(output, b"")
            reply = self._run_once(failure, output, _LONGEST, whole_values=False)
        return reply or Reply(problem=f"it did not end within {_LONGEST:.0f} seconds")

    def _run_once(
        self, failure: Failure, output: Path, limit: float, *, whole_values: bool
    ) -> Reply | None:
        """Run the test once in a fresh process; None if that took too long."""
        config = self._config
        with tempfile.TemporaryDirectory(prefix="whence-") as name:
            folder = Path(name)
            reply, output_file, request = folder / "reply", folder / "output", folder / "request"
            words = [*map(str, config.invocation_params.args), *self._options()]
            message = RetestRequest(
                test=failure.test,
                arguments=tuple(words),
                command=("-m", "pytest", *_without(words, config.args)),
                program=self._program,
                first_path=self._first_path,
                main_module=self._main_module,
                main_file=self._main_file,
                root=str(config.rootpath),
                reply=str(reply),
                temporary=str(folder / "tmp"),
                settings=_settings(output, config.getoption("whence_user_code"), whole_values),
                with_teardown=failure.place is not None and failure.place.when == "teardown",
            )
            write(message, request)
            with output_file.open("wb") as stream:
                try:
                    status = subprocess.run(
                        start_command(_RECORDED_TEST, str(request)), cwd=self._folder,
                        env=self._environment, stdin=subprocess.DEVNULL, stdout=stream,
                        stderr=stream, timeout=limit, check=False,
                    ).returncode  # fmt: skip
                except subprocess.TimeoutExpired:
                    return None
            if reply.exists():
                return read(Reply, reply)
            lines = output_file.read_text(encoding="utf-8", errors="replace").split("\n")
            last = next((line for line in reversed(lines) if line.strip()), "")
            return Reply(problem=f"its process ended with status {status}: {last[:200]}")

    def _options(self) -> list[str]:
        """The options for one test in one process; they override equal ones before them."""
        plugins, option = self._config.pluginmanager, self._config.option
        more = ["-o", "log_file="]
        if plugins.hasplugin("xdist"):
            more.append("-n0")
        if plugins.hasplugin("_cov") or plugins.hasplugin("pytest_cov"):
            more.append("--no-cov")
        seed = getattr(option, "randomly_seed", None)
        if isinstance(seed, int):
            more.append(f"--randomly-seed={seed}")
        return more


def _settings(output: Path, user_code: Sequence[str], whole_values: bool) -> Settings:
    """What is recorded of a test; `whole_values`: values in full, up to large bounds."""
    options = RecordOptions(max_bytes=MAX_BYTES)
    if whole_values:
        whole = Bound(depth=50, width=2000, attributes=1000, text=10_000, budget=10_000)
        # Every call that names a module variable records it, and tables are large.
        tables = Bound(depth=10, width=1000, attributes=200, text=2000, budget=2000)
        options = RecordOptions(
            bound=whole, first_bound=whole, global_bound=tables, max_bytes=_MAX_WHOLE_BYTES
        )
    rules = UserCodeRules(tuple(user_code), left_out=HOOKS)
    return Settings(str(output), options, rules, children=Children.PYTHONS, key_folder=key_folder())


def _without(words: Sequence[str], places: Sequence[str]) -> list[str]:
    """The words of a command without whence's options and without the named test files."""
    kept: list[str] = []
    value_follows = False
    for word in words:
        if value_follows or word in places:
            value_follows = False
        elif word.startswith("--whence"):
            value_follows = word.startswith("--whence-") and "=" not in word
        else:
            kept.append(word)
    return kept
