"""Bugs that were released on PyPI: whence names the function that the next release changed.

The person who answers knows what that function does in the next release, and nothing else.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import released_bugs

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
from questions import DEFAULT, debug, recorded
from readability import Readings

pytestmark = pytest.mark.soak


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the simulated person needs 3.12")
@pytest.mark.parametrize("name", released_bugs.names())
def test_the_function_that_the_next_release_changed_is_named(name: str, tmp_path: Path) -> None:
    try:
        bug = released_bugs.released_bug(name, tmp_path / "versions")
    except released_bugs.NotInstalled as why:
        pytest.skip(str(why))
    case = recorded(bug, tmp_path)
    for marks in (False, True):
        readings = Readings(case, None)
        session = debug(case, DEFAULT, marks=marks, on_question=readings)
        assert session.located, session.blamed
        assert session.questions <= 20
        assert max(shown.lines for shown in readings.shown) <= 24


@pytest.mark.parametrize("name", released_bugs.names())
def test_the_next_release_as_the_reference_leads_to_it(name: str, tmp_path: Path) -> None:
    """The next release differs in many definitions, and nobody answers a question."""
    try:
        bug = released_bugs.released_bug(name, tmp_path / "versions")
    except released_bugs.NotInstalled as why:
        pytest.skip(str(why))
    report = tmp_path / "diagnosis.json"
    command = ["run", "--reference", str(bug.release), "--no-session", "--answers", "/dev/null"]
    done = subprocess.run(
        [sys.executable, "-m", "whence", *command, "--format", "json", "-o", report, bug.script],
        cwd=bug.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    diagnosis = json.loads(report.read_text())
    assert diagnosis["status"] == "found", done.stdout
    assert bug.is_at_fault(diagnosis["at_fault"]["qualname"]), done.stdout
