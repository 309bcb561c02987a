"""Adds what a person says in this session to the file of answers, and withdraws it on undo."""

from __future__ import annotations

import datetime
import getpass
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace

from whence.model.equation import StableEquation
from whence.model.verdict import PERSON, Answer, Verdict
from whence.oracle.remembered import StoredAnswer
from whence.ports import Identify, Tree
from whence.secret_values import secrets_for
from whence.store.answer_file import AnswerFile, withdrawal
from whence.tree.readable_call import readable_call


class AnswerWriter:
    """Keeps the file in step with the person's answers that hold in a session."""

    def __init__(
        self,
        file: AnswerFile,
        identify: Identify,
        notify: Callable[[str], None],
        by: str = "",
        *,
        settles: bool = True,
    ) -> None:
        """`settles`: the person has seen the remembered answers, so contrary ones are withdrawn."""
        self.file = file
        self._settles = settles
        self._identify = identify
        self._notify = notify
        self._by = by
        self._equations: dict[int, StableEquation | str] = {}
        self._written: dict[str, StoredAnswer] = {}
        self._reported: set[str] = set()

    def begin(self, tree: Tree, answers: Sequence[Answer]) -> None:
        """A session resumes: these answers were handled when they were given."""
        self._written = self._answers_to_store(tree, answers)

    def update(self, tree: Tree, answers: Sequence[Answer]) -> None:
        """Write the person's new answers, and withdraw those that no longer hold."""
        holding = self._answers_to_store(tree, answers)
        new = [
            answer
            for digest, answer in holding.items()
            if _differs(answer, self._written.get(digest))
        ]
        gone = [answer for digest, answer in self._written.items() if digest not in holding]
        if not new and not gone:
            return
        date = now()
        by = self._by = self._by or current_user()
        withdrawn = [
            stored
            for answer in gone
            for stored in self.file.about(answer.equation.digest)
            if stored.by == by
        ]
        withdrawn += [
            stored
            for answer in new
            for stored in self.file.about(answer.equation.digest)
            if self._settles and stored.by != by and stored.verdict is not answer.verdict
        ]
        # In one piece: what was said before is not withdrawn without what is said now.
        self.file.append(
            [
                *(withdrawal(stored, date) for stored in withdrawn),
                *(replace(answer, by=by, date=date) for answer in new),
            ]
        )
        if new:
            path = "/".join(self.file.path.parts[-2:])
            self._report_once("written", f"Answers are remembered in {path} for later runs.")
        self._written = holding

    def why_not_stored(self, tree: Tree, node: int) -> str:
        """Why an answer about a call cannot be kept for other runs; empty if it can."""
        equation = self._equation(tree, node)
        return equation if isinstance(equation, str) else ""

    def _report_once(self, topic: str, text: str) -> None:
        if topic not in self._reported:
            self._reported.add(topic)
            self._notify(text)

    def _answers_to_store(self, tree: Tree, answers: Sequence[Answer]) -> dict[str, StoredAnswer]:
        """What the file should hold of these answers, by digest, still without date and name."""
        stored: dict[str, StoredAnswer] = {}
        for answer in answers:
            if answer.by != PERSON or answer.verdict is Verdict.UNKNOWN:
                continue
            equation = self._equation(tree, answer.node)
            if isinstance(equation, str):
                continue
            mark = str(answer.mark) if answer.mark else ""
            expected = answer.expected and secrets_for().without_keys(answer.expected)
            stored[equation.digest] = StoredAnswer(
                equation, answer.verdict, PERSON, "", expected, mark
            )
        return stored

    def _equation(self, tree: Tree, node: int) -> StableEquation | str:
        if node not in self._equations:
            call, problem = readable_call(tree, tree.position(node))
            self._equations[node] = problem or self._identify(node, call)
        return self._equations[node]


def _differs(answer: StoredAnswer, other: StoredAnswer | None) -> bool:
    if other is None:
        return True
    return (answer.verdict, answer.expected, answer.mark) != (
        other.verdict,
        other.expected,
        other.mark,
    )


def now() -> str:
    """The current time, as answers are dated."""
    moment = datetime.datetime.now(datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def current_user() -> str:
    """The name of the person at the terminal: the one in git commits, else the login name."""
    try:
        git = subprocess.run(
            ["git", "config", "user.name"], capture_output=True, text=True, timeout=5, check=False
        )
        name = git.stdout.strip()
    except (OSError, subprocess.SubprocessError, ValueError):
        name = ""
    if name:
        return name
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "somebody"
