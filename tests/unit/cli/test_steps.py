"""`whence next` and `whence answer`: a session in single commands."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from forked_whence import whence

EXAMPLES = Path(__file__).parents[3] / "examples"
ALONE = {**os.environ, "WHENCE_SOCKET": "/nonexistent/serve.sock"}


def step(*words: str) -> str:
    """What a command prints that makes a step."""
    result = whence(*words, env=ALONE)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_session_is_held_in_single_commands() -> None:
    tree = str(EXAMPLES / "sqrtest.jsonl")
    first = step("next", tree, "--fresh")
    assert "Question 1" in first
    handle = first.split("whence answer ")[1].split()[0]
    assert "Question 2" in step("answer", handle, "right")
    assert step("answer", handle, "undo").endswith(first.partition("\n")[2])
    view = json.loads(step("answer", handle, "n", "=", "True", "--by", "agent", "--format", "json"))
    assert view["answers"] == 1
    assert "= True" not in step("next", handle)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["next", "nothing"], "there is no session nothing"),
        (["answer", "{tree}", "perhaps"], "perhaps: is no answer"),
        (["answer", "{tree}", "operand", "x"], "an operand is named by its number"),
        (["next", "{tree}", "--socket", "/nonexistent/s"], "no server answers there"),
    ],
)
def test_what_cannot_be_done_says_why(words: list[str], problem: str) -> None:
    tree = str(EXAMPLES / "sqrtest.jsonl")
    result = whence(*(word.format(tree=tree) for word in words), env=ALONE)
    assert result.returncode == 2
    assert problem in result.stderr
