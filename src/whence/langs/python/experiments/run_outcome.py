"""What can be seen of a run, and whether the symptom of the recorded run shows in it.

A test shows its symptom by what pytest reports of it; a program by how it ends and what it prints.

Invariant: addresses and paths do not count. A run is `GONE` only if it is right as far as the
recorded run is wrong; whatever is neither right nor wrong in the same way is `OTHER`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from xml.etree import ElementTree

from whence.langs.python.oracles.recipe_comparison import canonical
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.call_recipes import RecipeSource, place_of
from whence.langs.python.trace.joined_processes import main_process
from whence.regular_files import read_regular_file
from whence.tree.column_tree import ColumnTree

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}|\b\d{9,19}\b")
NOT_ENDED = "it did not end"
PASSED = "passed"


class SymptomState(Enum):
    """Whether the symptom shows in a run."""

    GONE = "gone"
    STILL = "still there"
    OTHER = "something else"


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended, and what it printed."""

    ending: str
    is_right: bool
    """Whether that is the ending of a test that passes, or of a program that ends by itself."""
    lines: tuple[str, ...] = ()
    import_error: str = ""
    """The exception that ended a program, if something could not be imported."""
    problem: str = ""
    """Why nothing can be said of the run."""


def outcome_of_test(report: Path, folders: Sequence[str] = ()) -> RunOutcome:
    """How a test ended, according to the report that pytest wrote as JUnit does."""
    try:
        root = ElementTree.fromstring(read_regular_file(report))
    except (OSError, ElementTree.ParseError):
        return RunOutcome("", False, problem="pytest did not come to its end")
    cases = list(root.iter("testcase"))
    wrong = [part for case in cases for part in case if part.tag in ("failure", "error", "skipped")]
    if not cases:
        return RunOutcome("", False, problem="the test does not run")
    if not wrong:
        return RunOutcome(PASSED, True)
    message = wrong[0].get("message", "")
    return RunOutcome(_plain(f"{wrong[0].tag}: {message}", folders), False)


def outcome_of_program(tree: ColumnTree, folders: Sequence[str] = ()) -> RunOutcome:
    """How a program ended in a run, and what it printed."""
    tree = main_process(tree)
    source = RecipeSource(place_of(tree, 0)[0])
    printed = source.printed_by(tree.details[tree.details >= 0]).get(1, "")
    lines = tuple(_plain(printed, folders).splitlines())
    ended = source.run_ending()
    if ended is None:
        return RunOutcome(NOT_ENDED, False, lines)
    how, value = ended
    text = _plain(f"{how} {canonical(value)}", folders)
    is_missing = how == f.BY_EXCEPTION and re.search(r"\b(Import|ModuleNotFound)Error\b", text)
    return RunOutcome(text, how != f.BY_EXCEPTION, lines, text if is_missing else "")


def _plain(text: str, folders: Sequence[str]) -> str:
    for folder in sorted(folders, key=len, reverse=True):
        text = text.replace(folder, "")
    return _ADDRESS.sub("", text)


@dataclass(frozen=True, slots=True)
class Symptom:
    """What is wrong with the recorded run, as another run shows it or does not."""

    wrong: RunOutcome
    right: RunOutcome

    @property
    def is_visible(self) -> bool:
        """Whether the runs differ in what can be seen."""
        return (self.wrong.ending, self.wrong.lines) != (self.right.ending, self.right.lines)

    def state(self, run: RunOutcome) -> SymptomState:
        """Whether it shows in a run."""
        if run.problem:
            return SymptomState.OTHER
        place = _common(self.wrong.lines, self.right.lines)
        if run.ending == self.right.ending and self._is_right_at(place, run.lines):
            return SymptomState.GONE
        same = run.lines[: place + 1] == self.wrong.lines[: place + 1]
        if run.ending == self.wrong.ending and same:
            return SymptomState.STILL
        return SymptomState.OTHER

    def _is_right_at(self, place: int, lines: Sequence[str]) -> bool:
        """Whether lines are right up to the first one that is wrong in the recorded run."""
        wanted = self.right.lines
        if place >= len(wanted):
            return tuple(lines) == wanted
        return tuple(lines[: place + 1]) == wanted[: place + 1]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))
