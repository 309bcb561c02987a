"""What is known of each function that ran in a failed test, before anybody judges a call.

Gathers facts only: from the lines that the test and its witnesses ran, from the recorded tree, from
the exception and from the names in the test. `suspicion` weighs them. Functions of test code are
left out. Comprehensions and lambdas belong to the function around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np

from whence.langs.python.priors.import_presumption import ImportPresumption
from whence.langs.python.trace.assertion_operands import trace_operand
from whence.langs.python.witnesses.witness_request import Code
from whence.langs.python.witnesses.witness_run import RanLines
from whence.model.call import OutcomeKind
from whence.model.symptom import Symptom
from whence.ports import Presumed, Tree
from whence.tree.column_tree import ColumnTree

_LOCALS = ".<locals>"
_INSIDE = re.compile(r"(\.<locals>)?\.<(listcomp|setcomp|dictcomp|genexpr|lambda)>")
_MODULE = "<module>"
_TEST_FOLDERS = {"test", "tests", "testing", "bip_tests"}
_TEST_FILE = re.compile(r"(test_.*|.*_tests?|tests?_.*|conftest|tests?)\.py")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_NOT_TELLING = {
    "test",
    "tests",
    "testing",
    "case",
    "self",
    "get",
    "set",
    "is",
    "to",
    "of",
    "the",
    "a",
}


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A function by its file and its qualified name, without `<locals>`."""

    file: str
    qualname: str

    @property
    def name(self) -> str:
        """The last part of the qualified name."""
        return self.qualname.rpartition(".")[2]

    @property
    def owner(self) -> str:
        """The class or function around it; empty for a function of a module."""
        return self.qualname.rpartition(".")[0]


@dataclass(slots=True)
class Evidence:
    """The facts about one function."""

    place: Place
    line: int | None = None
    last_line: int | None = None
    lines: int = 0
    """How many of its lines the test ran; 0 if that is not known."""
    passing: int | None = None
    """How many passing tests ran the line of it that fewest of them ran; None without witnesses."""
    passing_calls: int = 0
    """How many passing tests ran any of it."""
    new_lines: int = 0
    """How many lines no passing test ran."""
    rarest: int | None = None
    """The line that fewest passing tests ran."""
    stack: int | None = None
    """How many frames of the program are below it on the stack of the exception."""
    raised: bool = False
    """Whether an exception left a call of it."""
    depth: int | None = None
    """How many calls of the program lie between the test and its nearest call; 0: none."""
    operand: int | None = None
    """How many calls of the program lie between it and the nearest call that made an operand of the
    failed assertion; 0: a call of it made one."""
    calls: int = 0
    last: float = 0.0
    """Where its last call is among all calls of the test: 1 is the end."""
    named: float = 0.0
    """How much of its name is in the name of the test."""
    only_imports: bool = False
    """Whether it ran only while modules were imported."""
    lacks: str = ""
    """What the exception says that it, or its class, does not have."""
    changed: bool = False
    """Whether it changed since the last commit, or since tests passed."""
    days_old: float | None = None
    """How long ago the newest of its lines was committed."""
    positions: list[int] = field(default_factory=list)
    """Where its calls are in the tree, the first of them."""

    def facts(self) -> dict[str, object]:
        """All but where it is, for tools."""
        left_out = ("place", "line", "positions")
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in left_out}


_MOST_POSITIONS = 200


def place_of(file: str, qualname: str) -> Place:
    """The function that some code belongs to."""
    name = _INSIDE.sub("", qualname)
    name = _MODULE if name.startswith("<") else name.replace(_LOCALS, "")
    return Place(file, name)


def is_test_code(file: str, root: Path, test_file: Path) -> bool:
    """Whether a file holds tests, or what tests use."""
    path = Path(file)
    if path == test_file or _TEST_FILE.fullmatch(path.name):
        return True
    if not path.is_relative_to(root):
        return False
    return any(part in _TEST_FOLDERS for part in path.relative_to(root).parts[:-1])


