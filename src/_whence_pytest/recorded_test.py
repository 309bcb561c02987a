"""In a fresh process: runs one test as it ran before, and records it.

pytest gets the arguments that it had, so that it finds the same root, settings, conftests and
plugins; only then is the test selected. What would have effects outside of the test (caches,
reports, a debugger that waits for input) is turned off.

`recorded_phases` says which part of it is recorded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from _whence_pytest.recorded_phases import RecordedPhases
from _whence_pytest.retest_request import Reply, RetestRequest, place_of, read, write
from whence.errors import WhenceError
from whence.langs.python.debuggee.interpreter_start import InterpreterStart
from whence.langs.python.debuggee.run_as_python import fresh_main
from whence.langs.python.record.one_test import OneTest
from whence.langs.python.record.recording import MAX_BYTES, Recording

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
    """Carry out the request in a file, and exit."""
    request = read(RetestRequest, Path(written))
    sys.argv[:] = [request.program, *request.arguments]
    sys.path = interpreter.path
    if not sys.flags.safe_path:
        sys.path.insert(0, request.first_path)
    _restore_main(request)
    arguments = [*request.arguments, f"--basetemp={request.temporary}"]
    sys.exit(pytest.main(arguments, plugins=[RecordedTest(request)]))


def _restore_main(request: RetestRequest) -> None:
    """Make `__main__` as it was: a worker process that the test spawns imports it."""
    main = fresh_main()
    if request.main_module:
        main.__spec__ = ModuleSpec(request.main_module, None, origin=request.main_file)
    if request.main_file:
        main.__file__ = request.main_file


class RecordedTest:
    """The plugin that chooses the test and records it."""

    def __init__(self, request: RetestRequest):
        self._request = request
        command = [*request.command, _argument(request)]
        test = OneTest(request.test, request.with_teardown)
        self._recording: Recording | None = Recording(request.settings, command, test)
        self._exception: BaseException | None = None
        self._called = False
        self._problem = ""
        self._reply = Reply(problem="the test was not found again: is its name always the same?")

    # --- the test, alone -----------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Turn off the options that would leave something behind, and watch the test."""
        turn_off_reports(config)
        phases = RecordedPhases(self._start, self._stop, with_teardown=self._request.with_teardown)
        config.pluginmanager.register(phases, "whence-phases")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Collect only the file of the test."""
        config = session.config
        config.args = [_argument(self._request)]
        unregister_choosers(config)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep nothing but the test."""
        items[:] = [item for item in items if item.nodeid == self._request.test][:1]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reply, and leave pytest's cache as the whole run left it."""
        keep_cache(session.config)
        self._finish()
        write(self._reply, Path(self._request.reply))

    # --- the recording -------------------------------------------------------------------------

    def _start(self) -> None:
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
        """Note what failed. Runs after other plugins, because unittest reports late."""
        outcome = yield
        report: pytest.TestReport = outcome.get_result()  # type: ignore[attr-defined]
        if call.excinfo is not None and report.failed and not self._reply.failed:
            if not self._request.with_teardown:
                self._stop()  # after a subtest that failed the test goes on
            from _whence_pytest.symptoms import symptom_of
            from whence.langs.python.recordings import write_symptom

            self._exception = call.excinfo.value
            self._reply = Reply(failed=place_of(report))
            message = getattr(getattr(report.longrepr, "reprcrash", None), "message", "")
            symptom = symptom_of(item, call.excinfo.value, call.excinfo.tb, message)
            write_symptom(Path(self._request.settings.output), symptom)
        if self._called:
            self._finish()

    def _finish(self) -> None:
        """Close the recording, once."""
        recording, self._recording = self._recording, None
        if recording is None:
            return
        if not self._called:
            recording.discard()
            return
        from whence.langs.python.trace.trace_format import BY_EXCEPTION, ENDED

        exception, self._exception = self._exception, None
        written = recording.finish(ENDED if exception is None else BY_EXCEPTION, exception)
        self._reply = Reply(
            failed=self._reply.failed,
            calls=written.calls,
            cut_off=written.size >= (self._request.settings.options.max_bytes or MAX_BYTES),
            problem=self._problem or written.problem or "",
        )


def turn_off_reports(config: pytest.Config) -> None:
    """Turn off the options that write something, or that stop, repeat or choose tests."""
    for name, off in _OFF.items():
        if hasattr(config.option, name):
            setattr(config.option, name, off)


def unregister_choosers(config: pytest.Config) -> None:
    """Take out the plugins that leave out tests or change their order."""
    for name in _CHOOSERS:
        plugin = config.pluginmanager.get_plugin(name)
        if plugin is not None:
            config.pluginmanager.unregister(plugin)


def keep_cache(config: pytest.Config) -> None:
    """Leave pytest's cache as the whole run left it, whatever plugins write to it."""
    cache = getattr(config, "cache", None)
    if cache is not None:
        cache.set = lambda key, value: None


def _argument(request: RetestRequest) -> str:
    """The test as an argument that does not depend on where pytest was called."""
    file, colons, rest = request.test.partition("::")
    return os.path.join(request.root, file) + colons + rest  # noqa: PTH118
