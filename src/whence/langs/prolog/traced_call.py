"""A call of a traced goal: its solutions, the calls behind each, and the attempts that failed.

`trace_tree.py` fills in these records from events. A call's `body` is its part of the current
branch; each solution takes a copy of it. Its `log` holds every event directly below the call; the
children of a failure come from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby

from whence.langs.prolog.port_events import Clause, Construct, Predicate


class Port(Enum):
    """How control left a call. These events are the nodes of the evaluation tree."""

    EXIT = "exit"
    FAIL = "fail"
    FIRST = "first"
    """A cut or condition kept this answer, and the call has only the earlier ones before it."""
    RAISE = "exception"
    STOPPED = "stopped"


@dataclass(unsafe_hash=True, slots=True)
class PortEvent:
    """Control leaves a call by a port; `number` is the index of the answer (EXIT, FIRST).

    Immutable by convention: there are millions, and a frozen dataclass takes four times as long.
    """

    port: Port
    call: TracedCall
    number: int = 0


@dataclass(slots=True)
class Solution:
    """One answer of a call: its term, and the events on the branch that led to it."""

    term: int
    states: str
    more: bool
    clause: int | None
    children: tuple[PortEvent, ...]
    time: int
    logged: int
    """The length of the call's log at that time."""
    last: TracedCall
    """The last call of the branch on which the answer was found (see `path_to`)."""


@dataclass(slots=True)
class Marker:
    """In a body: a part of a construct failed here, so execution continued at its alternative."""

    owner: TracedCall
    construct: Construct
    tried: tuple[PortEvent, ...]


@dataclass(frozen=True, slots=True)
class Jump:
    """In a log: execution continued after the part of a construct that failed."""

    construct: Construct


@dataclass(frozen=True, slots=True)
class NewClause:
    """In a log: another clause was tried."""


@dataclass(frozen=True, slots=True)
class Committed:
    """In a log: a negation failed, because of these events."""

    construct: Construct
    because: tuple[PortEvent, ...]


LogEntry = PortEvent | Jump | NewClause | Committed


class TracedCall:
    """A call. `mark` numbers calls in order; `parent` is the call before it on its branch.

    A plain class with slots, because a run has hundreds of thousands of calls.
    """

    __slots__ = (
        "answered", "answers", "attempt_start", "body", "called", "caller", "clause", "cut_at",
        "effort", "end_on_branch", "entered_at", "failed", "guards", "has_children", "is_open",
        "last_time", "log", "mark", "parent", "path", "pc", "position", "predicate", "raised",
        "raised_after", "repeats", "states", "term", "tried", "via",
    )  # fmt: skip

    def __init__(
        self,
        mark: int,
        predicate: Predicate,
        term: int,
        states: str,
        caller: TracedCall | None,
        pc: int,
        path: tuple[int, ...],
        parent: TracedCall | None,
        position: int,
        called: int,
    ) -> None:
        self.mark = mark
        self.predicate = predicate
        self.term = term
        self.states = states
        self.caller = caller
        self.pc = pc
        self.path = path
        self.parent = parent
        self.via = None if parent is None else parent.clause
        self.position = position
        self.called = called
        self.clause: int | None = None
        self.tried: tuple[int, ...] = ()
        self.answers: list[Solution] = []
        self.answered: PortEvent | None = None
        """The event of its last answer."""
        self.failed: int | None = None
        self.raised: int | None = None
        self.raised_after: tuple[PortEvent, ...] = ()
        self.last_time = 0
        """The time of its last event."""
        self.has_children = False
        self.body: list[TracedCall | Marker] = []
        self.log: list[LogEntry] = []
        self.guards: tuple[PortEvent, ...] = ()
        """What earlier clauses tried before a cut that they never reached."""
        self.attempt_start = 0
        self.cut_at = -1
        """The program counter of its clause's last cut, which removed all earlier alternatives."""
        self.is_open = True
        self.end_on_branch = 0
        """The length of the branch when the call last exited."""
        self.entered_at: int | None = None
        """Of a skipped call: the number of inferences when it was made."""
        self.effort = 0
        """The number of unobserved inferences inside a skipped call."""
        self.repeats: TracedCall | None = None
        """Of a stopped call: a caller of it with the same predicate and arguments."""

    @property
    def is_skipped(self) -> bool:
        """Whether it ran without being traced."""
        return self.entered_at is not None

    def note_effort(self, inferences: int) -> None:
        """Note the number of inferences so far, at the entry or exit of a skipped call."""
        if self.entered_at is None:
            self.entered_at = inferences
        self.effort = inferences - self.entered_at


