"""The transcript in README.md is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from recorded import environment

ROOT = Path(__file__).parents[3]


def test_recording_and_debugging_the_example_goes_as_the_readme_shows(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"```\n(\$ whence record .*?)\n```", readme, re.DOTALL)
    assert shown is not None
    trace = str(tmp_path / "parcels.whence")

    def whence(*words: str, answers: str = "") -> str:
        done = subprocess.run(
            [sys.executable, "-m", "whence", *words], cwd=ROOT, env=environment(), text=True,
            capture_output=True, input=answers, timeout=60, check=False,
        )  # fmt: skip
        assert done.stderr == ""
        return done.stdout.replace(f"{ROOT}/", "")

    answers = "".join(f"{each}\n" for each in re.findall(r"Right\? \[y/n/i/\?\] (\w)", shown[1]))
    happened = "$ whence record examples/parcels.py\n"
    happened += whence("record", "-o", trace, "examples/parcels.py")
    happened += "$ whence debug parcels.whence\n"
    happened += whence("debug", trace, answers=answers)
    assert happened.rstrip() == shown[1]
