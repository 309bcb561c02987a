"""The transcripts in README.md and in the tutorial are what happens."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from recorded import environment

ROOT = Path(__file__).parents[3]
TYPED = re.compile(r"(?:\? \[[^]]*\]|^Right[^?\n]*\?(?! \[)) (.+)$", re.MULTILINE)


def transcripts(page: str) -> list[str]:
    """The code blocks of a page that show a dialogue or a part of one."""
    blocks = re.findall(r"^```\n(.*?)\n```$", (ROOT / page).read_text("utf-8"), re.M | re.S)
    return [block for block in blocks if TYPED.search(block)]


def run(command: str, answers: list[str], folder: Path, project: Path = ROOT) -> str:
    """What a command prints when these answers are typed."""
    file = folder / "answers"
    file.write_text("".join(f"{answer}\n" for answer in answers))
    _, name, *rest = command.split()
    options = ["--answers", str(file), "--session", str(folder / "session")]
    if name == "run":
        options += ["--recording", str(folder / "run.whence")]
    done = subprocess.run(
        [sys.executable, "-m", "whence", name, *options, *rest], cwd=project, env=environment(),
        text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=100, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.replace(f"{project}/", "").rstrip()


def test_running_and_debugging_the_example_goes_as_the_readme_shows(tmp_path: Path) -> None:
    (shown,) = (block for block in transcripts("README.md") if block.startswith("$ whence run"))
    command, _, dialogue = shown.removeprefix("$ ").partition("\n")
    answers = TYPED.findall(dialogue)
    assert len(answers) > 3
    assert run(command, answers, tmp_path) == dialogue


def test_the_first_bug_of_the_tutorial_is_found_as_it_shows(tmp_path: Path) -> None:
    shown = transcripts("docs/tutorial.md")
    start = next(i for i, block in enumerate(shown) if block.startswith("$ whence test"))
    parts = shown[:start]
    command, _, first = parts[0].removeprefix("$ ").partition("\n")
    answers = [answer for part in parts for answer in TYPED.findall(part)]
    assert len(answers) > 3
    printed = run(command, answers, tmp_path)
    assert all(part in printed for part in (first, *parts[1:]))


@pytest.mark.parametrize("which", [0, 1], ids=["failing test", "mark"])
def test_the_failing_test_of_the_tutorial_is_explained_as_it_shows(
    tmp_path: Path, which: int
) -> None:
    parts = [part for part in transcripts("docs/tutorial.md") if part.startswith("$ whence test")]
    command, _, dialogue = parts[which].removeprefix("$ ").partition("\n")
    answers = TYPED.findall(dialogue)
    before = [] if answers[0] == "l" else ["l"]  # the part about the mark begins later
    project = shutil.copytree(ROOT / "examples" / "shop", tmp_path / "shop")
    printed = run(command, [*before, *answers], tmp_path, project)
    assert dialogue in printed
