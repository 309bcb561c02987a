"""A call of a trace in full: read from its records when somebody looks at it.

`RecordPositions` says where the records of each call are; their contents are not kept. A call's
*steps* are the times at which it ran: one for a plain function, one from each RESUME to the next
YIELD for a generator. What it changed is what differs between the begin and the end of a step; what
others changed while it was suspended is something that it read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np

from whence.errors import CannotExpand
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.line_table import Span
from whence.langs.python.trace.recorded_effects import UNKNOWN, bound, effects_on
from whence.langs.python.trace.standard_output import StandardOutput, in_lines
from whence.langs.python.trace.trace_format import MalformedTrace, read_text, read_v
from whence.langs.python.trace.trace_pages import TraceError, TraceFile, printable
from whence.langs.python.trace.trace_tables import CodeEntry, TraceTables
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
from whence.ports import Int32s, Int64s
from whence.tree.column_tree import ColumnTree

MOST_YIELDED = 2000
"""Of a generator that yielded more, this many values are read."""
MOST_EFFECTS = 100
_AFTER = 2**32
"""Roots from here on are no inputs, but what became of them, and outcomes."""
_GLOBALS = 2**33
"""Roots from here on are not the call's own."""
_STOPS = {
    "KeyboardInterrupt": "it was interrupted (Ctrl-C)",
    "RecursionError": "the recursion limit was reached",
}
"""Exceptions that say nothing of the calls that they leave but that these were not done yet."""
_LAST = 2**62
"""A position behind all records."""
_CHANGED = "the file was changed after it was opened"


_Read_co = TypeVar("_Read_co", covariant=True)


class RootReader(Protocol[_Read_co]):
    """Makes something of one root value."""

    def read(self, place: int) -> tuple[_Read_co, int]:
        """The value at a place, which is no reference, and where the next field starts."""


@dataclass(frozen=True, slots=True)
class RecordPositions:
    """Where the records stand. Events are sorted by call and globals by variable, then by time."""

    call_at: Int64s
    exit_at: Int64s
    event_call: Int32s
    event_at: Int64s
    global_variable: Int32s
    global_at: Int64s
    root_at: Int64s
    end_at: Int64s
    output_call: Int32s
    output_at: Int64s
    interrupted: Int64s
    """If the run ended by an exception that stops it: where the first call ended that it left."""
    note_at: Int64s
    skipped_count: Int64s
    skipped_before: Int64s
    threads: Int64s


@dataclass(frozen=True, slots=True)
class _Head:
    """A CALL up to its values, which stand at `values`."""

    bare: bool
    parent: int
    code: int
    site: int
    values: int


@dataclass(slots=True)
class _Change:
    """What one or several steps in a row did to an input or a variable."""

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
    """For each input the last change, while nobody else changed it since."""
    changes: list[_Change] = field(default_factory=list)
    more_reads: list[Binding] = field(default_factory=list)
    yielded: list[Value] = field(default_factory=list)
    yields: int = 0
    printed: list[str] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """Where its steps begin and end, as many of both but while it is running."""
    running: bool = False
    roots: int = _AFTER

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


class CallExpander(Protocol):
    """Can learn the calls below an implicit call."""

    @property
    def gives_again(self) -> bool:
        """Whether its calls have the same ids whenever they come to light."""

    def expand(self, number: int, levels: int) -> ColumnTree:
        """The tree whose top is this call."""


_COUNT_BITS = 32
_MOST_COUNTED = 2**_COUNT_BITS - 1


def skipped_detail(caller: Int64s, count: Int64s) -> Int64s:
    """The detail of what stands for calls that were not recorded, below a call."""
    detail: Int64s = -(caller << _COUNT_BITS | np.minimum(count, _MOST_COUNTED))
    return detail


def skipped_by(detail: int) -> tuple[int, int]:
    """The call that led to calls that were not recorded, and how many there are of them."""
    return -detail >> _COUNT_BITS, -detail & _MOST_COUNTED


