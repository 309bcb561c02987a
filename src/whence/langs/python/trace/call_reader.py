"""Reads a call of a trace in full, from its records, when somebody looks at it.

A call's *steps* are the times at which it ran: one for a plain function, one from each RESUME to
the next YIELD for a generator. Its effects are the differences between the begin and the end of a
step; what others changed while it was suspended counts as something that it read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.many_records import CHANGED_FILE
from whence.langs.python.trace.recorded_effects import UNKNOWN, bound, effects_on
from whence.langs.python.trace.run_ending import STOPS, RunEnding
from whence.langs.python.trace.trace_format import MalformedTrace
from whence.langs.python.trace.trace_records import (
    AFTER_INPUTS,
    GLOBALS,
    LAST,
    CallHead,
    TraceRecords,
)
from whence.langs.python.trace.trace_tables import CodeEntry
from whence.langs.python.trace.value_decoder import RootValue, ValueIdentities
from whence.langs.python.trace.value_reader import ValueReader
from whence.model.call import (
    Binding,
    Call,
    Effect,
    Function,
    Location,
    Outcome,
    OutcomeKind,
    Rule,
)
from whence.model.value import Value, atom, show
from whence.ports import Bytes, Int64s

MOST_YIELDED = 2000
"""At most this many values of a generator are read."""
MOST_EFFECTS = 100
MOST_EVENTS = 5_000
"""Of more records between the first and the last of a call, the values are not read."""
MOST_TEXTS = 50_000
"""At most this many texts that a call printed are read."""
TOO_OFTEN = atom("<not known: it changed too often to be read>")
_BEGINS = (f.RESUME, f.THROW, f.SEND)
_SUSPENDS = (f.YIELD, f.BARE_YIELD)


@dataclass(slots=True)
class _Change:
    """A change to an input or a variable, by one or several consecutive steps."""

    name: str
    before: Value | None
    after: Value | None


@dataclass(slots=True)
class _Reading:
    """What is known of a call while its records are read in order."""

    number: int
    code: CodeEntry
    identities: ValueIdentities
    inputs: list[Value] = field(default_factory=list)
    now: list[Value] = field(default_factory=list)
    """The inputs as they are at this time."""
    last: list[_Change | None] = field(default_factory=list)
    """For each input its last change, unless another call changed it since."""
    changes: list[_Change] = field(default_factory=list)
    more_reads: list[Binding] = field(default_factory=list)
    yielded: list[Value] = field(default_factory=list)
    yields: int = 0
    printed: list[str] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """The positions at which its steps begin and end."""
    running: bool = False
    roots: int = AFTER_INPUTS

    def begin(self, position: int) -> None:
        """It runs from here on."""
        if not self.running:
            self.begins.append(position)
        self.running = True

    def suspend(self, position: int) -> None:
        """It ran up to here."""
        if self.running:
            self.ends.append(position)
        self.running = False

    def next_root(self) -> int:
        """A number for a root that is no input."""
        self.roots += 1
        return self.roots


@dataclass(frozen=True, slots=True)
class CallReader:
    """Reads calls of one trace."""

    _records: TraceRecords
    _ending: RunEnding

    def call(self, number: int, function: Function, rule: Rule) -> Call:
        """A call by its number, from 1 on."""
        identities = ValueIdentities()
        call = self._read(number, identities, function, rule)
        if identities:
            # Now that it is known which values are referred to, they can be given numbers.
            call = self._read(number, identities, function, rule)
        return call

    def _read(
        self, number: int, identities: ValueIdentities, function: Function, rule: Rule
    ) -> Call:
        head = self._records.head(number)
        code = self._records.tables.code(head.code)
        reading = _Reading(number, code, identities)
        if not code.is_stepped:
            reading.begin(int(self._records.positions.call_at[number]))
        arguments = self._inputs(reading, head)
        self._events(reading, self._records.events(number))
        outcome = self._outcome(reading)
        captured = () if head.bare else reading.inputs[len(code.parameters) :]
        reads = [
            Binding(name, value)
            for name, value in zip(code.free_variables, captured, strict=False)
            if bound(value) is not None
        ]
        globals_read, global_effects = self._globals(reading)
        effects = [
            effect
            for change in reading.changes
            if change.before != change.after
            for effect in effects_on(change.name, change.before, change.after)
        ]
        return Call(
            function=function,
            rule=rule,
            outcome=outcome,
            arguments=arguments,
            reads=_distinct([*reads, *globals_read, *reading.more_reads]),
            effects=tuple((effects + global_effects)[:MOST_EFFECTS]),
            printed="".join(reading.printed),
            site=self._site(head),
            text=_defined(code, outcome),
        )

    def raised(self, number: int) -> Value | None:
        """The exception that left a call; None if none did, or it was not recorded."""
        position = int(self._records.positions.exit_at[number])
        if position < 0:
            return None
        record, _, place = self._records.fields(position, 1)
        if record != f.RAISE:
            return None
        _, _, place = self._records.fields(position, 2)
        code = self._records.tables.code(
            self._records.head(number).code
        )  # its inputs may be among what is raised
        return self._root(_Reading(0, code, ValueIdentities()), place, len(code.inputs))[0]

    def printed(self, positions: Int64s) -> list[str]:
        """The texts of some OUTPUT records, or of the first of very many."""
        texts = list(self._records.many(positions[:MOST_TEXTS]).texts())
        if len(positions) > MOST_TEXTS:
            texts.append(f"\n…{len(positions) - MOST_TEXTS:,} more texts\n")
        return texts

    def _site(self, head: CallHead) -> Location | None:
        if head.site == 0 or head.parent <= 0:
            return None
        return self._records.tables.code(self._records.head(head.parent).code).location(head.site)

    def _inputs(self, reading: _Reading, head: CallHead) -> tuple[Binding, ...]:
        """Read the inputs; those that are parameters are the arguments."""
        code, position = reading.code, head.values
        if head.bare:
            reading.inputs = [atom("…")] * len(code.inputs)
        else:
            for number in range(len(code.inputs)):
                value, position = self._root(reading, position, number)
                reading.inputs.append(value)
        reading.now = list(reading.inputs)
        reading.last = [None] * len(reading.inputs)
        if head.bare:
            return (Binding("", atom("…")),) if code.parameters else ()
        return tuple(map(Binding, code.parameters, reading.inputs))

    def _root(
        self, reading: _Reading, position: int, number: int, same_as: int | None = None
    ) -> tuple[Value, int]:
        """A root value of a call, and the position of the next field."""
        # What is no input of a call, such as a global, refers to none either.
        inputs = len(reading.code.inputs) if number < GLOBALS else 0
        root = RootValue(reading.identities, number, inputs, same_as)
        return self._records.read_root(ValueReader, root, position)

    def _events(self, reading: _Reading, positions: Int64s) -> None:
        """Read the records between the first and the last.

        Of very many, all counts and steps are known, but the later values are not: an input that
        changed then is one whose value is not known.
        """
        kinds = self._records.many(positions).kinds()
        is_text = kinds == f.OUTPUT
        reading.printed = self.printed(positions[is_text])
        positions, kinds = positions[~is_text], kinds[~is_text]
        for position in positions[:MOST_EVENTS].tolist():
            self._event(reading, position)
        if len(positions) > MOST_EVENTS:
            self._late_events(reading, positions[MOST_EVENTS:], kinds[MOST_EVENTS:])

    def _late_events(self, reading: _Reading, positions: Int64s, kinds: Bytes) -> None:
        begins, suspends = np.isin(kinds, _BEGINS), np.isin(kinds, _SUSPENDS)
        is_step = begins | suspends
        # For each record, whether the call ran when it was written, and after it.
        last_step = np.maximum.accumulate(np.where(is_step, np.arange(len(kinds)), -1))
        runs_after = np.where(last_step < 0, reading.running, begins[last_step])
        ran = np.concatenate([[reading.running], runs_after[:-1]])
        reading.begins += positions[begins & ~ran].tolist()
        reading.ends += positions[suspends & ran].tolist()
        if not reading.code.flags & f.COROUTINE:
            reading.yields += int(np.count_nonzero(suspends))
        passed = int(np.count_nonzero((kinds == f.SEND) | (kinds == f.THROW)))
        if passed:
            reading.more_reads.append(Binding("sent", atom(f"…{passed:,} more")))
        changes = np.isin(kinds, (f.CHANGED, f.LOST))
        if not bool((is_step | changes).all()):
            raise MalformedTrace(CHANGED_FILE)
        inputs = self._records.many(positions[changes]).second_numbers()
        for is_own in (True, False):
            reading.running = is_own
            for which in np.unique(inputs[ran[changes] == is_own]).tolist():
                if which >= len(reading.now):
                    raise MalformedTrace("an input changes that there is not")
                self._changed(reading, which, TOO_OFTEN)
        reading.running = bool(runs_after[-1])

    def _event(self, reading: _Reading, position: int) -> None:
        record, _, place = self._records.fields(position, 1)
        if record in _SUSPENDS:
            reading.suspend(position)
            self._yielded(reading, record, place)
        elif record in _BEGINS:
            reading.begin(position)
            if record != f.RESUME:
                # The value of the yield at which it was left, which has the same number.
                name = "thrown" if record == f.THROW else f"sent[{max(0, reading.yields - 1)}]"
                _, _, place = self._records.fields(position, 2)
                value, _ = self._root(reading, place, reading.next_root())
                reading.more_reads.append(Binding(name, value))
        elif record in (f.CHANGED, f.LOST):
            _, (_, which), place = self._records.fields(position, 2)
            if which >= len(reading.now):
                raise MalformedTrace("an input changes that does not exist")
            after = UNKNOWN
            if record == f.CHANGED:
                after, _ = self._root(reading, place, reading.next_root(), which)
            self._changed(reading, which, after)
        else:
            raise MalformedTrace(CHANGED_FILE)

    @staticmethod
    def _changed(reading: _Reading, which: int, after: Value) -> None:
        name = reading.code.inputs[which]
        if not reading.running:
            reading.more_reads.append(Binding(f"{name}(resumed)", after))
            reading.last[which] = None
        else:
            last = reading.last[which]
            if last is None:
                last = _Change(name, reading.now[which], after)
                reading.changes.append(last)
                reading.last[which] = last
            last.after = after
        reading.now[which] = after

    def _yielded(self, reading: _Reading, record: int, position: int) -> None:
        if reading.code.flags & f.COROUTINE:
            return  # what a coroutine waits for is the event loop's business
        reading.yields += 1
        if reading.yields > MOST_YIELDED:
            return
        if record == f.BARE_YIELD:
            reading.yielded.append(atom("…"))
        else:
            reading.yielded.append(self._root(reading, position, reading.next_root())[0])

    def _outcome(self, reading: _Reading) -> Outcome:
        position, code = int(self._records.positions.exit_at[reading.number]), reading.code
        yielded = tuple(reading.yielded)
        if reading.yields > len(yielded):
            yielded += (atom(f"…{reading.yields - len(yielded):,} more"),)
        waiting = code.flags & f.COROUTINE
        if position < 0:
            left = reading.running or waiting
            reading.suspend(LAST)
            kind = OutcomeKind.NOT_TERMINATED if left else OutcomeKind.YIELDED
            stopped = left and self._ending.how() == f.STOPPED
            why = self._stopped(reading.number, self._ending.why_stopped()) if stopped else None
            return Outcome(kind, why, yielded)
        reading.suspend(position)
        record, _, place = self._records.fields(position, 1)
        if record == f.CLOSED:
            kind = OutcomeKind.NOT_TERMINATED if waiting else OutcomeKind.YIELDED
            return Outcome(kind, None, yielded)
        kind, location, value = OutcomeKind.RETURNED, None, None
        if record in (f.RAISE, f.BARE_RAISE):
            kind = OutcomeKind.RAISED
            _, (_, where), place = self._records.fields(position, 2)
            location = code.location(where)
            if self._ending.interrupted is not None and position >= self._ending.interrupted:
                why = self._stopped(reading.number, STOPS[self._ending.interrupt or ""])
                return Outcome(OutcomeKind.NOT_TERMINATED, why, yielded, location)
        if record in (f.RETURN, f.RAISE):
            value, _ = self._root(reading, place, reading.next_root())
        elif record == f.BARE_RETURN and yielded:
            value = atom("?")  # without a value a generator counts as left where it yielded
        return Outcome(kind, value, yielded, location, bool(code.flags & f.YIELDING))

    def _stopped(self, number: int, why: str) -> Value:
        """Why a call did not end, and how many calls were recorded after it began."""
        made = self._records.calls - 1 - number
        if int(self._records.positions.threads[0]) > 1:
            return atom(why)
        return atom(f"{why}, {made:,} recorded call{'' if made == 1 else 's'} later")

    def _globals(self, reading: _Reading) -> tuple[list[Binding], list[Effect]]:
        """The module variables that the call's code names: as they were, and what changed."""
        reads: list[Binding] = []
        effects: list[Effect] = []
        for variable in reading.code.variables if reading.begins else ():
            records = self._records.variable_records(variable)
            name = self._records.tables.variable(variable)[1]
            before = np.searchsorted(records, np.array(reading.begins, dtype=np.int64))
            after = np.searchsorted(records, np.array(reading.ends, dtype=np.int64))
            first = bound(self._global(reading, records, int(before[0])))
            if first is not None:
                reads.append(Binding(name, first))
            runs = _runs(before, after)
            for start, stop in runs[:MOST_EFFECTS]:
                old = self._global(reading, records, start)
                new = self._global(reading, records, stop)
                if old != new:
                    effects += effects_on(name, old, new)
            if len(runs) > MOST_EFFECTS:
                old = self._global(reading, records, runs[MOST_EFFECTS][0])
                effects += effects_on(name, old, TOO_OFTEN)
        return reads, effects

    def _global(self, reading: _Reading, records: Int64s, count: int) -> Value | None:
        """The value of a variable after so many of its records."""
        if count == 0:
            return None
        position = int(records[count - 1])
        record, _, place = self._records.fields(position, 1)
        if record != f.GLOBAL:
            raise MalformedTrace(CHANGED_FILE)
        return self._root(reading, place, GLOBALS + position)[0]