@dataclass(slots=True)
class Cut:
    """A cut in the clause of `call`: the branch from there to `last`, and what the cut pruned."""

    call: TracedCall
    last: TracedCall
    pruned: tuple[tuple[TracedCall | None, int], ...]
    selected_after: TracedCall | None = None

    def branch(self) -> list[TracedCall]:
        """The calls from the one that cuts to the one selected after it."""
        end = self.selected_after or self.last
        return [each for each in path_to(end) if each.position >= self.call.position]


def root_of(call: TracedCall) -> TracedCall:
    """The goal of the trace that holds a call."""
    while call.caller is not None:
        call = call.caller
    return call


def judged_terms(event: PortEvent) -> list[int]:
    """The term of the call, then the terms of the outcome that is judged."""
    call = event.call
    match event.port:
        case Port.EXIT:
            return [call.term, call.answers[event.number].term]
        case Port.FAIL:
            return [call.term, *(each.term for each in call.answers)]
        case Port.FIRST:
            return [call.term, *(each.term for each in call.answers[: event.number + 1])]
        case Port.RAISE:
            assert call.raised is not None
            return [call.term, call.raised]
        case Port.STOPPED:
            return [call.term]


def answer_at(call: TracedCall, time: int | None) -> Solution | None:
    """The last answer of a call up to a time (None: the end)."""
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
    """Its program counter in its caller's clause; that of a construct is just after its start."""
    return item.pc if isinstance(item, TracedCall) else item.construct.start + 1


def is_inside(item: TracedCall | Marker, construct: Construct) -> bool:
    """Whether an item of the branch is inside a negation, or in the first part of a disjunction."""
    if isinstance(item, TracedCall):
        return construct.start < item.pc <= construct.otherwise
    return construct.start < item.construct.start < construct.otherwise


def reopen(call: TracedCall | None) -> None:
    """Mark a call and its callers as running. The callers of an open call are open already."""
    while call is not None and not call.is_open:
        call.is_open = True
        call = call.caller


def stopped_in(call: TracedCall) -> TracedCall | None:
    """The call that a call was waiting for when the run was stopped."""
    last = next((each for each in reversed(call.body) if isinstance(each, TracedCall)), None)
    return last if last is not None and last.is_open else None


def because(owner: TracedCall, items: Sequence[TracedCall | Marker]) -> list[PortEvent]:
    """The events that explain a part of a call's branch: last answers, and failed attempts.

    If one goal made several calls, it was constructed at run time, and its code is out of sight:
    every event below it counts, as below a library predicate.
    """
    events: list[PortEvent] = []
    is_user = owner.predicate.is_user
    before = -1
    for item in items:
        if isinstance(item, Marker):
            before = -1
            events += item.tried
            continue
        if is_user and item.pc >= 0 and (item.pc == before or item.failed is not None):
            return _because_of_hidden(owner, items)
        before = item.pc
        _add_outcome(item, events)
    return events


def _because_of_hidden(owner: TracedCall, items: Iterable[TracedCall | Marker]) -> list[PortEvent]:
    """The same, if one goal made several of the calls, or one that failed."""
    events: list[PortEvent] = []
    for pc, group in groupby(items, key=_hidden_in):
        together = list(group)
        calls = [item for item in together if isinstance(item, TracedCall)]
        if pc >= 0 and (len(calls) > 1 or any(call.failed is not None for call in calls)):
            events += completed(_last_at(owner.log, pc))
            continue
        for item in together:
            if isinstance(item, Marker):
                events += item.tried
            else:
                _add_outcome(item, events)
    return events


