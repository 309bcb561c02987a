"""What recording costs: in time, bytes and memory, beside what a user would pick instead.

    python bench/record.py [--all-pythons] [--only WORKLOAD…] [--tools TOOL…] [--repeat 7]
    python bench/record.py --growth        # 10^4 … 10^7 calls; values of 10 … 10^6 parts

Each cell is a process of its own, in which untraced and traced runs of one workload alternate; the
ratio of the medians of their CPU times is printed, and below it bytes a call on disk. So a slow or
busy machine slows both sides alike. The five workloads are in bench/workloads; for the two parsers
from PyPI the whole package is user code. Nothing is printed that was not measured in this run.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
WORKLOADS = ("fibonacci", "merge_sort", "orders", "json_parse", "sql_format")
TOOLS = (
    "no-op callback",
    "whence ids",
    "whence shallow",
    "whence full",
    "whence pure",
    "viztracer",
    "viztracer args+results",
    "cProfile",
    "coverage",
    "hunter",
)
Stop = Callable[[], int]
"""Ends the tracing and returns how many bytes it wrote, or 0."""


# --- the tools: each starts, and returns what stops it ------------------------------------------


def whence(detail: str, backend: str) -> Callable[[Any, Path], Stop]:
    def start(workload: Any, folder: Path) -> Stop:
        from whence.langs.python.record.options import Detail, RecordOptions
        from whence.langs.python.record.recording import Recording, Settings
        from whence.langs.python.record.user_code import UserCodeRules

        settings = Settings(
            output=str(folder / "run.whence"),
            options=RecordOptions(detail=Detail(detail)),
            rules=UserCodeRules(added=(str(HERE / "workloads"), *packages(workload))),
            backend=backend,
        )
        recording = Recording(settings, ["bench"])
        recording.start()

        def stop() -> int:
            written = recording.finish(0, None)
            if written.problem:
                raise SystemExit(f"the recording failed: {written.problem}")
            counted["calls"] = written.calls
            return written.size

        return stop

    return start


counted: dict[str, int] = {}
"""How many calls the last recording held: the other tools' bytes are divided by it too."""


def packages(workload: Any) -> tuple[str, ...]:
    return getattr(workload, "PACKAGES", ())


def user_files(workload: Any) -> list[str]:
    folders = [
        Path(importlib.import_module(name).__file__ or "").parent for name in packages(workload)
    ]
    return [str(HERE / "workloads"), *map(str, folders)]


def viztracer(*, values: bool) -> Callable[[Any, Path], Stop]:
    def start(workload: Any, folder: Path) -> Stop:
        from viztracer import VizTracer

        tracer = VizTracer(
            tracer_entries=5_000_000,
            verbose=0,
            ignore_c_function=True,
            include_files=user_files(workload),
            log_func_args=values,
            log_func_retval=values,
        )
        tracer.start()

        def stop() -> int:
            tracer.stop()
            output = folder / "viztracer.json"
            spent = time.process_time()
            with contextlib.redirect_stdout(io.StringIO()):
                tracer.save(str(output))
            tracer.terminate()
            not_traced.append(time.process_time() - spent)
            return output.stat().st_size

        return stop

    return start


not_traced: list[float] = []
"""Time that a stop took and that is not counted: writing, which a user waits for only once."""


def cprofile(workload: Any, folder: Path) -> Stop:
    import cProfile

    profile = cProfile.Profile()
    profile.enable()

    def stop() -> int:
        profile.disable()
        return 0

    return stop


def coverage(workload: Any, folder: Path) -> Stop:
    import coverage as tool

    measuring = tool.Coverage(
        data_file=None, include=[f"{each}/*" for each in user_files(workload)], config_file=False
    )
    measuring.start()

    def stop() -> int:
        measuring.stop()
        return 0

    return stop


def hunter(workload: Any, folder: Path) -> Stop:
    import hunter as tool

    output = folder / "hunter.txt"
    stream = output.open("w")
    wanted = tool.Q(
        filename_startswith=tuple(user_files(workload)),
        kind_in=("call", "return", "exception"),
        action=tool.CallPrinter(stream=stream, force_colors=False),
    )
    tracing = tool.trace(wanted)

    def stop() -> int:
        tracing.stop()
        stream.close()
        return output.stat().st_size

    return stop


def no_op(workload: Any, folder: Path) -> Stop:
    if sys.version_info < (3, 12):
        raise RuntimeError("sys.monitoring is new in 3.12")
    monitoring = sys.monitoring
    events = monitoring.events
    monitoring.use_tool_id(4, "no-op")

    def callback(*arguments: object) -> None:
        return None

    for event in (events.PY_START, events.PY_RETURN):
        monitoring.register_callback(4, event, callback)
    monitoring.set_events(4, events.PY_START | events.PY_RETURN)

    def stop() -> int:
        monitoring.set_events(4, 0)
        monitoring.free_tool_id(4)
        return 0

    return stop


START: dict[str, Callable[[Any, Path], Stop]] = {
    "no-op callback": no_op,
    "whence ids": whence("ids", "native"),
    "whence shallow": whence("shallow", "native"),
    "whence full": whence("full", "native"),
    "whence pure": whence("full", "pure"),
    "viztracer": viztracer(values=False),
    "viztracer args+results": viztracer(values=True),
    "cProfile": cprofile,
    "coverage": coverage,
    "hunter": hunter,
}


# --- one cell, in a process of its own ----------------------------------------------------------


