"""A program that makes too many calls, or too deep ones, is stopped with a tree that is sound."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from debuggee_runs import order_for
from recorded import BACKENDS, recording

from whence.langs.python.launching.first_run import FirstRun, run_first
from whence.langs.python.record.backend_choice import NATIVE
from whence.langs.python.record.options import RecordOptions
from whence.langs.python.record.recording import Recording, Settings
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.call import OutcomeKind
from whence.tree.column_tree import ColumnTree

pytestmark = pytest.mark.skipif(NATIVE not in BACKENDS, reason="only the recorder in C has limits")

MANY = "def step(n):\n    return n + 1\nfor n in range(100):\n    step(n)\n"
DEEP = "def down(n):\n    return n and down(n - 1)\ndown(50)\n"


def told(source: str, folder: Path, calls: int, depth: int, options: RecordOptions) -> list[str]:
    """What a limit said, and how many calls were recorded or counted by then."""
    from whence.langs.python.record import _recorder

    program, said = folder / "program.py", list[str]()
    program.write_text(source)
    code = compile(source, str(program), "exec")

    def reached(what: str) -> None:
        state = _recorder.state()
        said.append(f"{what} {state['calls'] + state['skipped']}")

    with recording(folder / "run.whence", program, NATIVE, options):
        _recorder.limits(calls, depth, reached)
        exec(code, {"__name__": "program"})
    return said


@pytest.mark.parametrize("depth", [None, 1])
def test_a_limit_is_told_before_the_first_call_beyond_it(depth: int | None, tmp_path: Path) -> None:
    never, options = 2**64 - 1, RecordOptions(depth=depth)
    assert told(MANY, tmp_path, 40, never, options) == ["calls 40"]
    assert told(MANY, tmp_path, 101, never, options) == []
    assert told(DEEP, tmp_path, never, 20, options) == ["depth 20"]
    assert told(DEEP, tmp_path, never, 52, options) == []


def test_it_is_known_of_calls_that_did_not_end_that_they_called_others(tmp_path: Path) -> None:
    source = "def step(n):\n    return n\n"
    source += "def main():\n    [step(n) for n in range(7)]\n    end()\nmain()\n"
    program = tmp_path / "program.py"
    program.write_text(source)
    settings = Settings(
        str(tmp_path / "run.whence"), RecordOptions(depth=2), UserCodeRules(only=(str(program),)),
        NATIVE,
    )  # fmt: skip
    under_way = Recording(settings, ("program.py",))
    under_way.start()
    exec(compile(source, str(program), "exec"), {"end": lambda: under_way.finish(3, "stopped")})
    tree = open_trace(tmp_path / "run.whence")
    assert tree.columns.outcome[2] == OutcomeKind.NOT_TERMINATED
    assert tree.columns.implicit[2]
    assert tree.columns.weight[0] == 10


def test_of_a_process_that_was_killed_it_is_not_claimed_that_its_last_calls_called_nobody(
    tmp_path: Path,
) -> None:
    source = "import os\ndef step(n):\n    return n\ndef main():\n    step(1)\n"
    source += "    os.kill(os.getpid(), 9)\nmain()\n"
    tree = run_stopped(tmp_path, source, "--depth", "2")
    assert tree.columns.outcome.tolist() == [OutcomeKind.NOT_TERMINATED] * 3
    assert tree.columns.implicit.tolist() == [0, 0, 1]


def run_stopped(folder: Path, source: str, *words: str, memory: int | None = None) -> ColumnTree:
    program, output = folder / "program.py", folder / "run.whence"
    program.write_text(source)
    order = order_for(output, [*words, str(program)])
    run_first(FirstRun(order, memory_limit=memory, has_input=False))
    return open_trace(output)


def test_a_program_that_does_not_end_is_stopped_after_so_many_calls(tmp_path: Path) -> None:
    tree = run_stopped(tmp_path, MANY.replace("range(100)", "iter(int, 1)"), "--call-limit", "50")
    assert tree.columns.weight[0] == 51
    assert "stopped after 50 calls" in tree.call(0).equation()


def test_a_program_that_takes_too_much_memory_is_stopped(tmp_path: Path) -> None:
    source = "def grow(kept):\n    while True:\n        kept.append(bytes(100_000))\ngrow([])\n"
    tree = run_stopped(tmp_path, source, memory=150 * 2**20)
    assert tree.columns.outcome.tolist() == [OutcomeKind.NOT_TERMINATED] * 3
    assert "stopped with 150 MB" in tree.call(0).equation()


def test_limits_need_the_recorder_in_c(tmp_path: Path) -> None:
    words = ["record", "--backend", "pure", "--call-limit", "5", "-c", "pass"]
    done = subprocess.run(
        [sys.executable, "-m", "whence", *words], cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "need the recorder in C" in done.stderr


COMPILES = """
import weakref

ALIVE, GENERATORS = [], []

def made(number):
    space = {}
    text = f"def work(x):\\n    yield x + {number}\\n    yield x\\n"
    exec(compile(text, __file__, "exec"), space)
    ALIVE.append(weakref.ref(space["work"].__code__))
    return space["work"]

def nested(depth):
    space = {"nested": nested, "many": many}
    text = "def deeper(n):\\n    return nested(n) if n else many()\\n"
    text += f"result = deeper({depth - 1})\\n"
    exec(compile(text, __file__, "exec"), space)
    return space["result"]

def many():
    for number in range(6000):
        generator = made(number)(1)
        next(generator)
        if number % 1000 == 0:
            GENERATORS.append(generator)
    return sum(next(generator) for generator in GENERATORS)

RESULT = nested(5)
COUNT = sum(reference() is not None for reference in ALIVE)
"""


def test_code_that_a_program_compiles_in_a_loop_is_not_kept(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(COMPILES)
    space: dict[str, object] = {"__name__": "program", "__file__": str(program)}
    with recording(tmp_path / "run.whence", program, NATIVE, RecordOptions()):
        exec(compile(COMPILES, str(program), "exec"), space)
    assert space["RESULT"] == 6
    count = space["COUNT"]
    assert isinstance(count, int)
    assert 6 <= count <= 4096
    tree = open_trace(tmp_path / "run.whence")
    names = [tree.functions[number].qualname for number in tree.columns.function.tolist()]
    assert names.count("work") == 6000
    assert names.count("deeper") == 5
