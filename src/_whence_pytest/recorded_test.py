"""In a fresh process: runs one test as it ran before, and records it.

pytest gets the arguments that it had, so that it finds the same root, settings, conftests and
plugins; only then is the test selected. What would have effects outside of the test (caches,
reports, a debugger that waits for input) is turned off.

Recording starts with the set-up of the test, so that its fixtures are in the tree, and ends with
its call, or with its teardown if that failed. Collection is not recorded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from pathlib import Path
from types import TracebackType

import pytest

from _whence_pytest.retest_order import Reply, RetestOrder, place_of
from whence.langs.python.debuggee.interpreter_start import InterpreterStart

_OFF = {
    # What writes files or talks to somebody.
    "xmlpath": None, "htmlpath": None, "report_log": None, "json_report": False, "pastebin": None,
    "usepdb": False, "trace": False,
    # What stops, repeats or chooses tests.
    "maxfail": 0, "reruns": 0, "lf": False, "failedfirst": False, "newfirst": False,
    "stepwise": False, "pyargs": False,
}  # fmt: skip
_CHOOSERS = ("lfplugin", "nfplugin", "stepwiseplugin")


def main(interpreter: InterpreterStart, written: str) -> None:
    """Carry out the order that is in a file, and end."""
    order = RetestOrder.read(Path(written))
    sys.argv[:] = [order.program, *order.arguments]
    sys.path = interpreter.path
    if not sys.flags.safe_path:
        sys.path.insert(0, order.first_path)
    arguments = [*order.arguments, f"--basetemp={order.temporary}"]
    sys.exit(pytest.main(arguments, plugins=[RecordedTest(order)]))


class RecordedTest:
    """The plugin that chooses the test and records it."""

    def __init__(self, order: RetestOrder):
        from whence.langs.python.record.recording import Recording

        self._order = order
        command = [*order.command, _argument(order)]
        self._recording: Recording | None = Recording(order.settings, command, root=order.test)
        self._exception: BaseException | None = None
        self._called = False
        self._problem = ""
        self._reply = Reply(problem="the test was not found again: is its name always the same?")

    # --- the test, alone -----------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Nothing is left behind."""
        for name, off in _OFF.items():
            if hasattr(config.option, name):
                setattr(config.option, name, off)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Look in one place only."""
        config = session.config
        config.args = [_argument(self._order)]
        for name in _CHOOSERS:
            plugin = config.pluginmanager.get_plugin(name)
            if plugin is not None:
                config.pluginmanager.unregister(plugin)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Nothing but the test."""
        items[:] = [item for item in items if item.nodeid == self._order.test][:1]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Tell, and leave the cache as the whole run left it."""
        cache = getattr(session.config, "cache", None)
        if cache is not None:
            cache.set = lambda key, value: None
        self._finish()
        self._reply.write(Path(self._order.reply))

    # --- the recording -------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        """Fixtures are part of what may be at fault."""
        self._start()
        outcome = yield
        if getattr(outcome, "excinfo", None) is not None:
            self._stop()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        """The last thing that is recorded, unless it is the teardown that fails."""
        yield
        if not self._order.with_teardown:
            self._stop()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, None, None]:
        """What fixtures do at the end, where that is what failed."""
        yield
        self._stop()

    def _start(self) -> None:
        from whence.errors import WhenceError

        try:
            if self._recording is not None:
                self._recording.start()
        except WhenceError as problem:
            self._problem = str(problem)

    def _stop(self) -> None:
        self._called = True
        if self._recording is not None:
            self._recording.stop()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, None, None]:
        """What went wrong: after others had their say, for unittest tells it only then."""
        outcome = yield
        report: pytest.TestReport = outcome.get_result()  # type: ignore[attr-defined]
        if call.excinfo is not None and report.failed and not self._reply.failed:
            if not self._order.with_teardown:
                self._stop()  # after a subtest that failed the test goes on
            self._exception = call.excinfo.value
            self._fail(item, report, call.excinfo.value, call.excinfo.tb)
        if self._called:
            self._finish()

    def _fail(
        self,
        item: pytest.Item,
        report: pytest.TestReport,
        exception: BaseException,
        traceback: TracebackType,
    ) -> None:
        from _whence_pytest.symptoms import symptom_of
        from whence.langs.python.recordings import write_symptom

        self._reply = Reply(failed=place_of(report))
        message = getattr(getattr(report.longrepr, "reprcrash", None), "message", "")
        write_symptom(
            Path(self._order.settings.output), symptom_of(item, exception, traceback, message)
        )

    def _finish(self) -> None:
        """Close the recording, once."""
        recording, self._recording = self._recording, None
        if recording is None:
            return
        if not self._called:
            recording.discard()
            return
        from whence.langs.python.record.recording import MAX_BYTES
        from whence.langs.python.trace.trace_format import BY_EXCEPTION, ENDED

        exception, self._exception = self._exception, None
        written = recording.finish(ENDED if exception is None else BY_EXCEPTION, exception)
        self._reply = Reply(
            failed=self._reply.failed,
            calls=written.calls,
            cut_off=written.size >= (self._order.settings.options.max_bytes or MAX_BYTES),
            problem=self._problem or written.problem or "",
        )


def _argument(order: RetestOrder) -> str:
    """The test as an argument that does not depend on where pytest was called."""
    file, colons, rest = order.test.partition("::")
    return os.path.join(order.root, file) + colons + rest  # noqa: PTH118
