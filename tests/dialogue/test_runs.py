"""Programs run and debugged by `whence run` in a terminal of their own, key by key.

A folder holds `program.py`, `run.json` (the options, and the call that must be blamed),
`answers.txt` and `transcript.txt`, which is written anew as in test_dialogues.py.
"""

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from recorded import environment

pexpect = pytest.importorskip("pexpect")
if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals here", allow_module_level=True)

HERE = Path(__file__).parent
RUNS = sorted(path.parent.name for path in HERE.glob("*/run.json"))
PROMPT = r"\n[^\n]*\[[^\]\n]*\] $|\nRight[^?\n]*\? $|help > $"
# What is told while one waits, and wiped out: whether one has to is a matter of the machine.
_WAITING = re.compile(r"\r\x1b\[K(?:[^\r\n]*\(Ctrl-C stops it\))?")
_TRACEBACK = re.compile(r"(Traceback \(most recent call last\):\n)(?: .*\n)+")


def _environment() -> dict[str, str]:
    return {k: v for k, v in environment().items() if k not in ("COLUMNS", "LINES")}


def held(folder: Path, setup: dict[str, Any], place: Path) -> tuple[str, int]:
    """The whole screen, and the exit status."""
    shutil.copy(folder / "program.py", place)
    private = {name: str(place / name) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME")}
    child = pexpect.spawn(
        sys.executable,
        ["-m", "whence", "run", "--plain", *setup["options"], "program.py"],
        cwd=str(place),
        # The size of the terminal is its own, and not what the tests' runner is told.
        env={**_environment(), **private, "TERM": "dumb", "NO_COLOR": "1", "PYTHON_COLORS": "0"},
        encoding="utf-8",
        dimensions=(50, 200),
        timeout=60,
    )
    seen = ""
    for answer in (folder / "answers.txt").read_text(encoding="utf-8").splitlines():
        child.expect(PROMPT)
        seen += child.before + child.after
        child.sendline(answer)
    child.expect(pexpect.EOF)
    child.close()
    seen = _WAITING.sub("", seen + child.before).replace("\r\n", "\n").replace(f"{place}/", "")
    seen = seen.replace(str(place), "PROJECT")
    seen = seen.replace("exceeded in comparison\n", "exceeded\n")  # so 3.11 has it
    return _TRACEBACK.sub(r"\1  …\n", seen), child.exitstatus


@pytest.mark.parametrize("name", RUNS)
def test_the_fault_is_found_in_a_terminal(name: str, tmp_path: Path) -> None:
    folder = HERE / name
    setup = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    if sys.version_info < tuple(setup.get("since", ())):
        pytest.skip("where this Python gives up a recursion, another call is asked about")
    seen, status = held(folder, setup, tmp_path)
    expected = folder / "transcript.txt"
    if os.environ.get("WHENCE_REWRITE_TRANSCRIPTS"):
        expected.write_text(seen, encoding="utf-8")
    assert seen == expected.read_text(encoding="utf-8")
    assert status == 0
    assert f"The fault is in {setup['fault']} (program.py" in seen
    for line in setup["told"]:
        assert line in seen


def test_the_programs_of_the_papers_are_there() -> None:
    assert {name for name in RUNS if "mergesort" in name or "average" in name} == {
        "run_average",
        "run_mergesort_endless",
        "run_mergesort_error",
        "run_mergesort_wrong_result",
    }
