"""In a process of its own: runs tests as witnesses for one that failed, and collects their lines.

pytest gets the arguments that it had, so that it finds the same root, settings and plugins. The
test that failed runs early, then those of its file, then those of other files, the files that name
most of what it ran first, until the time is over.
"""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from fnmatch import fnmatch
from pathlib import Path
from types import CodeType, FrameType, TracebackType

import pytest

from _whence_pytest.executed_lines import executed_lines
from _whence_pytest.recorded_test import keep_cache, turn_off_reports, unregister_choosers
from _whence_pytest.retest_request import HOOKS
from whence.langs.python.record.user_code import UserCode, UserCodeRules
from whence.langs.python.witnesses.witness_request import Code, Frame, RanTest, WitnessRequest
from whence.typed_json import reader

_MOST_FILES = 40
_MOST_LOOKED_AT = 3_000
_MOST_BYTES = 1_000_000
_MOST_FRAMES = 200
_MOST_SHARE = 10
"""A test that takes more than one tenth of the time by the clock counts as failed."""
_LONGEST_MESSAGE = 2_000
_WORD = re.compile(rb"[A-Za-z_]\w+")
_LEFT_OUT = {".git", ".tox", ".venv", "venv", "node_modules", "__pycache__", "site-packages"}


class TooSlow(BaseException):
    """A witness takes too long."""


class Witnesses:
    """The plugin that chooses the tests, runs them and collects their lines."""

    def __init__(self, request: Path) -> None:
        content = json.loads(request.read_text(encoding="utf-8"))
        self._request = reader(WitnessRequest)(content, request.name)
        self._started = time.monotonic()
        self._user_code = UserCode(UserCodeRules(self._request.user_code, left_out=HOOKS))
        self._collector = executed_lines(self._user_code.owns)
        self._numbers: dict[int, tuple[CodeType, int]] = {}
        self._output = Path(self._request.output)
        self._exception: BaseException | None = None
        self._began = 0.0
        self._collected: list[tuple[CodeType, set[int]]] = []

    # --- which tests ---------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Turn off the options that would leave something behind or end the run early."""
        turn_off_reports(config)
        config.option.continue_on_collection_errors = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Collect the file of the test, and the files that are about the same code."""
        config = session.config
        own = config.rootpath / self._request.test.partition("::")[0]
        patterns = [*config.getini("python_files"), own.name]
        others = related_files(config.rootpath, own, patterns, self._request.names)
        config.args = [str(path) for path in [own, *others]]
        unregister_choosers(config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Leave pytest's cache as the whole run left it."""
        keep_cache(session.config)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """The test that failed runs second: what only the first test of a process does, such as
        imports and filling caches, is not about it. The others keep their order."""
        own = [item for item in items if item.nodeid == self._request.test]
        others = [item for item in items if item.nodeid != self._request.test]
        items[:] = [*others[:1], *own[:1], *others[1:]]

    # --- what they ran -------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, None, None]:
        """Stop when the time is over; else limit the time of the test."""
        clock, request = time.monotonic() - self._started, self._request
        if time.process_time() > request.seconds or clock > request.clock_seconds:
            item.session.shouldstop = "the time for witnesses is over"
        self._exception, self._collected = None, []
        self._began = time.monotonic()
        is_own = item.nodeid == self._request.test
        with _limited(request.clock_seconds / (1 if is_own else _MOST_SHARE)):
            yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        """Begin with the set-up of a test."""
        self._collector.start()
        outcome = yield
        if getattr(outcome, "excinfo", None) is not None:
            self._collected = self._collector.stop()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        """End with the call of a test."""
        yield
        self._collected = self._collector.stop()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, None, None]:
        """Write what the test ran when it is known how it ended; unittest reports late."""
        outcome = yield
        if call.excinfo is not None:
            self._exception = self._exception or call.excinfo.value
        report: pytest.TestReport = outcome.get_result()  # type: ignore[attr-defined]
        ended = call.when == "call" or (call.when == "setup" and not report.passed)
        if ended and not report.skipped and not hasattr(report, "wasxfail"):
            self._write(item.nodeid, report.passed)

    def _write(self, test: str, passed: bool) -> None:
        lines: list[dict[str, object]] = []
        ran = []
        for code, numbers in self._collected:
            if id(code) not in self._numbers:
                self._numbers[id(code)] = code, len(self._numbers)
                lines.append({"code": asdict(_described(code))})
            ran.append((self._numbers[id(code)][1], tuple(sorted(numbers))))
        seconds = time.monotonic() - self._began
        result = RanTest(test, passed, round(seconds, 3), tuple(ran))
        if not passed and self._exception is not None:
            error, message = _shown(self._exception)
            stack = tuple(self._frames(self._exception))
            result = RanTest(test, passed, result.seconds, result.ran, error, message, stack)
        lines.append({"test": asdict(result)})
        with self._output.open("a", encoding="utf-8") as stream:
            stream.write("".join(json.dumps(line) + "\n" for line in lines))

    def _frames(self, exception: BaseException) -> Iterator[Frame]:
        """The frames that an exception left, and before them those that its causes left."""
        causes = [exception]
        while len(causes) < _MOST_FRAMES:
            last = causes[-1]
            cause = last.__cause__ or (None if last.__suppress_context__ else last.__context__)
            if cause is None or cause in causes:
                break
            causes.append(cause)
        for cause in causes:
            yield from self._left(cause.__traceback__)

    def _left(self, entry: TracebackType | None) -> Iterator[Frame]:
        while entry is not None:
            frame, code = entry.tb_frame, entry.tb_frame.f_code
            is_user = self._user_code.owns(code, frame.f_globals)
            yield Frame(code.co_filename, code.co_qualname, entry.tb_lineno, is_user)
            entry = entry.tb_next


