"""Sessions at a terminal when something is missing or breaks off: a sentence, and nothing is lost."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whence.app.frontends import open_any
from whence.session import log_entries
from whence.session.events import Answered
from whence.store.session_log import SessionLog

pexpect = pytest.importorskip("pexpect")

TREE = Path(__file__).parents[2] / "examples" / "sqrtest.art.json"
QUESTION = r"Right\?(?: \[y/n/i/\?\])?\s"


def no_room() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))


def a_session(
    folder: Path, *words: str, start: Callable[[], None] | None = None, columns: int = 80,
    **environment: str,
) -> Any:  # fmt: skip
    """`whence debug` at a terminal of its own."""
    settings = {"XDG_STATE_HOME": str(folder / "state"), "TERM": "dumb", **environment}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LC_")}
    return pexpect.spawn(
        sys.executable, ["-m", "whence", "debug", "--plain", *words, str(TREE)],
        env={**kept, **settings}, encoding="utf-8", codec_errors="replace", timeout=60,
        dimensions=(24, columns), cwd=str(folder), preexec_fn=start,
    )  # fmt: skip


def end_of(session: Any) -> str:
    """What is said until the end."""
    session.expect(pexpect.EOF)
    session.close()
    text: str = session.before
    assert "Traceback" not in text
    return " ".join(text.split())


def kept_answers(folder: Path) -> int:
    logs = [path for path in folder.rglob("*.jsonl") if "sessions" in path.parts]
    if not logs:
        return 0
    [path] = logs
    log = SessionLog(path, open_any(TREE).tree, "tree", log_entries)
    log.close()
    return sum(isinstance(entry, Answered) for entry in log.entries)


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        ({}, "The answers are kept in"),
        ({"HOME": "/nowhere/at/all"}, "The answers are kept in"),
        ({"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}, "The answers are kept in"),
        ({"columns": 20}, "The answers are kept in"),
        ({"XDG_STATE_HOME": "/dev/null/state"}, "This session is not kept: "),
        ({"XDG_STATE_HOME": "/proc/state"}, "This session is not kept: "),
        ({"start": no_room}, "This session is not kept: "),
    ],
    ids=["usual", "no home", "C locale", "20 columns", "no folder", "read-only", "full disk"],
)
def test_a_session_goes_on_and_says_whether_it_is_kept(
    tmp_path: Path, condition: dict[str, Any], sentence: str
) -> None:
    session = a_session(tmp_path, **condition)
    session.expect(QUESTION)
    before = session.before
    session.sendline("y")
    session.expect(QUESTION)
    before += session.before
    session.sendline("quit")
    text = " ".join(before.split()) + " " + end_of(session)
    if condition.get("columns") == 20:
        text, sentence = text.replace(" ", ""), sentence.replace(" ", "")
    assert sentence in text
    assert "Traceback" not in text
    if "kept in" in sentence or "keptin" in sentence:
        assert kept_answers(tmp_path) == 1


@pytest.mark.parametrize("leave", ["end of input", "Ctrl-C twice", "hang-up", "terminated"])
@pytest.mark.parametrize("answers", [0, 1])
def test_however_a_session_is_left_its_answers_are_kept(
    tmp_path: Path, leave: str, answers: int
) -> None:
    session = a_session(tmp_path)
    session.expect(QUESTION)
    for _ in range(answers):
        session.sendline("y")
        session.expect(QUESTION)
    match leave:
        case "end of input":
            session.sendeof()
        case "Ctrl-C twice":
            session.sendintr()
            session.expect("Ctrl-C again leaves")
            session.expect(QUESTION)
            session.sendintr()
        case "hang-up":
            session.kill(signal.SIGHUP)
        case "terminated":
            session.kill(signal.SIGTERM)
    text = end_of(session)
    if leave in ("end of input", "Ctrl-C twice"):
        assert "The answers are kept in" in text
    assert kept_answers(tmp_path) == answers


def test_a_terminal_that_is_closed_costs_no_answer(tmp_path: Path) -> None:
    session = a_session(tmp_path)
    session.expect(QUESTION)
    session.sendline("y")
    session.expect(QUESTION)
    session.close(force=False)
    deadline = time.monotonic() + 60
    while session.isalive() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not session.isalive()
    assert kept_answers(tmp_path) == 1


INTERRUPTED = """
import sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from whence.__main__ import main
sys.argv[1:] = ["debug", sys.argv[2]]
sys.exit(main())
"""


@pytest.mark.parametrize("module", ["whence.cli", "whence.cli.debug", "whence.app.diagnosing"])
def test_an_interrupt_while_it_starts_is_a_sentence(tmp_path: Path, module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.replace("sys.argv[1]:", f"{module!r}:"), module, TREE],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "whence: stopped\n")
