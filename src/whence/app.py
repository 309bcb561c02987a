"""Where a tree, a session, oracles and an interface meet.

`Debugging` drives the session's pure step: it keeps the journal, expands implicit calls, lets the
oracles answer first, and counts. What it gives back is always something that a person has to
decide, or the end. Interfaces call `send`; they do not know journals or oracles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from whence.errors import CannotExpand, WhenceError
from whence.model.diagnosis import Diagnosis, Status
from whence.model.question import Question
from whence.model.verdict import Answer
from whence.ports import Oracle
from whence.session.engine import apply, react, step
from whence.session.events import (
    Answered,
    Ask,
    Event,
    Exhausted,
    Expand,
    Expanded,
    Found,
    NotExpandable,
    Outcome,
    Started,
)
from whence.session.journal import Entry, Journal
from whence.session.state import State

Notify = Callable[[str], None]


@dataclass
class Counts:
    """How much was asked of whom."""

    person: int = 0
    oracle: int = 0
    characters: int = 0


@dataclass
class Debugging:
    """A session with all that surrounds it."""

    state: State
    oracles: Sequence[Oracle] = ()
    journal: Journal | None = None
    notify: Notify = lambda text: None
    counts: Counts = field(default_factory=Counts)

    def start(self) -> Outcome:
        """Take in what the journal holds, then say what is needed first."""
        for entry in list(self.journal.entries) if self.journal else []:
            self.state = self._replayed(entry)
        return self._settled(react(self.state))

    def send(self, event: Event) -> Outcome:
        """Take in an event and say what is needed next."""
        if isinstance(event, Answered):
            self.counts.person += len(event.answers)
        return self._settled(self._step(event))

    def shown(self, text: str) -> None:
        """Count what a person had to read."""
        self.counts.characters += len(text)

    def diagnosis(self, outcome: Outcome, left: str = "") -> Diagnosis:
        """How the session ended; one that did not end is undetermined for the reason given."""
        if isinstance(outcome, Found | Exhausted):
            return outcome.diagnosis
        return Diagnosis(Status.UNDETERMINED, reason=left or "the session was left before its end")

    def _step(self, event: Event) -> Outcome:
        self.state, outcome = step(self.state, event)
        if not isinstance(event, Started | Expanded | NotExpandable):
            self._keep(event)
        return outcome

    def _settled(self, outcome: Outcome) -> Outcome:
        """Do all that needs no person."""
        while True:
            if isinstance(outcome, Expand):
                outcome = self._step(self._expansion(outcome))
            elif isinstance(outcome, Ask):
                answer = self._ask_oracles(outcome.question)
                if answer is None:
                    return outcome
                self.counts.oracle += 1
                outcome = self._step(Answered((answer,)))
            else:
                return outcome

    def _ask_oracles(self, question: Question) -> Answer | None:
        for oracle in self.oracles:
            verdict = oracle.judge(question)
            if verdict is not None:
                return Answer(question.node, verdict, by=oracle.name)
        return None

    def _expansion(self, request: Expand) -> Event:
        self.notify(f"finding out what lies below call {request.node} …")
        try:
            position = self.state.tree.position(request.node)
            tree = self.state.tree.expand(position, request.levels)
        except CannotExpand as problem:
            return NotExpandable(request.node, str(problem))
        self._keep(request)
        return Expanded(tree)

    def _replayed(self, entry: Entry) -> State:
        if isinstance(entry, Expand):
            position = self.state.tree.position(entry.node)
            return apply(self.state, Expanded(self.state.tree.expand(position, entry.levels)))
        return apply(self.state, entry)

    def _keep(self, entry: Entry) -> None:
        if self.journal is None:
            return
        try:
            self.journal.append(entry)
        except WhenceError as problem:
            self.journal = None
            self.notify(str(problem))
