"""The long tests, part by part, with a record of what passed on which commit.

All parts together take hours, so a run may be stopped and started again: a part that passed on this
commit is not run again. The results are in `build/soak.jsonl`, a line for each part that ended. The
summary says for every part on which commit it last ran, and the exit status is 0 only if all of
them passed on this one. A part of which every test was skipped has not passed: some parts need
CPython 3.12 or later (`make soak PYTHON=python3.12`), which the reasons in their logs say.

    python tools/soak.py                 every part that has not passed on this commit
    python tools/soak.py kills threads   these parts, whatever the record says
    python tools/soak.py --list          what has run

Needs the interpreter of an environment with the extras terminal, test and bench; `make soak` makes
it. With uncommitted changes every part runs again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "soak.jsonl"
PARTS: dict[str, tuple[str, ...]] = {
    "kills": ("tests/soak/test_kills.py",),
    "hard": ("tests/hard",),
    "threads": ("tests/soak/test_threads.py",),
    "memory": ("tests/soak/test_memory.py", "tests/soak/test_prolog_memory.py"),
    "large-runs": ("tests/soak/test_large_runs.py",),
    "packages": ("tests/soak/test_packages.py",),
    "releases": ("tests/releases",),
    "freezing": ("tests/soak/test_freezing.py",),
    "standard-library": ("tests/soak/test_standard_library.py",),
    "provenance": ("tests/soak/test_provenance.py",),
    "conformance": ("tests/conformance", "tests/dialogue"),
    "prolog": ("tests/corpus_prolog",),
    "corpus": ("tests/corpus",),
    "zoom-mutants": ("tests/soak/test_zoom_mutants.py",),
    "damaged-files": ("tests/soak/test_damaged_files.py",),
    "unit": ("tests/unit",),
    "laws": ("tests/property",),
    "mutants": ("tests/soak/test_mutants.py",),
    "rewritten-reference": ("tests/soak/test_rewritten_reference.py",),
}
"""The tests of each part, roughly the shortest first."""
_COUNTS = re.compile(r"^=*\s*((?:\d+ [a-z]+,? ?)+) in [\d.]+s", re.MULTILINE)


@dataclass(frozen=True)
class Result:
    """How one part ended."""

    part: str
    commit: str
    """With a `+` at the end if there were uncommitted changes."""
    python: str
    passed: bool
    counts: str
    minutes: float


def current_commit() -> str:
    def git(*arguments: str) -> str:
        return subprocess.check_output(["git", *arguments], cwd=ROOT, text=True).strip()

    return git("rev-parse", "--short=8", "HEAD") + ("+" if git("status", "--porcelain") else "")


def results() -> Iterator[Result]:
    if RESULTS.exists():
        for line in RESULTS.read_text(encoding="utf-8").splitlines():
            yield Result(**json.loads(line))


def run_part(part: str, commit: str) -> Result:
    """Run the tests of one part; what they print goes to `build/soak-PART.log`."""
    command = [sys.executable, "-m", "pytest", "-n", "auto", "-q", "-m", "soak or not soak"]
    command += ["--timeout=7200", "-rfEs", *PARTS[part]]
    log = RESULTS.parent / f"soak-{part}.log"
    log.parent.mkdir(exist_ok=True)
    start = time.monotonic()
    with log.open("w", encoding="utf-8") as output:
        status = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "WHENCE_HYPOTHESIS_PROFILE": "soak"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    minutes = round((time.monotonic() - start) / 60, 1)
    text = log.read_text(encoding="utf-8", errors="replace")
    counts = _COUNTS.findall(text)
    python = ".".join(map(str, sys.version_info[:3]))
    summary = counts[-1] if counts else "no test"
    passed = status == 0 and "passed" in summary
    return Result(part, commit, python, passed, summary, minutes)


def keep(result: Result) -> None:
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(result)) + "\n")


def line(part: str, result: Result | None) -> str:
    if result is None:
        return f"not run  {part}"
    state = "passed" if result.passed else "FAILED"
    at = f"{result.commit}, CPython {result.python}, {result.minutes} min"
    return f"{state:8} {part}: {result.counts} ({at})"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the long tests, part by part.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--list", action="store_true", help="say what has run, and run nothing")
    options = parser.parse_args(arguments)
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    commit = current_commit()
    latest = {result.part: result for result in results()}
    if not options.list:
        for part in options.parts or PARTS:
            before = latest.get(part)
            if options.parts or before is None or not before.passed or before.commit != commit:
                print(f"=== {part} ...", flush=True)
                latest[part] = run_part(part, commit)
                keep(latest[part])
                print(line(part, latest[part]), flush=True)
    print("\n=== summary")
    print("\n".join(line(part, latest.get(part)) for part in PARTS))
    here = [result for result in latest.values() if result.passed and result.commit == commit]
    return int(len(here) < len(PARTS) or commit.endswith("+"))


if __name__ == "__main__":
    sys.exit(main())
