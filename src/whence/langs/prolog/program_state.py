"""What calls read and changed besides their arguments: clauses, global variables, records, output.

A change belongs to the call in whose clause it happened, so it is an effect of all callers of that
call. A call *reads* the clauses of predicates that change in the run, and global variables; what it
added itself is no input of it.

Invariant: an event is `touched` if anything of this happened in it; only then is it no function of
its arguments, and its question tells what happened.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from whence.langs.prolog.port_events import Predicate
from whence.langs.prolog.trace_tree import TraceTree
from whence.langs.prolog.traced_call import Change, ChangeKind, Port, PortEvent, TracedCall

_SHOWN = 8
_READERS = {("clause", 2)}
Texts = Callable[[Sequence[int]], list[str]]


@dataclass(frozen=True, slots=True)
class StateChange:
    """What an event did, as terms by their numbers; values of variables with their names."""

    added: tuple[int, ...] = ()
    removed: tuple[int, ...] = ()
    set_to: tuple[tuple[str, int], ...] = ()
    read: tuple[int, ...] = ()
    not_there: tuple[int, ...] = ()
    """Calls that found no clause."""
    got: tuple[tuple[str, int], ...] = ()
    printed: str = ""


NOTHING = StateChange()


class ProgramState:
    """The state of a program in the course of a trace."""

    def __init__(self, trace: TraceTree, digests: Texts, output: str = "") -> None:
        self._trace = trace
        self._digests = digests
        self._output = output
        self._changes = [c for c in trace.changes if c.kind is not ChangeKind.PRINTED or output]
        self._times = [change.time for change in self._changes]
        facts = (ChangeKind.ADDED, ChangeKind.REMOVED)
        self.changing = {(c.module, c.name) for c in self._changes if c.kind in facts and c.module}
        """The predicates whose clauses change: module, and name/arity."""
        self._added: dict[tuple[str, str], dict[str, int]] | None = None
        self._reads = [call for call in trace.calls if self._is_read(call)]
        self._read_times = [call.called for call in self._reads]
        self._touched: set[int] = set()
        for call in chain((change.call for change in self._changes), self._reads):
            self._touch(call)

    def is_touched(self, call: TracedCall) -> bool:
        """Whether a call read or changed anything, or printed."""
        return call.mark in self._touched

    def is_state(self, event: PortEvent) -> bool:
        """Whether an event only reads what the program did before: nobody is asked about it."""
        predicate = event.call.predicate
        if not self._is_changing(predicate):
            return False
        if event.port is Port.EXIT:
            return self._was_added(event)
        is_first = bisect_left(self._times, event.call.called)
        return any(_is_of(change, predicate) for change in self._changes[:is_first])

    def was_there(self, event: PortEvent) -> bool:
        """Whether an answer is from a clause that is in no file, but was there before the goal."""
        call = event.call
        if event.port is not Port.EXIT or not self._is_changing(call.predicate):
            return False
        clause = self._trace.clause(call.answers[event.number].clause)
        before = self._changes[: bisect_left(self._times, call.called)]
        is_first = not any(_is_of(change, call.predicate) for change in before)
        return clause is not None and not clause.line and is_first

    def _was_added(self, event: PortEvent) -> bool:
        """Whether the answer of an event is a fact that the program had added before."""
        if self._added is None:
            self._added = self._first_added()
        predicate = event.call.predicate
        times = self._added.get((predicate.module, predicate.indicator), {})
        [digest] = self._digests([event.call.answers[event.number].term])
        return digest in times and times[digest] <= event.call.answers[event.number].time

    def _first_added(self) -> dict[tuple[str, str], dict[str, int]]:
        """When each clause was added first, by its predicate and its digest."""
        added = [change for change in self._changes if change.kind is ChangeKind.ADDED]
        answers = [answer.term for call in self._reads for answer in call.answers]
        digests = self._digests([*(change.term for change in added), *answers])
        first: dict[tuple[str, str], dict[str, int]] = {}
        for change, digest in zip(added, digests[: len(added)], strict=True):
            first.setdefault((change.module, change.name), {}).setdefault(digest, change.time)
        return first

    def looked_for(self, event: PortEvent) -> Predicate | None:
        """A predicate of the file that changes, in which an event found no clause."""
        end = _end(event)
        for call in self._reads:
            absent = not call.answers and call.failed is not None and call.failed <= end
            is_in_file = absent and bool(call.predicate.file) and _is_below(call, event.call)
            if is_in_file and self.is_state(PortEvent(Port.FAIL, call)):
                return call.predicate
        return None

    def change(self, event: PortEvent) -> StateChange:
        """What an event read, changed and printed."""
        call, end = event.call, _end(event)
        if not self.is_touched(call):
            return NOTHING
        first, last = bisect_left(self._times, call.called), bisect_right(self._times, end)
        own = [c for c in self._changes[first:last] if _is_below(c.call, call)]
        clauses = [c for c in own if c.kind in (ChangeKind.ADDED, ChangeKind.REMOVED)]
        digests = dict(
            zip([c.term for c in clauses], self._digests([c.term for c in clauses]), strict=True)
        )
        read, not_there = self._read(call, end, clauses, digests)
        gone = {digests[c.term] for c in clauses if c.kind is ChangeKind.REMOVED}
        balance: Counter[str] = Counter()
        for c in clauses:
            balance[digests[c.term]] += 1 if c.kind is ChangeKind.ADDED else -1
        set_to = {c.name: c.term for c in own if c.kind is ChangeKind.SET}
        got: dict[str, int] = {}
        were_set: set[str] = set()
        for c in own:
            if c.kind is ChangeKind.SET:
                were_set.add(c.name)
            elif c.kind is ChangeKind.GOT and c.name not in were_set:
                got.setdefault(c.name, c.term)
        return StateChange(
            _net(clauses, digests, balance, ChangeKind.ADDED),
            _net(clauses, digests, -balance, ChangeKind.REMOVED),
            tuple(set_to.items()),
            tuple(term for digest, term in read.items() if digest not in gone),
            tuple(not_there),
            tuple(got.items()),
            "".join(self._output[c.start : c.term] for c in own if c.kind is ChangeKind.PRINTED),
        )

    def before(self, call: TracedCall) -> list[Change]:
        """The clauses added and removed, and the variables set, before a call."""
        last = bisect_left(self._times, call.called)
        changed = (ChangeKind.ADDED, ChangeKind.REMOVED, ChangeKind.SET)
        return [c for c in self._changes[:last] if c.kind in changed]

    def _read(
        self, call: TracedCall, end: int, clauses: Sequence[Change], digests: dict[int, str]
    ) -> tuple[dict[str, int], list[int]]:
        read: dict[str, int] = {}
        not_there: dict[str, int] = {}
        first = bisect_left(self._read_times, call.called)
        for reader in self._reads[first:]:
            if reader.called > end:
                break
            if reader is call or not _is_below(reader, call):
                continue
            own = {digests[c.term] for c in clauses if c.time <= reader.called}
            terms = [answer.term for answer in reader.answers if answer.time <= end]
            for term, digest in zip(terms, self._digests(terms), strict=True):
                if digest not in own:
                    read.setdefault(digest, term)
            if not terms and reader.failed is not None and reader.failed <= end:
                [digest] = self._digests([reader.term])
                not_there.setdefault(digest, reader.term)
        return read, list(not_there.values())

    def _is_changing(self, predicate: Predicate) -> bool:
        return (predicate.module, predicate.indicator) in self.changing

    def _is_read(self, call: TracedCall) -> bool:
        if call.predicate.is_user:
            return self._is_changing(call.predicate)
        return bool(self.changing) and (call.predicate.name, call.predicate.arity) in _READERS

    def _touch(self, call: TracedCall | None) -> None:
        while call is not None and call.mark not in self._touched:
            self._touched.add(call.mark)
            call = call.caller


def described(change: StateChange, texts: Texts) -> str:
    """What an event read and changed, as a person reads it; "" if nothing. Without its output."""
    phrases = [
        _listed("it read", texts(change.read)),
        _listed("it found no", texts(change.not_there)),
        _listed("it got", _values(change.got, texts)),
        _listed("it removed", texts(change.removed)),
        _listed("it added", texts(change.added)),
        _listed("it set", _values(change.set_to, texts)),
    ]
    return "; ".join(filter(None, phrases))


def read_output(file: Path) -> str:
    """The copy of what the program printed."""
    try:
        return file.read_bytes().decode("utf-8", errors="replace")
    except OSError:
        return ""


def _values(pairs: Sequence[tuple[str, int]], texts: Texts) -> list[str]:
    shown = texts([term for _, term in pairs])
    return [f"{name} = {text}" for (name, _), text in zip(pairs, shown, strict=True)]


def _listed(verb: str, texts: Sequence[str]) -> str:
    if not texts:
        return ""
    more = f", … {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return f"{verb} {', '.join(texts[:_SHOWN])}{more}"


def _net(
    clauses: Sequence[Change], digests: dict[int, str], balance: Counter[str], kind: ChangeKind
) -> tuple[int, ...]:
    """The clauses that are there, or gone, in the end."""
    left = +balance
    terms = []
    for change in clauses:
        digest = digests[change.term]
        if change.kind is kind and left[digest] > 0:
            left[digest] -= 1
            terms.append(change.term)
    return tuple(terms)


def _is_of(change: Change, predicate: Predicate) -> bool:
    return (change.module, change.name) == (predicate.module, predicate.indicator)


def _end(event: PortEvent) -> int:
    call = event.call
    if event.port in (Port.EXIT, Port.FIRST):
        return call.answers[event.number].time
    return call.failed if event.port is Port.FAIL and call.failed is not None else call.last_time


def _is_below(call: TracedCall | None, top: TracedCall) -> bool:
    """Whether a call is another one or was made by it, directly or not."""
    return any(caller is top for caller in _callers(call, top.mark))


def _callers(call: TracedCall | None, least: int) -> Iterator[TracedCall]:
    while call is not None and call.mark >= least:
        yield call
        call = call.caller
