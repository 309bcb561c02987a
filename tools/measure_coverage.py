"""Runs the tests under coverage.py and fails below the floor.

Every process that the tests start is measured, debuggees, oracle workers and forks included, so
this is slower than a plain run. Parts of whence that exist in C and in Python are measured in
Python: the tests that compare both run the Python implementation as well.

No process is confined by the kernel here: it could not write what was measured. A program under
coverage.py also sees the tracer and is slower. A few tests notice either and fail, so failed tests
are listed but do not count: `make test` judges them.

Words after the command are passed to pytest; the floor then counts for nothing:

    python tools/measure_coverage.py tests/unit/search
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "coverage"
MEASURING = "WHENCE_MEASURES_COVERAGE"
"""The environment variable that all processes of a measurement have."""
UNCONFINED = f"""\
import os, sys; {MEASURING!r} in os.environ and \
sys.modules.setdefault("whence.langs.python.record._confinement")
"""
_TESTS_RAN = (0, 1)
"""How pytest ends if all tests passed, and if some failed."""


def run(*command: str) -> int:
    environment = {**os.environ, MEASURING: "1", "COVERAGE_FILE": str(RESULTS / "data")}
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, env=environment, check=False
    ).returncode


@contextmanager
def unconfined() -> Iterator[None]:
    """Hide the extension that confines processes, by a file that each Python reads as it starts."""
    hook = Path(sysconfig.get_path("purelib"), "whence_measures_coverage.pth")
    hook.write_text(UNCONFINED)
    try:
        yield
    finally:
        hook.unlink()


def main() -> int:
    RESULTS.mkdir(parents=True, exist_ok=True)
    for old in RESULTS.glob("data*"):
        old.unlink()
    part = sys.argv[1:]
    pytest = ["-n", "auto", "--timeout=600", "--tb=line", "-rf", *part]
    with unconfined():
        status = run("coverage", "run", "-m", "pytest", *pytest)
    if status not in _TESTS_RAN:
        return status
    run("coverage", "combine", "--quiet")
    run("coverage", "html", "--quiet", "--directory", str(RESULTS / "html"))
    floor = ["--fail-under=0"] if part else []
    return run("coverage", "report", "--skip-covered", "--sort=cover", *floor)


if __name__ == "__main__":
    sys.exit(main())
