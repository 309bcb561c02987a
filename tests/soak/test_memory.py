"""A recording takes no more memory the longer it lasts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from recorded import BACKENDS, environment

from whence.langs.python.trace.trace_reader import open_trace

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

# 16 calls a round, of every kind; what the process holds is told after each fifth of them.
PROGRAM = """
import asyncio, datetime, decimal, os, sys, threading

class Point:
    def __init__(self, x): self.x, self.kept = x, [x, {x: str(x)}]
    @property
    def double(self): return self.x * 2
    def move(self, by):
        self.x += by
        return self

class Slotted:
    __slots__ = ("a",)
    def __init__(self, a): self.a = a
    def __del__(self): self.a = None

def fails(n):
    raise ValueError(n, [n])

def numbers(n):
    for i in range(3):
        yield i, n

def left(n):
    yield n
    yield n

async def waits(n):
    await asyncio.sleep(0)
    return n

async def main(n):
    return await asyncio.gather(waits(n), waits(-n))

total = 0
def counts(n):
    global total
    total += n
    def inner(): return total, n
    return inner()

def round_(n):
    class Made(Point): pass
    Made(n).move(2).double
    Slotted(n)
    try: fails(n)
    except ValueError: pass
    list(numbers(n))
    next(left(n))
    counts(n)
    sorted([n, 2, 1], key=lambda each: -each)
    (lambda date, number: date)(datetime.date.fromordinal(1 + n), decimal.Decimal(n))
    if n % 1000 == 0:
        asyncio.run(main(n))
        thread = threading.Thread(target=counts, args=(n,))
        thread.start()
        thread.join()

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

rounds = int(sys.argv[1])
for fifth in range(5):
    for n in range(fifth * rounds // 5, (fifth + 1) * rounds // 5):
        round_(n)
    print(resident())
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc")
@pytest.mark.parametrize("detail", ["full", "ids"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_million_calls_take_no_more_memory_than_a_few(
    backend: str, detail: str, tmp_path: Path
) -> None:
    rounds = 65_000 if backend == "native" else 5_000
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "whence", "record", "--backend", backend, "--detail", detail]
    done = subprocess.run(
        [*command, "-o", "run.whence", "program.py", str(rounds)],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert len(open_trace(tmp_path / "run.whence").columns) > rounds * 16
    after = [int(line) for line in done.stdout.split()]
    assert len(after) == 5
    growth = after[-1] - after[1]
    assert growth < 2_000_000, f"it grew by {growth} bytes: {after}"
