"""What capturing a Prolog run costs, and what a long run takes to be debugged.

    python bench/prolog.py [--repeat 3] [--long]

Three tables. Capture: a goal is traced as a whole, and its calls are put together; events a second,
of the wall clock and of the CPU of either process (they run side by side), and events in the CPU
time of a loop that is timed in between, so that figures of a busy machine can be compared. Skip:
goals of some seconds looked at to a depth, as a multiple of the CPU that swipl takes for them
plain. Long: a goal of some ten million inferences with one wrong leaf, debugged with the right
program as the oracle: questions, seconds, and the largest memory of each process; `--long` is that
alone.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from prolog_debugging import blamed

from whence.langs.prolog.goal_execution import GoalExecution, without_collector
from whence.langs.prolog.port_events import Run, RunLimits, run_goal
from whence.langs.prolog.reference_program import ReferenceProgram, first_difference
from whence.langs.prolog.swipl_process import Engine
from whence.langs.prolog.trace_tree import TraceTree

PROGRAM = Path(__file__).parent / "workloads" / "classic.pl"
GOALS = ("reversed(100, 30)", "queens(14, Q)", "fib(20, F)")
PLAIN = ("reversed(120000, 30)", "queens(20, Q)", "fib(30, F)")
DEPTH = 3
LONG = 14
LOOP = 1_000_000
_TICK = os.sysconf("SC_CLK_TCK")


def cpu_of(engine: Engine) -> float:
    """The CPU seconds of a swipl process so far."""
    fields = Path(f"/proc/{engine.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def loop() -> float:
    """The CPU seconds of a loop that has nothing to do with Prolog."""
    start, total = time.process_time(), 0
    for number in range(LOOP):
        total += number
    return time.process_time() - start


def capture(goal: str) -> tuple[int, float, float, float]:
    """Events, and the seconds of the clock, of swipl's CPU and of ours."""
    with Engine() as engine:
        engine.load(PROGRAM)
        run = Run()
        clock, theirs, ours = time.perf_counter(), cpu_of(engine), time.process_time()
        with without_collector():
            trace = TraceTree(run_goal(engine, goal, solutions=1), run)
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
            execution = GoalExecution(engine, PROGRAM, goal, solutions=1, limits=limits)
            captured = time.perf_counter() - start
            tree = first_difference(execution, program, lambda _: None)
            assert tree is not None
            found = blamed(execution, program, tree, "auto")
            seconds = time.perf_counter() - start
            execution.close()
        program.close()
        ours = _largest()
        theirs = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        print(
            f"{goal}: captured in {captured:.1f} s, {found.predicate} named after "
            f"{found.questions} questions in {seconds:.1f} s; whence {ours} MB, the largest swipl "
            f"{theirs} MB"
        )


def _largest() -> int:
    """The most memory that this process had, in MB. Resource usage tells that of the one before."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


def captures(repeat: int) -> None:
    """The first table."""
    print("Capture, the best of", repeat)
    head = ("events/s", "of swipl", "of whence", "swipl/loop", "whence/loop")
    print(f"{'goal':20} {'events':>9} " + " ".join(f"{each:>11}" for each in head))
    for goal in GOALS:
        runs, loops = [], []
        for _ in range(repeat):
            runs.append(capture(goal))
            loops.append(loop())
        best = [min(each[n] for each in runs) for n in range(4)]
        rates = [best[0] / max(each, 1 / _TICK) for each in best[1:]]
        rates += [rate * min(loops) for rate in rates[1:]]
        print(f"{goal:20} {best[0]:9,} " + " ".join(f"{rate:11,.0f}" for rate in rates))


def skips(repeat: int) -> None:
    """The second table."""
    print(f"\nSkip below depth {DEPTH}, as a multiple of plain CPU")
    for goal in PLAIN:
        requests = (f"plain('{goal}', 1)", f"run('{goal}', 1, {RunLimits(skip_below=DEPTH)})")
        runs = [[spent(request) for request in requests] for _ in range(repeat)]
        plain, skipped = (min(each[n] for each in runs) for n in range(2))
        print(f"{goal:20} {skipped / max(plain, 1 / _TICK):6.1f}x  ({plain:.2f} s plain)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    if options.long:
        long_run()
        return
    captures(options.repeat)
    skips(options.repeat)
    print("\nA long run", flush=True)
    subprocess.run([sys.executable, __file__, "--long"], check=True)  # with a memory of its own


if __name__ == "__main__":
    main()