class TraceSource:
    """The calls of one trace. A detail is a call's number, or a `skipped_detail`."""

    def __init__(self, file: TraceFile, tables: TraceTables, places: RecordPositions) -> None:
        self.file = file
        self.tables = tables
        self._places = places
        self._expander: CallExpander | None = None

    def call(self, detail: int, function: Function, rule: Rule) -> Call:
        """The call in full."""
        if detail < 0:
            text = f"{skipped_by(detail)[1]:,} calls that were not recorded"
            return Call(function, rule, Outcome(OutcomeKind.RETURNED), text=text)
        try:
            return self._run(function, rule) if detail == 0 else self._call(detail, function, rule)
        except MalformedTrace as problem:
            raise TraceError(
                self.file.path, f"call {detail} cannot be read: {problem}", "record again"
            ) from None
        except RecursionError:
            raise TraceError(
                self.file.path, f"call {detail} cannot be read: its values are nested too deeply"
            ) from None

    def expand_with(self, expander: CallExpander) -> None:
        """Ask this expander for calls that were not recorded: a trace alone does not have them."""
        self._expander = expander

    def expand(self, detail: int, levels: int) -> ColumnTree:
        """The tree below an implicit call."""
        if self._expander is None or (detail < 0 and not skipped_by(detail)[0]):
            raise CannotExpand(
                "the calls below this one were not recorded: record again with higher bounds, or "
                "with --journal, and they are found by running it again"
            )
        return self._expander.expand(detail, levels)

    @property
    def gives_again(self) -> bool:
        """Whether what is below its calls can be had as often as it is asked for."""
        return self._expander is not None and self._expander.gives_again

    @property
    def has_ended(self) -> bool:
        """Whether the recording goes up to the end of the run."""
        return len(self._places.end_at) > 0

    @property
    def calls(self) -> int:
        """How many there are, the run itself counted."""
        return len(self._places.call_at)

    def ordinals(self) -> Int64s:
        """Of each call, which of all calls it is, those counted in that were not recorded."""
        more = np.zeros(self.calls + 1, dtype=np.int64)
        np.add.at(more, self._places.skipped_before, self._places.skipped_count)
        return np.arange(self.calls) + np.cumsum(more)[: self.calls]

    @property
    def call_at(self) -> Int64s:
        """Where the first record of each call stands, which tells the order of time."""
        return self._places.call_at

    @property
    def exit_at(self) -> Int64s:
        """Where the last one stands, negative if there is none."""
        return self._places.exit_at

    @property
    def interrupt(self) -> str | None:
        """The class of the exception that ended the run, if it is one that stops it."""
        if self.ending() != f.BY_EXCEPTION:
            return None
        name = self._last_value().text
        return name if name in _STOPS else None

    @property
    def interrupted(self) -> int | None:
        """Where the first call ended that was stopped by the exception that ended the run."""
        found = self._places.interrupted
        return int(found[0]) if len(found) else None

    def raised(self, number: int) -> Value | None:
        """The exception that left a call; None if none did, or it was not recorded."""
        position = int(self._places.exit_at[number])
        if position < 0:
            return None
        record, _, place = self._fields(position, 1)
        if record != f.RAISE:
            return None
        _, _, place = self._fields(position, 2)
        code = self.tables.code(self._head(number).code)  # its inputs may be among what is raised
        return self._root(_Reading(0, code, ValueIdentities()), place, len(code.inputs))[0]

    @property
    def threads(self) -> int:
        """How many threads made calls."""
        return int(self._places.threads[0])

    def site_span(self, detail: int) -> Span | None:
        """The expression in which a call was made: line, column (from 1), last line, column after.

        What a call begins with may be left out, as Python does for methods on lines of their own.
        """
        head = self._head(detail) if detail > 0 else None
        if head is None or head.parent <= 0:
            return None
        return self.tables.code(self._head(head.parent).code).span(head.site)

    def notes(self) -> tuple[str, ...]:
        """What the recorder wanted a person to know."""
        found = []
        for position in self._places.note_at.tolist():
            data, place = self.tables.data_at(position)
            found.append(printable(read_text(data, place + 1)[0]))
        return tuple(found)

    @cached_property
    def standard_output(self) -> StandardOutput:
        """What was printed, by line."""
        return in_lines(self._written())

    def _written(self) -> Iterator[tuple[int, str]]:
        numbers, positions = self._places.output_call, self._places.output_at
        for number, position in zip(numbers.tolist(), positions.tolist(), strict=True):
            yield number, self._output(self._fields(position, 1)[2])

    # --- reading records -------------------------------------------------------------------------

    def _call(self, number: int, function: Function, rule: Rule) -> Call:
        identities = ValueIdentities()
        call = self._read(number, identities, function, rule)
        if identities:
            # Now that it is known which values are referred to, they can be given numbers.
            call = self._read(number, identities, function, rule)
        return call

    def _read(
        self, number: int, identities: ValueIdentities, function: Function, rule: Rule
    ) -> Call:
        head = self._head(number)
        code = self.tables.code(head.code)
        reading = _Reading(number, code, identities)
        if not code.is_stepped:
            reading.begin(int(self._places.call_at[number]))
        arguments = self._inputs(reading, head)
        for position in self._events(number):
            self._event(reading, position)
        outcome = self._outcome(reading)
        captured = () if head.bare else reading.inputs[len(code.parameters) :]
        reads = [
            Binding(name, value)
            for name, value in zip(code.free_variables, captured, strict=False)
            if bound(value) is not None
        ]
        globals_read, global_effects = self._globals(reading)
        effects = [
            each
            for change in reading.changes
            if change.before != change.after
            for each in effects_on(change.name, change.before, change.after)
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

    def code(self, detail: int) -> CodeEntry:
        """The code that a call runs."""
        return self.tables.code(self._head(detail).code)

    def _head(self, number: int) -> _Head:
        record, fields, values = self._fields(int(self._places.call_at[number]), 3)
        if record not in (f.CALL, f.BARE_CALL):
            raise MalformedTrace(_CHANGED)
        distance, code, site = fields
        return _Head(record == f.BARE_CALL, number - distance, code, site, values)

    def _site(self, head: _Head) -> Location | None:
        if head.site == 0 or head.parent <= 0:
            return None
        return self.tables.code(self._head(head.parent).code).location(head.site)

    def _inputs(self, reading: _Reading, head: _Head) -> tuple[Binding, ...]:
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
        inputs = len(reading.code.inputs) if number < _GLOBALS else 0
        root = RootValue(reading.identities, number, inputs, same_as)
        return self._read_root(ValueReader, root, position)

    def _read_root(
        self,
        reader: Callable[[TraceTables, bytes, RootValue], RootReader[_Read_co]],
        root: RootValue,
        position: int,
    ) -> tuple[_Read_co, int]:
        """What a reader makes of the root value at a position, and that of the next field."""
        data, place = self.tables.data_at(position)
        base = position - place
        if place < len(data) and data[place] == f.REFERENCE:
            before = int(np.searchsorted(self._places.root_at, position))
            distance, place = read_v(data, place + 1)
            if not 1 <= distance <= before:
                raise MalformedTrace("a value refers to one that there is not")
            there, start = self.tables.data_at(int(self._places.root_at[before - distance]))
            return reader(self.tables, there, root).read(start)[0], base + place
        value, place = reader(self.tables, data, root).read(place)
        return value, base + place

    def _fields(self, position: int, count: int) -> tuple[int, list[int], int]:
        """A record's byte, its first fields, which are numbers, and where the next one stands."""
        data, place = self.tables.data_at(position)
        base = position - place
        if place >= len(data):
            raise MalformedTrace(_CHANGED)
        record, numbers = data[place], []
        place += 1
        for _ in range(count):
            number, place = read_v(data, place)
            numbers.append(number)
        return record, numbers, base + place

    def _events(self, number: int) -> list[int]:
        calls = self._places.event_call
        start, stop = np.searchsorted(calls, [number, number + 1])
        found: list[int] = self._places.event_at[start:stop].tolist()
        return found

    def _event(self, reading: _Reading, position: int) -> None:
        record, _, place = self._fields(position, 1)
        if record in (f.YIELD, f.BARE_YIELD):
            reading.suspend(position)
            self._yielded(reading, record, place)
        elif record in (f.RESUME, f.THROW, f.SEND):
            reading.begin(position)
            if record != f.RESUME:
                # The value of the yield at which it was left, which has the same number.
                name = "thrown" if record == f.THROW else f"sent[{max(0, reading.yields - 1)}]"
                _, _, place = self._fields(position, 2)
                value, _ = self._root(reading, place, reading.next_root())
                reading.more_reads.append(Binding(name, value))
        elif record in (f.CHANGED, f.LOST):
            _, (_, which), place = self._fields(position, 2)
            if which >= len(reading.now):
                raise MalformedTrace("an input changes that there is not")
            after = UNKNOWN
            if record == f.CHANGED:
                after, _ = self._root(reading, place, reading.next_root(), which)
            self._changed(reading, which, after)
        elif record == f.OUTPUT:
            reading.printed.append(self._output(place))
        else:
            raise MalformedTrace(_CHANGED)

    def _output(self, position: int) -> str:
        data, place = self.tables.data_at(position)
        return printable(read_text(data, place + 1)[0])

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

    # --- how it ended ----------------------------------------------------------------------------

    def _outcome(self, reading: _Reading) -> Outcome:
        position, code = int(self._places.exit_at[reading.number]), reading.code
        yielded = tuple(reading.yielded)
        if reading.yields > MOST_YIELDED:
            yielded += (atom(f"…{reading.yields - MOST_YIELDED:,} more"),)
        waiting = code.flags & f.COROUTINE
        if position < 0:
            left = reading.running or waiting
            reading.suspend(_LAST)
            kind = OutcomeKind.NOT_TERMINATED if left else OutcomeKind.YIELDED
            stopped = left and self.ending() == f.STOPPED
            why = self._stopped(reading.number, self._why_stopped()) if stopped else None
            return Outcome(kind, why, yielded)
        reading.suspend(position)
        record, _, place = self._fields(position, 1)
        if record == f.CLOSED:
            kind = OutcomeKind.NOT_TERMINATED if waiting else OutcomeKind.YIELDED
            return Outcome(kind, None, yielded)
        kind, location, value = OutcomeKind.RETURNED, None, None
        if record in (f.RAISE, f.BARE_RAISE):
            kind = OutcomeKind.RAISED
            _, (_, where), place = self._fields(position, 2)
            location = code.location(where)
            if self.interrupted is not None and position >= self.interrupted:
                why = self._stopped(reading.number, _STOPS[self.interrupt or ""])
                return Outcome(OutcomeKind.NOT_TERMINATED, why, yielded, location)
        if record in (f.RETURN, f.RAISE):
            value, _ = self._root(reading, place, reading.next_root())
        elif record == f.BARE_RETURN and yielded:
            value = atom("?")  # without a value a generator counts as left where it yielded
        return Outcome(kind, value, yielded, location)

    def _run(self, function: Function, rule: Rule) -> Call:
        """The run itself."""
        printed = [self._output(self._fields(position, 1)[2]) for position in self._events(0)]
        return Call(
            function,
            rule,
            self.run_outcome(),
            printed="".join(printed),
            output=tuple(line.text for line in self.standard_output.lines),
        )

    def run_outcome(self) -> Outcome:
        """How the run ended."""
        if not self.has_ended:
            why = (
                "the recording breaks off: the process was killed, is still running, or became "
                "another program (exec)"
            )
            return Outcome(OutcomeKind.NOT_TERMINATED, atom(why))
        how = self.ending()
        if how == f.STOPPED:
            return Outcome(OutcomeKind.NOT_TERMINATED, atom(self._why_stopped()))
        if self.interrupt is not None:
            return Outcome(OutcomeKind.NOT_TERMINATED, atom(_STOPS[self.interrupt]))
        kind = OutcomeKind.RAISED if how == f.BY_EXCEPTION else OutcomeKind.RETURNED
        return Outcome(kind, self._last_value())

    def _last_value(self) -> Value:
        """What END holds: an exit status, or an exception."""
        _, _, place = self._fields(int(self._places.end_at[0]), 1)
        reading = _Reading(0, _NO_CODE, ValueIdentities())
        value, _ = self._root(reading, place, _GLOBALS)
        return self._root(reading, place, _GLOBALS)[0] if reading.identities else value

    def _stopped(self, number: int, why: str) -> Value:
        """Why a call did not end, and how far it had got: what was just begun is no surprise."""
        made = self.calls - 1 - number
        if self.threads > 1:
            return atom(why)
        return atom(f"{why}, {made:,} recorded call{'' if made == 1 else 's'} later")

    def _why_stopped(self) -> str:
        _, _, position = self._fields(int(self._places.end_at[0]), 1)
        data, place = self.tables.data_at(position)
        if place >= len(data) or data[place] != f.STRING:
            return "it was stopped"
        return printable(read_text(data, place + 1)[0])

    def ending(self) -> int | None:
        """The way in which the run ended, as END has it; None if the recording breaks off."""
        return self._fields(int(self._places.end_at[0]), 1)[1][0] if self.has_ended else None

    # --- module variables ------------------------------------------------------------------------

    def _globals(self, reading: _Reading) -> tuple[list[Binding], list[Effect]]:
        """The module variables that the call's code names: as they were, and what changed."""
        reads: list[Binding] = []
        effects: list[Effect] = []
        for variable in reading.code.variables if reading.begins else ():
            records = self._records_of(variable)
            name = self.tables.variable(variable)[1]
            before = np.searchsorted(records, np.array(reading.begins, dtype=np.int64))
            after = np.searchsorted(records, np.array(reading.ends, dtype=np.int64))
            first = bound(self._global(reading, records, int(before[0])))
            if first is not None:
                reads.append(Binding(name, first))
            for start, stop in _runs(before.tolist(), after.tolist()):
                old = self._global(reading, records, start)
                new = self._global(reading, records, stop)
                if old != new and len(effects) < MOST_EFFECTS:
                    effects += effects_on(name, old, new)
        return reads, effects

    def _records_of(self, variable: int) -> Int64s:
        start, stop = np.searchsorted(self._places.global_variable, [variable, variable + 1])
        return self._places.global_at[start:stop]

    def _global(self, reading: _Reading, records: Int64s, count: int) -> Value | None:
        """What a variable held when so many of its records had been written."""
        if count == 0:
            return None
        position = int(records[count - 1])
        record, _, place = self._fields(position, 1)
        if record != f.GLOBAL:
            raise MalformedTrace(_CHANGED)
        return self._root(reading, place, _GLOBALS + position)[0]


def _defined(code: CodeEntry, outcome: Outcome) -> str:
    """What is said of a class body, which reads like a call of the class otherwise."""
    if not code.flags & f.CLASS_BODY or outcome.kind is OutcomeKind.NOT_TERMINATED:
        return ""
    name = code.qualname.rpartition("<locals>.")[2]
    if outcome.kind is OutcomeKind.RETURNED:
        return f"class {name} was defined"
    raised = "" if outcome.value is None else f" {show(outcome.value)}"
    return f"class {name} raised{raised} while it was defined"


_NO_CODE = CodeEntry(0, "", "", "", 0, (), (), (), b"")


def _runs(before: list[int], after: list[int]) -> list[tuple[int, int]]:
    """The steps in which a variable changed, those joined between which nobody else did."""
    runs: list[tuple[int, int]] = []
    for start, stop in zip(before, after, strict=False):
        if start == stop:
            continue
        if runs and runs[-1][1] == start:
            runs[-1] = runs[-1][0], stop
        else:
            runs.append((start, stop))
    return runs


def _distinct(bindings: list[Binding]) -> tuple[Binding, ...]:
    """The same, each with a name of its own."""
    counts: dict[str, int] = {}
    out: list[Binding] = []
    for each in bindings:
        counts[each.name] = count = counts.get(each.name, 0) + 1
        out.append(each if count == 1 else Binding(f"{each.name}′{count}", each.value))
    return tuple(out)
