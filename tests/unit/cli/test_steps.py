"""`whence next` and `whence answer`: a session in single commands."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from example_copies import own_copy
from forked_whence import whence

TREE = str(own_copy("sqrtest.jsonl"))
ALONE = {**os.environ, "WHENCE_SOCKET": "/nonexistent/serve.sock"}


def step(*words: str) -> str:
    """What a command prints that makes a step."""
    result = whence(*words, env=ALONE)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_session_is_held_in_single_commands() -> None:
    first = step("next", TREE, "--fresh")
    assert "Question 1" in first
    handle = first.split("whence answer ")[1].split()[0]
    assert "Question 2" in step("answer", handle, "right")
    assert step("answer", handle, "undo").endswith(first.partition("\n")[2])
    view = json.loads(step("answer", handle, "n", "=", "True", "--by", "agent", "--format", "json"))
    assert view["answers"] == 1
    assert "= True" not in step("next", handle)


def test_serve_answers_lines_and_whatever_else_is_printed_stays_out(tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text(
        "import os\nos.write(1, b'loud')\n\n\ndef judge(call):\n    print('loud')\n"
    )
    request = {"recording": TREE, "keep": False}
    request["oracles"] = ["python:judge:judge"]
    lines = [{"method": "hello", "id": 1}, {"method": "open", "id": 2, "params": request}]
    typed = "".join(f"{json.dumps(line)}\n" for line in lines)
    result = whence("serve", stdin=typed, cwd=tmp_path, env=ALONE)
    first, second = map(json.loads, result.stdout.splitlines())
    assert first["result"]["protocol"] == 1
    assert second["result"]["needs"] == "question"
    assert "loud" in result.stderr


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
    result = whence(*(word.format(tree=TREE) for word in words), env=ALONE)
    assert result.returncode == 2
    assert problem in result.stderr
