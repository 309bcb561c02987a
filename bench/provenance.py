"""What following a marked part costs: outside the marked call, inside it, and as a whole.

    python bench/provenance.py [--only WORKLOAD…] [--repeat 5]

Each workload of bench/workloads is a process of its own, which holds it twice: as it is, and
rewritten so that its values can carry tags. Runs of both alternate; printed is the ratio of the
medians of their CPU times, with the tags switched off (as all calls outside the marked one run) and
on. Bytes are what memory grew by while the tags were on, for each tag that was left. The last lines
are a whole answer: a program of about a second is recorded, and a part of what one of its calls
with 10,000 calls below it gave is followed, as `n result[...]` does. Nothing is printed that was
not measured in this run.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LESS: dict[str, Callable[[Any], object]] = {
    "fibonacci": lambda module: module.fib(16),
    "merge_sort": lambda module: module.merge_sort(module.NUMBERS[:1000]),
    "orders": lambda module: _orders(module, 100),
    "json_parse": lambda module: module.PARSER.parse('[{"id": 1, "tags": ["a", "b"]}, true]'),
    "sql_format": lambda module: module.sqlparse.format(module.STATEMENT, reindent=True),
}
"""The workloads, and what each does while its values carry tags: less than a whole run."""
FEW = 20_000
"""With fewer tags, what memory grew by tells nothing."""
GOALS = {"outside": 1.5, "outside, calls only": 3.5, "inside": 100.0, "bytes": 100.0}


def _orders(module: Any, count: int) -> object:
    shop = module.Shop([module.Product(f"p{n}", 10 + n * 13, 200) for n in range(20)])
    return [shop.buy(number, module.wishes(number)).total for number in range(count)]


# --- one workload, in a process of its own -------------------------------------------------------


def measured(name: str, repeat: int) -> dict[str, float]:
    """The ratios of one workload."""
    from whence.langs.python.provenance.rewriter.rewriting_importer import Modules, rewrite_imports
    from whence.langs.python.provenance.runtime.run_state import RUN
    from whence.langs.python.provenance.runtime.shadow_switch import SWITCH

    sys.path.insert(0, str(HERE / "workloads"))
    plain = importlib.import_module(name)
    packages = (name, *getattr(plain, "PACKAGES", ()))
    for each in list(sys.modules):
        if each.partition(".")[0] in packages:
            del sys.modules[each]
    rewrite_imports(lambda module, file: module.partition(".")[0] in packages, Modules(dual=True))
    SWITCH.stop()
    shadowed = importlib.import_module(name)
    times: dict[str, list[float]] = {"plain": [], "outside": [], "less": [], "inside": []}
    grown = 0
    for _ in range(repeat):
        times["plain"].append(_seconds(plain.run))
        times["outside"].append(_seconds(shadowed.run))
        times["less"].append(_seconds(lambda: [LESS[name](plain) for _ in range(5)]) / 5)
        gc.collect()
        before = _memory()
        SWITCH.start()
        times["inside"].append(_seconds(lambda: LESS[name](shadowed)))
        grown = max(grown, _memory() - before)  # later runs find memory that was given back
        tags = _tags()
        SWITCH.stop()
        RUN.reset()  # or what runs next would be slowed down by the search for garbage among tags
    median = {key: statistics.median(each) for key, each in times.items()}
    return {
        "outside": median["outside"] / median["plain"],
        "inside": median["inside"] / median["less"],
        "tags": tags,
        "bytes": grown / tags,
    }


def _seconds(run: Callable[[], object]) -> float:
    gc.collect()
    collects = gc.isenabled()
    gc.disable()  # as it is while values carry tags
    started = time.process_time()
    run()
    seconds = time.process_time() - started
    if collects:
        gc.enable()
    return seconds


def _memory() -> int:
    """What this process has in memory, in bytes."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


def _tags() -> int:
    """How many tags there are: nothing was collected since they were made."""
    from whence.langs.python.provenance.runtime.native_tagging import native_tag_count
    from whence.langs.python.provenance.tags import Tag

    return native_tag_count() + sum(type(thing) is Tag for thing in gc.get_objects())


