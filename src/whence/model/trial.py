"""What happens to a run if some calls return other values.

This checks the cause, not only the place: a call with a wrong result need not be why the run went
wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from whence.model.call import Call, OutcomeKind
from whence.model.value import show

_NO_LINE = "(no such line)"
_ENDLESS = "it does not end"


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """A line of the output, counted from 1, before and after the change."""

    number: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Trial:
    """How the run ended before and after the change (empty: normally), and what changed."""

    ended: str
    ends: str
    lines: tuple[ChangedLine, ...]

    @property
    def helps(self) -> bool | None:
        """Whether the symptom goes away; None if a person must judge that.

        An exception or an endless run visibly goes away. What a changed output should be is
        unknown.
        """
        if self.ended:
            return not self.ends
        return False if self.ends or not self.lines else None


def trial_of(before: Call, after: Call) -> Trial:
    """The differences between two runs."""
    texts = enumerate(zip_longest(before.output, after.output, fillvalue=_NO_LINE), 1)
    changed = tuple(ChangedLine(n, one, other) for n, (one, other) in texts if one != other)
    ended, ends = _end(before), _end(after)
    if ends == _ENDLESS != ended and after.outcome.value is not None:
        ends = f"{ends}: {show(after.outcome.value)}"
    return Trial(ended, ends, changed)


def _end(run: Call) -> str:
    outcome = run.outcome
    if outcome.kind is OutcomeKind.NOT_TERMINATED:
        return _ENDLESS
    if outcome.kind is OutcomeKind.RAISED:
        return f"it raises {show(outcome.value)}" if outcome.value else "it raises an exception"
    return ""
