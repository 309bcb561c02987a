"""A call of a traced goal: its solutions, the calls behind each, and the attempts that failed.

`trace_tree.py` fills in these records from events. A call's `body` is its part of the current
branch; each solution takes a copy of it. Its `log` holds every event directly below the call; the
children of a failure come from it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import groupby, pairwise

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

    caller: TracedCall
    """The call whose clause has the construct."""
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


@dataclass(slots=True, eq=False, repr=False)
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
    """The clause that `parent` was executing."""
    position: int
    """Its index on the branch."""
    called: int
    """The time of the call."""
    clause: int | None = None
    tried: tuple[int, ...] = ()
    answers: list[Solution] = field(default_factory=list)
    answered: PortEvent | None = None
    """The event of its last answer."""
    failed: int | None = None
    """The time of its failure."""
    raised: int | None = None
    """The term of its exception."""
    raised_after: tuple[PortEvent, ...] = ()
    last_time: int = 0
    """The time of its last event."""
    has_children: bool = False
    body: list[TracedCall | Marker] = field(default_factory=list)
    log: list[LogEntry] = field(default_factory=list)
    guards: tuple[PortEvent, ...] = ()
    """What earlier clauses tried before a cut that they never reached."""
    attempt_start: int = 0
    """The length of its log when its current clause was entered."""
    cut_at: int = -1
    """The program counter of its clause's last cut, which removed all earlier alternatives."""
    is_open: bool = True
    end_on_branch: int = 0
    """The length of the branch when the call last exited."""
    entered_at: int | None = None
    """Of a skipped call: the number of inferences when it was made."""
    effort: int = 0
    """The number of unobserved inferences inside a skipped call."""
    repeats: TracedCall | None = None
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


@dataclass(frozen=True, slots=True)
class HiddenPart:
    """Something that happened out of sight in a call, or in libraries that it called."""

    call: TracedCall
    what: str
    time: int


class ChangeKind(Enum):
    """What happened besides bindings."""

    ADDED = "added"
    REMOVED = "removed"
    SET = "set"
    GOT = "got"
    PRINTED = "printed"


@dataclass(slots=True)
class Change:
    """A clause added or removed, a variable set or read, or text printed, in a call."""

    call: TracedCall
    kind: ChangeKind
    module: str
    """The module of a predicate; "" for a global variable, a flag, a record."""
    name: str
    """The predicate as name/arity, or the name of the variable."""
    term: int
    """The clause, or the value; of printed text the number of characters after it."""
    time: int
    start: int = 0
    """Of printed text: the number of characters before it."""


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
        return [call for call in path_to(end) if call.position >= self.call.position]


def root_of(call: TracedCall) -> TracedCall:
    """The goal of the trace that holds a call."""
    while call.caller is not None:
        call = call.caller
    return call


def user_caller(call: TracedCall) -> TracedCall | None:
    """The nearest caller whose predicate is the user's."""
    caller = call.caller
    while caller is not None and not caller.predicate.is_user:
        caller = caller.caller
    return caller


def judged_terms(event: PortEvent) -> list[int]:
    """The term of the call, then the terms of the outcome that is judged."""
    call = event.call
    match event.port:
        case Port.EXIT:
            return [call.term, call.answers[event.number].term]
        case Port.FAIL:
            return [call.term, *(answer.term for answer in call.answers)]
        case Port.FIRST:
            return [call.term, *(answer.term for answer in call.answers[: event.number + 1])]
        case Port.RAISE:
            assert call.raised is not None
            return [call.term, call.raised]
        case Port.STOPPED:
            return [call.term]


def answer_at(call: TracedCall, time: int) -> Solution | None:
    """The last answer of a call up to a time."""
    for answer in reversed(call.answers):
        if answer.time <= time:
            return answer
    return None


def path_to(call: TracedCall, after: TracedCall | None = None) -> list[TracedCall]:
    """The branch from the goal to a call, as it was when the call was made.

    With `after` only what comes after that call, which is on the branch.
    """
    path = []
    last: TracedCall | None = call
    while last is not None and last is not after:
        path.append(last)
        last = last.parent
    return path[::-1]


class Branch:
    """The calls that led to an event, and for each the goals of its clause on the branch."""

    def __init__(self, event: PortEvent) -> None:
        answer = event.call.answers[event.number] if event.port is Port.EXIT else None
        last = answer.last if answer else event.call
        self._until = answer.time if answer else event.call.called
        path = path_to(last)
        self.calls = {call.mark: call for call in path}
        self._clauses = {call.mark: after.via for call, after in pairwise(path)}
        last_answer = answer_at(last, self._until)
        self._clauses[last.mark] = last_answer.clause if last_answer else None
        self._goals: dict[int, list[TracedCall]] = defaultdict(list)
        for call in path:
            if call.caller is not None:
                self._goals[call.caller.mark].append(call)

    def clause(self, call: TracedCall | None) -> int | None:
        """The clause that a call was executing."""
        return None if call is None else self._clauses.get(call.mark)

    def goals(self, call: TracedCall, before: TracedCall | None = None) -> list[TracedCall]:
        """The goals of a call's clause, in order, or those before one of them."""
        goals = self._goals.get(call.mark, [])
        return goals if before is None else [goal for goal in goals if goal.mark < before.mark]

    def answer(self, call: TracedCall) -> PortEvent | None:
        """The answer of a goal on the branch."""
        answer = answer_at(call, self._until)
        return None if answer is None else PortEvent(Port.EXIT, call, call.answers.index(answer))


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
    last = next((item for item in reversed(call.body) if isinstance(item, TracedCall)), None)
    return last if last is not None and last.is_open else None


def because(owner: TracedCall, items: Sequence[TracedCall | Marker]) -> list[PortEvent]:
    """The events that explain a part of a call's branch: last answers, and failed attempts.

    If one goal made several calls, it was constructed at run time, and its code is out of sight:
    every event below it counts, as below a library predicate.
    """
    events: list[PortEvent] = []
    for pc, group in groupby(items, key=_goal_pc):
        of_goal = list(group)
        if owner.predicate.is_user and pc >= 0:
            calls = [item for item in of_goal if isinstance(item, TracedCall)]
            if len(calls) > 1 or calls[0].failed is not None:
                events += completed(_last_at(owner.log, pc))
                continue
        for item in of_goal:
            if isinstance(item, Marker):
                events += item.tried
            elif item.raised is not None:
                events.append(PortEvent(Port.RAISE, item))
            elif item.answered is not None and item.failed is None:
                events.append(item.answered)
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


def _goal_pc(item: TracedCall | Marker) -> int:
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
    return up_to(log[first:], reach)


def up_to(log: Iterable[LogEntry], reach: int) -> list[LogEntry]:
    """The log entries without the events of calls after a program counter."""
    return [entry for entry in log if not isinstance(entry, PortEvent) or entry.call.pc <= reach]


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
            succeeded = Jump(entry.construct)
            while kept and (kept[-1] == succeeded or _is_inside(kept[-1], entry.construct)):
                kept.pop()
            kept += entry.because
        else:
            kept.append(entry)
    return [entry for entry in kept if isinstance(entry, PortEvent)]


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
