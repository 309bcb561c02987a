"""What capturing a Prolog run costs, and what a long run takes to be debugged.

    python bench/prolog.py [--repeat 3]

Three tables. Capture: a goal is traced as a whole, and its calls are put together; events a second,
of the wall clock and of the CPU of either process (they run side by side). Skip: the same goals
looked at to a depth, as a multiple of the CPU that swipl takes for them plain. Long: a goal of some
ten million inferences with one wrong leaf, debugged with the right program as the oracle:
questions, seconds, and the largest memory of each process.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from prolog_debugging import blamed

from whence.langs.prolog.engine import Engine
from whence.langs.prolog.events import Run, RunLimits, run_goal
from whence.langs.prolog.frontend import Execution, without_collector
from whence.langs.prolog.reference import ReferenceProgram, first_difference
from whence.langs.prolog.trace_tree import TraceTree

PROGRAM = Path(__file__).parent / "workloads" / "classic.pl"
GOALS = ("reversed(20, 30)", "queens(8, Q)", "fib(17, F)")
PLAIN = ("reversed(8000, 30)", "queens(18, Q)", "fib(25, F)")
DEPTH = 3
LONG = 14
_TICK = os.sysconf("SC_CLK_TCK")


def cpu_of(engine: Engine) -> float:
    """The CPU seconds of a swipl process so far."""
    fields = Path(f"/proc/{engine.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def peak_of(engine: Engine) -> int:
    """Its largest memory so far, in MB."""
    for line in Path(f"/proc/{engine.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) // 1024
    return 0


def capture(goal: str) -> tuple[int, float, float, float]:
    """Events, and the seconds of the clock, of swipl's CPU and of ours."""
    with Engine() as engine:
        engine.load(PROGRAM)
        run = Run()
        clock, theirs, ours = time.perf_counter(), cpu_of(engine), time.process_time()
        with without_collector():
            trace = TraceTree(run_goal(engine, goal, run, solutions=1), run)
        ended = time.perf_counter(), cpu_of(engine), time.process_time()
        return trace.length, ended[0] - clock, ended[1] - theirs, ended[2] - ours


def spent(request: str) -> float:
    """The CPU seconds of swipl for a request."""
    with Engine() as engine:
        engine.load(PROGRAM)
        before = cpu_of(engine)
        for _ in engine.stream(request):
            pass
        return cpu_of(engine) - before


def long_run() -> None:
    """A long run, debugged."""
    text = PROGRAM.read_text()
    with tempfile.TemporaryDirectory() as folder:
        right = Path(folder) / "right.pl"
        right.write_text(text.replace("odd_one(22222).", "odd_one(_) :- fail."))
        program = ReferenceProgram(right, inferences=100_000_000, seconds=300)
        start = time.perf_counter()
        with Engine() as engine:
            limits = RunLimits(events=2_000_000, skip_below=DEPTH)
            goal = f"long({LONG}, Sum)"
            execution = Execution(engine, PROGRAM, goal, solutions=1, limits=limits)
            captured = time.perf_counter() - start
            tree = first_difference(execution, program, lambda _: None)
            assert tree is not None
            found = blamed(execution, program, tree, "auto")
            seconds = time.perf_counter() - start
            ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(
                f"{goal}: captured in {captured:.1f} s, {found.predicate} named after "
                f"{found.questions} questions in {seconds:.1f} s; swipl {peak_of(engine)} MB, "
                f"whence {ours} MB"
            )
            execution.close()
        program.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    print("Capture, the best of", repeat)
    print(f"{'goal':20} {'events':>9} {'events/s':>10} {'of swipl':>10} {'of whence':>10}")
    for goal in GOALS:
        runs = [capture(goal) for _ in range(repeat)]
        best = [min(each[n] for each in runs) for n in range(4)]
        rates = [best[0] / max(each, 1 / _TICK) for each in best[1:]]
        print(f"{goal:20} {best[0]:9,} " + " ".join(f"{rate:10,.0f}" for rate in rates))
    print(f"\nSkip below depth {DEPTH}, as a multiple of plain CPU")
    for goal in PLAIN:
        plain = min(spent(f"plain('{goal}', 1)") for _ in range(repeat))
        limits = RunLimits(skip_below=DEPTH)
        skipped = min(spent(f"run('{goal}', 1, {limits})") for _ in range(repeat))
        print(f"{goal:20} {skipped / max(plain, 1 / _TICK):6.1f}x  ({plain:.2f} s plain)")
    print("\nA long run")
    long_run()


if __name__ == "__main__":
    main()
