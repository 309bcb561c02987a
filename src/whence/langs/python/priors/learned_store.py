"""What is learned from the project's tests: the file `.whence/learned.sqlite`.

`whence test --learn` stores which functions ran in which tests and how these ended, the digest of
each function's code when a test passed, and which equations occurred in passing tests.

The file is bounded: the tests learned first are forgotten first.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from whence.errors import WhenceError
from whence.user_folders import open_private_file

FILE = "learned.sqlite"
_VERSION = 2
_MOST_TESTS = 20_000
_MOST_EQUATIONS = 500_000
_BATCH = 500
_STEPS = 1_000_000
_MOST_STEPS = 500
"""How many times a million steps of SQLite reading may take."""
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
    """How much was learned."""

    passing: int
    failing: int
    functions: int
    equations: int


class LearnedStore:
    """The open file. It holds data only; nothing in it is ever run."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """`read_only`: it may come with a cloned repository, so nothing in it is trusted."""
        self.path = path
        self._read_only = read_only
        self._steps = 0
        with self._explaining_errors():
            if not read_only:
                flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
                os.close(open_private_file(path, flags))
            if not path.is_file():  # SQLite would wait for a FIFO
                raise WhenceError(f"{path}: is no regular file; remove it and learn again")
            mode = "ro" if read_only else "rwc"
            address = f"file:{quote(os.fsencode(path.absolute()))}?mode={mode}"
            self._database = sqlite3.connect(address, timeout=30, uri=True)
            try:
                self._database.execute("PRAGMA trusted_schema = OFF")
                self._database.set_progress_handler(self._is_too_long, _STEPS)
                self._prepare()
            except BaseException:
                self._database.close()
                raise

    def _is_too_long(self) -> bool:
        """Whether queries took so many steps that the file cannot be one of ours."""
        self._steps += 1
        return self._read_only and self._steps > _MOST_STEPS

    def _check_schema(self) -> None:
        """Refuse a file that has more than tables and indexes: a view may never end."""
        other = "SELECT name FROM sqlite_schema WHERE type NOT IN ('table', 'index') LIMIT 1"
        if self._database.execute(other).fetchone() is not None:
            raise WhenceError(f"{self.path}: was not written by whence; remove it and learn again")

    def _prepare(self) -> None:
        self._check_schema()
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version > _VERSION:
            raise WhenceError(
                f"{self.path}: was written by a later version of whence; remove it and learn again"
            )
        if self._read_only:
            if version < _VERSION:
                raise WhenceError(
                    f"{self.path}: was written by an earlier version of whence; learn again"
                )
            self._database.execute("PRAGMA query_only = ON")
            return
        old = _DROPPED if version < _VERSION else ""
        self._database.executescript(f"{old} {_TABLES} PRAGMA user_version = {_VERSION};")

    def keep(self) -> None:
        """Commit what was learned."""
        with self._explaining_errors():
            self._database.commit()

    def close(self) -> None:
        """Commit and close."""
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
        """Replace what is stored about one test; `keep` commits it.

        `functions` maps each function that ran to the digest of its code, if known.
        """
        with self._explaining_errors(), self._all_or_nothing() as database:
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
        """Forget the tests that were learned first until the bounds hold."""
        with self._explaining_errors():
            database = self._database
            oldest = "SELECT id FROM tests ORDER BY id DESC LIMIT -1 OFFSET ?"
            self._forget(database, database.execute(oldest, (tests,)))
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
        """How much was learned."""
        counted = (
            "count(*) FROM tests WHERE passed",
            "count(*) FROM tests WHERE NOT passed",
            "count(*) FROM functions",
            "count(DISTINCT digest) FROM equations",
        )
        return Amount(*(self._select(query)[0][0] for query in counted))

    def failing(self, besides: str) -> int:
        """How many other tests failed."""
        query = "count(*) FROM tests WHERE NOT passed AND name != ?"
        return int(self._select(query, besides)[0][0])

    def has_passed(self, test: str) -> bool:
        """Whether a test passed when it was learned."""
        return self._select("passed FROM tests WHERE name = ?", test) == [(1,)]

    def spectra(self, besides: str) -> dict[str, Spectrum]:
        """In how many other tests each function ran."""
        rows = self._select(
            "functions.name, sum(passed), sum(NOT passed) FROM ran "
            "JOIN functions ON functions.id = ran.function JOIN tests ON tests.id = ran.test "
            "WHERE tests.name != ? GROUP BY functions.id",
            besides,
        )
        return {name: Spectrum(passing, failing) for name, passing, failing in rows}

    def codes(self) -> dict[str, str]:
        """The digest of each function's code when a test with it passed."""
        return dict(self._select("name, code FROM functions WHERE code IS NOT NULL"))

    def seen(self, digests: Iterable[str]) -> set[str]:
        """Those of the equations that occurred in a passing test."""
        wanted = list(digests)
        matches: set[str] = set()
        for start in range(0, len(wanted), _BATCH):
            batch = wanted[start : start + _BATCH]
            marks = ", ".join("?" * len(batch))
            joined = "DISTINCT digest FROM equations JOIN tests ON tests.id = test"
            rows = self._select(f"{joined} WHERE passed AND digest IN ({marks})", *batch)
            matches.update(digest for (digest,) in rows)
        return matches

    def _select(self, query: str, *values: str) -> list[Any]:
        with self._explaining_errors():
            return self._database.execute(f"SELECT {query}", values).fetchall()

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[sqlite3.Connection]:
        """A savepoint, so that Ctrl-C in between leaves whole tests."""
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
    def _explaining_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as problem:
            raise WhenceError(
                f"{self.path}: what was learned from tests cannot be read or written ({problem}); "
                "if it is damaged, remove it and learn again"
            ) from problem
