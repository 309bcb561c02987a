"""A program that is killed leaves all that it did, however long it was idle before."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from recorded import Node, as_node, environment

from whence.langs.python.record.tail import new_tail
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.trace_reader import open_trace, recording_summary

CALLS = "def f(n):\n    return n + 1\nfor i in range(5):\n    f(i)\n"
Process = subprocess.Popen[str]
WAIT = "print('ready', flush=True)\nsys.stdin.read()\n"


@contextmanager
def waiting(folder: Path, backend: str, source: str, *words: str) -> Iterator[Process]:
    """A recorded program that has said that it is ready, and waits for its input to end."""
    (folder / "program.py").write_text(f"import os, sys\n{source}{WAIT}")
    command = [sys.executable, "-m", "whence", "record", "--backend", backend, "-o", "t.whence"]
    with subprocess.Popen(
        [*command, *words, "program.py"], cwd=folder, env=environment(), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if not (folder / "t.whence.tail").exists():
            process.kill()
            pytest.skip("this file system allows no tail")
        yield process


def killed(folder: Path, backend: str, source: str, *words: str) -> Node:
    """What is left of a program that was killed while it waited."""
    with waiting(folder, backend, source, *words) as process:
        process.kill()
    assert process.returncode == -signal.SIGKILL
    tree = open_trace(folder / "t.whence")
    known = recording_summary(tree)
    assert known is not None
    assert (known.ended, known.unread) == (False, 0)
    return as_node(tree)


def test_a_program_that_is_killed_while_it_waits_leaves_every_call(
    tmp_path: Path, backend: str
) -> None:
    run = killed(tmp_path, backend, CALLS)
    assert run.calls[0].outcome.startswith("did not end")
    assert [call.outcome for call in run.calls[0].calls] == [f"→ {n}" for n in range(1, 6)]


def test_a_program_that_runs_can_be_looked_at(tmp_path: Path, backend: str) -> None:
    with waiting(tmp_path, backend, CALLS) as process:
        assert len(as_node(open_trace(tmp_path / "t.whence")).calls[0].calls) == 5
        process.communicate()
    assert len(as_node(open_trace(tmp_path / "t.whence")).calls[0].calls) == 5


def test_records_that_are_in_a_page_are_not_read_twice(tmp_path: Path, backend: str) -> None:
    count = 6_000
    source = f"def f(s):\n    pass\nfor i in range({count}):\n    f('x' * 300 + str(i))\n"
    run = killed(tmp_path, backend, source, "--whole-values")
    assert (tmp_path / "t.whence").stat().st_size > 2_000
    assert len(run.calls[0].calls) == count


def test_a_value_too_large_for_the_tail_is_only_missing_itself(
    tmp_path: Path, backend: str
) -> None:
    large = "def g(v):\n    pass\ng([str(i) * 500 for i in range(3000)])\n"
    run = killed(tmp_path, backend, CALLS + large, "--whole-values")
    assert len(run.calls[0].calls) in (5, 6)


def test_what_a_forked_child_does_is_not_in_its_parents_tail(tmp_path: Path, backend: str) -> None:
    fork = (
        "if os.fork() == 0:\n    for i in range(999):\n        f(i)\n    os._exit(0)\nos.wait()\n"
    )
    run = killed(tmp_path, backend, CALLS + fork + "f(7)\n", "--no-children")
    assert [call.outcome for call in run.calls[0].calls][5:] == ["→ 8"]


def test_a_killed_child_leaves_every_call(tmp_path: Path, backend: str) -> None:
    fork = "if os.fork() == 0:\n    f(7)\n    os.kill(os.getpid(), 9)\nos.wait()\n"
    run = killed(tmp_path, backend, CALLS + fork, "--children")
    (child,) = (call for call in run.calls[0].calls if call.name.startswith("process"))
    assert [call.outcome for call in child.calls] == ["→ 8"]


@pytest.mark.parametrize(
    "end", ["", "1 / 0", "os._exit(3)", "os.execv('/bin/true', ['true'])", "sys.exit(1)"]
)
def test_a_program_that_ends_leaves_no_tail(tmp_path: Path, end: str, backend: str) -> None:
    if backend == "pure" and end.startswith("os."):
        pytest.skip("it does not see that")
    (tmp_path / "program.py").write_text(f"import os, sys\n{CALLS}{end}\n")
    command = [sys.executable, "-m", "whence", "record", "--backend", backend, "-o", "t.whence"]
    subprocess.run(
        [*command, "program.py"], cwd=tmp_path, env=environment(), check=False, capture_output=True
    )
    assert len(as_node(open_trace(tmp_path / "t.whence")).calls[0].calls) == 5
    left = {path.name for path in tmp_path.iterdir()}
    assert left - {"t.whence.signature", "t.whence.d"} == {"program.py", "t.whence"}


def test_a_file_that_is_no_tail_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.whence.tail").write_text("mine")
    assert new_tail(str(tmp_path / "a.whence")) is None
    assert (tmp_path / "a.whence.tail").read_text() == "mine"
    (tmp_path / "b.whence.tail").write_bytes(f.TAIL_MAGIC)
    assert new_tail(str(tmp_path / "b.whence")) is not None
