"""Processes that a recorded program starts: in the same tree, and unseen by the program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from recorded import Node, as_node, environment

from whence.langs.python.record.children import Announcement, ChildSettings
from whence.langs.python.record.options import WHOLE_BOUND, Detail, RecordOptions
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.trace.trace_pages import TraceFile
from whence.langs.python.trace.trace_reader import open_trace, recording_summary


def run(
    folder: Path, source: str, *options: str, python: tuple[str, ...] = (), **more: str
) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(source)
    words = ["-m", "whence", "record", *options, "-o", "t.whence", "program.py"]
    done = subprocess.run(
        [sys.executable, *python, *(words if options else ["program.py"])], cwd=folder, text=True,
        env={**environment(), **more}, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert not done.stderr, done.stderr
    return done


def recorded(folder: Path, source: str, backend: str, *options: str) -> Node:
    run(folder, source, "--children", "--backend", backend, *options)
    return as_node(open_trace(folder / "t.whence"))


def processes(node: Node) -> list[Node]:
    return [each for each in node.calls if each.name.startswith("process ")]


FORKED = """
import os
def work(x): return x * 2
def start(how):
    pid = os.fork()
    if pid == 0:
        work(21)
        how(3)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def main(): return [start(each) for each in HOW]
"""


def test_a_forked_child_hangs_below_the_call_that_forked(tmp_path: Path, backend: str) -> None:
    source = FORKED + "import sys\nHOW = [os._exit, sys.exit]\nprint(main())\n"
    root = recorded(tmp_path, source, backend)
    hard, soft = root.all("start")
    for start in (hard, soft):
        (child,) = processes(start)
        assert child.name.endswith(": program.py, forked")
        assert child.calls[0].text().startswith("work(x=21) → 42")
        assert start.outcome == "→ 3"
    assert processes(soft)[0].outcome == "→ 3"
    if backend == "native":  # the other one does not see a hard exit
        assert processes(hard)[0].outcome == "→ 3"


def test_a_childs_header_names_its_parent(tmp_path: Path, backend: str) -> None:
    recorded(tmp_path, FORKED + "HOW = [os._exit]\nmain()\n", backend)
    (path,) = (tmp_path / "t.whence.d").glob("*.whence")
    child, program = TraceFile(path).header, TraceFile(tmp_path / "t.whence").header
    assert path.name == f"{child.pid}.whence"
    assert (child.run, child.parent, child.parent_call) == (program.run, "", 3)
    assert f'"parent": {{"pid": {program.pid},'.encode() in path.read_bytes()


def test_a_child_of_a_child_hangs_below_it(tmp_path: Path, backend: str) -> None:
    source = """
import os
def leaf(): return 1
def start(depth):
    pid = os.fork()
    if pid == 0:
        start(depth - 1) if depth else leaf()
        os._exit(0)
    os.waitpid(pid, 0)
start(1)
"""
    root = recorded(tmp_path, source, backend)
    (child,) = processes(root.all("start")[0])
    (grandchild,) = processes(child.calls[0])
    assert grandchild.names() == ["leaf"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_the_workers_of_a_pool_are_recorded(tmp_path: Path, backend: str, method: str) -> None:
    source = f"""
import multiprocessing as m
def square(x): return x * x
def pooled():
    with m.get_context({method!r}).Pool(2) as pool: return pool.map(square, [1, 2, 3])
if __name__ == '__main__': print(pooled())
"""
    root = recorded(tmp_path, source, backend)
    assert root.find("pooled").outcome == "→ [1, 4, 9]"
    found = sorted(each.outcome for each in root.all("square"))
    assert found == ["→ 1", "→ 4", "→ 9"]
    below = root.find("pooled") if method == "fork" or backend == "native" else root
    assert len(below.all("square")) == 3


@pytest.mark.parametrize(
    "started",
    [
        "subprocess.run(WORDS)",
        "subprocess.run(WORDS, close_fds=False)",
        "subprocess.run(WORDS, env={**os.environ, 'MORE': '1'})",
        "os.waitpid(os.posix_spawn(WORDS[0], WORDS, os.environ), 0)",
        "os.spawnv(os.P_WAIT, WORDS[0], WORDS)",
        "subprocess.run(WORDS, preexec_fn=lambda: None)",
    ],
)
def test_a_python_that_is_started_anew_hangs_below_the_call_that_did(
    tmp_path: Path, started: str
) -> None:
    (tmp_path / "other.py").write_text("def other(x): return x + 1\nother(1)\n")
    source = f"""
