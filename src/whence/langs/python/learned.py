"""What the project's tests tell beforehand: `.whence/learned.sqlite`, and a prior made of it.

`whence test --learn` keeps in which tests each function ran and how these ended, and which
equations occurred in tests that passed. Neither is a verdict: a test that passes need not look at
all that it calls, and a function that ran in a failing test only may be right. So they order the
questions and answer none (`ports.Prior`).

Functions are weighed by Ochiai's coefficient (Abreu et al. 2007): ef / sqrt(F · (ef + ep)), with F
failing tests, ef of which ran the function as did ep passing ones; the test that is being debugged
counts as failing.

The file is bounded: of the tests learned first, those are forgotten that are too many.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

import numpy as np

from whence.errors import WhenceError
from whence.langs.python.recordings import folder
from whence.langs.python.trace.equations import Equations, NotKnown
from whence.langs.python.trace.format import mix
from whence.langs.python.trace.opening import open_trace
from whence.langs.python.trace.scan import UNIQUE
from whence.model.call import Function
from whence.ports import Floats, Tree
from whence.tree.memory import ColumnTree

FILE = "learned.sqlite"
_VERSION = 1
_MOST_TESTS = 20_000
_MOST_EQUATIONS = 500_000
_MOST_OF_TEST = 500
"""So many equations of one test are kept."""
_MOST_READ = 5_000
"""So many equations of a recording are looked up."""
_SEEN = 0.2
"""A call whose equation occurred in a passing test is so much less likely to be at fault."""
_TEST_CODE = 0.25
"""So is the code of the test itself, which ran in no other one."""
_BATCH = 500
Digests = dict[int, str]
"""By the equation within one recording that which is the same in every run."""
_TABLES = """
CREATE TABLE IF NOT EXISTS tests (id INTEGER PRIMARY KEY, name TEXT UNIQUE, passed INTEGER);
CREATE TABLE IF NOT EXISTS functions (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE IF NOT EXISTS ran (
    function INTEGER, test INTEGER, PRIMARY KEY (function, test)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS equations (
    digest TEXT, test INTEGER, PRIMARY KEY (digest, test)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ran_in ON ran (test);
CREATE INDEX IF NOT EXISTS seen_in ON equations (test);
"""


@dataclass(frozen=True, slots=True)
class Spectrum:
    """In how many tests that passed, and that failed, a function ran."""

    passing: int
    failing: int


@dataclass(frozen=True, slots=True)
class Amount:
    """How much was learned."""

    passing: int
    failing: int
    functions: int
    equations: int


class Learned:
    """The file. It is data: nothing that is in it is ever run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._told():
            self._database = sqlite3.connect(path, timeout=30)
            (version,) = self._database.execute("PRAGMA user_version").fetchone()
            if version not in (0, _VERSION):
                raise WhenceError(
                    f"{path}: was written by another version of whence; remove it and learn again"
                )
            self._database.executescript(f"{_TABLES} PRAGMA user_version = {_VERSION};")

    def close(self) -> None:
        """All that was learned is in the file."""
        self._database.close()

    def learn(
        self, test: str, passed: bool, functions: Iterable[str], equations: Iterable[str]
    ) -> None:
        """What one test did, in place of what was known of it."""
        with self._told(), self._database as database:
            self._forget(database, database.execute("SELECT id FROM tests WHERE name = ?", (test,)))
            number = database.execute(
                "INSERT INTO tests (name, passed) VALUES (?, ?)", (test, int(passed))
            ).lastrowid
            names = [(name,) for name in functions]
            database.executemany("INSERT OR IGNORE INTO functions (name) VALUES (?)", names)
            database.executemany(
                "INSERT OR IGNORE INTO ran SELECT id, ? FROM functions WHERE name = ?",
                [(number, name) for (name,) in names],
            )
            database.executemany(
                "INSERT OR IGNORE INTO equations VALUES (?, ?)",
                [(digest, number) for digest in equations],
            )

    def trim(self, tests: int = _MOST_TESTS, equations: int = _MOST_EQUATIONS) -> None:
        """Forget the tests that were learned first, as long as there is too much."""
        with self._told(), self._database as database:
            old = database.execute(
                "SELECT id FROM tests ORDER BY id DESC LIMIT -1 OFFSET ?", (tests,)
            )
            self._forget(database, old)
            count = self.amount().equations
            for (number,) in database.execute("SELECT id FROM tests ORDER BY id").fetchall():
                if count <= equations:
                    break
                gone = database.execute("DELETE FROM equations WHERE test = ?", (number,))
                count -= gone.rowcount

    @staticmethod
    def _forget(database: sqlite3.Connection, tests: Iterable[tuple[int]]) -> None:
        for number in list(tests):
            database.execute("DELETE FROM ran WHERE test = ?", number)
            database.execute("DELETE FROM equations WHERE test = ?", number)
            database.execute("DELETE FROM tests WHERE id = ?", number)

    def amount(self) -> Amount:
        """How much is known."""
        with self._told():
            return Amount(
                *(
                    self._database.execute(f"SELECT count(*) FROM {what}").fetchone()[0]
                    for what in (
                        "tests WHERE passed", "tests WHERE NOT passed", "functions", "equations",
                    )
                )
            )  # fmt: skip

    def failing(self, besides: str) -> int:
        """How many other tests failed."""
        with self._told():
            (count,) = self._database.execute(
                "SELECT count(*) FROM tests WHERE NOT passed AND name != ?", (besides,)
            ).fetchone()
        return int(count)

    def spectra(self, besides: str) -> dict[str, Spectrum]:
        """For each function in how many other tests it ran."""
        with self._told():
            rows = self._database.execute(
                "SELECT functions.name, sum(passed), sum(NOT passed) FROM ran "
                "JOIN functions ON functions.id = ran.function JOIN tests ON tests.id = ran.test "
                "WHERE tests.name != ? GROUP BY functions.id",
                (besides,),
            ).fetchall()
        return {name: Spectrum(passing, failing) for name, passing, failing in rows}

    def seen(self, digests: Iterable[str]) -> set[str]:
        """Those of the equations that occurred in a test that passed."""
        wanted = list(digests)
        found: set[str] = set()
        with self._told():
            for start in range(0, len(wanted), _BATCH):
                some = wanted[start : start + _BATCH]
                marks = ", ".join("?" * len(some))
                rows = self._database.execute(
                    "SELECT DISTINCT digest FROM equations JOIN tests ON tests.id = test "
                    f"WHERE passed AND digest IN ({marks})",
                    some,
                )
                found.update(digest for (digest,) in rows)
        return found

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as problem:
            raise WhenceError(
                f"{self.path}: what was learned from tests cannot be read or written ({problem}); "
                "if it is damaged, remove it and learn again"
            ) from problem


# --- learning ------------------------------------------------------------------------------------


def learn_from(
    recordings: Path,
    start: Path | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> tuple[Path, Amount]:
    """Learn from the recordings that the plugin left in a folder; where it is kept, how much.

    `progress` is told how many tests are done, and of how many.
    """
    project = folder(start)
    learned = Learned(project / FILE)
    amount = [0, 0]
    functions: set[str] = set()
    equations: set[str] = set()
    try:
        lists = [each.read_text(encoding="utf-8") for each in sorted(recordings.glob("*.jsonl"))]
        lines = [line for text in lists for line in text.splitlines()]
        for done, line in enumerate(lines):
            progress(done, len(lines))
            told = json.loads(line)
            tree = open_trace(recordings / told["file"])
            ran = {_name(each) for each in tree.functions[1:] if each.location is not None}
            every = range(1, len(tree.functions)) if told["passed"] else ()
            known = digests(tree, project.parent, _MOST_OF_TEST, every)
            learned.learn(told["test"], told["passed"], ran, set(known.values()))
            amount[not told["passed"]] += 1
            functions |= ran
            equations.update(known.values())
        learned.trim()
    finally:
        learned.close()
    return learned.path, Amount(amount[0], amount[1], len(functions), len(equations))


def digests(tree: ColumnTree, project: Path, most: int, functions: Collection[int]) -> Digests:
    """For the first equations of some functions their digests, where all of them is known."""
    known, columns = Equations(tree, project), tree.columns
    positions = np.flatnonzero(np.isin(columns.function, list(functions)))
    found: Digests = {}
    seen: set[int] = set()
    for position in positions.tolist():
        equation = int(columns.equation[position])
        # A call of which something was cut off has an equation of its own.
        if equation in seen or equation % 2**64 == mix(UNIQUE, tree.id(position)):
            continue
        seen.add(equation)
        if len(seen) > most:
            break
        with contextlib.suppress(NotKnown, WhenceError):
            found[equation] = known.of(position)[1]
    return found


def _name(function: Function) -> str:
    """A function as it is known in every run."""
    return f"{function.module}.{function.qualname}"


# --- the prior -----------------------------------------------------------------------------------


class LearnedPrior:
    """What was learned, as factors for a tree. Implements `whence.ports.Prior`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: tuple[Tree, Floats] | None = None

    def factors(self, tree: Tree) -> Floats:
        """Each call's factor, by its function and by its equation."""
        if self._known is None or self._known[0] is not tree:
            self._known = tree, self._factors(tree)
        return self._known[1]

    def _factors(self, tree: Tree) -> Floats:
        test = tree.functions[0].name
        learned = Learned(self._path)
        try:
            spectra = learned.spectra(test)
            of_function = _ochiai(tree, spectra, learned.failing(test), test)
            factors: Floats = of_function[tree.columns.function]
            if isinstance(tree, ColumnTree):
                self._seen(tree, learned, spectra, factors)
        finally:
            learned.close()
        return factors

    def _seen(
        self, tree: ColumnTree, learned: Learned, spectra: dict[str, Spectrum], factors: Floats
    ) -> None:
        """Calls whose equations occurred in passing tests are less likely."""
        passing = [
            number
            for number, function in enumerate(tree.functions)
            if function.location is not None and _name(function) in spectra
            and spectra[_name(function)].passing
        ]  # fmt: skip
        known = digests(tree, self._path.parent.parent, _MOST_READ, passing)
        seen = learned.seen(known.values())
        equations = [equation for equation, digest in known.items() if digest in seen]
        factors[np.isin(tree.columns.equation, equations)] *= _SEEN


def _ochiai(tree: Tree, spectra: dict[str, Spectrum], failing: int, test: str) -> Floats:
    """By function. What is not of the program (the run, what was not recorded) has 1."""
    factors = np.ones(len(tree.functions))
    file = test.partition("::")[0] if "::" in test else ""
    for number, function in enumerate(tree.functions):
        if function.location is None:
            continue
        ran = spectra.get(_name(function), Spectrum(0, 0))
        failed = ran.failing + 1  # and the test that is looked at
        factors[number] = failed / sqrt((failing + 1) * (failed + ran.passing))
        if file and Path(function.location.file).match(file):
            factors[number] *= _TEST_CODE
    return factors
