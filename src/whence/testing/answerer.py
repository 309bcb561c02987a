"""Sessions without a user: a function that knows the intended meaning answers every question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from whence.model.diagnosis import Diagnosis
from whence.model.question import Question
from whence.model.verdict import Answer
from whence.session.engine import expansion, step
from whence.session.events import (
    Answered,
    Ask,
    Event,
    Exhausted,
    Expand,
    Found,
    Outcome,
    Revise,
    Started,
)
from whence.session.state import State

Judge = Callable[[Question], Answer]


@dataclass
class Transcript:
    """How a session went: the answers in the order of the questions, and its end."""

    asked: list[Answer] = field(default_factory=list)
    expanded: list[int] = field(default_factory=list)
    outcome: Outcome | None = None
    state: State | None = None

    @property
    def diagnosis(self) -> Diagnosis:
        """What the session found; fails unless it ended in a diagnosis."""
        assert isinstance(self.outcome, Found | Exhausted)
        return self.outcome.diagnosis

    def nodes(self) -> list[int]:
        """The calls that were asked about."""
        return [answer.node for answer in self.asked]


def run(state: State, judge: Judge, limit: int = 100_000) -> Transcript:
    """Answer until the session is over."""
    transcript = Transcript()
    event: Event = Started()
    for _ in range(limit):
        state, outcome = step(state, event)
        transcript.outcome, transcript.state = outcome, state
        if isinstance(outcome, Ask):
            answer = judge(outcome.question)
            transcript.asked.append(answer)
            event = Answered((answer,))
        elif isinstance(outcome, Expand):
            transcript.expanded.append(outcome.node)
            event = expansion(state, outcome)
        elif isinstance(outcome, Found | Exhausted | Revise):
            return transcript
    raise AssertionError(f"the session did not end within {limit} steps")
