"""How a program ends is recorded by each backend, and is the same as without a recording."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from whence.langs.python.recording_signature import why_foreign
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.call import OutcomeKind
from whence.model.value import show
from whence.tree.column_tree import ColumnTree

RECURSIVE = """
def down(n): return down(n + 1)
def safely():
    try: down(0)
    except RecursionError: return "too deep"
print(safely())
"""
ENDLESS = """
def count(n):
    while n < 200: n = step(n)
    print("started", flush=True)
    while True: n += 1
def step(n): return n + 1
count(0)
"""
"""No event comes while it waits for the interrupt: on 3.11, a trace function that is interrupted is
removed, so that nothing reports which exception it was."""


def command(folder: Path, source: str, backend: str, *options: str) -> list[str]:
    program = folder / "program.py"
    program.write_text(source)
    start = [sys.executable, "-m", "whence", "record", "--backend", backend, "-o", "t.whence"]
    return [*start, *options, program.name]


def recorded(
    folder: Path, source: str, backend: str, *options: str
) -> tuple[subprocess.CompletedProcess[str], ColumnTree]:
    words = command(folder, source, backend, *options)
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    return done, open_trace(folder / "t.whence")


@pytest.mark.parametrize("status", ["4", "status"])
def test_a_status_of_os_exit_is_recorded(backend: str, tmp_path: Path, status: str) -> None:
    source = f"import os\ndef leave(status):\n    os._exit({status})\nleave(4)\n"
    done, tree = recorded(tmp_path, source, backend)
    assert done.returncode == 4
    outcome = tree.call(0).outcome
    assert (outcome.kind, outcome.value and show(outcome.value)) == (OutcomeKind.RETURNED, "4")
    assert tree.call(2).outcome.kind is OutcomeKind.NOT_TERMINATED


@pytest.mark.parametrize("options", [[], ["--journal"]], ids=["plain", "journal"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_recording_that_ends_by_os_exit_is_signed_if_no_thread_continues(
    backend: str, tmp_path: Path, options: list[str], threads: int
) -> None:
    if options and backend == "pure":
        pytest.skip("a journal needs the recorder in C")
    source = (
        "import os, threading, time\ndef other():\n    time.sleep(60)\n"
        f"for _ in range({threads - 1}): threading.Thread(target=other, daemon=True).start()\n"
        "def leave(): os._exit(4)\nleave()\n"
    )
    done, tree = recorded(tmp_path, source, backend, *options)
    assert done.returncode == 4, done.stderr
    assert tree.call(0).outcome.kind is OutcomeKind.RETURNED
    why = why_foreign(tmp_path / "t.whence")
    assert why == ("" if threads == 1 else "it was not recorded by you on this machine")


def test_a_forked_process_that_ends_by_os_exit_signs_nothing(backend: str, tmp_path: Path) -> None:
    source = (
        "import os, sys\ndef f(): return 1\nf()\nchild = os.fork()\n"
        "if child == 0: os._exit(0)\nos.waitpid(child, 0)\n"
        "print(os.path.exists('t.whence.signature'))\n"
    )
    done, _ = recorded(tmp_path, source, backend)
    assert done.stdout == "False\n"
    assert why_foreign(tmp_path / "t.whence") == ""


def test_os_exit_with_wrong_arguments_does_not_end_the_recording(
    backend: str, tmp_path: Path
) -> None:
    source = "import os\ndef f(): return 1\ntry: os._exit(1, 2)\nexcept TypeError: f()\n"
    done, tree = recorded(tmp_path, source, backend)
    assert done.returncode == 0
    assert tree.call(2).function.qualname == "f"
    assert tree.call(0).outcome.kind is OutcomeKind.RETURNED


def test_a_recursion_error_comes_where_it_does_without_a_recording(
    backend: str, tmp_path: Path
) -> None:
    done, tree = recorded(tmp_path, RECURSIVE, backend)
    assert (done.stdout, done.returncode) == ("too deep\n", 0)
    safely, deepest = tree.call(2), tree.call(len(tree.columns) - 1)
    assert safely.outcome.kind is OutcomeKind.RETURNED
    assert deepest.outcome.kind is OutcomeKind.RAISED
    assert 900 < len(tree.columns) < 1010


def test_a_traceback_of_a_recursion_error_shows_only_the_program(
    backend: str, tmp_path: Path
) -> None:
    done, tree = recorded(tmp_path, "def down(n): return down(n)\ndown(3)\n", backend)
    assert "RecursionError: maximum recursion depth exceeded" in done.stderr
    assert "hooks.py" not in done.stderr
    assert "the recursion limit was reached" in str(tree.call(0).outcome)


def test_calls_that_an_interrupt_leaves_have_an_outcome(backend: str, tmp_path: Path) -> None:
    words = command(tmp_path, ENDLESS, backend, "--max-calls", "100")
    process = subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"started\n"
    process.send_signal(signal.SIGINT)
    _, problems = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in problems
    count = open_trace(tmp_path / "t.whence").call(2)
    assert "it was interrupted (Ctrl-C)" in count.equation()


def test_the_exception_that_ends_a_run_has_the_bound_of_the_other_values(
    backend: str, tmp_path: Path
) -> None:
    source = "def f(): raise ValueError('x' * 100)\nf()\n"
    _, tree = recorded(tmp_path, source, backend, "--detail", "shallow")
    assert tree.call(0).outcome.value == tree.call(2).outcome.value
