"""Runs tests as witnesses for one that failed, and reads which lines each of them ran.

The tests run in a process of their own (`_whence_pytest/witnesses.py`), for as long as the user
allows. What they wrote until then is used, however the process ended.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from whence.langs.python.witnesses.witness_request import Code, RanTest, WitnessRequest
from whence.typed_json import reader, to_data

_COLLECTING = 20.0
"""Seconds that pytest may take besides running tests."""
_MOST_NAMES = 2_000
_OFF = (("xdist", "-n0"), ("pytest_cov", "--no-cov"))
"""Plugins that would run tests elsewhere or trace them too, and what turns them off."""
STRETCH = 3.0
"""How many times as long tests may take by the clock: they sleep, and the machine may do other
things."""


@dataclass(frozen=True, slots=True)
class RanLines:
    """Which lines tests ran."""

    codes: tuple[Code, ...] = ()
    failed: RanTest | None = None
    """The test that is debugged. Beside other tests it may have passed, but it ran its lines."""
    passing: tuple[RanTest, ...] = ()
    problem: str = ""
    """Why there are no witnesses; empty if there are."""


def run_witnesses(
    test: str, names: Iterable[str], arguments: Sequence[str], seconds: float,
    user_code: Sequence[str] = (), stretch: float = STRETCH,
) -> RanLines:  # fmt: skip
    """Run the test that failed, then others that may pass, for so many seconds of the processor,
    and `stretch` times as many by the clock.

    `arguments` are those that pytest had, `names` what a test should name to be a witness.
    """
    with tempfile.TemporaryDirectory(prefix="whence-") as name:
        folder = Path(name)
        output = folder / "lines"
        wanted = tuple(sorted(set(names)))[:_MOST_NAMES]
        limit = stretch * seconds
        request = WitnessRequest(test, wanted, seconds, limit, str(output), tuple(user_code))
        (folder / "request").write_text(json.dumps(to_data(request)), encoding="utf-8")
        options = [f"--whence-witnesses={folder / 'request'}", f"--basetemp={folder / 'tmp'}"]
        options += [word for name, word in _OFF if _is_used(name, arguments)]
        command = [sys.executable, "-m", "pytest", *arguments, *options]
        said = folder / "output"
        with said.open("wb") as stream, contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream,
                timeout=limit + _COLLECTING, check=False,
            )  # fmt: skip
        lines = _read(output, test)
        if lines.failed is not None or lines.passing:
            return lines
        text = said.read_text(encoding="utf-8", errors="replace").rstrip().rpartition("\n")[2]
        return RanLines(problem=text[:200] or "no test ran")


def _is_used(plugin: str, arguments: Sequence[str]) -> bool:
    """Whether pytest loads a plugin that is installed."""
    if os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        return False
    blocked = {f"no:{plugin}", f"no:{plugin.removeprefix('pytest_')}"}
    if any(word.removeprefix("-p") in blocked for word in arguments):
        return False
    return importlib.util.find_spec(plugin) is not None


def _read(path: Path, test: str) -> RanLines:
    """What the process wrote; a line that it was writing when it ended is left out."""
    if not path.exists():
        return RanLines()
    read_code, read_test = reader(Code), reader(RanTest)
    codes: list[Code] = []
    passing: list[RanTest] = []
    failed: RanTest | None = None
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            if not line.endswith("\n"):
                break
            entry = json.loads(line)
            if "code" in entry:
                codes.append(read_code(entry["code"], path.name))
                continue
            ran = read_test(entry["test"], path.name)
            if ran.test == test:
                failed = ran
            elif ran.passed:
                passing.append(ran)
    return RanLines(tuple(codes), failed, tuple(passing))
