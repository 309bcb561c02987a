"""The answers that a project remembers: `.whence/answers.jsonl`, made to be committed and reviewed.

One JSON object a line: what was said of a call, by whom, when; the call as a text for readers and
as a digest of its function, inputs, outcome, effects and output for whence. Lines are only ever
added, so two versions of the file merge by keeping the lines of both; taking something back is a
line too. What counts is the order of the dates, not that of the lines.

Invariant: reading never runs anything and never fails because of a line: one that cannot be read
is named and passed over. What persons say differently of one call is a conflict, never decided
here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

from whence.errors import WhenceError
from whence.model.verdict import Verdict

NAME = "answers.jsonl"
WITHDRAWN = "withdrawn"
_REMEMBERED = {each.value: each for each in Verdict if each is not Verdict.UNKNOWN}
_LARGEST = 64 * 2**20
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Equation:
    """A call as it is known in every run: its function, a text for readers, and a digest of all."""

    function: str
    text: str
    digest: str
    inputs: str = ""
    """A digest of the function and what it was given, without what came of it."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What one person said of a call; without a verdict, that this no longer holds."""

    equation: Equation
    verdict: Verdict | None
    by: str
    date: str
    expected: str | None = None
    mark: str = ""


def to_line(said: Statement) -> str:
    """The statement as a line of the file, without its end."""
    record = {
        "by": said.by,
        "call": said.equation.text,
        "date": said.date,
        "digest": said.equation.digest,
        "function": said.equation.function,
        "inputs": said.equation.inputs,
        "verdict": WITHDRAWN if said.verdict is None else said.verdict.value,
    }
    if said.expected is not None:
        record["expected"] = said.expected
    if said.mark:
        record["mark"] = said.mark
    return json.dumps(record, sort_keys=True, ensure_ascii=False)


def from_line(line: str) -> Statement:
    """The statement that a line holds; `ValueError` if it holds none."""
    record = json.loads(line)
    if not isinstance(record, dict):
        raise ValueError("it is no JSON object")
    verdict = _text(record, "verdict")
    if verdict != WITHDRAWN and verdict not in _REMEMBERED:
        raise ValueError(f"there is no verdict {verdict!r}")
    return Statement(
        Equation(
            _text(record, "function"),
            _text(record, "call"),
            _text(record, "digest"),
            _text(record, "inputs"),
        ),
        _REMEMBERED.get(verdict),
        by=_text(record, "by"),
        date=_text(record, "date"),
        expected=_text(record, "expected") if "expected" in record else None,
        mark=_text(record, "mark") if "mark" in record else "",
    )


def _text(record: dict[str, Any], key: str) -> str:
    text = record.get(key)
    if not isinstance(text, str):
        raise ValueError(f'"{key}" is missing' if text is None else f'"{key}" is no text')
    return text


class AnswerFile:
    """The statements of one file that stand, read anew whenever the file has changed."""

    def __init__(self, path: Path, notify: Callable[[str], None] = lambda text: None) -> None:
        self.path = path
        self.notify = notify
        self._seen: tuple[int, int] | None = None
        self._standing: dict[str, dict[str, Statement]] = {}
        self._told: set[str] = set()

    def about(self, digest: str) -> list[Statement]:
        """What stands about a call, of each person one statement, the oldest first."""
        self._refresh()
        return list(self._standing.get(digest, {}).values())

    def all(self) -> list[Statement]:
        """All that stands, by function and then by age."""
        self._refresh()
        found = [each for said in self._standing.values() for each in said.values()]
        return sorted(found, key=lambda each: (each.equation.function, each.date))

    def append(self, statements: Iterable[Statement]) -> None:
        """Add lines, whole ones, while nobody else adds any."""
        text = "".join(to_line(each) + "\n" for each in statements)
        if not text:
            return
        try:
            with self.path.open("a+b") as file:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX)
                if not _ends_a_line(file.fileno()):
                    text = "\n" + text
                file.write(text.encode("utf-8", "surrogatepass"))
        except OSError as problem:
            raise WhenceError(
                f"{self.path}: answers cannot be remembered there ({problem.strerror}); "
                "the session goes on, and nothing more is remembered"
            ) from problem

    def withdraw(self, statements: Iterable[Statement], date: str) -> None:
        """Add lines that take statements back."""
        self.append(
            replace(each, verdict=None, date=date, expected=None, mark="") for each in statements
        )

    def _refresh(self) -> None:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            self._seen, self._standing = None, {}
            return
        except OSError as problem:
            raise self._unreadable(problem) from problem
        seen = status.st_mtime_ns, status.st_size
        if seen != self._seen:
            self._standing = _standing(self._read(status.st_size))
            self._seen = seen

    def _read(self, size: int) -> list[Statement]:
        if size > _LARGEST:
            raise WhenceError(f"{self.path} has {size:,} bytes, more than a file of answers has")
        try:
            data = self.path.read_bytes()
        except OSError as problem:
            raise self._unreadable(problem) from problem
        found: list[Statement] = []
        damaged: list[str] = []
        for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
            if not line.strip():
                continue
            try:
                found.append(from_line(line))
            except (ValueError, RecursionError) as problem:
                damaged.append(f"{self.path}:{number} is passed over: {_brief(problem)}")
        self._tell(damaged)
        return found

    def _tell(self, damaged: list[str]) -> None:
        new = [line for line in damaged if line not in self._told]
        for line in new[:_MOST_NAMED]:
            self.notify(line)
        if len(new) > _MOST_NAMED:
            self.notify(f"{self.path}: {len(new) - _MOST_NAMED} more lines are passed over.")
        self._told.update(new)

    def _unreadable(self, problem: OSError) -> WhenceError:
        return WhenceError(f"{self.path}: cannot be read ({problem.strerror})")


def _standing(statements: list[Statement]) -> dict[str, dict[str, Statement]]:
    """For each digest the last statement of each person, but for those that were taken back."""
    found: dict[str, dict[str, Statement]] = {}
    for each in sorted(statements, key=lambda each: each.date):  # stable: then by line
        said = found.setdefault(each.equation.digest, {})
        said.pop(each.by, None)
        if each.verdict is not None:
            said[each.by] = each
    return {digest: said for digest, said in found.items() if said}


def _ends_a_line(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


def _brief(problem: Exception) -> str:
    if isinstance(problem, json.JSONDecodeError):
        return f"it is no JSON ({problem.msg})"
    return str(problem) or type(problem).__name__
