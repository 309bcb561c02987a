"""What the project's tests tell beforehand: `.whence/learned.sqlite`, and a prior made of it.

`whence test --learn` keeps in which tests each function ran and how these ended, what its code was
when a test passed, and which equations occurred in tests that passed. None of it is a verdict: a
test that passes need not look at all that it calls, a function that ran in a failing test only may
be right, and so may one that was changed since. So they order the questions and answer none
(`ports.Prior`).

Functions are weighed by Ochiai's coefficient (Abreu et al. 2007): ef / sqrt(F · (ef + ep)), with F
failing tests, ef of which ran the function as did ep passing ones; the test that is being debugged
counts as failing. A function whose code is not what it was when tests passed has 1, the most.

The file is bounded: of the tests learned first, those are forgotten that are too many.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from whence.errors import WhenceError
from whence.langs.python.source.code_digest import digests_of
from whence.langs.python.trace.equation_digest import EquationDigests, NoEquationDigest
from whence.langs.python.trace.trace_format import mix
from whence.langs.python.trace.trace_scan import UNIQUE
from whence.model.call import Function
from whence.ports import Floats, Tree
from whence.tree.column_tree import ColumnTree

FILE = "learned.sqlite"
_VERSION = 2
_MOST_TESTS = 20_000
_MOST_EQUATIONS = 500_000
_MOST_READ = 5_000
"""So many equations of a recording are looked up."""
_SEEN = 0.2
"""A call whose equation occurred in a passing test is so much less likely to be at fault."""
_UNCHANGED = 0.1
"""So is code that is what it was when the very test passed that fails now, if other is not."""
_TEST_CODE = 0.25
"""So is the code of the test itself, which ran in no other one."""
_BATCH = 500
Digests = dict[int, str]
"""By the equation within one recording that which is the same in every run."""
_TABLES = """
CREATE TABLE IF NOT EXISTS tests (id INTEGER PRIMARY KEY, name TEXT UNIQUE, passed INTEGER);
CREATE TABLE IF NOT EXISTS functions (id INTEGER PRIMARY KEY, name TEXT UNIQUE, code TEXT);
CREATE TABLE IF NOT EXISTS ran (
    function INTEGER, test INTEGER, PRIMARY KEY (function, test)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS equations (
    digest TEXT, test INTEGER, PRIMARY KEY (digest, test)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ran_in ON ran (test);
CREATE INDEX IF NOT EXISTS seen_in ON equations (test);
"""
_DROPPED = "".join(
    f"DROP TABLE IF EXISTS {name};" for name in ("tests", "functions", "ran", "equations")
)


@dataclass(frozen=True, slots=True)
class Spectrum:
    """In how many tests that passed, and that failed, a function ran."""

    passing: int
    failing: int


@dataclass(frozen=True, slots=True)
class Amount:
    """How much is known."""

    passing: int
    failing: int
    functions: int
    equations: int


class LearnedStore:
    """The file. It is data: nothing that is in it is ever run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._told():
            self._database = sqlite3.connect(path, timeout=30)
            try:
                self._prepare()
            except BaseException:
                self._database.close()
                raise

    def _prepare(self) -> None:
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version > _VERSION:
            raise WhenceError(
                f"{self.path}: was written by a later version of whence; remove it and learn again"
            )
        old = _DROPPED if version < _VERSION else ""
        self._database.executescript(f"{old} {_TABLES} PRAGMA user_version = {_VERSION};")

    def keep(self) -> None:
        """All that was learned is in the file, whatever happens."""
        with self._told():
            self._database.commit()

    def close(self) -> None:
        """Keep it, and be done."""
        try:
            self.keep()
        finally:
            self._database.close()

    def learn(
        self,
        test: str,
        passed: bool,
        functions: Mapping[str, str | None],
        equations: Iterable[str],
    ) -> None:
        """What one test did, in place of what was known of it; `keep` writes it to the file.

        `functions` are those that ran, each with the digest of its code if that is known.
        """
        with self._told(), self._all_or_nothing() as database:
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
            if passed:
                database.executemany(
                    "UPDATE functions SET code = ? WHERE name = ? AND code IS NOT ?",
                    [(code, name, code) for name, code in functions.items()],
                )
            database.executemany(
                "INSERT OR IGNORE INTO equations VALUES (?, ?)",
                [(digest, number) for digest in equations],
            )

    def trim(self, tests: int = _MOST_TESTS, equations: int = _MOST_EQUATIONS) -> None:
        """Forget the tests that were learned first, as long as there is too much."""
        with self._told():
            database = self._database
            old = database.execute(
                "SELECT id FROM tests ORDER BY id DESC LIMIT -1 OFFSET ?", (tests,)
            )
            self._forget(database, old)
            (count,) = database.execute("SELECT count(*) FROM equations").fetchone()
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
        counted = (
            "count(*) FROM tests WHERE passed",
            "count(*) FROM tests WHERE NOT passed",
            "count(*) FROM functions",
            "count(DISTINCT digest) FROM equations",
        )
        with self._told():
            rows = [self._database.execute(f"SELECT {each}").fetchone() for each in counted]
        return Amount(*(count for (count,) in rows))

    def failing(self, besides: str) -> int:
        """How many other tests failed."""
        with self._told():
            (count,) = self._database.execute(
                "SELECT count(*) FROM tests WHERE NOT passed AND name != ?", (besides,)
            ).fetchone()
        return int(count)

    def has_passed(self, test: str) -> bool:
        """Whether a test passed when it was learned from."""
        with self._told():
            found = self._database.execute("SELECT passed FROM tests WHERE name = ?", (test,))
            return bool(found.fetchone() == (1,))

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

    def codes(self) -> dict[str, str]:
        """For each function the digest of its code when a test with it passed."""
        with self._told():
            return dict(
                self._database.execute("SELECT name, code FROM functions WHERE code IS NOT NULL")
            )

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
    def _all_or_nothing(self) -> Iterator[sqlite3.Connection]:
        """Ctrl-C may come in between, and what is there is kept all the same."""
        database = self._database
        if not database.in_transaction:
            database.execute("BEGIN")  # else the end of the savepoint would write to the disk
        database.execute("SAVEPOINT test")
        try:
            yield database
        except BaseException:
            database.execute("ROLLBACK TO test")
            raise
        finally:
            database.execute("RELEASE test")

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as problem:
            raise WhenceError(
                f"{self.path}: what was learned from tests cannot be read or written ({problem}); "
                "if it is damaged, remove it and learn again"
            ) from problem


# --- equations -----------------------------------------------------------------------------------


def digests(tree: ColumnTree, project: Path, most: int, functions: Collection[int]) -> Digests:
    """For the first equations of some functions their digests, where all of them is known."""
    known, columns = EquationDigests(tree, project), tree.columns
    chosen = np.isin(columns.function, list(functions))
    # A call of which something was cut off has an equation of its own.
    whole = columns.equation.view(np.uint64) != _equation_of_its_own(tree)
    positions = np.flatnonzero(chosen & whole)
    _, first = np.unique(columns.equation[positions], return_index=True)
    found: Digests = {}
    for position in positions[np.sort(first)[:most]].tolist():
        with contextlib.suppress(NoEquationDigest, WhenceError):
            found[int(columns.equation[position])] = known.of(position)[1]
    return found


def _equation_of_its_own(tree: ColumnTree) -> npt.NDArray[np.uint64]:
    """By position, what a scan gives a call that no other one can be known to equal."""
    ids = np.arange(len(tree.columns)) + tree.first_id if tree.ids is None else tree.ids
    words: Any = ids.astype(np.uint64)  # all at once: arithmetic of 64 bits wraps around by itself
    return cast("npt.NDArray[np.uint64]", mix(UNIQUE, words))


class Compiled:
    """The digests of the code of functions, as their files are now. Each file is read once."""

    def __init__(self) -> None:
        self._files: dict[str, dict[str, str]] = {}

    def of(self, function: Function) -> str | None:
        """That of one function, where it is known."""
        if function.location is None:
            return None
        file = function.location.file
        if file not in self._files:
            self._files[file] = digests_of(file)
        return self._files[file].get(function.qualname)


def name_of(function: Function) -> str:
    """A function as it is known in every run."""
    return f"{function.module}.{function.qualname}"


# --- the prior -----------------------------------------------------------------------------------


class LearnedPrior:
    """What was learned, as factors for a tree. Implements `whence.ports.Prior`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: tuple[Tree, Floats] | None = None
        self.changed: tuple[str, ...] = ()
        """After `factors`: the functions whose code is not what it was when tests passed."""

    def factors(self, tree: Tree) -> Floats:
        """Each call's factor, by its function and by its equation."""
        if self._known is None or self._known[0] is not tree:
            self._known = tree, self._factors(tree)
        return self._known[1]

    def _factors(self, tree: Tree) -> Floats:
        test = tree.functions[0].name
        learned = LearnedStore(self._path)
        try:
            spectra = learned.spectra(test)
            of_function = _ochiai(tree, spectra, learned.failing(test), test)
            changed = _changed(tree, learned.codes(), test)
            self.changed = tuple(tree.functions[number].qualname for number in changed)
            if changed and learned.has_passed(test):
                of_function *= _UNCHANGED
            of_function[changed] = 1.0
            factors: Floats = of_function[tree.columns.function]
            if isinstance(tree, ColumnTree):
                self._seen(tree, learned, spectra, factors)
        finally:
            learned.close()
        return factors

    def _seen(
        self, tree: ColumnTree, learned: LearnedStore, spectra: dict[str, Spectrum], factors: Floats
    ) -> None:
        """Calls whose equations occurred in passing tests are less likely."""
        passing = [
            number
            for number, function in enumerate(tree.functions)
            if function.location is not None and name_of(function) in spectra
            and spectra[name_of(function)].passing
        ]  # fmt: skip
        known = digests(tree, self._path.parent.parent, _MOST_READ, passing)
        seen = learned.seen(known.values())
        equations = [equation for equation, digest in known.items() if digest in seen]
        factors[np.isin(tree.columns.equation, equations)] *= _SEEN


def _changed(tree: Tree, codes: Mapping[str, str], test: str) -> list[int]:
    """The numbers of the functions whose code is not what it was when tests passed.

    Those of the test are left out: it is its author's word that it is right.
    """
    now = Compiled()
    found = []
    for number, function in enumerate(tree.functions):
        then, code = codes.get(name_of(function)), now.of(function)
        known = then and code and code.split()[0] == then.split()[0]
        if known and code != then and not _is_of(test, function):
            found.append(number)
    return found


def _is_of(test: str, function: Function) -> bool:
    """Whether a function stands in the file of a test."""
    file = test.partition("::")[0] if "::" in test else ""
    return bool(file and function.location and Path(function.location.file).match(file))


def _ochiai(tree: Tree, spectra: dict[str, Spectrum], failing: int, test: str) -> Floats:
    """By function. What is not of the program (the run, what was not recorded) has 1."""
    factors = np.ones(len(tree.functions))
    for number, function in enumerate(tree.functions):
        if function.location is None:
            continue
        ran = spectra.get(name_of(function), Spectrum(0, 0))
        failed = ran.failing + 1  # and the test that is looked at
        factors[number] = failed / sqrt((failing + 1) * (failed + ran.passing))
        if _is_of(test, function):
            factors[number] *= _TEST_CODE
    return factors
