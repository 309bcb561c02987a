"""Later re-runs start from checkpoints of an earlier one, with the same result."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from journal_programs import PROGRAMS, World

from whence.cli.main import main
from whence.errors import WhenceError
from whence.langs.python.launching.own_python import START
from whence.langs.python.record.journal.journal_choice import obstacle as no_journal
from whence.langs.python.replay import checkpoint_pool
from whence.langs.python.replay.program_reruns import ProgramReruns
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.replay_settings import ReplayMode, ReplaySettings

pytestmark = [
    pytest.mark.skipif(no_journal(None) is not None, reason="nothing here keeps a journal"),
    pytest.mark.skipif(bool(checkpoint_pool.obstacle()), reason=checkpoint_pool.obstacle()),
]

STEPS = 12
CHECKPOINTS = ReplaySettings(ReplayMode.CHECKPOINTS)


class Run:
    """A recording, and its program, which is run again from checkpoints."""

    def __init__(self, folder: Path, source: str, *options: str) -> None:
        (folder / "program.py").write_text(textwrap.dedent(source))
        self.folder, self.path = folder, folder / "run.whence"
        words = ["record", "--journal", *options, "-o", str(self.path), "program.py"]
        command = [sys.executable, "-m", "whence", *words]
        subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=60)
        self.tree = open_trace(self.path)
        self.reruns = ProgramReruns(self.path, self.tree, CHECKPOINTS)
        self.partial = self.reruns.partial

    def nodes(self, name: str) -> list[int]:
        numbers = [n for n, each in enumerate(self.tree.functions) if each.short() == name]
        positions = np.flatnonzero(np.isin(self.tree.columns.function, numbers))
        return [self.tree.id(int(position)) for position in positions]

    @property
    def sleeping(self) -> checkpoint_pool.CheckpointPool:
        found = self.partial.checkpoints
        assert found is not None
        return found

    def looks_again_at(self, name: str) -> None:
        """The last call, and then others, are run again; all come to what they came to."""
        *_, last = nodes = self.nodes(name)
        early, middle = nodes[len(nodes) // 3], nodes[len(nodes) // 2]
        for count, node in enumerate([last, middle, last, early], 1):
            if node is not last or count > 1:
                assert self.sleeping.is_before(self.partial.windows.ordinal(node))
            recorded = self.tree.call(self.tree.position(node))
            # After a divergence the program is run again from the start, which would count.
            assert self.reruns.whole(node).outcome == recorded.outcome
            self.reruns._details._whole.clear()
            assert self.partial.runs == count, self.partial.describe()


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint at every call, as long as there are not too many."""
    monkeypatch.setattr(checkpoint_pool, "FIRST_SPACING", 1e-9)
    monkeypatch.setattr(checkpoint_pool, "COSTS", 0)


@pytest.fixture
def ended() -> Iterator[list[Run]]:
    runs: list[Run] = []
    yield runs
    for run in runs:
        run.partial.close()


def processes_in(folder: Path) -> list[int]:
    """Those that were started for a re-run of a recording there."""
    found = []
    for each in Path("/proc").iterdir():
        try:
            words = (each / "cmdline").read_bytes() if each.name.isdecimal() else b""
            in_folder = words and (each / "cwd").readlink() == folder.resolve()
        except OSError:
            continue
        if in_folder and os.fsencode(START) in words:
            found.append(int(each.name))
    return found


def gone(folder: Path) -> bool:
    end = time.monotonic() + 30
    while processes_in(folder) and time.monotonic() < end:
        time.sleep(0.02)
    return not processes_in(folder)


FILES = f"""
    import os, random
    read = open("read.txt")
    below = os.open("below.txt", os.O_RDONLY)
    log = open("log.txt", "w+")
    more = open("more.txt", "a")

    def step(number):
        log.write(f"{{number}}\\n")
        more.write(f"{{number}}\\n")
        line, piece = read.readline(), os.read(below, 5)
        if number % 3 == 0:
            log.flush()
        place = log.tell()
        log.seek(0)
        written = len(log.read())
        return line, piece, random.random(), place, written, os.stat("log.txt").st_size

    for number in range({STEPS}):
        step(number)
    print(number)
"""


@pytest.mark.usefixtures("often")
def test_files_are_read_and_written_on_from_where_they_were(
    tmp_path: Path, ended: list[Run]
) -> None:
    for name in ("read.txt", "below.txt"):
        (tmp_path / name).write_text("".join(f"{number:04}\n" for number in range(5000)))
    run = Run(tmp_path, FILES)
    ended.append(run)
    written = (tmp_path / "log.txt").read_text()
    (tmp_path / "read.txt").write_text("other")
    run.looks_again_at("step")
    assert (tmp_path / "log.txt").read_text() == written


