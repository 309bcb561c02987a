"""Bugs that a machine makes in packages from PyPI, found by the package as it was.

    python bench/mutants.py [--package toolz] [--count 30] [--write docs/mutants.md]

Each package has a program that uses it (`bench/drivers`). One function of a copy of the package is
changed (`tests/support/mutation.py`); where that changes what the program does, the run is recorded
and debugged with the unchanged package as reference version. Nobody answers questions: the function
that was changed has to be blamed, or it has to be said what kept whence from knowing.

What came of each mutant is appended to the results at once: a run that was cut off goes on where it
was. Results of another version of a package do not count; those of another version of whence do, so
remove the file after a change to whence.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
sys.path.insert(0, str(Path(__file__).parent))

import mutation
from questions import put, table

from whence.errors import WhenceError

BEGIN = "<!-- begin: written by `whence bench mutants --write docs/mutants.md` -->"
RESULTS = Path(__file__).parent / "results" / "mutants.jsonl"
LATE = "late"
MOST_REASONS = 12


@dataclass(frozen=True)
class Line(mutation.Result):
    """What came of a mutant, as it stands in the results."""

    version: str = ""
    key: str = ""
    seconds: float = 0.0


# --- one mutant ----------------------------------------------------------------------------------


class Late(BaseException):
    """It took too long."""


def _too_late(number: int, frame: object) -> None:
    raise Late


def tried(subject: mutation.Subject, mutant: mutation.Mutant, number: int, limit: int) -> Line:
    """What comes of a mutant, within so many seconds. Runs in a process of its own."""
    began = time.monotonic()
    signal.signal(signal.SIGALRM, _too_late)
    signal.alarm(limit)
    try:
        told = asdict(mutation.try_mutant(subject, mutant, number))
    except Late:
        told = {"how": LATE, "why": f"it took longer than {limit} seconds"}
    except WhenceError as problem:
        told = {"how": mutation.MISTAKEN, "why": f"whence failed: {problem}"}
    finally:
        signal.alarm(0)
    seconds = round(time.monotonic() - began, 2)
    return Line(**{**_about(subject, mutant), **told, "seconds": seconds})


def _about(subject: mutation.Subject, mutant: mutation.Mutant) -> dict[str, Any]:
    return {
        "package": subject.package, "mutant": str(mutant),
        "version": mutation.version_of(subject.package), "key": key_of(mutant),
    }  # fmt: skip


def key_of(mutant: mutation.Mutant) -> str:
    """What makes a mutant of a version that one."""
    return f"{mutant.file}:{mutant.begin}:{mutant.end}:{mutant.text}"


# --- many of them --------------------------------------------------------------------------------


def read(path: Path) -> list[Line]:
    """The results so far; a line that was cut off is passed over."""
    found = []
    for text in path.read_text().splitlines() if path.exists() else ():
        try:
            found.append(Line(**json.loads(text)))
        except (ValueError, TypeError):
            continue
    return found


def run(
    package: str, known: list[Line], options: argparse.Namespace, say: Callable[[str], None]
) -> Iterator[Line]:
    """Try mutants of a package until enough of them have another outcome."""
    current = mutation.version_of(package)
    done = {line.key: line for line in known if (line.package, line.version) == (package, current)}
    left = options.count - sum(line.differs for line in done.values())
    if left <= 0:
        return
    with tempfile.TemporaryDirectory(prefix="whence-mutants-") as folder:
        subject = mutation.Subject(package, Path(folder) / "subject")
        wanted = [each for each in enumerate(subject.mutants(10**6)) if key_of(each[1]) not in done]
        running: dict[Connection, mutation.Mutant] = {}
        while running or (wanted and left > 0):
            while wanted and len(running) < min(options.parallel, left):
                number, mutant = wanted.pop(0)
                running[_started(subject, mutant, number, options.seconds)] = mutant
            for ended in wait(list(running)):
                assert isinstance(ended, Connection)
                mutant = running.pop(ended)
                try:
                    line = Line(**ended.recv())
                except EOFError:
                    line = Line(**_about(subject, mutant), how=mutation.MISTAKEN, why="it crashed")
                left -= line.differs
                if line.differs:
                    say(f"{line.seconds:6.1f} {line.how:8} {line.package} {line.mutant}")
                yield line


def _started(
    subject: mutation.Subject, mutant: mutation.Mutant, number: int, limit: int
) -> Connection:
    """Where a process that tries a mutant will say what came of it."""
    context = multiprocessing.get_context("fork")
    reading, writing = context.Pipe(duplex=False)

    def try_and_tell() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        writing.send(asdict(tried(subject, mutant, number, limit)))

    context.Process(target=try_and_tell, daemon=True).start()
    writing.close()
    return reading


# --- the table -----------------------------------------------------------------------------------

HEADER = [
    "package", "mutants", "outcome differs", "located", "of these, which call", "kept",
    "wrong", "located with questions", "seconds each",
]  # fmt: skip


def report(lines: Iterable[Line]) -> str:
    """The table, and what kept whence from knowing."""
    ordered = sorted(lines, key=lambda line: line.package)
    rows = [
        _row(f"{name} {number}", list(group))
        for (name, number), group in groupby(ordered, lambda line: (line.package, line.version))
    ]
    rows.append(_row("all", ordered))
    text: str = table(rows, HEADER)
    kept = [line for line in ordered if line.how in (mutation.KEPT, LATE)]
    reasons = Counter(_first_reason(line) for line in kept)
    if reasons:
        listed = "\n".join(f"- {n} × {why}" for why, n in reasons.most_common(MOST_REASONS))
        more = len(reasons) - MOST_REASONS
        listed += f"\n- {more} other reasons, once each" if more > 0 else ""
        text += f"\n\nWhat kept whence from knowing:\n\n{listed}"
    wrong = [line for line in ordered if line.how == mutation.MISTAKEN]
    if wrong:
        listed = "\n".join(f"- {line.mutant}: {line.blamed} ({line.why})" for line in wrong)
        text += f"\n\nWrong: another one blamed, or nobody, for no right reason:\n\n{listed}"
    return text


def _row(name: str, lines: Sequence[Line]) -> list[str]:
    differ = [line for line in lines if line.differs]
    located = [line for line in differ if line.how == mutation.FOUND]
    seconds = sum(line.seconds for line in differ)
    return [
        name,
        f"{len(lines)}",
        f"{len(differ)}",
        f"{len(located)}" + (f" ({len(located) / len(differ):.0%})" if differ else ""),
        f"{sum(line.among == 1 for line in located)}",
        f"{sum(line.how in (mutation.KEPT, LATE) for line in differ)}",
        f"{sum(line.how == mutation.MISTAKEN for line in differ)}",
        f"{sum(line.asked > 0 for line in located)}",
        f"{seconds / max(1, len(differ)):.1f}",
    ]


def _first_reason(line: Line) -> str:
    return line.why.partition(" (")[0].partition("; ")[0]


def main(words: Sequence[str] | None = None, say: Callable[[str], None] = print) -> int:
    options = argparse.ArgumentParser(prog="whence bench mutants")
    options.add_argument("--package", action="append", choices=mutation.packages())
    options.add_argument("--count", type=int, default=40, help="with another outcome, of each")
    options.add_argument("--parallel", type=int, default=1, metavar="N")
    options.add_argument("--seconds", type=int, default=120, help="that a mutant may take")
    options.add_argument("--results", type=Path, default=RESULTS, metavar="FILE")
    options.add_argument("--write", type=Path, metavar="FILE", help="put the table into FILE")
    given = options.parse_args(words)
    # So that a run that is cut off clears up after itself.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(f"stopped by signal {number}"))
    given.results.parent.mkdir(parents=True, exist_ok=True)
    lines = read(given.results)
    chosen = given.package or mutation.packages()
    with given.results.open("a") as results:
        for package in chosen:
            for line in run(package, lines, given, say):
                results.write(json.dumps(asdict(line)) + "\n")
                results.flush()
    current = {package: mutation.version_of(package) for package in chosen}
    lines = [line for line in read(given.results) if current.get(line.package) == line.version]
    text = report(lines)
    if given.write:
        put(given.write, text, BEGIN)
    say(text)
    return 1 if any(line.how == mutation.MISTAKEN for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
