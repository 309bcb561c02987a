"""The tree of a program with its child processes, and what can be done with it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from recorded import environment

from whence.langs.python.frontend import PythonFrontend
from whence.langs.python.recording_signature import allow
from whence.langs.python.trace.joined_processes import JoinedProcessSource, main_process
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.call import RESULT, Mark, MarkedPart
from whence.model.value import Kind, Value
from whence.ports import Opened
from whence.tree.column_tree import ColumnTree

RAISING = {
    "fork": """
import os
def work(x):
    return 10 // x
def start(x):
    pid = os.fork()
    if pid == 0:
        work(x)
        os._exit(0)
    return os.waitpid(pid, 0)[1]
def main():
    return start(0)
main()
""",
    "spawn": """
import multiprocessing
def work(x):
    return 10 // x
def start(x):
    process = multiprocessing.get_context("spawn").Process(target=work, args=(x,))
    process.start()
    process.join()
    return process.exitcode
def main():
    return start(0)
if __name__ == "__main__":
    main()
""",
    "pool": """
from concurrent.futures import ProcessPoolExecutor
def work(x):
    return 10 // x
def start(x):
    with ProcessPoolExecutor(1) as pool:
        return pool.submit(work, x).result()
def main():
    return start(0)
if __name__ == "__main__":
    main()
""",
}


def record(folder: Path, source: str, *options: str) -> Path:
    (folder / "program.py").write_text(source)
    words = ["-m", "whence", "record", "--children", *options, "-o", "t.whence", "program.py"]
    subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment(), capture_output=True, timeout=120,
        check=False,
    )  # fmt: skip
    return folder / "t.whence"


def opened(path: Path) -> Opened:
    allow(path)
    return PythonFrontend().open(path)


def node(tree: object, name: str) -> int:
    assert isinstance(tree, ColumnTree)
    columns = tree.columns
    (position,) = (
        at
        for at in range(len(columns))
        if tree.functions[int(columns.function[at])].qualname == name
    )
    return tree.id(position)


def exception_of(opening: Opened, call: int) -> MarkedPart:
    value = opening.tree.call(opening.tree.position(call)).outcome.value
    assert value is not None
    return MarkedPart(Mark(RESULT), value, is_input=False)


@pytest.mark.parametrize("method", list(RAISING))
def test_an_exception_in_a_child_was_raised_there(tmp_path: Path, method: str) -> None:
    opening = opened(record(tmp_path, RAISING[method]))
    work = node(opening.tree, "work")
    assert opening.provenance is not None
    assert opening.provenance.origin(work, exception_of(opening, work)).node == work


def test_an_exception_that_the_parent_raised_again_is_its_own(tmp_path: Path) -> None:
    opening = opened(record(tmp_path, RAISING["pool"]))
    main, start = node(opening.tree, "main"), node(opening.tree, "start")
    assert opening.provenance is not None
    assert opening.provenance.origin(main, exception_of(opening, main)).node == start


@pytest.mark.parametrize("method", list(RAISING))
def test_nobody_is_asked_about_a_process_as_such(tmp_path: Path, method: str) -> None:
    tree = open_trace(record(tmp_path, RAISING[method]))
    processes = [function for function in tree.functions if function.name.startswith("process ")]
    assert processes
    assert all(function.trusted for function in processes)


FORKING = """
import os
def work(x):
    return x + 1
def twice(x):
    y = work(x)
    if y > 2:
        return y
    return 2 * y
def start():
    if os.fork() == 0:
        twice(5)
        os._exit(0)
    os.wait()
    return twice(1)
start()
"""


def test_the_main_process_keeps_its_ids(tmp_path: Path) -> None:
    tree = open_trace(record(tmp_path, FORKING))
    main = main_process(tree)
    assert isinstance(tree.sources[0], JoinedProcessSource)
    assert len(main.columns) < len(tree.columns)
    for position in range(len(main.columns)):
        same = tree.position(main.id(position))
        assert tree.call(same).equation() == main.call(position).equation()


def test_calls_of_the_main_process_are_looked_at_again(tmp_path: Path) -> None:
    opening = opened(record(tmp_path, FORKING))
    tree, reruns = opening.tree, opening.reruns
    assert isinstance(tree, ColumnTree)
    main = main_process(tree)
    here = node(main, "twice")
    (there,) = {
        tree.id(at)
        for at in range(len(tree.columns))
        if tree.functions[int(tree.columns.function[at])].qualname == "twice"
    } - {here}
    assert reruns is not None
    assert reruns.lines(here) == {6, 7, 9}
    assert reruns.whole(here).outcome.value == Value(Kind.ATOM, "4")
    with pytest.raises(Exception, match="in a process that the program started"):
        reruns.lines(there)
    result = MarkedPart(Mark(RESULT), Value(Kind.ATOM, "4"), is_input=False)
    assert opening.provenance is not None
    assert opening.provenance.origin(here, result).expression == "2 * y"
    influence = opening.provenance.influence(here, result)
    assert influence is not None
    assert not influence.complete


MANY = """
import os
def work(x):
    return x + 1
def start(x):
    if os.fork() == 0:
        work(x)
        os._exit(0)
    os.wait()
for number in range(60):
    start(number)
"""


def test_more_children_than_a_process_may_have_open_files(tmp_path: Path) -> None:
    path = record(tmp_path, MANY)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(list(Path("/dev/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 20, limits[1]))
    try:
        tree = open_trace(path)
        calls = [tree.call(position) for position in range(len(tree.columns))]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert sum(call.function.qualname == "work" for call in calls) == 60


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_session_finds_what_raised_in_a_child(tmp_path: Path, method: str) -> None:
    path = record(tmp_path, RAISING[method])
    done = subprocess.run(
        [sys.executable, "-m", "whence", "debug", "--trust-recording", "--answers", "-", path],
        input="n\n" * 5, cwd=tmp_path, env=environment(), capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "The fault is in work" in done.stdout
    assert "Raised by      10 // x" in done.stdout


@pytest.mark.parametrize("place", ["t.whence.tail", "t.whence.journal", "t.whence.d/started"])
@pytest.mark.parametrize("what", ["fifo", "endless"])
def test_what_is_no_file_beside_a_trace_is_not_waited_for(
    tmp_path: Path, place: str, what: str
) -> None:
    path = record(tmp_path, "def f(): return 1\nf()\n")
    file = tmp_path / place
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    if what == "fifo":
        os.mkfifo(file)
        writer = os.open(file, os.O_RDWR)  # otherwise its end is read at once
    else:
        file.symlink_to("/dev/zero")
        writer = os.open(os.devnull, os.O_RDWR)
    try:
        assert len(PythonFrontend().open(path).tree.columns) == 3
    finally:
        os.close(writer)