STATE = f"""
    import asyncio, os, random, signal
    heard = []
    signal.signal(signal.SIGCHLD, lambda *_: heard.append("child"))
    ready, told = os.pipe()

    def step(number):
        opened = os.open("program.py", os.O_RDONLY)
        os.close(opened)
        loop = asyncio.get_running_loop()
        loop.add_reader(ready, print) if number % 2 else loop.remove_reader(ready)
        walked = "".join({{f"{{number}}", "a", "b"}})
        return random.random(), opened, len(heard), walked, id(object())

    async def main():
        for number in range({STEPS}):
            await asyncio.sleep(0)
            step(number)

    asyncio.run(main())
"""


@pytest.mark.usefixtures("often")
def test_chance_signals_descriptors_and_event_loops_are_what_they_were(
    tmp_path: Path, ended: list[Run]
) -> None:
    run = Run(tmp_path, STATE)
    ended.append(run)
    run.looks_again_at("step")


UNLIKE = """
    import ctypes, mmap, threading

    def step(number):
        return number

    held = threading.Event()
    thread = threading.Thread(target=held.wait)
    thread.start()
    [step(number) for number in range(3)]
    held.set()
    thread.join()
    files = [open("program.py"), open("program.py")]
    [step(number) for number in range(3)]
    [file.close() for file in files]
    memory = mmap.mmap(-1, 4096)
    [step(number) for number in range(3)]
    memory.close()
    file = open("large", "w+")
    file.write("x" * (17 * 2**20))
    file.flush()
    [step(number) for number in range(3)]
    file.close()
    pause = ctypes.CDLL(None).pause
    ctypes.CDLL(None).pthread_create(ctypes.byref(ctypes.c_size_t()), None, pause, None)
    [step(number) for number in range(3)]
"""


@pytest.mark.usefixtures("often")
def test_where_no_copy_would_be_the_same_there_is_none_and_it_is_said(
    tmp_path: Path, ended: list[Run]
) -> None:
    run = Run(tmp_path, UNLIKE)
    ended.append(run)
    nodes = run.nodes("step")
    for node, why in (
        (nodes[2], "threads are active"),
        (nodes[5], "program.py is open twice"),
        (nodes[8], "memory that is shared"),
        (nodes[11], "open for writing, and large"),
        (nodes[14], "a library has threads of its own"),
    ):
        recorded = run.tree.call(run.tree.position(node))
        assert run.reruns.whole(node).outcome == recorded.outcome
        assert why in run.reruns.how
    assert len(run.sleeping) == 0
    assert run.partial.runs == 5


STEADY = f"""
    def step(number):
        return number * number

    def all_steps():
        return [step(number) for number in range({STEPS})]

    print(len(all_steps()))
"""


