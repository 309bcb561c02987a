"""A call of a traced goal: how it was left, what it called on the way, what it tried in vain.

`trace_tree.py` fills these in from events; here is what they mean. A call's `body` is its part of
the current branch, of which each answer takes a copy; its `log` has all that ever happened directly
below it, from which the children of a failure are taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby

from whence.langs.prolog.port_events import Clause, Construct, Predicate


class Port(Enum):
    """How a call was left: the events that are nodes of the evaluation tree."""

    EXIT = "exit"
    FAIL = "fail"
    FIRST = "first"
    """No answer but the earlier ones comes before an answer that was kept, and others were not."""
    RAISE = "exception"
    STOPPED = "stopped"


@dataclass(unsafe_hash=True, slots=True)
class PortEvent:
    """A call being left: its `number`-th answer, its failure, an exception; or that it was not.

    Or that its answers up to the `number`-th are its first ones.

    It never changes; to freeze it would make each of millions take four times as long.
    """

    port: Port
    call: TracedCall
    number: int = 0


@dataclass(slots=True)
class Solution:
    """One answer of a call: what it is, and what on the branch made it."""

    term: int
    states: str
    more: bool
    clause: int | None
    children: tuple[PortEvent, ...]
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
    tried: tuple[PortEvent, ...]


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
    because: tuple[PortEvent, ...]


LogEntry = PortEvent | Jump | NewClause | Committed


class TracedCall:
    """A call. `mark` numbers calls in order; `parent` is the call before it on its branch.

    Written out, as a run has hundreds of thousands of them.
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
        """The last of its answers."""
        self.failed: int | None = None
        self.raised: int | None = None
        self.raised_after: tuple[PortEvent, ...] = ()
        self.last_time = 0
        """When it was last heard of."""
        self.has_children = False
        self.body: list[TracedCall | Marker] = []
        self.log: list[LogEntry] = []
        self.guards: tuple[PortEvent, ...] = ()
        """What earlier clauses tried before a cut that they did not reach."""
        self.attempt_start = 0
        self.cut_at = -1
        """Where its clause last cut; no other way is left in what stands before."""
        self.is_open = True
        self.end_on_branch = 0
        """Where the branch ended when it was last left."""
        self.entered_at: int | None = None
        """Of a call that was not looked into: the number of inferences when it was made."""
        self.effort = 0
        """How many inferences were made in it, out of sight."""
        self.repeats: TracedCall | None = None
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


def root_of(call: TracedCall) -> TracedCall:
    """The goal that led to a call."""
    while call.caller is not None:
        call = call.caller
    return call


def judged_terms(event: PortEvent) -> list[int]:
    """The term of the call, then those of what is judged of it."""
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


def because(owner: TracedCall, items: Sequence[TracedCall | Marker]) -> list[PortEvent]:
    """A part of a call's branch as what it shows: last answers, and what was tried in vain.

    Calls that one goal made, a goal put together at run time and called, are made by code that is
    out of sight: all that happened below it counts, as below a library predicate.
    """
    found: list[PortEvent] = []
    is_user = owner.predicate.is_user
    before = -1
    for each in items:
        if isinstance(each, Marker):
            before = -1
            found += each.tried
            continue
        if is_user and each.pc >= 0 and (each.pc == before or each.failed is not None):
            return _because_of_hidden(owner, items)
        before = each.pc
        _add_shown(each, found)
    return found


def _because_of_hidden(owner: TracedCall, items: Iterable[TracedCall | Marker]) -> list[PortEvent]:
    """The same, where one goal made several of the calls, or one that failed."""
    found: list[PortEvent] = []
    for pc, group in groupby(items, key=_hidden_in):
        together = list(group)
        calls = [each for each in together if isinstance(each, TracedCall)]
        if pc >= 0 and (len(calls) > 1 or any(each.failed is not None for each in calls)):
            found += completed(_last_at(owner.log, pc))
            continue
        for each in together:
            if isinstance(each, Marker):
                found += each.tried
            else:
                _add_shown(each, found)
    return found


def keeping(call: TracedCall, clause: Clause) -> list[PortEvent]:
    """Why a clause that cut, or took a condition's first answer, kept what it kept.

    What failed before that, or was true where a negation needed it not to be, and that what was
    kept came first. A conditional whose condition failed has a marker, which tells of it.
    """
    failed = [each.construct for each in call.body if isinstance(each, Marker)]
    conditions = [each for each in clause.conditions if each not in failed]
    if call.cut_at < 0 and not conditions:
        return []
    on_branch = {id(each) for each in call.body}
    log = call.log[call.attempt_start :]
    negated = {each for entry in log if isinstance(entry, Committed) for each in entry.because}

    def explains(event: PortEvent) -> bool:
        called, pc = event.call, event.call.pc
        if event.port is Port.FIRST:
            return id(called) in on_branch and event.number == len(called.answers) - 1
        if event.port is not Port.FAIL and event not in negated:
            return False
        if not (called.predicate.is_user or called.log):
            return False
        return 0 <= pc <= call.cut_at or any(each.holds(pc) for each in conditions)

    return [each for each in in_vain(log) if explains(each)]


def first_of(call: TracedCall) -> list[PortEvent]:
    """That a call's answers so far came first, where it could have come to another one."""
    if call.answered is None or not (call.predicate.is_user or call.log):
        return []
    return [PortEvent(Port.FIRST, call, call.answered.number)] if call.states.strip("g") else []


def _add_shown(call: TracedCall, found: list[PortEvent]) -> None:
    """What a call on the branch shows: its last answer, or what it raised."""
    if call.raised is not None:
        found.append(PortEvent(Port.RAISE, call))
    elif call.answered is not None and call.failed is None:
        found.append(call.answered)


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
    return isinstance(entry, PortEvent) and entry.call.pc == pc


def evaluation(log: list[LogEntry], construct: Construct, reach: int) -> list[LogEntry]:
    """What the log holds of the last evaluation of a construct, up to a program counter."""
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
    return [each for each in kept if isinstance(each, PortEvent)]


def _is_inside_negation(entry: LogEntry, construct: Construct) -> bool:
    if isinstance(entry, PortEvent):
        return construct.holds(entry.call.pc)
    return (
        isinstance(entry, Jump) and construct.start <= entry.construct.start < construct.otherwise
    )


def completed(log: Iterable[LogEntry]) -> list[PortEvent]:
    """All that happened below code that is out of sight, and that calls had no more answers.

    `findall/3` fails back into what it calls, which shows in no port where there is nothing left.
    """
    events = in_vain(log)
    last = {each.call.mark: each for each in events if each.port is not Port.FIRST}
    return events + [
        PortEvent(Port.FAIL, each.call)
        for each in last.values()
        if each.port is Port.EXIT and not each.call.answers[each.number].more
    ]
