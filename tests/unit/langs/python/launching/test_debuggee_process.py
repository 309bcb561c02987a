"""What a program can see of the process that whence starts for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from debuggee_runs import order_for, record_repeatably

from whence.langs.python.launching.debuggee_process import start_debuggee
from whence.langs.python.launching.own_python import interpreter_options

LOOKS = """
import json, os, sys
frames, frame = [], sys._getframe()
while frame is not None:
    frames.append(frame.f_code.co_name)
    frame = frame.f_back
def deep(n):
    try:
        return deep(n + 1)
    except RecursionError:
        return n
print(json.dumps({
    "argv": sys.argv, "orig_argv": sys.orig_argv[1:], "path": sys.path, "frames": frames,
    "main": sorted(vars(sys.modules["__main__"])), "depth": deep(0),
    "environment": sorted(os.environ),
    "descriptors": os.listdir("/proc/self/fd") if sys.platform == "linux" else [],
    "importers": sorted(name for name in sys.path_importer_cache if "__main__" in name),
}))
"""


def seen(printed: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed)
    # Whence has its own under high numbers.
    found["descriptors"] = sorted(
        number for number in map(int, found["descriptors"]) if number < 100
    )
    return found


@pytest.mark.parametrize("program", [["program.py", "-o", "--", "x"], ["-m", "program", "y"]])
def test_a_program_sees_nothing_of_the_order(tmp_path: Path, program: Sequence[str]) -> None:
    (tmp_path / "program.py").write_text(LOOKS)
    environment = {**os.environ, "PYTHONHASHSEED": "3"}
    plain = subprocess.run(
        [sys.executable, *interpreter_options(), *program], cwd=tmp_path, env=environment,
        capture_output=True, text=True, input="", check=True,
    )  # fmt: skip
    words = program if program[0].startswith("-") else ["--", *program]
    recorded = record_repeatably(
        tmp_path / "run.whence", words, tmp_path, environment=environment, check=True
    )
    assert seen(recorded.stdout) == seen(plain.stdout)


def test_what_prevents_a_run_is_said_as_whence_says_it(tmp_path: Path) -> None:
    done = record_repeatably(tmp_path / "run.whence", ["missing.py"], tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("whence: missing.py: the program to record cannot be read")


def test_an_order_may_be_larger_than_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sys\nprint(len(sys.argv))\n")
    order = order_for(tmp_path / "run.whence", ["program.py", *["word" * 10] * 5000])
    process = start_debuggee(
        order, environment=os.environ, cwd=str(tmp_path), stdout=subprocess.PIPE
    )
    assert process.communicate(timeout=60)[0] == b"5001\n"
