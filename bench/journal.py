"""What a journal costs: microseconds more for each question that a program asks the world.

    python bench/journal.py [--repeat 5]

Each question is asked in a loop, in a program that is recorded without a journal and with one. Told
is the difference in its CPU time; the least of several runs counts for either, since whatever else
the machine does only adds to them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import os, random, sys, time

def asked(question, count):
    began = time.process_time()
    for _ in range(count):
        question()
    return (time.process_time() - began) / count

print(asked(eval("lambda: " + sys.argv[1]), int(sys.argv[2])))
"""
QUESTIONS = {
    "None": 200_000,
    "time.time()": 200_000,
    "id(sys)": 200_000,
    "os.stat('.')": 50_000,
    "open('program.py').close()": 5_000,
    "random.Random()": 5_000,
}


def microseconds(question: str, folder: Path, *options: str) -> float:
    """For one question, in a program that is recorded; what is not asked is not recorded either."""
    words = ["-m", "whence", "record", "--quiet", "--detail", "ids", "--leave-out", "<lambda>"]
    words += [*options, "-o", "run.whence", "program.py", question, str(QUESTIONS[question])]
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, check=True, capture_output=True, timeout=600
    )
    return float(done.stdout) * 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    print("| question | without, µs | with, µs | more, µs |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="whence-") as name:
        folder = Path(name)
        (folder / "program.py").write_text(PROGRAM)
        for question in QUESTIONS:
            plain, noted = (
                min(microseconds(question, folder, *options) for _ in range(repeat))
                for options in ([], ["--journal"])
            )
            more = noted - plain
            print(f"| `{question}` | {plain:.2f} | {noted:.2f} | {more:.2f} |", flush=True)


if __name__ == "__main__":
    main()
