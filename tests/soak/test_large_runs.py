"""Programs that are too large to keep are debugged in little memory and on little disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from whence.langs.python.record.journal.journal_choice import obstacle

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(obstacle(None) is not None, reason="nothing here keeps a journal"),
]

LARGE_VALUES = """
class Series:
    def __init__(self, values):
        self.values = values

    def at(self, place):
        return self.values[place]


def step(series, text, place):
    return series.at(place) + len(text)


def block(series, text, first, count):
    total = sum([step(series, text, place) for place in range(first, first + count)])
    return total + (first == 333_000)


def total(series, text):
    return sum([block(series, text, first, 1000) for first in range(0, 500_000, 1000)])


print(total(Series(list(range(1_250_000))), "x" * 10_000_000))
"""
"""A million calls, each with a list of 10 MB and a text of 10 MB."""

MANY_CALLS = """
def one(place):
    return 1 + (place == 20_000_001)


def count(first, places):
    if places == 1:
        return one(first)
    half = places // 2
    return count(first, half) + count(first + half, places - half)


print(count(0, 2**25))
"""
"""Just over a hundred million calls."""

DEBUGS = """
import resource, sys
from pathlib import Path
from whence.app.frontends import open_any
from whence.model.replay_settings import ReplayMode, ReplaySettings
from whence.model.verdict import Answer, Verdict
from whence.session.engine import expansion, step
from whence.session.events import Answered, Ask, Expand
from whence.session.state import Options, State

def judged(call):
    given = {each.name: each.value.text for each in call.arguments}
    name = call.function.short()
    if name == "block":
        first = int(given["first"])
        true = sum(range(first, first + 1000)) + 10_000_000_000
    elif name in ("one", "count"):
        true = int(given.get("places", 1))
    else:
        return Verdict.WRONG if name == "total" else Verdict.RIGHT
    return Verdict.RIGHT if int(call.outcome.value.text) == true else Verdict.WRONG

path = Path(sys.argv[1])
opened = open_any(path)
tree = opened.tree
opened.replay.configure(ReplaySettings(ReplayMode.CHECKPOINTS))
partial = opened.reruns.partial
known = Options(ask_top=False, confirm_top=False)
first = Answered((Answer(tree.id(1), Verdict.WRONG),))
state, outcome = step(State(tree, options=known), first)
while isinstance(outcome, Ask | Expand):
    if isinstance(outcome, Expand):
        state, outcome = step(state, expansion(state, outcome))
    else:
        answer = Answer(outcome.question.node, judged(outcome.question.call))
        state, outcome = step(state, Answered((answer,)))
call = state.tree.call(state.tree.position(outcome.diagnosis.node))
asleep = partial.checkpoints.memory >> 20
partial.close()
# Not ru_maxrss, which begins with what the process had that started this one.
status = Path("/proc/self/status").read_text().splitlines()
here = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) >> 10
there = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
name = call.function.short()
place = {each.name: each.value.text for each in call.arguments}[sys.argv[2]]
print(name, place, partial.runs, here, there, asleep)
"""


@pytest.mark.parametrize(
    "program, depth, named, fault, runs",
    [
        pytest.param(LARGE_VALUES, "3", "first", ("block", "333000"), 3, id="values of 10 MB"),
        pytest.param(MANY_CALLS, "8", "place", ("one", "20000001"), 3, id="a hundred million"),
    ],
)
def test_what_is_too_large_to_keep_is_debugged_all_the_same(
    program: str, depth: str, named: str, fault: tuple[str, str], runs: int, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(program)
    (tmp_path / "debugs.py").write_text(DEBUGS)
    words = ["record", "--journal", "--depth", depth, "-o", "run.whence", "program.py"]
    subprocess.run([sys.executable, "-m", "whence", *words], cwd=tmp_path, check=True, timeout=1200)
    disk = sum(each.stat().st_size for each in tmp_path.rglob("run.whence*") if each.is_file())
    done = subprocess.run(
        [sys.executable, "debugs.py", "run.whence", named], cwd=tmp_path, check=True, timeout=1200,
        capture_output=True, text=True,
    )  # fmt: skip
    name, place, made, here, there, asleep = done.stdout.split()
    print(f"{name}({place}): {made} runs, {here} + {there} + {asleep} MB, {disk >> 10} KB on disk")
    assert (name, place) == fault
    assert int(made) <= runs
    assert int(here) + int(there) + int(asleep) <= 500
    assert disk <= 2**30
