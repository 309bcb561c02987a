"""Programs whose threads change and free what is being recorded at that very moment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from recorded import BACKENDS, environment

from whence.langs.python.trace.trace_reader import open_trace, recording_summary

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

SECONDS = float(os.environ.get("WHENCE_SOAK_SECONDS", "30"))

# What every program here begins with. A summary (of a date or a decimal) is Python code, so that
# the interpreter may change threads in the middle of a snapshot; it is made to as often as it can.
BEGIN = """
import datetime, decimal, random, sys, threading, time
sys.setswitchinterval(1e-6)
END = time.monotonic() + float(sys.argv[1])
failed = []

def running():
    return time.monotonic() < END and not failed

def run_all(*targets):
    def guarded(target, seed):
        try:
            target(random.Random(seed))
        except BaseException as error:
            failed.append(repr(error))
            raise
    threads = [threading.Thread(target=guarded, args=(target, seed))
               for seed, target in enumerate(targets)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("failed" if failed else "done", *failed)

def fresh(r):
    return [datetime.date(2000 + r.randrange(99), 1, 1), decimal.Decimal(r.randrange(10**6)),
            {r.random(): datetime.timedelta(r.randrange(9))}, [[r.random()] * 3], {r.random()}]
"""

CONTAINERS = """
class Plain:
    def __init__(self, r): self.a, self.b = fresh(r), fresh(r)
    def look(self, other): return self.a, other

class Slotted:
    __slots__ = ("a", "b", "__dict__")
    def __init__(self, r): self.a, self.b = fresh(r), fresh(r)
    def look(self, other): return self.b, other

class Listed(list):
    pass

the_list, the_dict, the_set, the_bytes = [], {}, set(), bytearray()
the_objects = []
a_global, b_global, c_global = [1], {"b": 1}, datetime.date(2000, 1, 1)

def reads_globals():
    return a_global, b_global, c_global

def takes(one, two, *rest, **named):
    return [one, two, rest, named]

def grow(r):
    while running():
        the_list.append(fresh(r))
        the_dict[r.randrange(500)] = fresh(r)
        the_dict[(r.randrange(50), datetime.date(2000, 1, 1 + r.randrange(20)))] = fresh(r)
        the_set.add((r.randrange(500), r.random()))
        the_bytes.extend(b"abc" * r.randrange(50))
        the_objects.append(r.choice([Plain, Slotted])(r))

def shrink(r):
    while running():
        del the_list[r.randrange(5):]
        for key in list(the_dict)[:r.randrange(200)]:
            the_dict.pop(key, None)
        if r.random() < 0.1:
            the_dict.clear()
            the_set.clear()
        while len(the_set) > 50:
            try: the_set.pop()
            except KeyError: break
        del the_bytes[r.randrange(20):]
        del the_objects[r.randrange(10):]

def rebind(r):
    global a_global, b_global, c_global
    while running():
        a_global, b_global = fresh(r), {k: fresh(r) for k in range(r.randrange(9))}
        c_global = fresh(r)[0]
        for each in the_objects[:5]:
            each.a = fresh(r)
            each.c = fresh(r)
            if r.random() < 0.2:
                each.__dict__ = {"d": fresh(r)}
            if r.random() < 0.2 and hasattr(each, "b"):
                try: del each.b
                except AttributeError: pass

def look(r):
    while running():
        takes(the_list, the_dict, the_set, the_bytes, here=the_objects)
        reads_globals()
        takes(Listed(the_list), the_dict, the_objects, end=None)
        for each in the_objects[:3]:
            try: each.look(the_dict)
            except AttributeError: pass

def closures(r):
    kept = fresh(r)
    def changes():
        nonlocal kept
        while running():
            kept = fresh(r)
    def uses(other):
        return kept, other
    thread = threading.Thread(target=changes)
    thread.start()
    while running():
        uses(the_list)
    thread.join()

run_all(grow, grow, shrink, rebind, look, look, look, closures)
"""

# A tracer in Python is not safe where threads resume one generator at once, whoever wrote it: from
# 3.12 on the interpreter calls a generator suspended before it tells of its yield. With the pure
# backend they take turns.
GENERATORS = """
import asyncio, contextlib

turn = threading.Lock() if "in-turn" in sys.argv else contextlib.nullcontext()

def count(kept):
    for i in range(40):
        got = yield kept, i, [datetime.date(2000, 1, 1)]
        kept.append(got)

def outer(kept):
    yield from count(kept)
    return kept

shared = [outer([])]

def pull(r):
    while running():
        generator = shared[0]
        try:
            choice = r.random()
            with turn:
                if choice < 0.9: generator.send(None)
                elif choice < 0.95: generator.throw(KeyError(fresh(r)))
                else: generator.close()
        except (StopIteration, ValueError, KeyError):
            shared[0] = outer(fresh(r))

def drop(r):
    while running():
        generator = outer([])
        for _ in range(r.randrange(4)):
            next(generator)
        shared[0] = generator

async def sleeper(n, kept):
    await asyncio.sleep(0)
    kept.append(n)
    return [n, kept]

async def many(r):
    while running():
        kept = fresh(r)
        tasks = [asyncio.ensure_future(sleeper(i, kept)) for i in range(20)]
        tasks[r.randrange(20)].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

def loop(r):
    asyncio.run(many(r))

def short(r):
    def child(n):
        return next(outer([n]))
    while running():
        threads = [threading.Thread(target=child, args=(n,)) for n in range(5)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()

run_all(pull, pull, pull, drop, loop, short)
"""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [CONTAINERS, GENERATORS], ids=["containers", "generators"])
def test_threads_that_change_what_is_recorded_do_no_harm(
    program: str, backend: str, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(BEGIN + program)
    command = [sys.executable, "-X", "faulthandler", "-m", "whence", "record"]
    command += ["--backend", backend, "-o", "run.whence", "program.py", str(SECONDS)]
    command += ["in-turn"] if backend == "pure" else []
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-4000:]
    tree = open_trace(tmp_path / "run.whence")
    found = recording_summary(tree)
    assert found is not None and found.unread == 0, "the file is whole"
    assert len(tree.columns) > 1000
    for at in range(0, len(tree.columns), max(1, len(tree.columns) // 2000)):
        tree.call(at)
