"""For any program, what is recorded is what a slow and obviously right tracer finds."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest
from call_programs import programs
from hypothesis import HealthCheck, given, settings
from recorded import BACKENDS, Node, environment, record
from reference_tracer import Told, trace

from whence.langs.python.record.options import Bound, RecordOptions
from whence.langs.python.trace.trace_reader import open_trace, recording_summary

WHOLE = Bound(depth=20, width=200, attributes=50, text=500, budget=5000)
OPTIONS = RecordOptions(first_bound=WHOLE, bound=WHOLE)


def told(node: Node) -> Told:
    """What a trace says, in the words of the reference."""
    outcome = node.outcome
    yielded: list[str] = []
    if outcome.startswith("yielded nothing"):
        outcome = outcome.removeprefix("yielded nothing").removeprefix(", then ") or "returned None"
    elif outcome.startswith("yielded "):
        values, _, rest = outcome.removeprefix("yielded ").partition(", then returned ")
        yielded = values.split(", ")
        outcome = "returned " + rest
        if not rest:
            values = re.sub(", and was (left|closed) there$", "", values)
            values, _, raised = values.partition(", raised ")
            # A generator that is left alone is closed sooner or later, told or not.
            outcome = f"raised {raised}" if raised and "GeneratorExit" not in raised else "left"
            yielded = values.split(", ")
    outcome = outcome.replace("→ ", "returned ")
    name = node.name.rpartition(".")[2]
    call = Told(name, dict(node.arguments), outcome, yielded)
    call.calls = [told(each) for each in node.calls]
    # Told part by part; the reference tells the whole.
    changed = {re.split(r"[\[.]", target)[0] for target in node.effects}
    call.changed = dict.fromkeys(changed & set(node.arguments), ("", ""))
    return call


def normal(call: Told) -> Told:
    """The same without what the two cannot have in common."""
    if call.yielded and ("did not end" in call.outcome or "GeneratorExit" in call.outcome):
        call.outcome = "left"
    call.changed = dict.fromkeys(call.changed, ("", ""))
    call.calls = [normal(each) for each in call.calls]
    return call


def ordered(call: Told) -> str:
    return call.text()


@pytest.mark.parametrize("backend", BACKENDS)
@given(source=programs())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_recorded_tree_is_that_of_the_reference(
    backend: str, tmp_path: Path, source: str
) -> None:
    expected = normal(trace(source))
    found = told(record(source, tmp_path, backend, OPTIONS))
    expected.outcome = found.outcome = ""
    assert ordered(found) == ordered(expected), source


KILLED = """
def leaf(n): return [n]
def work(n):
    return [leaf(i) for i in range(5)]
print('ready', flush=True)
while True: work(1)
"""


def kill_at_random(folder: Path, backend: str, wait: float) -> None:
    (folder / "program.py").write_text(KILLED)
    command = [sys.executable, "-m", "whence", "record", "--backend", backend, "-o", "t.whence"]
    with subprocess.Popen(
        [*command, "program.py"], cwd=folder, env=environment(), stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(wait)
        os.kill(process.pid, signal.SIGKILL)
    tree = open_trace(folder / "t.whence")
    pages, end = whole_pages((folder / "t.whence").read_bytes())
    found = recording_summary(tree)
    assert found is not None
    assert found.size - found.unread >= end, "each page that reached the file is read"
    assert len(tree.columns) - 1 >= pages, "and has calls in it"
    for at in range(0, len(tree.columns), max(1, len(tree.columns) // 50)):
        tree.call(at)


def whole_pages(data: bytes) -> tuple[int, int]:
    """How many pages are whole, and where the last one ends: by the format's description alone."""
    count, at = 0, 20 + int.from_bytes(data[12:16], "little")
    while len(data) >= at + 20 and data[at : at + 4] == b"PAGE":
        length, crc = (int.from_bytes(data[at + k : at + k + 4], "little") for k in (8, 16))
        payload = data[at + 20 : at + 20 + length]
        if len(payload) < length or zlib.crc32(payload) != crc:
            break
        count, at = count + 1, at + 20 + length
    return count, at


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_program_killed_at_any_moment_leaves_a_trace_that_opens(
    tmp_path: Path, backend: str
) -> None:
    for _ in range(2):
        kill_at_random(tmp_path, backend, random.uniform(0, 0.3))


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("backend", BACKENDS)
def test_two_hundred_killed_programs_leave_traces_that_open(tmp_path: Path, backend: str) -> None:
    for _ in range(200):
        kill_at_random(tmp_path, backend, random.uniform(0, 1.5))