import os, subprocess, sys
WORDS = [sys.executable, 'other.py', 'a']
def before(): return 1
def start(): {started}
before(); start()
"""
    root = recorded(tmp_path, source, "native")
    start = root.find("start")
    assert start.all("other")[0].outcome == "→ 2"
    assert root.find("before").calls == []
    assert [each for each in start.walk() if each.name.endswith(": other.py a")]


def test_a_child_that_was_killed_did_not_end(tmp_path: Path, backend: str) -> None:
    source = """
import os, signal
def start():
    pid = os.fork()
    if pid == 0: os.kill(os.getpid(), signal.SIGKILL)
    return os.waitpid(pid, 0)[1]
start()
"""
    root = recorded(tmp_path, source, backend)
    (child,) = processes(root.find("start"))
    assert child.outcome.startswith("did not end")
    known = recording_summary(open_trace(tmp_path / "t.whence"))
    assert known is not None
    assert (known.processes, known.killed, known.ended) == (2, 1, True)


def test_how_many_processes_there_were_is_shown(tmp_path: Path, backend: str) -> None:
    recorded(tmp_path, FORKED + "HOW = [os._exit] * 3\nmain()\n", backend)
    shown = subprocess.run(
        [sys.executable, "-m", "whence", "show", "t.whence"], cwd=tmp_path, env=environment(),
        text=True, capture_output=True, check=True,
    ).stdout  # fmt: skip
    assert "8 of 4 functions in 4 threads of 4 processes" in shown


def test_a_child_below_calls_that_were_only_counted_hangs_below_the_nearest(
    tmp_path: Path, backend: str
) -> None:
    source = FORKED + "HOW = [os._exit]\nmain()\n"
    root = recorded(tmp_path, source, backend, "--depth", "2")
    main = root.find("main")
    assert [each.name for each in main.calls if not each.name.startswith("process ")] == [
        "<not recorded>"
    ]
    (child,) = processes(main)
    assert child.names() == ["work"]
    # The module, main, the one call that was counted, the process and its call; and the run.
    assert root.weight == 6


def test_nothing_is_recorded_of_children_that_are_left_out(tmp_path: Path, backend: str) -> None:
    source = FORKED + "HOW = [os._exit]\nmain()\nprint(sorted(os.environ))\n"
    with_us = run(tmp_path, source, "--backend", backend, "--no-children")
    assert not (tmp_path / "t.whence.d").exists()
    assert as_node(open_trace(tmp_path / "t.whence")).find("start").calls == []
    assert with_us.stdout == run(tmp_path, source).stdout


def test_an_older_child_is_none_of_a_new_recording(tmp_path: Path, backend: str) -> None:
    source = FORKED + "HOW = [os._exit]\nmain()\n"
    assert processes(recorded(tmp_path, source, backend).find("start"))
    (tmp_path / "t.whence.d" / "mine.txt").write_text("not a trace")
    assert recorded(tmp_path, "def f(): pass\nf()\n", backend).names() == ["<module>"]
    assert [each.name for each in (tmp_path / "t.whence.d").iterdir()] == ["mine.txt"]
    recorded(tmp_path, source, backend)
    run(tmp_path, source, "--backend", backend, "--no-children")  # those there are are older
    assert processes(as_node(open_trace(tmp_path / "t.whence")).find("start")) == []


def test_a_damaged_child_is_told_and_the_rest_opens(tmp_path: Path, backend: str) -> None:
    recorded(tmp_path, FORKED + "HOW = [os._exit] * 2\nmain()\n", backend)
    first, _ = sorted((tmp_path / "t.whence.d").glob("*.whence"))
    first.write_bytes(first.read_bytes()[:30])
    tree = open_trace(tmp_path / "t.whence")
    assert sum(len(processes(each)) for each in as_node(tree).all("start")) == 1
    known = recording_summary(tree)
    assert known is not None
    assert "the header is damaged" in known.notes[0]


def test_the_users_own_start_up_module_is_run_in_children(tmp_path: Path, backend: str) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import sys\nsys.mine = 1\n")
    source = """
