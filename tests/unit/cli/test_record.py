"""`whence record` as a command: what it refuses and why, its bounds, and which code it records."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from forked_whence import whence
from recorded import BACKENDS, Node, as_node, callees, environment

from whence.langs.python.trace.trace_reader import open_trace, recording_summary

PROGRAM = """
import helper
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
class Box:
    def get(self): return fib(3)
print(fib(10), helper.plus(1), Box().get())
"""
FIB_10, FIB_3 = 177, 5
CALLS = 1 + 1 + 1 + FIB_10 + 1 + 1 + FIB_3
"""Both module bodies, the body of the class, fib(10), plus, get and fib(3)."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text("def plus(x): return x + 1\n")
    return tmp_path


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def record(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return whence("record", *words, cwd=folder, env=environment())


def recorded(folder: Path, backend: str, *options: str) -> Node:
    done = record(folder, "--backend", backend, *options, "-o", "t.whence", "program.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "55 2 2\n", "")
    return as_node(open_trace(folder / "t.whence"))


def refused(folder: Path, *words: str) -> str:
    """What is said of a program that is not run."""
    done = record(folder, *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


# --- what it refuses -----------------------------------------------------------------------------


def test_a_script_that_is_not_there_is_named(folder: Path) -> None:
    assert "nothing.py: the program to record cannot be read" in refused(folder, "nothing.py")
    assert not (folder / "nothing.whence").exists()


def test_a_folder_without_a_main_module_is_nothing_to_run(folder: Path) -> None:
    (folder / "empty").mkdir()
    assert "is a folder without a __main__.py" in refused(folder, "empty")


def test_a_module_that_is_not_there_is_named(folder: Path) -> None:
    text = refused(folder, "-m", "no_such_module_here")
    assert "no module named no_such_module_here" in text
    assert not (folder / "no_such_module_here.whence").exists()


@pytest.mark.parametrize("words", [[], ["-m"], ["-c"], ["--"]])
def test_a_command_without_a_program_says_how_it_is_used(folder: Path, words: list[str]) -> None:
    assert "whence record [OPTIONS]" in refused(folder, *words)


@pytest.mark.parametrize(
    "words",
    [
        ["--detail", "everything"],
        ["--max-calls", "-3"],
        ["--max-bytes", "5X"],
        ["--depth", "deep"],
        ["--backend", "magic"],
        ["--no-such-option"],
    ],
)
def test_an_option_that_makes_no_sense_is_refused(folder: Path, words: list[str]) -> None:
    assert words[0] in refused(folder, *words, "program.py")


def test_a_file_that_is_no_trace_is_not_overwritten(folder: Path) -> None:
    precious = folder / "precious"
    precious.write_text("years of work")
    text = refused(folder, "-o", "precious", "program.py")
    assert "precious: is no trace, so it is not overwritten" in text
    assert precious.read_text() == "years of work"


def test_an_older_trace_is_overwritten(folder: Path, backend: str) -> None:
    first = recorded(folder, backend)
    assert recorded(folder, backend, "--depth", "1").names() == first.names()
    assert len(open_trace(folder / "t.whence").columns) < CALLS


def test_a_place_that_is_not_there_or_not_ours_is_told(folder: Path) -> None:
    assert "the trace cannot be written there" in refused(folder, "-o", "no/t", "program.py")
    assert "the trace cannot be written there" in refused(folder, "-o", ".", "program.py")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
def test_a_folder_that_cannot_be_written_is_told(folder: Path) -> None:
    # Not even root may make a file there.
    assert "the trace cannot be written there" in refused(folder, "-o", "/proc/t", "program.py")


def test_children_need_a_folder_beside_the_trace(folder: Path) -> None:
    (folder / "t.whence.d").write_text("in the way")
    text = refused(folder, "--children", "-o", "t.whence", "program.py")
    assert "the traces of child processes cannot be written there" in text


# --- a disk that fills up ------------------------------------------------------------------------


def test_a_disk_that_fills_up_ends_the_recording_and_not_the_program(
    folder: Path, backend: str
) -> None:
    (folder / "program.py").write_text("""
import resource
def f(n): return n
def some(n):
    for i in range(n): f(i * 1_000_003)
some(10)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
some(60_000)
print("done")
""")
    done = record(folder, "--backend", backend, "-o", "t.whence", "program.py")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr == "whence: t.whence is not whole: File too large\n"
    tree = open_trace(folder / "t.whence")
    known = recording_summary(tree)
    assert known is not None
    assert not known.ended
    assert known.size <= 20_000
    assert known.unread == 0
    assert known.why_stopped == "File too large"
    assert tree.call(0).right() == (
        "did not end: the recording stopped before the program ended: File too large"
    )
    # What was recorded before the failure is there, with what was in no page yet.
    [module] = callees(tree, 0)
    first, second = callees(tree, module)
    assert tree.call(first).function.short() == "some"
    assert len(callees(tree, first)) == 10
    assert len(callees(tree, second)) > 1_000


def test_a_disk_that_fills_up_ends_the_journal_and_not_the_program(folder: Path) -> None:
    (folder / "program.py").write_text("""
import os, resource
def f(n): return len(os.urandom(1000))
for i in range(10): f(i)
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
for i in range(3_000): f(i)
print("done")
""")
    done = record(folder, "--journal", "-o", "t.whence", "program.py")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "whence: the journal of t.whence is not whole: File too large\n" in done.stderr
    heading = (folder / "t.whence.journal").read_bytes().partition(b"\n")[0]
    assert json.loads(heading)["stopped"] == errno.EFBIG
    assert (folder / "t.whence.journal").stat().st_size < 2 * 2**20


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a file system")
@pytest.mark.parametrize("size", ["6m", "600k"])  # in the smaller one there is no room for a tail
@pytest.mark.parametrize("words", [(), ("--journal",), ("--backend", "pure")])
def test_a_full_disk_ends_the_recording_and_the_program_goes_on(
    folder: Path, words: tuple[str, ...], size: str
) -> None:
    (folder / "program.py").write_text("""
import os, time
def f(n): return time.time()
def some(n):
    for i in range(n): f(i * 1_000_003)
some(10)
some(9_000)
with open("small/filling", "wb") as file:
    while True:
        try:
            os.write(file.fileno(), bytes(4096))
        except OSError:
            break
some(100_000)
print("done")
""")
    small = folder / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        done = record(folder, *words, "-o", "small/t.whence", "program.py")
        assert (done.returncode, done.stdout) == (0, "done\n")
        assert "is not whole: No space left on device" in done.stderr
        tree = open_trace(small / "t.whence")
        [module] = callees(tree, 0)
        assert len(callees(tree, callees(tree, module)[0])) == 10
        assert "stopped before the program ended: No space left" in tree.call(0).equation()
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


# --- two at once ---------------------------------------------------------------------------------


WAITING = """
def f(n): return n + 1
f(1)
print("ready", flush=True)
input()
for i in range(50): f(i)
"""


def test_two_recordings_at_once_do_not_destroy_each_other(folder: Path, backend: str) -> None:
    (folder / "program.py").write_text(WAITING)
    command = [sys.executable, "-m", "whence", "record", "--backend", backend]
    runs = []
    for _ in range(2):
        process = subprocess.Popen(
            [*command, "program.py"], cwd=folder, env=environment(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        runs.append(process)
    refusal = record(folder, "--backend", backend, "-o", "program.whence", "program.py")
    assert refusal.returncode == 2
    assert "another process records into it" in refusal.stderr
    errors = [process.communicate("\n", timeout=60)[1] for process in runs]
    assert errors == [
        "",
        "whence: another process records into program.whence; this run goes to program-2.whence\n",
    ]
    for name in ("program.whence", "program-2.whence"):
        assert len(as_node(open_trace(folder / name)).calls[0].calls) == 51
    again = record(folder, "--backend", backend, "-c", "1")
    assert (again.returncode, again.stderr) == (0, "")


def test_a_program_that_switches_stacks_by_itself_is_noted(folder: Path, backend: str) -> None:
    (folder / "greenlet.py").write_text("")
    (folder / "program.py").write_text("import greenlet\nprint('55 2 2')\n")
    recorded(folder, backend)
    known = recording_summary(open_trace(folder / "t.whence"))
    assert known is not None
    assert [note[:31] for note in known.notes] == ["the program loaded greenlet: a "]


# --- bounds --------------------------------------------------------------------------------------


def test_all_calls_are_recorded_without_a_bound(folder: Path, backend: str) -> None:
    root = recorded(folder, backend)
    assert root.weight == 1 + CALLS
    assert len(list(root.walk())) == 1 + CALLS


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 5, 50])
def test_below_a_depth_calls_are_counted_exactly(folder: Path, backend: str, depth: int) -> None:
    exact = {id_of: node.weight for id_of, node in _by_path(recorded(folder, backend)).items()}
    root = recorded(folder, backend, "--depth", str(depth))
    assert root.weight == 1 + CALLS
    for path, node in _by_path(root).items():
        assert len(path) <= depth
        assert node.weight == exact[path]


def _by_path(root: Node) -> dict[tuple[int, ...], Node]:
    """Each recorded call by which callee of which callee it is."""
    found = {}
    left: list[tuple[tuple[int, ...], Node]] = [((), root)]
    while left:
        path, node = left.pop()
        found[path] = node
        calls = [each for each in node.calls if each.name != "<not recorded>"]
        left += [((*path, number), call) for number, call in enumerate(calls)]
    return found


@pytest.mark.parametrize("most", [0, 1, 20, 150, 1000])
def test_past_a_number_of_calls_they_are_counted_exactly(
    folder: Path, backend: str, most: int
) -> None:
    root = recorded(folder, backend, "--max-calls", str(most))
    assert root.weight == 1 + CALLS
    calls = [each for each in root.walk() if each.name != "<not recorded>"]
    assert len(calls) == 1 + min(most, CALLS)


def test_past_a_size_the_trace_stops_growing_and_calls_are_counted(
    folder: Path, backend: str
) -> None:
    (folder / "program.py").write_text("""
def f(n): return [n, str(n)]
def some():
    for i in range(20_000): f(i)
some()
""")
    options = ["--backend", backend, "--max-bytes", "16K", "-o", "t.whence"]
    assert record(folder, *options, "program.py").returncode == 0
    tree = open_trace(folder / "t.whence")
    known = recording_summary(tree)
    assert known is not None
    # What the run still has to say at its end is small.
    assert known.size <= 16 * 1024 + 2048
    assert 100 < len(tree.columns) < 20_000
    assert float(tree.columns.weight[0]) == 20_003
    assert any("size limit" in note for note in known.notes)


# --- which code ----------------------------------------------------------------------------------


def names(root: Node) -> set[str]:
    return {each.name for each in root.walk()} - {root.name}


def test_only_what_matches_is_recorded(folder: Path, backend: str) -> None:
    assert names(recorded(folder, backend, "--only", "helper")) == {"<module>", "plus"}
    assert names(recorded(folder, backend, "--only", "*Box.get")) == {"Box.get"}
    both = recorded(folder, backend, "--only", "*.fib", "--only", "helper.py")
    assert names(both) == {"fib", "<module>", "plus"}
    assert len(both.all("fib")) == FIB_10 + FIB_3


def test_what_is_left_out_is_looked_through(folder: Path, backend: str) -> None:
    root = recorded(folder, backend, "--leave-out", "*Box*")
    assert names(root) == {"<module>", "fib", "plus"}
    (main,) = root.calls
    # What the method called is called by who called the method.
    assert [each.name for each in main.calls].count("fib") == 2
    assert root.weight == 1 + CALLS - 2


def test_a_package_of_the_library_can_be_made_user_code(folder: Path, backend: str) -> None:
    (folder / "program.py").write_text("import textwrap\nprint(textwrap.dedent(' 55 2 2'))\n")
    assert names(recorded(folder, backend)) == {"<module>"}
    assert "dedent" in names(recorded(folder, backend, "--user-code", "textwrap"))


# --- where the trace goes ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["program.py"], "program.whence"),
        (["-m", "helper"], "helper.whence"),
        (["-c", "pass"], "run.whence"),
    ],
)
def test_the_trace_is_named_after_the_program(folder: Path, words: list[str], name: str) -> None:
    assert record(folder, *words).returncode == 0
    assert as_node(open_trace(folder / name)).names() == ["<module>"]


def test_where_the_trace_is_is_said_when_asked(folder: Path) -> None:
    done = record(folder, "-v", "-o", "t.whence", "program.py")
    size = (folder / "t.whence").stat().st_size
    assert done.stderr == f"whence: t.whence: {CALLS:,} calls, {size:,} bytes\n"


def test_a_converted_recording_keeps_its_language_and_program(folder: Path) -> None:
    record(folder, "-o", "t.whence", "program.py", "a", "b")
    text = whence("convert", "t.whence", cwd=folder).stdout
    start = '{"whence": "tree", "version": 1, "language": "python", "program": "program.py a b"}\n'
    assert text.startswith(start)
