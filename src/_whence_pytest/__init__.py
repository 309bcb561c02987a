"""The pytest plugin: `pytest --whence` records each failing test again, by itself.

pytest loads this module in every run of everybody who has whence installed. So it only has the
options; whence itself, and the rest of this package, is loaded when one of them is given.

Three kinds of processes take part: the one in which tests fail (`failures.py`; with xdist the
controller), a fresh one for each failing test (`recorded_test.py`), for `whence test --learn` those
in which tests run (`learning.py`), and for `whence test --rank` one that runs other tests as
witnesses (`witnesses.py`).

PYTEST_DONT_REWRITE: this package has no test assertions. If it is imported before pytest, pytest
would warn that it cannot rewrite them; where warnings are errors, no test would run.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import pytest

# As the interpreter set it, before pytest adds to it: a fresh process starts with the same.
_first_path = sys.path[0] if sys.path else ""
_environment: dict[str, str] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("whence", "finding the fault (whence)")
    group.addoption(
        "--whence", action="store_true",
        help="record each failing test again, by itself, and find the call at fault; without a "
        "terminal, say how to do so later",
    )  # fmt: skip
    # A name with an equals sign, because an optional value would swallow the file that follows.
    group.addoption(
        "--whence=web", action="store_true", dest="whence_web",
        help="the same, and find the call at fault on a page in the browser",
    )  # fmt: skip
    group.addoption(
        "--whence-most", type=int, default=10, metavar="N",
        help="record at most this many failing tests (default: 10)",
    )  # fmt: skip
    group.addoption(
        "--whence-user-code", action="append", default=[], metavar="PACKAGE|PATH",
        help="record this code although it is installed or part of Python (may be repeated)",
    )  # fmt: skip
    # For `whence test`: the file that lists the recordings, the folder to learn from, and the
    # request to run other tests as witnesses.
    group.addoption("--whence-list", type=Path, default=None, help=argparse.SUPPRESS)
    group.addoption("--whence-learn", type=Path, default=None, help=argparse.SUPPRESS)
    group.addoption("--whence-witnesses", type=Path, default=None, help=argparse.SUPPRESS)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Keep the environment as it is before any code of the project runs."""
    given = early_config.known_args_namespace
    if given.whence or given.whence_web:
        _environment.update(os.environ)


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugins that the options ask for."""
    if any(
        type(plugin).__name__ == "RecordedTest" for plugin in config.invocation_params.plugins or ()
    ):
        return  # this process has been started by another one's `--whence`
    debuggee = sys.modules.get("whence.langs.python.record.one_test")
    for awaited in getattr(debuggee, "awaited", ()):  # a re-run of a recorded test
        from _whence_pytest.recorded_phases import RecordedPhases

        test: RecordedPhases = RecordedPhases(
            awaited.begin, awaited.end, with_teardown=awaited.test.with_teardown
        )
        config.pluginmanager.register(test, "whence-phases")
    learn: Path | None = config.getoption("whence_learn")
    if learn is not None:
        from _whence_pytest.learning import Learning

        config.pluginmanager.register(Learning(config, learn), "whence-learning")
    witnesses: Path | None = config.getoption("whence_witnesses")
    is_wanted = config.getoption("whence") or config.getoption("whence_web")
    if witnesses is not None:
        from _whence_pytest.witnesses import Witnesses

        config.pluginmanager.register(Witnesses(witnesses), "whence-witnesses")
    elif is_wanted and not hasattr(config, "workerinput"):
        from _whence_pytest.failures import Failures

        failures = Failures(config, _first_path, dict(_environment))
        config.pluginmanager.register(failures, "whence-failures")
