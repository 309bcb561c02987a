"""Settings for all tests: how hard Hypothesis tries, where whence keeps its state, and which tests
the same process runs."""

import atexit
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No deadline and no complaint about slow generation: the suite runs on several interpreters and
# loaded machines, and speed is measured in bench/. CI tries the same examples every time, so that
# a change is not blamed for a failure that it did not cause; `make soak` looks elsewhere.
settings.register_profile(
    "ci",
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "soak", parent=settings.get_profile("ci"), max_examples=500, derandomize=False
)
settings.load_profile(os.environ.get("WHENCE_HYPOTHESIS_PROFILE", "ci"))

# A shell starts what it runs in the background with interrupts ignored, and so would be all that
# the tests start; some of these are there to be interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup` ignores it

# Tests leave nothing in the state folder of whoever runs them. The workers of one run share one.
if "WHENCE_TEST_STATE" not in os.environ:
    os.environ["WHENCE_TEST_STATE"] = tempfile.mkdtemp(prefix="whence-test-state-")
    atexit.register(shutil.rmtree, os.environ["WHENCE_TEST_STATE"], ignore_errors=True)
os.environ["XDG_STATE_HOME"] = os.environ["WHENCE_TEST_STATE"]

# Each of these files has a fixture that takes seconds and that nearly all of its tests use.
RUN_BY_ONE_PROCESS = (
    "tests/unit/cli/test_private_files.py",
    "tests/unit/langs/prolog/test_capture.py",
    "tests/unit/langs/python/oracles/test_fork_at_call.py",
    "tests/unit/langs/python/oracles/test_reference_oracle.py",
    "tests/unit/pytest_plugin/test_failures.py",
    "tests/unit/ui/web/test_page.py",
)
assert all((Path(__file__).parents[1] / file).exists() for file in RUN_BY_ONE_PROCESS)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `-n`, tests go to whichever process is free, except those that share such a fixture."""
    for item in items:
        file = item.nodeid.partition("::")[0]
        if file in RUN_BY_ONE_PROCESS:
            item.add_marker(pytest.mark.xdist_group(file))
