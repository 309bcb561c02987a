"""`whence run` where a terminal is more than a place to type: interrupts, and input from elsewhere."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from recorded import environment

from whence.langs.python.record.journal.journal_choice import obstacle

pexpect = pytest.importorskip("pexpect")
if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals here", allow_module_level=True)

ENDLESS = """
def count(n):
    print("started")
    while True: n = step(n)
def step(n): return n + 1
count(0)
"""
RUN = [sys.executable, "-m", "whence", "run"]


def spawned(folder: Path, command: str, words: list[str], terminal: str = "dumb") -> Any:
    private = {name: str(folder / name) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME")}
    kept = {k: v for k, v in environment().items() if k not in ("COLUMNS", "LINES")}
    return pexpect.spawn(
        command,
        words,
        cwd=str(folder),
        env={**kept, **private, "TERM": terminal, "NO_COLOR": "1"},
        encoding="utf-8",
        dimensions=(50, 200),
        timeout=60,
    )


def test_ctrl_c_stops_the_program_and_the_session_begins(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(ENDLESS)
    child = spawned(tmp_path, RUN[0], [*RUN[1:], "--max-calls", "50", "program.py"])
    child.expect("started")
    child.sendintr()
    child.expect("KeyboardInterrupt")
    child.expect("The program did not end: it was interrupted")
    child.expect("Enter: that it did not end")
    child.sendline("")
    child.expect(r"Question 1")
    child.sendline("q")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 1
    again = spawned(tmp_path, RUN[0], [*RUN[1:3], "debug"])
    again.expect(r"Question 1")
    again.sendline("q")
    again.expect(pexpect.EOF)
    assert "What is wrong?" not in again.before


def test_answers_are_typed_although_the_program_read_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import sys\ndef add(a, b): return a - b\nprint(add(*map(int, sys.stdin.read().split())))\n"
    )
    piped = f"printf '1 2' | {' '.join(RUN)} --plain program.py"
    child = spawned(tmp_path, "/bin/sh", ["-c", piped])
    child.expect("-1")
    child.expect("Enter: that line")
    child.sendline("1")
    child.expect(r"add\(a=1, b=2\)")
    child.sendline("n")
    child.expect("The fault is in add")
    child.sendline("")
    child.expect(pexpect.EOF)


def test_what_it_should_have_been_is_asked_once_for_a_test(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("def add(a, b):\n    return a - b\n\nprint(add(1, 2))\n")
    child = spawned(tmp_path, RUN[0], [*RUN[1:], "--plain", "program.py"])
    child.expect("Enter: that line")
    child.sendline("1")
    child.expect(r"add\(a=1, b=2\)")
    child.sendline("n")
    child.expect("zoom, undo, source, test, save, help > ")
    child.sendline("test")
    child.expect("What should it have been")
    child.sendline("3")
    child.expect(r"assert program.add\(1, 2\) == 3")
    child.expect("help > ")
    child.sendline("test tests/test_it.py")
    child.expect("Written to tests/test_it.py")
    assert "What should" not in child.before
    child.sendline("")
    child.expect(pexpect.EOF)


def test_a_test_is_not_offered_where_it_cannot_be_had(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "def outer():\n    def add(a, b): return id(a)\n    return add(1, 2)\nprint(outer())\n"
    )
    child = spawned(tmp_path, RUN[0], [*RUN[1:], "--plain", "program.py"])
    child.expect("Enter: that line")
    child.sendline("1")
    child.expect(r"add\(a=1, b=2\)")
    child.sendline("n")
    child.expect("zoom, undo, source, save, help > ")
    child.sendline("test")
    child.expect("What should it have been")
    child.sendline("")
    child.expect("no test can be written of outer.<locals>.add")
    child.sendline("")
    child.expect(pexpect.EOF)


STEPS = """
def one(n):
    return n + 1

def two(n):
    return one(n) * 3

def three(n):
    return two(n) - one(n)

