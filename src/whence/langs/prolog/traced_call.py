"""A call of a traced goal: how it was left, what it called on the way, what it tried in vain.

`trace_tree.py` fills these in from events; here is what they mean. A call's `body` is its part of
the current branch, of which each answer takes a copy; its `log` has all that ever happened directly
below it, from which the children of a failure are taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from itertools import groupby

from whence.langs.prolog.events import Construct, Predicate


class Port(Enum):
    """How a call was left: the events that are nodes of the evaluation tree."""

    EXIT = "exit"
    FAIL = "fail"
    RAISE = "exception"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Left:
    """A call being left: its `number`-th answer, its failure, an exception; or that it was not."""

    port: Port
    call: TracedCall
    number: int = 0


@dataclass(slots=True)
class Answer:
    """One answer of a call: what it is, and what on the branch made it."""

    term: int
    states: str
    more: bool
    clause: int | None
    children: tuple[Left, ...]
    time: int
    logged: int
    """How long the call's log was."""
    last: TracedCall
    """Where the branch ended: `path_to` it is the branch on which the answer was found."""


@dataclass(slots=True)
class Marker:
    """In a body: something was tried here and failed, and execution went on because it did."""

    owner: TracedCall
    construct: Construct
    tried: tuple[Left, ...]


@dataclass(frozen=True, slots=True)
class Jump:
    """In a log: execution went on after what failed in a construct."""

    construct: Construct


@dataclass(frozen=True, slots=True)
class NewClause:
    """In a log: another clause was tried."""


@dataclass(frozen=True, slots=True)
class Committed:
    """In a log: a negation failed, because of these."""

    construct: Construct
    because: tuple[Left, ...]


LogEntry = Left | Jump | NewClause | Committed


@dataclass(eq=False, slots=True)
class TracedCall:
    """A call. `mark` numbers calls in order; `parent` is the call before it on its branch."""

    mark: int
    predicate: Predicate
    term: int
    states: str
    caller: TracedCall | None
    pc: int
    path: tuple[int, ...]
    parent: TracedCall | None
    via: int | None
    position: int
    called: int
    clause: int | None = None
    tried: list[int] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    failed: int | None = None
    raised: int | None = None
    raised_after: tuple[Left, ...] = ()
    left: int = 0
    """When it was last heard of."""
    has_children: bool = False
    body: list[TracedCall | Marker] = field(default_factory=list)
    log: list[LogEntry] = field(default_factory=list)
    guards: list[Left] = field(default_factory=list)
    """What earlier clauses tried before a cut that they did not reach."""
    attempt_start: int = 0
    cut_at: int = -1
    """Where its clause last cut; no other way is left in what stands before."""
    is_open: bool = True
    end_on_branch: int = 0
    """Where the branch ended when it was last left."""
    entered_at: int | None = None
    """Of a call that was not looked into: the number of inferences when it was made."""
    effort: int = 0
    """How many inferences were made in it, out of sight."""
    repeats: TracedCall | None = None
    """Of a call that was stopped: one that led to it, with the same arguments."""

    @property
    def is_skipped(self) -> bool:
        """Whether it was run without being looked into."""
        return self.entered_at is not None

    def note_effort(self, inferences: int) -> None:
        """It is made, or left: so many inferences were made so far."""
        if self.entered_at is None:
            self.entered_at = inferences
        self.effort = inferences - self.entered_at


@dataclass(slots=True)
class Cut:
    """A cut that was run by `call`: the branch from there to `last`, and what it pruned."""

    call: TracedCall
    last: TracedCall
    pruned: tuple[tuple[TracedCall | None, int], ...]
    selected_after: TracedCall | None = None

    def branch(self) -> list[TracedCall]:
        """The calls from the one that cuts to the one selected after it."""
        end = self.selected_after or self.last
        return [each for each in path_to(end) if each.position >= self.call.position]


def answer_at(call: TracedCall, time: int | None) -> Answer | None:
    """The answer that a call had last given at a time (None: at the end)."""
    for answer in reversed(call.answers):
        if time is None or answer.time <= time:
            return answer
    return None


def path_to(call: TracedCall, after: TracedCall | None = None) -> list[TracedCall]:
    """The branch from the goal to a call, as it was when the call was made.

    With `after` only what comes after that call, which is on the branch.
    """
    path = []
    each: TracedCall | None = call
    while each is not None and each is not after:
        path.append(each)
        each = each.parent
    return path[::-1]


