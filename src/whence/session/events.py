"""What can happen to a session, and what a session can ask for in return."""

from __future__ import annotations

from dataclasses import dataclass

from whence.model.diagnosis import Diagnosis
from whence.model.question import Question
from whence.model.verdict import Answer, Trust
from whence.ports import Tree

# --- events ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Started:
    """The session begins or resumes: nothing new is known."""


@dataclass(frozen=True, slots=True)
class Answered:
    """Somebody judged one or several calls."""

    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class SymptomTimed:
    """It is known when what is wrong had happened (see `SymptomTime`)."""

    last_begun: int
    is_exact: bool


@dataclass(frozen=True, slots=True)
class TrustGiven:
    """Some code must not be blamed."""

    trust: Trust


@dataclass(frozen=True, slots=True)
class TrustWithdrawn:
    """Some code may be blamed again."""

    trust: Trust


@dataclass(frozen=True, slots=True)
class StrategyChosen:
    """Another strategy takes over."""

    name: str


@dataclass(frozen=True, slots=True)
class SwitchTurned:
    """One of the switches that work with every strategy is turned."""

    name: str
    on: bool


@dataclass(frozen=True, slots=True)
class OracleTurned:
    """An oracle is turned off, which withdraws its answers, or on again."""

    name: str
    on: bool


@dataclass(frozen=True, slots=True)
class Begun:
    """All that the command line asked for was applied: undo goes back to here and no further."""


@dataclass(frozen=True, slots=True)
class Undone:
    """The last event is taken back."""


@dataclass(frozen=True, slots=True)
class Redone:
    """What was taken back holds again."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A contradiction was resolved: which of the two statements holds."""

    keep_earlier: bool


@dataclass(frozen=True, slots=True)
class Rejected:
    """The diagnosis is not believed: questions are asked again, with the earlier answers as
    defaults."""


@dataclass(frozen=True, slots=True)
class RestSearched:
    """The top was judged right, yet its callees are to be searched."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """The calls below an implicit call are in this tree."""

    tree: Tree


@dataclass(frozen=True, slots=True)
class NotExpandable:
    """The calls below an implicit call are not available, for this reason."""

    node: int
    reason: str


@dataclass(frozen=True, slots=True)
class MarkTraced:
    """The loop followed the mark of an answer or gave it up: the provenance has the result."""

    answer: Answer


Event = (
    Started
    | Answered
    | SymptomTimed
    | TrustGiven
    | TrustWithdrawn
    | StrategyChosen
    | SwitchTurned
    | OracleTurned
    | Begun
    | Undone
    | Redone
    | Resolved
    | Rejected
    | RestSearched
    | Expanded
    | NotExpandable
    | MarkTraced
)

# --- what the session asks for -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ask:
    """Judge this call."""

    question: Question


@dataclass(frozen=True, slots=True)
class Found:
    """The search is over: a call at fault, or the candidates for it."""

    diagnosis: Diagnosis


@dataclass(frozen=True, slots=True)
class Expand:
    """Find out what lies below this implicit call, then send `Expanded` or `NotExpandable`."""

    node: int
    levels: int


@dataclass(frozen=True, slots=True)
class Trace:
    """Find out where the marked part of an answer came from, then send `MarkTraced`."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Exhausted:
    """Nothing is left to ask and nothing was found. `rest`: `RestSearched` would go on."""

    diagnosis: Diagnosis
    rest: bool


@dataclass(frozen=True, slots=True)
class Revise:
    """Two statements contradict each other: send `Resolved`."""

    earlier: Answer | Trust
    later: Answer
    why: str


Outcome = Ask | Found | Expand | Trace | Exhausted | Revise
