"""Whole sessions: a tree, what is typed, and all that is seen.

A folder holds `setup.json` (the name of a tree in conftest.py or the path of a file, the strategy,
the switches), `answers.txt` and `transcript.txt`. After a change that is meant to be seen,
`WHENCE_REWRITE_TRANSCRIPTS=1 python -m pytest tests/dialogue` writes the transcripts anew: read
the difference as a user would.
"""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whence.app.session_driver import SessionDriver
from whence.app.frontends import open_any
from whence.search.registry import DEFAULT
from whence.search.space import Switches
from whence.session.state import Facts, State
from whence.ui.terminal.loop import converse
from whence.ui.terminal.plain import PlainScreen

HERE = Path(__file__).parent
DIALOGUES = sorted(path.parent.name for path in HERE.glob("*/setup.json"))


def transcript(folder: Path, subjects: dict[str, Callable[..., Any]]) -> str:
    setup = json.loads((folder / "setup.json").read_text(encoding="utf-8"))
    name = setup["tree"]
    if name in subjects:
        tree, provenance = subjects[name]()
    else:
        opened = open_any(folder / name)
        tree, provenance = opened.tree, opened.provenance
    facts = Facts(
        strategy=setup.get("strategy", DEFAULT), switches=Switches(**setup.get("switches", {}))
    )
    answers = io.StringIO((folder / "answers.txt").read_text(encoding="utf-8"))
    output = io.StringIO()
    screen = PlainScreen(answers, output)
    debugging = SessionDriver(State(tree, provenance, facts=facts), notify=screen.note)
    converse(debugging, screen, debugging.start())
    return output.getvalue()


@pytest.mark.parametrize("name", DIALOGUES)
def test_the_dialogue_reads_as_it_did(name: str, subjects: dict[str, Callable[..., Any]]) -> None:
    folder = HERE / name
    found = transcript(folder, subjects)
    expected = folder / "transcript.txt"
    if os.environ.get("WHENCE_REWRITE_TRANSCRIPTS"):
        expected.write_text(found, encoding="utf-8")
    assert found == expected.read_text(encoding="utf-8")


def test_there_are_dialogues() -> None:
    assert len(DIALOGUES) >= 12