def place_of(item: TracedCall | Marker) -> int:
    """Where in its caller's clause it stands; a construct stands just after its start."""
    return item.pc if isinstance(item, TracedCall) else item.construct.start + 1


def is_inside(item: TracedCall | Marker, construct: Construct) -> bool:
    """Whether something on the branch stands inside a negation, or in the first part of an or."""
    if isinstance(item, TracedCall):
        return construct.start < item.pc <= construct.otherwise
    return construct.start < item.construct.start < construct.otherwise


def reopen(call: TracedCall | None) -> None:
    """A call that runs again, and with it its callers. Those of an open call are open."""
    while call is not None and not call.is_open:
        call.is_open = True
        call = call.caller


def stopped_in(call: TracedCall) -> TracedCall | None:
    """What a call was waiting for when the run was stopped."""
    last = next((each for each in reversed(call.body) if isinstance(each, TracedCall)), None)
    return last if last is not None and last.is_open else None


def because(owner: TracedCall, items: Iterable[TracedCall | Marker]) -> list[Left]:
    """A part of a call's branch as what it shows: last answers, and what was tried in vain.

    Calls that one goal made, a goal put together at run time and called, are made by code that is
    out of sight: all that happened below it counts, as below a library predicate.
    """
    found: list[Left] = []
    for pc, group in groupby(items, key=_hidden_in):
        together = list(group)
        calls = [each for each in together if isinstance(each, TracedCall)]
        is_user = owner.predicate.is_user
        if (
            is_user
            and pc >= 0
            and (len(calls) > 1 or any(each.failed is not None for each in calls))
        ):
            found += completed(_last_at(owner.log, pc))
            continue
        for each in together:
            if isinstance(each, Marker):
                found += each.tried
            elif each.raised is not None:
                found.append(Left(Port.RAISE, each))
            elif each.answers and each.failed is None:
                found.append(Left(Port.EXIT, each, len(each.answers) - 1))
    return found


def _hidden_in(item: TracedCall | Marker) -> int:
    """The program counter that calls share which are made by the same goal."""
    return item.pc if isinstance(item, TracedCall) else -1


def _last_at(log: list[LogEntry], pc: int) -> list[LogEntry]:
    """What happened when the goal at a program counter was last run."""
    end = len(log)
    while end and not _is_at(log[end - 1], pc):
        end -= 1
    start = end
    while start and _is_at(log[start - 1], pc):
        start -= 1
    return log[start:end]


def _is_at(entry: LogEntry, pc: int) -> bool:
    return isinstance(entry, Left) and entry.call.pc == pc


def evaluation(log: list[LogEntry], construct: Construct, reach: int) -> list[LogEntry]:
    """What the log holds of the last evaluation of a construct, up to a program counter."""
    first = len(log)
    while first and _is_inside(log[first - 1], construct):
        first -= 1
    return [each for each in log[first:] if not isinstance(each, Left) or each.call.pc <= reach]


def _is_inside(entry: LogEntry, construct: Construct) -> bool:
    match entry:
        case Left(_, call, _):
            return construct.start < call.pc <= construct.otherwise
        case Jump(inner) | Committed(inner, _):
            return construct.start < inner.start < construct.otherwise
        case _:
            return False


def in_vain(log: Iterable[LogEntry]) -> list[Left]:
    """The children of what failed: every answer and every failure below it, in order.

    Inside a negation that failed only what made it fail counts, which is the last answers.
    """
    kept: list[LogEntry] = []
    for entry in log:
        if isinstance(entry, Committed):
            while kept and _is_inside_negation(kept[-1], entry.construct):
                kept.pop()
            kept += entry.because
        else:
            kept.append(entry)
    return [each for each in kept if isinstance(each, Left)]


def _is_inside_negation(entry: LogEntry, construct: Construct) -> bool:
    if isinstance(entry, Left):
        return construct.holds(entry.call.pc)
    return (
        isinstance(entry, Jump) and construct.start <= entry.construct.start < construct.otherwise
    )


def completed(log: Iterable[LogEntry]) -> list[Left]:
    """All that happened below code that is out of sight, and that calls had no more answers.

    `findall/3` fails back into what it calls, which shows in no port where there is nothing left.
    """
    events = in_vain(log)
    last = {each.call.mark: each for each in events}
    return events + [
        Left(Port.FAIL, each.call)
        for each in last.values()
        if each.port is Port.EXIT and not each.call.answers[each.number].more
    ]