import subprocess, sys
code = "import sys, sitecustomize; print(sys.mine, sitecustomize.__file__, sys.path, flush=True)"
print(subprocess.run([sys.executable, "-c", code], text=True, capture_output=True).stdout)
"""
    paths = os.pathsep.join([str(site), environment()["PYTHONPATH"]])
    plain = run(tmp_path, source, PYTHONPATH=paths).stdout
    ours = run(tmp_path, source, "--children", "--backend", backend, PYTHONPATH=paths).stdout
    assert ours == plain
    assert plain.startswith("1 ")


def test_without_a_start_up_module_children_see_none(tmp_path: Path, backend: str) -> None:
    source = """
import subprocess, sys
code = "import sys; print('sitecustomize' in sys.modules, sys.path, sys.flags, sys.argv)"
done = subprocess.run([sys.executable, "-c", code, "x"], text=True, capture_output=True)
print(done.stdout, done.stderr, done.returncode)
"""
    ours = run(tmp_path, source, "--children", "--backend", backend)
    assert ours.stdout == run(tmp_path, source).stdout


def test_a_recording_inside_a_recorded_child_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "inner.py").write_text("def inner(): return 1\ninner()\n")
    source = """
import subprocess, sys
words = ["-m", "whence", "record", "-o", "inner.whence", "inner.py"]
print(subprocess.run([sys.executable, *words], check=True).returncode)
"""
    run(tmp_path, source, "--children")
    assert as_node(open_trace(tmp_path / "inner.whence")).find("inner").outcome == "→ 1"
    assert as_node(open_trace(tmp_path / "t.whence")).all("inner") == []


def test_equal_calls_of_two_processes_do_not_count_as_one(tmp_path: Path, backend: str) -> None:
    recorded(tmp_path, FORKED + "HOW = [os._exit] * 2\nmain()\n", backend)
    tree = open_trace(tmp_path / "t.whence")
    works = [at for at in range(len(tree.columns)) if tree.call(at).function.short() == "work"]
    first, second = (int(tree.columns.equation[at]) for at in works)
    assert first != second  # their tables differ, so that equal digests would prove nothing


NEW_PYTHON = """
import subprocess, sys
subprocess.run([sys.executable, 'other.py'], check=True)
"""


def test_an_announcement_is_read_as_it_was_written() -> None:
    options = RecordOptions(Detail.SHALLOW, max_calls=7, first_bound=WHOLE_BOUND)
    rules = UserCodeRules(("a",), ("b*",), (), ("c",))
    announcement = Announcement("/f.d", "run", "", "cpython", ChildSettings(options, rules, None))
    assert Announcement.from_text(announcement.text()) == announcement


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "[]", "{", "[" * 5000, '{"whence announcement": 0}',
        '{"whence announcement": 1, "announcement": {}}',
        '{"whence announcement": 1, "announcement": {"folder": 3}}',
    ],
)  # fmt: skip
def test_a_child_that_cannot_read_the_announcement_runs_unrecorded(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "other.py").write_text("def work(x): return x * 2\nprint(work(21))\n")
    source = f"import os\nos.environ['WHENCE_CHILDREN'] = {text!r}\n{NEW_PYTHON}"
    assert run(tmp_path, source, "--children").stdout == "42\n"
    assert processes(as_node(open_trace(tmp_path / "t.whence"))) == []


def test_a_child_imports_nothing_of_the_program_for_whence(tmp_path: Path, backend: str) -> None:
    (tmp_path / "modules").mkdir()
    for name in ("json", "typing", "dataclasses", "enum"):
        (tmp_path / "modules" / f"{name}.py").write_text("raise SystemExit('not for whence')\n")
    (tmp_path / "other.py").write_text("def work(x): return x * 2\nprint(work(21))\n")
    plain = {**environment(), "PYTHONPATH": str(tmp_path / "modules")}
    if subprocess.run([sys.executable, "-c", ""], env=plain, check=False).returncode:
        pytest.skip("an installed package imports the project's modules when Python starts")
    paths = f"os.environ['PYTHONPATH'] += os.pathsep + {str(tmp_path / 'modules')!r}"
    root = recorded(tmp_path, f"import os\n{paths}\n{NEW_PYTHON}", backend)
    assert [call.outcome for call in root.all("work")] == ["→ 42"]


# --- by default ----------------------------------------------------------------------------------


def default_run(folder: Path, source: str, *options: str) -> Node:
    run(folder, source, "--backend", "native", *options)
    return as_node(open_trace(folder / "t.whence"))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_are_recorded_unasked(tmp_path: Path, method: str) -> None:
    source = f"""
