"""pdb at a question stands in the call that is asked about, and changes nothing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from recorded import environment

from whence.langs.python.record.journal.choosing import obstacle

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


def at_terminal(folder: Path) -> Any:
    (folder / "program.py").write_text(PROGRAM)
    private = {name: str(folder / name) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME")}
    return pexpect.spawn(
        sys.executable,
        ["-m", "whence", "run", "--plain", "--strategy", "top-down", "--journal", "program.py"],
        cwd=str(folder),
        env={**environment(), **private, "TERM": "dumb", "NO_COLOR": "1"},
        encoding="utf-8",
        dimensions=(50, 120),
        timeout=60,
    )


def test_pdb_stands_where_the_call_begins_or_ends_and_comes_back(tmp_path: Path) -> None:
    child = at_terminal(tmp_path)
    child.expect("What is wrong")
    child.sendline("1")
    child.expect(r"total\(values=\[1, 2, 3\]\)")
    child.sendline("n")
    child.expect(r"scaled\(n=1, factor=10\)")
    child.sendline("y")
    child.expect(r"scaled\(n=2, factor=10\)")
    log = (tmp_path / "log").read_text()
    child.sendline("pdb")
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