@pytest.mark.usefixtures("often")
def test_never_more_sleep_than_are_allowed(
    tmp_path: Path, ended: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path, STEADY)
    ended.append(run)
    monkeypatch.setattr(checkpoint_pool, "MOST", 3)
    run.looks_again_at("step")
    assert 1 <= len(run.sleeping) <= 3
    assert run.sleeping._spacing > checkpoint_pool.FIRST_SPACING
    monkeypatch.setattr(checkpoint_pool, "MOST_MEMORY", 0)
    run.reruns.lines(run.nodes("step")[STEPS // 4])
    assert len(run.sleeping) <= 1, "one that is asked is not dropped"


@pytest.mark.usefixtures("often")
def test_all_that_is_asked_of_a_call_is_the_same_from_a_checkpoint(
    tmp_path: Path, ended: list[Run]
) -> None:
    run = Run(tmp_path, STEADY, "--depth", "2")
    ended.append(run)
    (top,) = run.nodes("all_steps")
    grown = run.tree.expand(run.tree.position(top), 1)
    steps = [grown.id(each) for each in range(len(grown.columns))][-2 * STEPS :: 2]
    known: list[list[Any]] = []
    for replay in (ReplayMode.CHECKPOINTS, ReplayMode.RERUN):
        run.partial.close()
        run.reruns.configure(ReplaySettings(replay))
        run.reruns._details._whole.clear()
        run.reruns._details._lines.clear()
        node = steps[-2]
        known.append(
            [
                run.reruns.whole(node).equation(),
                run.reruns.lines(node),
                run.reruns.lines(steps[3]),
                run.reruns.tried({node: "-1"}),
                run.reruns.tried({top: "[1, 2]"}),
            ]
        )
    assert known[0] == known[1]
    assert known[0][-1].lines[0].after == "2"


def test_a_program_that_closes_all_its_descriptors_is_run_again_all_the_same(
    tmp_path: Path, ended: list[Run]
) -> None:
    source = """
        import os

        def step(number):
            return number * number

        step(1)
        os.closerange(600, 900)
        step(2)
    """
    run = Run(tmp_path, source)
    ended.append(run)
    for node in run.nodes("step"):
        assert run.reruns.lines(node)
    assert run.partial.runs == 2


@pytest.mark.usefixtures("often")
def test_where_the_processes_are_gone_the_program_is_started_anew(
    tmp_path: Path, ended: list[Run]
) -> None:
    run = Run(tmp_path, STEADY)
    ended.append(run)
    first, *_, last = run.nodes("step")
    assert run.reruns.lines(last)
    for process in processes_in(tmp_path):
        os.kill(process, signal.SIGKILL)
    assert gone(tmp_path)
    assert run.reruns.lines(first)
    assert run.partial.runs == 3


def test_a_session_that_ends_leaves_no_process_behind(tmp_path: Path) -> None:
    run = Run(tmp_path, STEADY)
    run.reruns.lines(run.nodes("step")[-1])
    assert processes_in(tmp_path)
    run.partial.close()
    assert not processes_in(tmp_path)


SESSION = """
import sys, time
from pathlib import Path
from typing import Any
from whence.langs.python.replay import checkpoint_pool
from whence.langs.python.replay.program_reruns import ProgramReruns
from whence.model.replay_settings import ReplayMode, ReplaySettings
from whence.langs.python.trace.trace_reader import open_trace
what, path, *nodes = sys.argv[1:]
settings = ReplaySettings(ReplayMode.CHECKPOINTS)
reruns = ProgramReruns(Path(path), open_trace(Path(path)), settings)
checkpoint_pool.FIRST_SPACING, checkpoint_pool.COSTS = 1e-9, 0
for node in nodes:
    print(node, flush=True)
    getattr(reruns, what)(int(node))
print(reruns.partial.runs, "runs", reruns.how, flush=True)
time.sleep(100 if what == "lines" else 0)
"""


def test_a_call_is_stepped_through_from_a_checkpoint(tmp_path: Path) -> None:
    pexpect = pytest.importorskip("pexpect")
    run = Run(tmp_path, STEADY)
    nodes = [str(run.nodes("step")[place]) for place in (9, 4)]
    command = ["-c", SESSION, "debug", str(run.path), *nodes]
    child = pexpect.spawn(sys.executable, command, encoding="utf-8", timeout=30)
    for number in ("9", "4"):
        child.expect_exact("step()")
        child.expect_exact("(pdb) ")
        child.sendline("p f'number {number}'")
        child.expect_exact(f"'number {number}'")
        child.sendline("quit")
    child.expect(r"2 runs from \d+ checkpoints")
    child.expect(pexpect.EOF)
    assert gone(tmp_path)


def test_a_session_that_is_killed_leaves_no_process_behind(tmp_path: Path) -> None:
    lasting = """
    def last():
        for _ in range(20_000_000):
            pass

    last()
    """
    run = Run(tmp_path, STEADY + lasting)
    nodes = [str(each) for each in (run.nodes("step")[3], *run.nodes("last"))]
    command = [sys.executable, "-c", SESSION, "lines", str(run.path), *nodes]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as session:
        assert session.stdout is not None
        assert [session.stdout.readline().strip() for _ in nodes] == nodes
        while len(processes_in(tmp_path)) < STEPS:
            time.sleep(0.01)
        session.send_signal(signal.SIGKILL)
    assert gone(tmp_path)


def test_replay_off_never_runs_the_program_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path, STEADY, "--depth", "2")
    answers = tmp_path / "answers"
    answers.write_text("info\nfull\npdb\nn\nq\n")
    words = ["--wrong", "output:1", "--answers", str(answers), "--strategy", "top-down"]
    assert main(["debug", str(run.path), *words, "--replay", "off"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "never (--replay=off)" in said, "what info says"
    assert said.count("--replay=off forbids that") == 2, "full and pdb"
    assert main(["zoom", str(run.path), "all_steps", "--replay", "off"]) == 2
    assert "--replay=off forbids that" in capsys.readouterr().err
    run.reruns.configure(ReplaySettings(ReplayMode.OFF))
    (top,) = run.nodes("all_steps")
    for wish in (run.reruns.whole, run.reruns.lines):
        with pytest.raises(WhenceError, match="--replay=off"):
            wish(top)
    assert run.partial.runs == 0


@pytest.mark.soak
@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("name", [each for each in PROGRAMS if PROGRAMS[each].refused is None])
def test_programs_that_depend_on_the_world_go_on_from_every_call_as_they_did(
    name: str, tmp_path: Path
) -> None:
    world = World(tmp_path, PROGRAMS[name])
    tree = open_trace(world.recording)
    reruns = ProgramReruns(world.recording, tree, CHECKPOINTS)
    partial = reruns.partial
    nodes = [tree.id(each) for each in np.flatnonzero(tree.details > 0).tolist()][:40]
    try:
        for count, node in enumerate([nodes[-1], *nodes, *reversed(nodes)], 1):
            with partial.run(node, 1):
                assert partial.runs == count, partial.describe()
    except WhenceError as problem:
        assert PROGRAMS[name].if_refused, problem
    finally:
        partial.close()


def test_descriptors_may_have_any_numbers(tmp_path: Path) -> None:
    run = Run(tmp_path, STEADY, "--depth", "2")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limits[1] < 1500:
        pytest.skip("this machine allows too few descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], 1500), limits[1]))
    taken = [os.dup(0) for _ in range(1100)]
    try:
        (top,) = run.nodes("all_steps")
        assert run.reruns.whole(top).function.short() == "all_steps"
    finally:
        for each in taken:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert run.partial.runs == 1