import multiprocessing as m
def square(x): return x * x
def pooled():
    with m.get_context({method!r}).Pool(2) as pool: return pool.map(square, [1, 2, 3])
if __name__ == '__main__': print(pooled())
"""
    pooled = default_run(tmp_path, source).find("pooled")
    assert sorted(call.outcome for call in pooled.all("square")) == ["→ 1", "→ 4", "→ 9"]
    # The line by which the module starts a worker is not the user's.
    assert not [call for call in pooled.walk() if call.name == "__main__.<module>"]


STARTED = """
import os, subprocess, sys
WORDS = [sys.executable, 'other.py', 'a']
def start():
    {started}
start()
"""


@pytest.mark.parametrize(
    "started",
    [
        "subprocess.run(WORDS)",
        "subprocess.run(WORDS, close_fds=False)",
        "subprocess.run(WORDS, env={'A': '1'})",
        "os.waitpid(os.posix_spawn(WORDS[0], WORDS, os.environ), 0)",
        "os.waitpid(os.posix_spawn(WORDS[0], WORDS, {'A': '1'}), 0)",
        "os.waitpid(os.posix_spawnp(WORDS[0], WORDS, os.environ), 0)",
        "os.environ['PATH'] = '/nowhere:' + os.path.dirname(WORDS[0]); "
        "os.waitpid(os.posix_spawnp(os.path.basename(WORDS[0]), WORDS, {'A': '1'}), 0)",
        "subprocess.run(WORDS, cwd='.')",
        "os.spawnv(os.P_WAIT, WORDS[0], WORDS)",
        "os.spawnve(os.P_WAIT, WORDS[0], WORDS, {'A': '1'})",
        "subprocess.run(['./script', 'a'])",
    ],
)
def test_a_new_python_is_recorded_unasked(tmp_path: Path, started: str) -> None:
    program = "def other(x): return x + 1\nother(1)\n"
    (tmp_path / "other.py").write_text(program)
    (tmp_path / "script").write_text(f"#!{sys.executable}\n{program}")
    (tmp_path / "script").chmod(0o755)
    start = default_run(tmp_path, STARTED.format(started=started)).find("start")
    assert start.all("other")[0].outcome == "→ 2"


@pytest.mark.parametrize("where", ["", "os.fork() or "])
@pytest.mark.parametrize(
    "become", ["os.execv(WORDS[0], WORDS)", "os.execve(WORDS[0], WORDS, {'A': '1'})"]
)
def test_a_python_in_place_of_a_process_is_below_the_call_that_became_it(
    tmp_path: Path, where: str, become: str
) -> None:
    (tmp_path / "other.py").write_text("def other(x): return x + 1\nother(1)\n")
    failing = "try: os.execv(sys.executable, ['x' * 2**22])\n    except OSError: pass\n    "
    started = f"{failing}{where}{become}"
    root = default_run(tmp_path, STARTED.format(started=started) + "if 1: os.wait()\n")
    assert root.find("start").all("other")[0].outcome == "→ 2"
    summary = recording_summary(open_trace(tmp_path / "t.whence"))
    assert summary is not None
    assert not summary.notes


SHOWN = (
    "import os, sys; "
    "print({name: value for name, value in os.environ.items() if name not in ('_', 'SHLVL')}); "
    "print(sys.path, sys.orig_argv, sys.argv)"
)


def test_no_process_can_see_that_it_is_recorded(tmp_path: Path) -> None:
    source = f"""
