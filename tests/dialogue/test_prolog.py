"""Whole sessions about Prolog goals: a program, a goal, what is typed, and all that is seen.

A folder holds `command.json` (the program, the goal if any, further words), `answers.txt` and
`transcript.txt`, which is written anew as test_dialogues.py says.
"""

import json
import os
from pathlib import Path

import pytest
from forked_whence import whence
from prolog import need_swipl

need_swipl()

HERE = Path(__file__).parent
DIALOGUES = sorted(path.parent.name for path in HERE.glob("*/command.json"))


def transcript(folder: Path) -> str:
    command = json.loads((folder / "command.json").read_text(encoding="utf-8"))
    goal = [command["goal"]] if "goal" in command else []
    words = ["prolog", command["file"], *goal, *command.get("words", [])]
    done = whence(
        *words,
        cwd=folder,
        stdin=(folder / "answers.txt").read_text(encoding="utf-8"),
        env={**os.environ, "COLUMNS": "80"},
        joined=True,
    )
    assert done.returncode == 0
    return done.stdout


@pytest.mark.parametrize("name", DIALOGUES)
def test_the_dialogue_reads_as_it_did(name: str) -> None:
    folder = HERE / name
    found = transcript(folder)
    expected = folder / "transcript.txt"
    if os.environ.get("WHENCE_REWRITE_TRANSCRIPTS"):
        expected.write_text(found, encoding="utf-8")
    assert found == expected.read_text(encoding="utf-8")


def test_there_are_dialogues() -> None:
    assert len(DIALOGUES) >= 4