def keeping(call: TracedCall, clause: Clause) -> list[PortEvent]:
    """Why a clause that cut, or took a condition's first answer, kept the answer that it kept.

    The events are earlier failures, successes that made a negation fail, and FIRST events of the
    kept answers. A conditional whose condition failed has a marker instead.
    """
    failed = [item.construct for item in call.body if isinstance(item, Marker)]
    conditions = [construct for construct in clause.conditions if construct not in failed]
    if call.cut_at < 0 and not conditions:
        return []
    on_branch = {id(item) for item in call.body}
    log = call.log[call.attempt_start :]
    negated = {event for entry in log if isinstance(entry, Committed) for event in entry.because}

    def explains(event: PortEvent) -> bool:
        called, pc = event.call, event.call.pc
        if event.port is Port.FIRST:
            return id(called) in on_branch and event.number == len(called.answers) - 1
        if event.port is not Port.FAIL and event not in negated:
            return False
        if not (called.predicate.is_user or called.log):
            return False
        return 0 <= pc <= call.cut_at or any(condition.holds(pc) for condition in conditions)

    return [event for event in in_vain(log) if explains(event)]


def first_of(call: TracedCall) -> list[PortEvent]:
    """The FIRST event of a call's last answer, if the call could have another answer."""
    if call.answered is None or not (call.predicate.is_user or call.log):
        return []
    return [PortEvent(Port.FIRST, call, call.answered.number)] if call.states.strip("g") else []


def _add_outcome(call: TracedCall, events: list[PortEvent]) -> None:
    if call.raised is not None:
        events.append(PortEvent(Port.RAISE, call))
    elif call.answered is not None and call.failed is None:
        events.append(call.answered)


def _hidden_in(item: TracedCall | Marker) -> int:
    """The program counter of the goal that made a call; calls made by one goal share it."""
    return item.pc if isinstance(item, TracedCall) else -1


def _last_at(log: list[LogEntry], pc: int) -> list[LogEntry]:
    """The log entries of the last execution of the goal at a program counter."""
    end = len(log)
    while end and not _is_at(log[end - 1], pc):
        end -= 1
    start = end
    while start and _is_at(log[start - 1], pc):
        start -= 1
    return log[start:end]


def _is_at(entry: LogEntry, pc: int) -> bool:
    return isinstance(entry, PortEvent) and entry.call.pc == pc


def evaluation(log: list[LogEntry], construct: Construct, reach: int) -> list[LogEntry]:
    """The log entries of the last evaluation of a construct, up to a program counter."""
    first = len(log)
    while first and _is_inside(log[first - 1], construct):
        first -= 1
    return [
        each for each in log[first:] if not isinstance(each, PortEvent) or each.call.pc <= reach
    ]


def _is_inside(entry: LogEntry, construct: Construct) -> bool:
    match entry:
        case PortEvent(_, call, _):
            return construct.start < call.pc <= construct.otherwise
        case Jump(inner) | Committed(inner, _):
            return construct.start < inner.start < construct.otherwise
        case _:
            return False


def in_vain(log: Iterable[LogEntry]) -> list[PortEvent]:
    """The children of a failure: every answer and every failure below it, in order.

    Inside a negation that failed, only the last answers count, which made it fail.
    """
    kept: list[LogEntry] = []
    for entry in log:
        if isinstance(entry, Committed):
            while kept and _is_inside_negation(kept[-1], entry.construct):
                kept.pop()
            kept += entry.because
        else:
            kept.append(entry)
    return [each for each in kept if isinstance(each, PortEvent)]


def _is_inside_negation(entry: LogEntry, construct: Construct) -> bool:
    if isinstance(entry, PortEvent):
        return construct.holds(entry.call.pc)
    return (
        isinstance(entry, Jump) and construct.start <= entry.construct.start < construct.otherwise
    )


def completed(log: Iterable[LogEntry]) -> list[PortEvent]:
    """Every event below code that is out of sight, and the failures that have no port.

    `findall/3` backtracks into the goal that it calls. If no choice point is left, no port shows
    that the goal has no further answer.
    """
    events = in_vain(log)
    last = {event.call.mark: event for event in events if event.port is not Port.FIRST}
    return events + [
        PortEvent(Port.FAIL, event.call)
        for event in last.values()
        if event.port is Port.EXIT and not event.call.answers[event.number].more
    ]