print(three(4))
"""


def test_a_run_offers_to_go_on_with_an_unfinished_session(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(STEPS)
    os.utime(program, (1, 1))
    words = [*RUN[1:], "--plain", "program.py"]
    child = spawned(tmp_path, RUN[0], words)
    child.expect("Enter: that line")
    child.sendline("1")
    child.expect("Right")
    child.sendline("n")
    child.expect("Question 2")
    child.sendline("q")
    child.expect(pexpect.EOF)
    for reply, sign in (("", "Question 2"), ("n", "Enter: that line")):
        child = spawned(tmp_path, RUN[0], words)
        child.expect("was left unfinished, with 1 answer")
        child.expect("Go on with it")
        child.sendline(reply)
        child.expect(sign)
        child.close(force=True)
    # The newest recording has no session yet.
    child = spawned(tmp_path, RUN[0], words)
    child.expect("Enter: that line")
    assert "unfinished" not in child.before
    child.close(force=True)


def test_what_is_said_to_be_wrong_is_refused_by_a_session_about_something_else(
    tmp_path: Path,
) -> None:
    (tmp_path / "program.py").write_text(STEPS.replace("print(", "print('sum')\nprint("))
    child = spawned(tmp_path, RUN[0], [*RUN[1:], "--plain", "--wrong", "output:2", "program.py"])
    child.expect("Right")
    child.sendline("n")
    child.expect("Question 2")
    child.sendline("q")
    child.expect(pexpect.EOF)
    again = [*RUN[1:3], "debug", "--plain", "--wrong"]
    child = spawned(tmp_path, RUN[0], [*again, "output:1"])
    child.expect("add --fresh to start a new one")
    child.expect(pexpect.EOF)
    child = spawned(tmp_path, RUN[0], [*again, "output:2"])
    child.expect("Question 2")
    child.close(force=True)


def test_a_person_who_resumes_is_asked_once_whether_to_run_it_again_for_marks(
    tmp_path: Path,
) -> None:
    (tmp_path / "program.py").write_text(
        "def made(n):\n    return [n, n + 1]\n\n"
        "def passed(n):\n    return {'a': made(n), 'b': made(n + 5)}\n\n"
        "def both(n):\n    return passed(n)\n\nprint(both(4))\n"
    )
    child = spawned(tmp_path, RUN[0], [*RUN[1:], "--plain", "program.py"])
    child.expect("Enter: that line")
    child.sendline("1")
    child.expect("Right")
    child.sendline("n result['a'][1]")
    child.expect("Run it")
    child.sendline("y")
    child.expect("Question 2")
    child.sendline("q")
    child.expect(pexpect.EOF)
    child = spawned(tmp_path, RUN[0], [*RUN[1:3], "debug", "--plain"])
    child.expect(r"Run it again for your marks\? \[Y/n\] ")
    child.sendline("")
    child.expect("Question 2")
    assert "is not known" not in child.before
    child.close(force=True)


def test_a_terminal_that_the_program_left_in_disorder_is_put_right(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import sys, termios, tty\ndef f(x): return x + 1\ntty.setraw(0)\nprint(f(1))\n"
    )
    child = spawned(tmp_path, RUN[0], [*RUN[1:], "--plain", "program.py"])
    child.expect("Enter: that line")
    child.sendline("1")
    child.expect(r"f\(x=1\) → 2")
    child.sendline("n")
    child.expect("The fault is in f")
    child.sendline("")
    child.expect(pexpect.EOF)


SLOW = """
import os, time
def add(a, b): return a - b
if os.path.exists("again"): time.sleep(30)
print(add(1, 2))
"""


def test_a_run_that_takes_long_tells_how_long_and_can_be_stopped(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SLOW)
    child = spawned(tmp_path, RUN[0], [*RUN[1:], "--plain", "program.py"], "xterm")
    child.expect("Enter: that line")
    (tmp_path / "again").touch()
    child.sendline("")
    child.expect("Right")
    child.sendline("full")
    child.expect("Run it")
    child.sendline("y")
    child.expect(r"\r\x1b\[Krunning it again: \d+ s \(Ctrl-C stops it\)")
    child.expect(r"\r\x1b\[Krunning it again: \d+ s")
    child.sendintr()
    child.expect(r"\r\x1b\[K")
    child.expect("Stopped.")
    child.sendline("n")
    child.expect("The fault is in add")
    child.sendline("")
    child.expect(pexpect.EOF)


def test_the_reference_tells_that_it_is_run(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SLOW)
    (tmp_path / "right.py").write_text(SLOW.replace("a - b", "a + b").replace("30", "3"))
    (tmp_path / "program.py").write_text(SLOW.replace("30", "0"))
    (tmp_path / "again").touch()
    words = ["--plain", "--no-rerun", "--reference", "right.py", "program.py"]
    child = spawned(tmp_path, RUN[0], [*RUN[1:], *words], "xterm")
    child.expect(r"\r\x1b\[Krunning the reference version: \d+ s")
    child.expect("The fault is in add")
    child.close(force=True)


@pytest.mark.skipif(obstacle(None) is not None, reason="nothing here keeps a journal")
def test_a_session_that_is_told_to_end_leaves_no_folder_behind(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("def f(x): return [x] * 500\nprint(len(f(1)))\n")
    (tmp_path / "scratch").mkdir()
    words = [f"TMPDIR={tmp_path / 'scratch'}", *RUN, "--plain", "--journal", "program.py"]
    child = spawned(tmp_path, "/usr/bin/env", words)
    child.expect("Enter: that line")
    child.sendline("")
    child.expect(r"Right\?")
    child.sendline("full")
    child.expect("1, 1, 1")
    child.expect(r"Right\?")
    assert list((tmp_path / "scratch").iterdir()), "it holds copies of the program"
    child.kill(signal.SIGTERM)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 128 + signal.SIGTERM
    assert not list((tmp_path / "scratch").iterdir())