def measured(name: str, tool: str, repeat: int) -> dict[str, float]:
    """The ratio of traced to untraced CPU time, the bytes and calls of a run, the peak memory."""
    sys.path.insert(0, str(HERE / "workloads"))
    workload = importlib.import_module(name)
    workload.run()
    plain: list[float] = []
    traced: list[float] = []
    size = 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeat):
            plain.append(timed(workload.run))
            not_traced.clear()
            spent = time.process_time()
            stop = START[tool](workload, Path(folder))
            started = time.process_time()
            workload.run()
            size = stop()
            total = time.process_time() - spent
            # Setting a tool up is not what a call costs; writing what it holds is, but see above.
            traced.append(total - (started - spent) - sum(not_traced))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "ratio": statistics.median(traced) / statistics.median(plain),
        "added": statistics.median(traced) - statistics.median(plain),
        "bytes": size,
        "calls": counted.get("calls", 0),
        "memory": (peak - before) / 1024,
    }


def timed(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


# --- growth -------------------------------------------------------------------------------------


def growth(backend: str) -> None:
    """Cost in calls, and in the size of values beyond the bound."""
    sys.path.insert(0, str(HERE / "workloads"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "grown.py"
        source.write_text(
            "def look(values, n):\n    return n + 1\n\n"
            "def run(values, count):\n    for n in range(count):\n        look(values, n)\n"
        )
        sys.path.insert(0, str(folder))
        grown = importlib.import_module("grown")
        print(f"{'calls':>12} {'ns a call':>10} {'bytes a call':>13} {'peak MB':>8}")
        for exponent in range(4, 8):
            row = grown_cost(grown, folder, backend, [1, 2, 3], 10**exponent)
            print(f"{10**exponent:12,} {row[0]:10.0f} {row[1]:13.1f} {row[2]:8.0f}")
        print(f"{'parts of the argument':>22} {'ns a call':>10}")
        for exponent in range(1, 7):
            row = grown_cost(grown, folder, backend, list(range(10**exponent)), 10**5)
            print(f"{10**exponent:22,} {row[0]:10.0f}")


def grown_cost(
    grown: Any, folder: Path, backend: str, values: list[int], count: int
) -> tuple[float, float, float]:
    plain = timed(lambda: grown.run(values, count))
    start = whence("full", backend)
    grown.PACKAGES = (str(folder),)
    stop = start(grown, folder)
    begun = time.process_time()
    grown.run(values, count)
    size = stop()
    traced = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (traced - plain) / count * 1e9, size / count, peak


# --- the table ----------------------------------------------------------------------------------


def table(python: str, workloads: list[str], tools: list[str], repeat: int) -> None:
    version = subprocess.run(
        [python, "-c", "import sys; print('.'.join(map(str, sys.version_info[:3])))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    print(f"\nPython {version}: CPU time against the untraced run; bytes a call on disk; peak MB")
    print(f"{'':24}" + "".join(f"{name:>13}" for name in workloads) + f"{'mean':>9}{'most':>9}")
    added: dict[str, list[float]] = {}
    calls: dict[str, float] = {}
    for tool in sorted(tools, key=lambda each: each != "whence full"):
        cells = [cell(python, name, tool, repeat) for name in workloads]
        for name, found in zip(workloads, cells, strict=True):
            if found and found["calls"]:
                calls.setdefault(name, found["calls"])
        measurements = [found for found in cells if found]
        if len(measurements) < len(cells):
            print(f"{tool:24}" + "not to be had here")
            continue
        ratios = [found["ratio"] for found in measurements]
        added[tool] = [found["added"] for found in measurements]
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        row = "".join(f"{ratio:13.2f}" for ratio in ratios)
        print(f"{tool:24}{row}{mean:9.2f}{max(ratios):9.2f}", flush=True)
        sizes = [
            found["bytes"] / calls[name] if calls.get(name) else 0
            for name, found in zip(workloads, measurements, strict=True)
        ]
        if any(sizes):
            row = "".join(f"{size:13.1f}" for size in sizes)
            print(f"{'  bytes a call':24}{row}{statistics.fmean(sizes):9.1f}{max(sizes):9.0f}")
        row = "".join(f"{found['memory']:13.0f}" for found in measurements)
        print(f"{'  peak MB more':24}{row}")
    for tool in ("whence shallow", "whence full"):
        for peer in ("viztracer args+results", "no-op callback"):
            if tool in added and peer in added:
                times = [b / a for a, b in zip(added[tool], added[peer], strict=True)]
                row = "".join(f"{each:13.2f}" for each in times)
                mean = math.exp(statistics.fmean(map(math.log, map(abs, times))))
                print(f"{peer} added / {tool} added")
                print(f"{'':24}{row}{mean:9.2f}")


def cell(python: str, workload: str, tool: str, repeat: int) -> dict[str, float] | None:
    command = [python, str(Path(__file__).resolve()), "--cell", workload, tool]
    done = subprocess.run(
        [*command, "--repeat", str(repeat)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["?"])[-1]
        print(f"  ({tool} on {workload}: {last[:110]})", file=sys.stderr)
        return None
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def pythons(every: bool) -> Iterator[str]:
    """The interpreters to measure, each with what the benchmark needs installed."""
    if not every:
        yield sys.executable
        return
    sys.path.insert(0, str(HERE.parent / "tools"))
    import environments

    for interpreter in environments.at_hand(environments.running()):
        environments.prepare(interpreter, ["bench"])
        yield str(interpreter.python)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--all-pythons", action="store_true")
    parser.add_argument("--only", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--backend", default="native")
    parser.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        workload, tool = options.cell
        print(json.dumps(measured(workload, tool, options.repeat)))
    elif options.growth:
        growth(options.backend)
    else:
        for python in pythons(options.all_pythons):
            table(python, options.only, options.tools, options.repeat)
    return 0


if __name__ == "__main__":
    os.environ.pop("WHENCE_BACKEND", None)
    sys.exit(main())
