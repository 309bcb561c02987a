"""Runs the tests under coverage.py and fails below the floor.

Every process that the tests start is measured, debuggees and oracle workers included, so this is
slower than a plain run. Parts of whence that exist in C and in Python are measured in Python: the
tests that compare both run the Python implementation as well.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "coverage"


def run(*command: str) -> int:
    environment = {**os.environ, "COVERAGE_FILE": str(RESULTS / "data")}
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, env=environment, check=False
    ).returncode


def main() -> int:
    RESULTS.mkdir(parents=True, exist_ok=True)
    for old in RESULTS.glob("data*"):
        old.unlink()
    failed = run("coverage", "run", "-m", "pytest", "-n", "auto", *sys.argv[1:])
    run("coverage", "combine", "--quiet")
    run("coverage", "html", "--quiet", "--directory", str(RESULTS / "html"))
    below = run("coverage", "report", "--skip-covered", "--sort=cover")
    return failed or below


if __name__ == "__main__":
    sys.exit(main())