def _defined(code: CodeEntry, outcome: Outcome) -> str:
    """How a class body is described, which would read like a call of the class."""
    if not code.flags & f.CLASS_BODY or outcome.kind is OutcomeKind.NOT_TERMINATED:
        return ""
    name = code.qualname.rpartition("<locals>.")[2]
    if outcome.kind is OutcomeKind.RETURNED:
        return f"class {name} was defined"
    raised = "" if outcome.value is None else f" {show(outcome.value)}"
    return f"class {name} raised{raised} while it was defined"


def _runs(before: Int64s, after: Int64s) -> list[tuple[int, int]]:
    """The steps in which a variable changed; consecutive steps of one call are joined."""
    count = min(len(before), len(after))
    before, after = before[:count], after[:count]
    changed = before != after
    before, after = before[changed], after[changed]
    if not len(before):
        return []
    apart = before[1:] != after[:-1]
    starts, stops = before[np.append(True, apart)], after[np.append(apart, True)]
    return list(zip(starts.tolist(), stops.tolist(), strict=True))


def _distinct(bindings: list[Binding]) -> tuple[Binding, ...]:
    """The bindings with distinct names."""
    counts: dict[str, int] = {}
    distinct: list[Binding] = []
    for binding in bindings:
        counts[binding.name] = count = counts.get(binding.name, 0) + 1
        distinct.append(
            binding if count == 1 else Binding(f"{binding.name}′{count}", binding.value)
        )
    return tuple(distinct)
