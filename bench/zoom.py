"""How many questions it takes to find the statement at fault inside the call at fault.

    python bench/zoom.py [--strategy auto top-down] [--bug knapsack] [--marks]

Every program of `tests/corpus` whose fault is in one statement is run, and the last wrong call of
its function at fault is gone into. The answers are what the repaired twin makes of the same state
(`tests/support/zoom_runs.py`); with `--marks` they say which part is wrong. Printed: how many steps
the calls have, and for each strategy in how many the changed statement was found, and how many
questions that took.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import statistics
import sys
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from bug_corpus import Bug
from zoom_corpus import CHANGED, TWINS, found_line, last_wrong

from whence.search.registry import STRATEGIES


def debugged(bug: Bug, strategies: list[str], marks: bool) -> tuple[int, list[tuple[int, bool]]]:
    """How many steps the call has; for each strategy its questions, and whether it was right."""
    with (
        mock.patch.object(sys, "argv", ["buggy.py", *bug.argv]),
        mock.patch.object(sys, "stdin", sys.stdin),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        intended = last_wrong(bug)
        found = []
        for strategy in strategies:
            debugging, outcome = intended.diagnose(strategy, marks=marks)
            is_right = found_line(intended.tree, outcome) == CHANGED[bug.name]
            found.append((debugging.counts.person, is_right))
    return len(intended.tree.details), found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument(
        "--strategy", nargs="+", choices=tuple(STRATEGIES), default=["auto", "top-down"]
    )
    parser.add_argument("--bug", nargs="+", choices=[bug.name for bug in TWINS])
    parser.add_argument("--marks", action="store_true", help="mark the part that is wrong")
    options = parser.parse_args()
    bugs = [bug for bug in TWINS if not options.bug or bug.name in options.bug]
    done = [debugged(bug, options.strategy, options.marks) for bug in bugs]
    steps = [count for count, _ in done]
    print(
        f"{len(bugs)} programs; steps: {statistics.fmean(steps):.0f} on average, {max(steps)} most"
    )
    for at, strategy in enumerate(options.strategy):
        asked = [found[at][0] for _, found in done]
        right = sum(found[at][1] for _, found in done)
        print(
            f"{strategy}: {right} found; questions: {statistics.fmean(asked):.1f} on average, "
            f"{max(asked)} most"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
