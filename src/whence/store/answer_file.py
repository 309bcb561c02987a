"""The answers that a project remembers: `.whence/answers.jsonl`, made to be committed and reviewed.

One JSON object a line: what was said of a call, by whom and when; the call as a text for readers
and as a digest of its function, inputs, outcome, effects and output; and a checksum of the line,
which lines of earlier versions lack. Lines are only ever added, so two versions of the file merge
by keeping the lines of both; a withdrawal is a line too. The order of the dates counts, not that of
the lines.

Invariant: reading runs no code and never fails because of a line: one that cannot be read is
reported and skipped. Persons who disagree about a call are a conflict, which is not decided here.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from io import FileIO
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

from whence.errors import WhenceError
from whence.model.equation import StableEquation
from whence.model.verdict import Verdict
from whence.oracle.remembered import StoredAnswer
from whence.regular_files import read_regular_file
from whence.store.checked_lines import checked_line, intact_parts, is_checked
from whence.user_folders import open_private_file

NAME = "answers.jsonl"
WITHDRAWN = "withdrawn"
_VERDICTS = {verdict.value: verdict for verdict in Verdict if verdict is not Verdict.UNKNOWN}
_MAX_BYTES = 64 * 2**20
_MAX_REPORTED = 5
_CONFLICT_MARKERS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")


def to_line(answer: StoredAnswer) -> str:
    """The answer as a line of the file, without the line end."""
    record: dict[str, object] = {
        "by": answer.by,
        "call": answer.equation.text,
        "date": answer.date,
        "digest": answer.equation.digest,
        "function": answer.equation.function,
        "inputs": answer.equation.inputs,
        "verdict": WITHDRAWN if answer.verdict is None else answer.verdict.value,
    }
    if answer.expected is not None:
        record["expected"] = answer.expected
    if answer.mark:
        record["mark"] = answer.mark
    line = checked_line(dict(sorted(record.items())))
    return line.decode("utf-8", "surrogatepass").removesuffix("\n")


def from_line(line: str) -> StoredAnswer:
    """The answer that a line holds; `ValueError` if it holds none, or not as it was written."""
    if line.startswith(_CONFLICT_MARKERS):
        raise ValueError("it is no JSON, but marks a conflict of a merge")
    data = line.strip().encode("utf-8", "surrogatepass")
    answer = _answer(data)
    if is_checked(data) and next(intact_parts(data), b"") != data:
        raise ValueError("its checksum is wrong, so it is not as it was written")
    return answer


def _answer(data: bytes) -> StoredAnswer:
    record = json.loads(data)
    if not isinstance(record, dict):
        raise ValueError("it is no JSON object")
    verdict = _text(record, "verdict")
    if verdict != WITHDRAWN and verdict not in _VERDICTS:
        raise ValueError(f"there is no verdict {verdict!r}")
    return StoredAnswer(
        StableEquation(
            _text(record, "function"),
            _text(record, "call"),
            _text(record, "digest"),
            _text(record, "inputs"),
        ),
        _VERDICTS.get(verdict),
        by=_text(record, "by"),
        date=_text(record, "date"),
        expected=_text(record, "expected") if "expected" in record else None,
        mark=_text(record, "mark") if "mark" in record else "",
    )


def _text(record: dict[str, object], key: str) -> str:
    text = record.get(key)
    if not isinstance(text, str):
        raise ValueError(f'"{key}" is missing' if text is None else f'"{key}" is no text')
    return text


class AnswerFile:
    """The answers in a file that hold, read again whenever the file has changed."""

    def __init__(self, path: Path, notify: Callable[[str], None] = lambda text: None) -> None:
        self.path = path
        self.notify = notify
        self._stamp: tuple[int, int] | None = None
        self._by_digest: dict[str, dict[str, StoredAnswer]] = {}
        self._reported: set[str] = set()

    def about(self, digest: str) -> list[StoredAnswer]:
        """The answers about an equation that hold, one of each person, the oldest first."""
        self._refresh()
        return list(self._by_digest.get(digest, {}).values())

    def all(self) -> list[StoredAnswer]:
        """All answers that hold, by function and then by age."""
        self._refresh()
        answers = [
            answer for by_person in self._by_digest.values() for answer in by_person.values()
        ]
        return sorted(answers, key=lambda answer: (answer.equation.function, answer.date))

    def append(self, answers: Iterable[StoredAnswer]) -> None:
        """Add complete lines, while holding the file's lock."""
        text = "".join(to_line(answer) + "\n" for answer in answers)
        if not text:
            return
        try:
            # A link in a cloned repository may lead to any file of the user.
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
            descriptor = open_private_file(self.path, flags)
            with os.fdopen(descriptor, "a+b", buffering=0) as file:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX)
                if not _ends_a_line(file.fileno()):
                    text = "\n" + text
                _write_all(file, text.encode("utf-8", "surrogatepass"))
        except OSError as problem:
            is_link = problem.errno == errno.ELOOP
            reason = "it is a symbolic link" if is_link else problem.strerror
            raise WhenceError(
                f"{self.path}: answers cannot be remembered there ({reason}); "
                "the session goes on, and that is tried again after the next answer"
            ) from problem

    def withdraw(self, answers: Iterable[StoredAnswer], date: str) -> None:
        """Add lines that withdraw answers."""
        self.append(withdrawal(answer, date) for answer in answers)

    def _refresh(self) -> None:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            self._stamp, self._by_digest = None, {}
            return
        except OSError as problem:
            raise self._unreadable(problem) from problem
        stamp = status.st_mtime_ns, status.st_size
        if stamp != self._stamp:
            self._by_digest = _holding(self._read(status.st_size))
            self._stamp = stamp

    def _read(self, size: int) -> list[StoredAnswer]:
        if size > _MAX_BYTES:
            raise WhenceError(f"{self.path} has {size:,} bytes, more than a file of answers has")
        try:
            data = read_regular_file(self.path, _MAX_BYTES)
        except OSError as problem:
            raise self._unreadable(problem) from problem
        answers: list[StoredAnswer] = []
        damaged: list[str] = []
        for number, line in enumerate(data.split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                answers.append(from_line(line.decode("utf-8", "surrogatepass")))
            except (ValueError, RecursionError) as problem:
                # Two lines are one if the byte between them is damaged.
                parts = list(_intact_answers(line))
                answers += parts
                if not parts:
                    damaged.append(f"{self.path}:{number} is skipped: {_brief(problem)}")
        self._report(damaged)
        return answers

    def _report(self, damaged: list[str]) -> None:
        new = [line for line in damaged if line not in self._reported]
        for line in new[:_MAX_REPORTED]:
            self.notify(line)
        if len(new) > _MAX_REPORTED:
            self.notify(f"{self.path}: {len(new) - _MAX_REPORTED} more lines are skipped.")
        self._reported.update(new)

    def _unreadable(self, problem: OSError) -> WhenceError:
        return WhenceError(f"{self.path}: cannot be read ({problem.strerror})")


def withdrawal(answer: StoredAnswer, date: str) -> StoredAnswer:
    """The line that withdraws an answer, even one with a later date: a clock may be wrong."""
    return replace(answer, verdict=None, date=max(date, answer.date), expected=None, mark="")


def _write_all(file: FileIO, data: bytes) -> None:
    """Append all of it, or nothing."""
    end = os.fstat(file.fileno()).st_size
    left = memoryview(data)
    try:
        while left:
            left = left[file.write(left) :]
    except OSError:
        file.truncate(end)
        raise


def _holding(answers: list[StoredAnswer]) -> dict[str, dict[str, StoredAnswer]]:
    """For each digest the last answer of each person that was not withdrawn."""
    by_digest: dict[str, dict[str, StoredAnswer]] = {}
    for answer in sorted(answers, key=lambda answer: answer.date):  # stable: then by line
        by_person = by_digest.setdefault(answer.equation.digest, {})
        by_person.pop(answer.by, None)
        if answer.verdict is not None:
            by_person[answer.by] = answer
    return {digest: by_person for digest, by_person in by_digest.items() if by_person}


def _intact_answers(line: bytes) -> Iterator[StoredAnswer]:
    for part in intact_parts(line):
        with contextlib.suppress(ValueError, RecursionError):
            yield _answer(part)


def _ends_a_line(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


def _brief(problem: Exception) -> str:
    if isinstance(problem, json.JSONDecodeError):
        return f"it is no JSON ({problem.msg})"
    return str(problem) or type(problem).__name__
