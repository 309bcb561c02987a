"""What can be said of a call, and by whom."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from whence.model.call import Mark


class Verdict(Enum):
    """The answer to a question.

    `RIGHT`: given its inputs, the outcome and effects are what was intended.
    `WRONG`: its inputs were fine, and the outcome or an effect is not what was intended.
    `INADMISSIBLE`: it should never have been given these inputs; nothing is said of the outcome.
    `UNKNOWN`: nobody can tell; it is asked again when nothing else is left.
    """

    RIGHT = "right"
    WRONG = "wrong"
    INADMISSIBLE = "inadmissible"
    UNKNOWN = "unknown"


PERSON = "person"
AGENT = "agent"
"""Somebody who answers in place of a person: a program or a language model. One of several gives a
name of its own, as in `agent reviewer`."""
REMEMBERED = "remembered"
"""The oracle that repeats what persons said. After a rejected diagnosis it is not believed."""

SAID_OUTSIDE = "the session before"
"""The giver of verdicts that a session inside a call takes over from the session about the whole
run."""


_EXCEPTION = re.compile(r"raises?\s+\S.*|[\w.]*(Error|Exception)\s*(\(.*\))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Answer:
    """A verdict on one call. `node` is the call's id, not its position.

    `expected` is what the marked part, or without a mark the outcome, should have been: as typed,
    so it is an expression of the program's language or free text. `reason` is why an oracle says
    so.
    """

    node: int
    verdict: Verdict
    mark: Mark | None = None
    by: str = PERSON
    expected: str | None = None
    reason: str = ""

    @property
    def in_dialogue(self) -> bool:
        """Whether a person or an agent gave it when asked, and not an oracle: undo takes it back,
        and it allows what it needs."""
        return self.by == PERSON or self.by.partition(" ")[0] == AGENT

    @property
    def expects_exception(self) -> bool:
        """Whether it says that the call should have raised an exception, judging by the text."""
        is_outcome = self.mark is None and self.expected is not None
        return is_outcome and _EXCEPTION.fullmatch((self.expected or "").strip()) is not None


@dataclass(frozen=True, slots=True)
class Judgement:
    """An oracle's verdict with its reason, mark or expected value."""

    verdict: Verdict
    reason: str = ""
    mark: Mark | None = None
    expected: str | None = None


class TrustScope(Enum):
    """What a trust covers."""

    FUNCTION = "function"
    MODULE = "module"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Trust:
    """Code that cannot be at fault itself; what it calls is still searched."""

    scope: TrustScope
    name: str

    def __str__(self) -> str:
        return f"{self.scope.value} {self.name}"
