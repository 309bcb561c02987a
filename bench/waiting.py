"""How long a person waits for `whence run` with its default settings, all oracles included.

    python bench/waiting.py [--largest 10000000] [--program loop] [--write docs/strategies.md]

Programs of growing size are recorded, and the recordings debugged with `whence debug` by a script
that answers two questions. Printed for each: the seconds of the run without and with recording, and
the milliseconds from the command to the first question (the recording is read for the first time),
to the second and to the third. Wall-clock time, and the processor time of the debugger beside it,
since other jobs of the machine make the first one longer.

- `loop`: a function that calls another one N times
- `printing`: a function that prints N lines
- `generator`: one generator that yields N values
- `threads`: four threads that make N calls
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from math import log10
from pathlib import Path

BEGIN = "<!-- begin: written by `whence bench waiting --write docs/strategies.md` -->"
END = "<!-- end -->"

_PROGRAMS = {
    "loop": """
import sys
def one(place):
    return 1 + (place == 3)
def total(count):
    result = 0
    for place in range(count):
        result += one(place)
    return result
print(total(int(sys.argv[1])))
""",
    "printing": """
import sys
def show(count):
    for place in range(count):
        print(place)
    return count
def main(count):
    return show(count) + 1
main(int(sys.argv[1]))
""",
    "generator": """
import sys
def values(count):
    for place in range(count):
        yield place
def total(count):
    return sum(values(count))
print(total(int(sys.argv[1])))
""",
    "threads": """
import sys, threading
sums = []
def one(place):
    return place + 1
def work(count):
    sums.append(sum(one(place) for place in range(count)))
def main(count):
    threads = [threading.Thread(target=work, args=(count // 4,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(sums)
print(main(int(sys.argv[1])))
""",
}


class Script(io.TextIOBase):
    """Answers, and how long whence took before it read each of them."""

    def __init__(self, answers: list[str]) -> None:
        self.answers = answers
        self.waits: list[tuple[float, float]] = []
        """Seconds by the clock, and of the processor."""
        self._restart()

    def _restart(self) -> None:
        self._last = time.perf_counter(), time.process_time()

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        """The next answer."""
        clock, processor = self._last
        self.waits.append((time.perf_counter() - clock, time.process_time() - processor))
        self._restart()
        return self.answers.pop(0) + "\n" if self.answers else ""


def measure(program: str, count: int, folder: Path) -> list[str]:
    """The figures of one program and size, in the order of the table."""
    from whence.cli.main import main as whence

    script, trace = folder / f"{program}.py", str(folder / f"{program}-{count}.whence")
    script.write_text(_PROGRAMS[program])
    seconds = []
    for command in (["-E"], ["-m", "whence", "record", "-q", "-o", trace]):
        begin = time.perf_counter()
        subprocess.run(
            [sys.executable, *command, script.name, str(count)],
            cwd=folder, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        seconds.append(f"{time.perf_counter() - begin:.1f}")
    sys.stdin = answers = Script(["n", "y", "q"])
    with contextlib.redirect_stdout(io.StringIO()):
        whence(["debug", trace, "--wrong", "output:1", "--answers", "-", "--no-session"])
    waits = [f"{clock * 1e3:,.0f} ({own * 1e3:,.0f})" for clock, own in answers.waits[:3]]
    return [*seconds, *waits, *["-"] * (3 - len(waits))]


def table(programs: Sequence[str], largest: int) -> list[str]:
    """The lines of the table, each printed as soon as it is known."""
    lines: list[str] = []

    def add(cells: Sequence[str]) -> None:
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)

    add(["program", "N", "run, s", "recorded, s", "first question, ms", "second", "third"])
    add(["---"] * 7)
    from whence.cli.main import main as whence

    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = os.environ["XDG_STATE_HOME"] = folder
        with contextlib.redirect_stdout(io.StringIO()):
            whence(["strategies"])  # imports the commands, which is not measured
        for program in programs:
            for power in range(4, round(log10(largest)) + 1):
                add([program, f"{10**power:,}", *measure(program, 10**power, Path(folder))])
    return lines


def main(words: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--largest", type=int, default=10**7)
    options.add_argument("--program", action="append", choices=tuple(_PROGRAMS))
    options.add_argument("--write", type=Path, metavar="FILE")
    given = options.parse_args(words)
    lines = table(given.program or tuple(_PROGRAMS), given.largest)
    if given.write is not None:
        text = given.write.read_text(encoding="utf-8")
        before, rest = text.split(BEGIN, 1)
        after = rest.split(END, 1)[1]
        given.write.write_text("\n".join([before + BEGIN, *lines, END + after]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