class EvidenceGathering:
    """Collects the facts about the functions of one failed test."""

    def __init__(self, tree: Tree, root: Path, lines: RanLines, symptom: Symptom | None) -> None:
        self._tree, self._root, self._lines, self._symptom = tree, root, lines, symptom
        self._test = test = tree.functions[0].name
        self._test_file = root / test.partition("::")[0]
        self._of: dict[Place, Evidence] = {}
        self._functions: list[Evidence | None] = []
        """By the number of a function in the tree."""
        self._depths: list[int] = []
        """For each call, how many calls of the program are above it."""

    def gathered(self) -> list[Evidence]:
        """The facts about every function that ran and is no test."""
        self._add_calls()
        self._add_operands()
        self._add_lines()
        self._add_stack()
        self._add_names()
        return list(self._of.values())

    def _evidence(self, place: Place, line: int | None) -> Evidence | None:
        if is_test_code(place.file, self._root, self._test_file):
            return None
        found = self._of.get(place)
        if found is None:
            found = self._of[place] = Evidence(place, line)
        if line is not None and place.name != _MODULE:
            found.line = line if found.line is None else min(found.line, line)
        return found

    # --- the tree ------------------------------------------------------------------------------

    def _add_calls(self) -> None:
        tree, columns = self._tree, self._tree.columns
        functions = self._functions = [
            None
            if function.location is None
            else self._evidence(
                place_of(function.location.file, function.qualname), function.location.line
            )
            for function in tree.functions
        ]
        in_program = np.array([evidence is not None for evidence in functions], dtype=bool)
        depths = self._depths = self._program_depths(in_program)
        imported = ImportPresumption().presumed(tree) != Presumed.NOT
        raised = columns.outcome == OutcomeKind.RAISED
        count = max(1, len(columns) - 1)
        not_imported: set[Place] = set()
        for position, number in enumerate(columns.function.tolist()):
            evidence = functions[number]
            if evidence is None:
                continue
            evidence.calls += 1
            if len(evidence.positions) < _MOST_POSITIONS:
                evidence.positions.append(position)
            if imported[position]:
                continue
            not_imported.add(evidence.place)
            evidence.last = max(evidence.last, position / count)
            evidence.raised |= bool(raised[position])
            depth = int(depths[position])
            evidence.depth = depth if evidence.depth is None else min(depth, evidence.depth)
        for evidence in self._of.values():
            evidence.only_imports = evidence.calls > 0 and evidence.place not in not_imported

    def _add_operands(self) -> None:
        """How far each function is below the calls that made the operands of the assertion."""
        tree, columns, symptom = self._tree, self._tree.columns, self._symptom
        if symptom is None or symptom.assertion is None or not isinstance(tree, ColumnTree):
            return
        for operand in symptom.assertion.operands:
            made = trace_operand(tree, symptom, operand).position
            if made is None:
                continue
            for position in range(made, int(columns.end[made])):
                evidence = self._functions[int(columns.function[position])]
                if evidence is not None:
                    depth = self._depths[position] - self._depths[made]
                    if evidence.operand is None or depth < evidence.operand:
                        evidence.operand = depth

    def _program_depths(self, in_program: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[int]:
        """For each call, how many calls of the program are above it."""
        columns = self._tree.columns
        is_program = in_program[columns.function].tolist()
        depths: list[int] = []
        for parent in columns.parent.tolist():
            depths.append(0 if parent < 0 else depths[parent] + is_program[parent])
        return depths

    # --- the lines -----------------------------------------------------------------------------

    def _add_lines(self) -> None:
        failed = self._lines.failed
        if failed is None:
            return
        codes = self._lines.codes
        passing: dict[tuple[str, int], int] = {}
        tests_of: dict[Place, int] = {}
        for test in self._lines.passing:
            ran: set[tuple[str, int]] = set()
            places = set()
            for number, lines in test.ran:
                ran.update((codes[number].file, line) for line in lines)
                places.add(place_of(codes[number].file, codes[number].qualname))
            for key in ran:
                passing[key] = passing.get(key, 0) + 1
            for place in places:
                tests_of[place] = tests_of.get(place, 0) + 1
        for code, lines in ((codes[number], lines) for number, lines in failed.ran):
            evidence = self._evidence(place_of(code.file, code.qualname), code.first_line)
            if evidence is not None:
                self._count(evidence, code, lines, passing)
                evidence.passing_calls = tests_of.get(evidence.place, 0)

    def _count(
        self, evidence: Evidence, code: Code, lines: Iterable[int],
        passing: dict[tuple[str, int], int],
    ) -> None:  # fmt: skip
        last = max(code.lines, default=code.first_line)
        evidence.last_line = max(last, evidence.last_line or last)
        for line in lines:
            count = passing.get((code.file, line), 0)
            evidence.lines += 1
            evidence.new_lines += count == 0
            if self._lines.passing and (evidence.passing is None or count < evidence.passing):
                evidence.passing, evidence.rarest = count, line

    # --- the exception -------------------------------------------------------------------------

    def _add_stack(self) -> None:
        failed = self._lines.failed
        if failed is None:
            return
        distance = 0
        for frame in reversed(failed.stack):
            if not frame.is_user:
                continue
            if is_test_code(frame.file, self._root, self._test_file):
                break  # what called the test, or was called back from it, did not raise
            evidence = self._evidence(place_of(frame.file, frame.qualname), None)
            if evidence is not None and evidence.stack is None:
                evidence.stack = distance
            distance += 1
        self._add_missing(failed.error, failed.message)

    def _add_missing(self, error: str, message: str) -> None:
        """The class that lacks the attribute which the exception names, and its constructor."""
        match = _NO_ATTRIBUTE.match(message) if error == "AttributeError" else None
        if match is None:
            return
        owner, attribute = match[1], match[2]
        files = {
            place.file for place in self._of if place.qualname.split(".")[0] == owner
        } or self._files_with(owner)
        for file in sorted(files):
            if (found := self._evidence(Place(file, owner), None)) is not None:
                found.lacks = attribute
            constructor = self._of.get(Place(file, f"{owner}.__init__"))
            if constructor is not None:
                constructor.lacks = attribute

    def _files_with(self, owner: str) -> set[str]:
        """The files of the program that ran and define a class."""
        definition = re.compile(rf"^class {re.escape(owner)}\b", re.MULTILINE)
        matches = set()
        for file in {place.file for place in self._of}:
            try:
                text = Path(file).read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            if definition.search(text):
                matches.add(file)
        return matches

    # --- the names -----------------------------------------------------------------------------

    def _add_names(self) -> None:
        file, _, name = self._test.partition("::")
        of_test = set(_parts(name.partition("[")[0]))
        of_all = of_test | set(_parts(Path(file).stem))
        for evidence in self._of.values():
            parts = list(_parts(evidence.place.name))
            if not parts or evidence.place.name.startswith("<"):
                continue
            share = sum(part in of_test for part in parts) / len(parts)
            owner = set(_parts(evidence.place.owner or Path(evidence.place.file).stem))
            shared_owner = len(owner & of_all) / len(owner) if owner else 0.0
            evidence.named = share + shared_owner / 2


_NO_ATTRIBUTE = re.compile(r"(?:type object )?'(\w+)'(?: object)? has no attribute '(\w+)'")


def _parts(name: str) -> Iterator[str]:
    """The words of a name, in lower case, without those that tell nothing."""
    for part in _PART.findall(name):
        if part.lower() not in _NOT_TELLING:
            yield part.lower()