def _described(code: CodeType) -> Code:
    lines = {line for _, _, line in code.co_lines() if line is not None}
    lines.discard(code.co_firstlineno if len(lines) > 1 else -1)
    return Code(code.co_filename, code.co_qualname, code.co_firstlineno, tuple(sorted(lines)))


def _shown(exception: BaseException) -> tuple[str, str]:
    """The name and the text of an exception; pytest has shown both."""
    try:
        return type(exception).__name__, str(exception)[:_LONGEST_MESSAGE]
    except Exception:  # the program's `__str__` raised
        return type(exception).__name__, ""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Interrupt what runs for longer, where signals can."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not (
        threading.main_thread()
    ):
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except TooSlow:  # between the phases of a test
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def related_files(root: Path, own: Path, patterns: list[str], names: tuple[str, ...]) -> list[Path]:
    """The test files that have some of the names, those with many rare ones first.

    A name counts for one divided by the number of files that have it.
    """
    wanted = {name.encode() for name in names}
    has: dict[Path, set[bytes]] = {}
    for path in _test_files(root, patterns):
        if path != own and len(has) < _MOST_LOOKED_AT:
            has[path] = _words(path) & wanted
    frequency: dict[bytes, int] = {}
    for own_names in has.values():
        for name in own_names:
            frequency[name] = frequency.get(name, 0) + 1
    scores = {path: sum(1 / frequency[name] for name in found) for path, found in has.items()}
    ordered = sorted((path for path in has if has[path]), key=lambda path: (-scores[path], path))
    return ordered[:_MOST_FILES]


def _test_files(root: Path, patterns: list[str]) -> Iterator[Path]:
    """The files below the root that pytest would collect, and those in folders of tests."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
        is_tests = Path(folder).name in ("test", "tests")
        for name in sorted(files):
            is_named = any(fnmatch(name, pattern) for pattern in patterns)
            if is_named or (is_tests and name.endswith(".py") and "test" in name):
                yield Path(folder) / name


def _words(path: Path) -> set[bytes]:
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return set()
        return set(_WORD.findall(path.read_bytes()))
    except OSError:
        return set()
