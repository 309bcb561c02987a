"""The transcript in README.md is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from recorded import environment

ROOT = Path(__file__).parents[3]


def test_running_and_debugging_the_example_goes_as_the_readme_shows(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"```\n\$ (whence run .*?)\n(.*?)\n```", readme, re.DOTALL)
    assert shown is not None
    _, command, *program = shown[1].split()
    answers = tmp_path / "answers"
    typed = re.findall(r"\? \[[^]]*\] (\w+)$", shown[2], re.MULTILINE)
    assert len(typed) > 3
    answers.write_text("".join(f"{each}\n" for each in typed))
    options = ["--answers", str(answers), "--recording", str(tmp_path / "run.whence")]
    done = subprocess.run(
        [sys.executable, "-m", "whence", command, *options, *program], cwd=ROOT, env=environment(),
        text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.replace(f"{ROOT}/", "").rstrip() == shown[2]
