"""pdb at a question stands in the call that is asked about, and changes nothing."""

from __future__ import annotations

import pdb
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from recorded import environment

from whence.langs.python.record.journal.journal_choice import obstacle

pexpect = pytest.importorskip("pexpect")
pytestmark = pytest.mark.skipif(obstacle(None) is not None, reason="nothing here keeps a journal")

PROGRAM = """
import random, time

def scaled(n, factor):
    drawn = random.random()
    result = n * factor
    with open("log", "a") as log:
        log.write(f"{drawn} {time.time()}")
    return result

def total(values):
    return sum(scaled(each, 10) for each in values)

print(total([1, 2, 3]))
"""


MINE = """
import pdb, sys

class Mine(pdb.Pdb):
    def preloop(self):
        self.prompt = "(mine) "

def begin():
    print("this is mine")
    Mine().set_trace(sys._getframe(1))
"""


def at_terminal(folder: Path, named: str = "") -> Any:
    (folder / "program.py").write_text(PROGRAM)
    private = {name: str(folder / name) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME")}
    return pexpect.spawn(
        sys.executable,
        ["-m", "whence", "run", "--plain", "--strategy", "top-down", "--journal", "program.py"],
        cwd=str(folder),
        env={
            **environment(),
            **private,
            "TERM": "dumb",
            "NO_COLOR": "1",
            "PYTHONBREAKPOINT": named,
        },
        encoding="utf-8",
        dimensions=(50, 120),
        timeout=60,
    )


def answered(child: Any) -> None:
    """Up to the question about the second call."""
    child.expect("What is wrong")
    child.sendline("1")
    child.expect(r"total\(values=\[1, 2, 3\]\)")
    child.sendline("n")
    child.expect(r"scaled\(n=1, factor=10\)")
    child.sendline("y")
    child.expect(r"scaled\(n=2, factor=10\)")


def test_pdb_stands_where_the_call_begins_or_ends_and_comes_back(tmp_path: Path) -> None:
    child = at_terminal(tmp_path, "0")
    answered(child)
    log = (tmp_path / "log").read_text()
    child.sendline("pdb")
    child.expect_exact("PYTHONBREAKPOINT=0 is about breakpoint(); this is pdb.")
    child.expect(r"program.py\(5\)scaled\(\)")
    child.expect(r"\(pdb\) ")
    child.sendline("p n, factor, 'result' in dir()")
    child.expect_exact("(2, 10, False)")
    child.sendline("next")
    child.expect(r"program.py\(6\)scaled\(\)")
    child.sendline("p repr(drawn) in open('log').read()")
    child.expect_exact("True")
    child.sendline("up")
    child.expect(r"total|genexpr")
    child.sendline("quit")
    child.expect(r"scaled\(n=2, factor=10\)")
    child.sendline("pdb end")
    child.expect(r"--Return--")
    child.expect(r"\(pdb\) ")
    child.sendline("p result")
    child.expect_exact("20")
    child.sendline("continue")
    child.expect(r"scaled\(n=2, factor=10\)")
    child.sendline("q")
    child.expect(pexpect.EOF)
    assert (tmp_path / "log").read_text() == log


def test_another_debugger_stands_there_too(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    child = at_terminal(tmp_path, "mine.begin")
    answered(child)
    log = (tmp_path / "log").read_text()
    child.sendline("pdb")
    child.expect_exact("this is mine")
    child.expect(r"program.py\(5\)scaled\(\)")
    child.expect_exact("(mine) ")
    child.sendline("next")
    child.expect(r"program.py\(6\)scaled\(\)")
    child.sendline("p n, repr(drawn) in open('log').read()")
    child.expect_exact("(2, True)")
    child.sendline("break 9")
    child.sendline("continue")
    child.expect(r"program.py\(9\)scaled\(\)")
    child.sendline("p result")
    child.expect_exact("20")
    child.sendline("quit")
    child.expect(r"scaled\(n=2, factor=10\)")
    child.sendline("pdb end")
    child.expect(r"--Return--")
    child.expect_exact("(mine) ")
    child.sendline("continue")
    child.expect(r"scaled\(n=2, factor=10\)")
    child.sendline("q")
    child.expect(pexpect.EOF)
    assert (tmp_path / "log").read_text() == log


def test_what_cannot_be_had_is_said_and_pdb_comes_instead() -> None:
    from whence.langs.python.debuggee.step_debugger import find_debugger

    said = StringIO()
    assert find_debugger("", said) is None
    assert said.getvalue() == ""
    for name in ("no_such_module.begin", "pdb.no_such_function", "no_such_builtin", "."):
        assert find_debugger(name, said) is None
        assert f"names {name}, which cannot be imported" in said.getvalue()
    assert find_debugger("pdb.set_trace", said) is pdb.set_trace