import os, subprocess, sys
SHOWN = {SHOWN!r}
print({{name: value for name, value in os.environ.items()}}, flush=True)
WORDS = [sys.executable, '-c', SHOWN]
subprocess.run(['sh', '-c', 'env | grep -v "^_=" | sort'])
for environment in None, {{}}, {{'PYTHONPATH': ''}}, {{'PYTHONPATH': '/one:/two', 'B': ''}}:
    subprocess.run(WORDS, env=environment)
    subprocess.run(WORDS, env=environment, cwd='.')
    if environment is not None:
        os.waitpid(os.posix_spawn(WORDS[0], WORDS, environment), 0)
os.waitpid(os.posix_spawn(WORDS[0], WORDS, os.environ), 0)
os.spawnv(os.P_WAIT, WORDS[0], WORDS)
os.putenv('UNKNOWN_TO_OS_ENVIRON', '1')
subprocess.run(WORDS)
os.environ.update(PYTHONPATH='/four', AFTER_IT='1')
subprocess.run(WORDS)
try:
    os.execv('/no/such/python', WORDS)
except OSError as problem:
    print(problem, flush=True)
for start in (os.execve, os.posix_spawn) if sys.version_info < (3, 13) else (os.execve,):
    try:
        start(WORDS[0], WORDS, None)
    except TypeError as problem:
        print(problem, flush=True)
print(subprocess.run(['sh', '-c', 'env | grep -c WHENCE_CHILD']).returncode, flush=True)
os.execve(WORDS[0], WORDS, {{'PYTHONPATH': '/three'}})
"""
    plain = run(tmp_path, source)
    recorded = run(tmp_path, source, "--backend", "native")
    assert recorded.stdout == plain.stdout
    assert "WHENCE_CHILD" not in plain.stdout


def test_the_users_own_start_up_module_runs_in_a_recorded_child(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/sitecustomize.py").write_text("print('own start')\n")
    (tmp_path / "other.py").write_text("def other(x): return x + 1\nprint(other(1))\n")
    source = "import subprocess, sys; subprocess.run([sys.executable, 'other.py'])"
    more = os.pathsep.join([str(tmp_path / "own"), environment()["PYTHONPATH"]])
    # It also runs in the program and in whence itself, whose output may come later.
    done = run(tmp_path, source, "--backend", "native", PYTHONPATH=more)
    assert "own start\n2\n" in done.stdout
    assert as_node(open_trace(tmp_path / "t.whence")).all("other")


def test_without_child_processes_there_is_no_folder_for_them(tmp_path: Path) -> None:
    default_run(tmp_path, "print(1)")
    assert not (tmp_path / "t.whence.d").exists()


def test_children_can_be_left_out(tmp_path: Path) -> None:
    root = default_run(tmp_path, FORKED + "HOW = [os._exit]\nmain()\n", "--no-children")
    assert not processes(root.find("start"))
    summary = recording_summary(open_trace(tmp_path / "t.whence"))
    assert summary is not None
    assert "what they did was not recorded" in summary.notes[0]


def test_a_process_that_could_not_be_recorded_is_noted(tmp_path: Path) -> None:
    source = "import subprocess; subprocess.run(['true']); subprocess.run(['true'])"
    default_run(tmp_path, source)
    summary = recording_summary(open_trace(tmp_path / "t.whence"))
    assert summary is not None
    assert summary.notes == ("2 processes that the program started were not recorded",)