# --- a whole answer ------------------------------------------------------------------------------

PROGRAM = """
def price(item, count):
    return item["cents"] * count

def line(number):
    item = {"name": f"item {number % 50}", "cents": 100 + number % 7}
    return {"item": item, "total": price(item, number % 5)}

def bill(first, count):
    return [line(number)["total"] for number in range(first, first + count)]

def work(turns):
    found = 0
    for number in range(turns):
        found += bill(number, 1)[0] % 3
    return found

def main():
    work(TURNS)
    print(bill(0, 5000)[4321])

main()
"""


def answered(folder: Path) -> dict[str, float]:
    """Seconds of the program, of recording it, and of following a part."""
    from whence.app.frontends import open_any
    from whence.model.call import find_mark
    from whence.model.replay_settings import ReplaySettings
    from whence.ports import Following

    program = folder / "program.py"
    turns = 1000
    while True:
        program.write_text(PROGRAM.replace("TURNS", str(turns)), encoding="utf-8")
        plain = _wall([sys.executable, "program.py"], folder)
        if plain >= 0.9:
            break
        turns = int(turns * 1.2 / plain) + 1
    command = [sys.executable, "-m", "whence", "record", "-o", "run.whence", "program.py"]
    recording = _wall(command, folder)
    opened = open_any(folder / "run.whence")
    tree = opened.tree
    names = [tree.functions[int(each)].short() for each in tree.columns.function]
    position = len(names) - 1 - names[::-1].index("bill")
    below = int(tree.columns.end[position]) - position - 1
    assert opened.replay is not None
    assert isinstance(opened.reruns, Following)
    reports: list[tuple[int, int]] = []
    opened.replay.configure(ReplaySettings(with_progress=_ProgressLog(reports)))
    part = find_mark(tree.call(position), "result[3]", input_side=False)
    started = time.perf_counter()
    opened.reruns.follow(tree.id(position), part)
    origin = opened.provenance.origin(tree.id(position), part)
    seconds = time.perf_counter() - started
    assert origin.expression == 'item["cents"] * count', origin
    return {
        "program": plain, "recording": recording, "calls below": below, "answer": seconds,
        "progress reports": len(reports),
    }  # fmt: skip


class _ProgressLog:
    """Keeps what a progress bar would show."""

    def __init__(self, reports: list[tuple[int, int]]):
        self._reports = reports

    def __call__(self, doing: str) -> _ProgressLog:
        return self

    def __enter__(self) -> Callable[[int, int], None]:
        return lambda done, total: self._reports.append((done, total))

    def __exit__(self, *how: object) -> None:
        """There is nothing to wipe out."""


def _wall(command: list[str], folder: Path) -> float:
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - started


# --- printing ------------------------------------------------------------------------------------


def row(name: str, cells: dict[str, float]) -> str:
    """One workload as a line of a table."""
    told = f"{cells['bytes']:.0f}" if cells["tags"] >= FEW else "-"
    return (
        f"| {name:10} | {cells['outside']:7.2f} | {cells['inside']:6.0f} "
        f"| {cells['tags']:9,.0f} | {told:>5} |"
    )


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--only", nargs="*", choices=sorted(LESS), default=sorted(LESS))
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--cell", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.cell:
        print(json.dumps(measured(given.cell, given.repeat)), flush=True)
        os._exit(0)  # generators that were left would run on when the interpreter ends
    print(f"Python {sys.version.split()[0]}; goals: {GOALS}")
    print("| workload   | outside | inside |      tags | bytes |")
    print("|------------|--------:|-------:|----------:|------:|")
    for name in given.only:
        command = [sys.executable, __file__, "--cell", name, "--repeat", str(given.repeat)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        print(row(name, json.loads(told)), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for what, figure in answered(Path(folder)).items():
            print(f"{what}: {figure:,.1f}" if figure % 1 else f"{what}: {figure:,.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
