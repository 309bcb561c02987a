"""When a symptom of a recorded run had happened, and which calls began later."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from recorded import environment

from whence.langs.python.symptoms.symptom_time import symptom_time
from whence.langs.python.trace.chronology import TraceChronology
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.symptom import parse
from whence.tree.column_tree import ColumnTree


def recorded(folder: Path, source: str) -> ColumnTree:
    (folder / "program.py").write_text(source)
    subprocess.run(
        [sys.executable, "-m", "whence", "record", "-q", "-o", "t.whence", "program.py"],
        cwd=folder, env=environment(), capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    return open_trace(folder / "t.whence")


def later(tree: ColumnTree, symptom: str) -> list[str]:
    """The functions of the calls that began after a symptom had happened."""
    time = symptom_time(tree, parse(symptom))
    assert time is not None
    began_later = TraceChronology().began_later(tree, time.last_begun)
    return [tree.functions[int(number)].short() for number in tree.columns.function[began_later]]


LINES = """
def before(): return 1
def shown(): return 2
def after(): return 3
print(before())
print(shown(), "and", "more")
print(after())
"""


def test_a_call_after_a_line_was_printed_began_later(tmp_path: Path) -> None:
    tree = recorded(tmp_path, LINES)
    assert later(tree, "output:1") == ["shown", "after"]
    assert later(tree, "output:2") == ["after"]
    assert later(tree, "output:3") == []
    assert later(tree, "output:2:and") == ["after"]
    assert symptom_time(tree, parse("output")) is None, "several lines have several times"


PIECES = """
def a(): return "a"
def b(): return "b"
def c(): return "c"
print(a(), end="")
print(b())
print(c())
"""


def test_a_line_has_happened_when_its_last_piece_was_written(tmp_path: Path) -> None:
    assert later(recorded(tmp_path, PIECES), "output:1") == ["c"]


GENERATOR = """
def inner(n): return n
def items():
    yield inner(1)
    yield inner(2)
def other(): return 0
made = items()
print("line")
other()
print(list(made))
"""


def test_a_generator_that_was_made_before_has_begun(tmp_path: Path) -> None:
    assert sorted(later(recorded(tmp_path, GENERATOR), "output:1")) == ["inner", "inner", "other"]


THREAD = """
import threading
go = threading.Event()
def early(): go.wait()
def late(): pass
def work():
    early()
    late()
thread = threading.Thread(target=work)
thread.start()
print("line")
go.set()
thread.join()
"""


def test_calls_of_another_thread_may_have_begun_before(tmp_path: Path) -> None:
    names = later(recorded(tmp_path, THREAD), "output:1")
    assert "late" in names
    assert "work" not in names


CHILD = """
import os
def before(): pass
def child(): before()
def start():
    number = os.fork()
    if not number:
        child()
        os._exit(0)
    os.waitpid(number, 0)
start()
print("line")
start()
"""


@pytest.mark.skipif(not hasattr(sys, "abiflags"), reason="forks")
def test_a_child_process_began_later_if_it_was_started_later(tmp_path: Path) -> None:
    tree = recorded(tmp_path, CHILD)
    names = later(tree, "output:1")
    assert names.count("start") == 1
    assert names.count("child") == 1, "the first child was started before"


RAISES = """
class Open:
    def __enter__(self): return self
    def __exit__(self, *error): cleanup()
def cleanup(): pass
def check(n): return n
def fail(n): raise ValueError(check(n))
def main():
    with Open():
        fail(1)
main()
"""


def test_a_call_after_the_exception_was_raised_began_later(tmp_path: Path) -> None:
    tree = recorded(tmp_path, RAISES)
    time = symptom_time(tree, parse("exception"))
    assert time is not None
    assert not time.is_exact, "an equal exception may have been caught before"
    assert later(tree, "exception") == ["Open.__exit__", "cleanup"]


def test_a_symptom_of_the_whole_run_has_no_time(tmp_path: Path) -> None:
    tree = recorded(tmp_path, LINES)
    assert symptom_time(tree, parse("result")) is None
