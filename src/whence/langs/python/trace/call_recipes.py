"""A recorded call as recipes: its inputs, what it read, its outcome and its effects.

Read from the same records as `call_reader.py` does, for rebuilding the call or comparing two calls.
Nothing is shortened here, and what was not recorded is an `UnknownRecipe`.

Invariant: all recipes of one call share one set of labels, except that each module variable has a
set of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from whence.errors import WhenceError
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.call_reader import MOST_EVENTS, MOST_TEXTS
from whence.langs.python.trace.joined_processes import JoinedProcessSource, member_of
from whence.langs.python.trace.many_records import CHANGED_FILE
from whence.langs.python.trace.trace_format import MalformedTrace
from whence.langs.python.trace.trace_pages import TraceError
from whence.langs.python.trace.trace_records import (
    AFTER_INPUTS,
    GLOBALS,
    LAST,
    NO_CODE,
)
from whence.langs.python.trace.trace_source import TraceSource
from whence.langs.python.trace.trace_tables import CodeEntry
from whence.langs.python.trace.value_decoder import RootValue, ValueIdentities
from whence.langs.python.trace.value_recipes import (
    ExceptionRecipe,
    QualifiedName,
    Recipe,
    RecipeReader,
    SharedRecipe,
    UnboundRecipe,
    UnknownRecipe,
    walk,
)
from whence.model.call import OutcomeKind
from whence.ports import Int64s, Tree
from whence.tree.column_tree import ColumnTree

_CLOSING = QualifiedName("builtins", "GeneratorExit")
_NOT_RECORDED = UnknownRecipe("its values were not recorded")
_LOST = UnknownRecipe("whether it was changed is not known: the name was rebound")


@dataclass(frozen=True, slots=True)
class OutcomeRecipe:
    """How a call ended. `value` is what was returned or raised, if any.

    `closed`: a generator was closed at a yield.
    """

    kind: OutcomeKind
    value: Recipe | None
    yielded: tuple[Recipe, ...] = ()
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A module variable: as it was when it was first named, and at the end if it was changed."""

    before: Recipe
    after: Recipe | None = None


@dataclass(frozen=True, slots=True)
class CallRecipe:
    """A call as recipes."""

    code: CodeEntry
    arguments: Mapping[str, Recipe]
    """Each parameter, `*args` as a tuple and `**kwargs` as a dict."""
    captured: Mapping[str, Recipe]
    """Each free variable, when the call began."""
    reads: Mapping[QualifiedName, Recipe]
    """Each module variable that its code names, when the call began; those without a value are
    not among them."""
    outcome: OutcomeRecipe
    changed: Mapping[str, Recipe]
    """Each input that was changed, as it was at the end."""
    changed_reads: Mapping[QualifiedName, Recipe]
    """Each module variable that changed while it ran, as it was at the end."""
    printed: tuple[tuple[int, str], ...]
    """What it wrote itself, by the number of the stream."""
    disturbed: str = ""
    """What others did to it between its steps, as a text; empty if nothing."""
    sent: tuple[Recipe, ...] = ()
    """The values that were sent into a generator, and the exceptions that were thrown into it."""

    def recipes(self) -> Iterator[Recipe]:
        """All of them."""
        yield from self.arguments.values()
        yield from self.captured.values()
        yield from self.sent
        yield from self.changed.values()
        yield from self.outcome.yielded
        if self.outcome.value is not None:
            yield self.outcome.value


class CallTooLong(WhenceError):
    """A call yielded, printed or changed something too often to be read as recipes."""


def call_recipe(tree: Tree, position: int) -> CallRecipe:
    """The call at a position as recipes; `TraceError` if it is not one of a trace."""
    source, number = place_of(tree, position)
    return RecipeSource(source).call_recipe(number)


def place_of(tree: Tree, position: int) -> tuple[TraceSource, int]:
    """The trace that a call is in, and its number there (0 is the run, less is not recorded)."""
    if not isinstance(tree, ColumnTree):
        raise TypeError("the call is not from a recording")
    source = tree.sources[int(tree.source_of[position])]
    detail = int(tree.details[position])
    if isinstance(source, JoinedProcessSource):
        member, detail = member_of(detail)
        source = source.members[member]
    if not isinstance(source, TraceSource):
        raise TypeError("the call is not from a recording")
    return source, detail


@dataclass(slots=True)
class _Reading:
    code: CodeEntry
    identities: ValueIdentities
    now: dict[str, Recipe] = field(default_factory=dict)
    changed: dict[str, Recipe] = field(default_factory=dict)
    yielded: list[Recipe] = field(default_factory=list)
    sent: list[Recipe] = field(default_factory=list)
    printed: list[tuple[int, str]] = field(default_factory=list)
    disturbed: str = ""
    closing: bool = False
    """Whether it is being closed: GeneratorExit was thrown into it."""
    began: int = -1
    ended: int = -1
    running: bool = False
    roots: int = AFTER_INPUTS

    def next_root(self) -> int:
        self.roots += 1
        return self.roots


class RecipeSource:
    """Reads the calls of one trace as recipes."""

    _reader = RecipeReader

    def __init__(self, source: TraceSource) -> None:
        self._records = source.records
        self.tables = source.tables

    def call_recipe(self, number: int) -> CallRecipe:
        """A call by its number, from 1 on; `CallTooLong` if reading it would take too long."""
        try:
            if number < 1:
                raise MalformedTrace("it is no call of its own")
            identities = ValueIdentities()
            recipe = self._read_recipe(number, identities)
            # The first reading finds what is shared; the second one labels it.
            return self._read_recipe(number, identities) if identities else recipe
        except MalformedTrace as problem:
            raise TraceError(
                self._records.file.path, f"call {number} cannot be read: {problem}"
            ) from None

    def code_of(self, number: int) -> int:
        """The number of a call's code."""
        return self._records.head(number).code

    def begins(self, numbers: Int64s, code: CodeEntry) -> list[int]:
        """Where the first steps of some calls of the same code begin; -1 for one without any."""
        return [self._begin(number, code) for number in numbers.tolist()]

    def variables_during(self, numbers: Int64s) -> dict[QualifiedName, Variable]:
        """The module variables that the code of some calls names, the first of which made the rest.

        A variable is known from the first time that one of them named it. Variables that hold a
        function, class or module are left out.
        """
        stop = self._stop(int(numbers[0]))
        first_seen: dict[int, int] = {}
        for number in np.sort(numbers).tolist():
            code = self.tables.code(self._records.head(number).code)
            unseen = [
                variable_number
                for variable_number in code.variables
                if variable_number not in first_seen
            ]
            begin = self._begin(number, code) if unseen else -1
            if begin >= 0:
                first_seen |= dict.fromkeys(unseen, begin)
        variables: dict[QualifiedName, Variable] = {}
        for variable, begin in first_seen.items():
            records = self._records.variable_records(variable)
            first, last = np.searchsorted(records, [begin, stop]).tolist()
            before = self._variable_at(variable, begin)
            if first == 0 and last == 0:
                continue
            after = self._variable_at(variable, stop) if first != last else None
            variables[QualifiedName(*self.tables.variable(variable))] = Variable(before, after)
        return variables

    def variables_at(self, number: int) -> dict[QualifiedName, Recipe]:
        """All module variables of which a value is known when a call began, as they last were."""
        begin = int(self._records.positions.call_at[number])
        variables: dict[QualifiedName, Recipe] = {}
        for variable in self.tables.variables:
            value = self._variable_at(variable, begin)
            if not isinstance(value, UnboundRecipe):
                variables[QualifiedName(*self.tables.variable(variable))] = value
        return variables

    def run_ending(self) -> tuple[int, Recipe] | None:
        """How the run ended (`trace_format.ENDED` …), and with what; None if not recorded."""
        if not len(self._records.positions.end_at):
            return None
        _, (how,), place = self._records.fields(int(self._records.positions.end_at[0]), 1)
        return how, self._alone(place)

    def printed_by(self, numbers: Int64s) -> dict[int, str]:
        """What some calls wrote to each standard stream, in the order of time."""
        positions = self._records.positions
        written = np.sort(positions.event_at[np.isin(positions.event_call, numbers)])
        printed: dict[int, list[str]] = {}
        for stream, text in self._records.many(self._texts_among(written)[0]).outputs():
            printed.setdefault(stream, []).append(text)
        return {stream: "".join(texts) for stream, texts in printed.items()}

    # --- reading ---------------------------------------------------------------------------------

    def _read_recipe(self, number: int, identities: ValueIdentities) -> CallRecipe:
        head = self._records.head(number)
        code = self.tables.code(head.code)
        reading = _Reading(code, identities)
        position = head.values
        for which, name in enumerate(code.inputs):
            if head.bare:
                reading.now[name] = _NOT_RECORDED
            else:
                reading.now[name], position = self._recipe(reading, position, which)
        inputs = dict(reading.now)
        if not code.flags & f.STEPPED:
            self._starts(reading, int(self._records.positions.call_at[number]))
        texts, events = self._texts_among(self._records.events(number))
        if len(texts) > MOST_TEXTS or len(events) > MOST_EVENTS:
            raise CallTooLong("it has too many records to be read as a whole")
        reading.printed = list(self._records.many(texts).outputs())
        for event in events.tolist():
            self._take(reading, event)
        outcome = self._ending(reading, int(self._records.positions.exit_at[number]))
        reads, changed_reads = self._variables(reading)
        count = len(code.parameters)
        return CallRecipe(
            code=code,
            arguments={name: inputs[name] for name in code.parameters},
            captured={name: inputs[name] for name in code.inputs[count:]},
            reads=reads,
            outcome=outcome,
            changed=reading.changed,
            changed_reads=changed_reads,
            printed=tuple(reading.printed),
            disturbed=reading.disturbed,
            sent=tuple(reading.sent),
        )

    def _texts_among(self, positions: Int64s) -> tuple[Int64s, Int64s]:
        """The positions of OUTPUT records among some, and the others."""
        is_text = self._records.many(positions).kinds() == f.OUTPUT
        return positions[is_text], positions[~is_text]

    def _begin(self, number: int, code: CodeEntry) -> int:
        """Where a call's first step begins; -1 if it was never resumed."""
        if not code.flags & f.STEPPED:
            return int(self._records.positions.call_at[number])
        for position in map(int, self._records.events(number)):
            if self._records.fields(position, 1)[0] in (f.RESUME, f.THROW, f.SEND):
                return position
        return -1

    def _starts(self, reading: _Reading, position: int) -> None:
        if reading.began < 0:
            reading.began = position
        reading.running = True

    def _recipe(
        self, reading: _Reading, position: int, number: int, same_as: int | None = None
    ) -> tuple[Recipe, int]:
        inputs = len(reading.code.inputs) if number < GLOBALS else 0
        root = RootValue(reading.identities, number, inputs, same_as)
        return self._records.read_root(self._reader, root, position)

    def _take(self, reading: _Reading, position: int) -> None:
        record, _, place = self._records.fields(position, 1)
        if record in (f.YIELD, f.BARE_YIELD):
            reading.running = False
            reading.ended = position
            if not reading.code.flags & f.COROUTINE:
                value: Recipe = _NOT_RECORDED
                if record == f.YIELD:
                    value, _ = self._recipe(reading, place, reading.next_root())
                reading.yielded.append(value)
        elif record == f.RESUME:
            self._starts(reading, position)
        elif record in (f.THROW, f.SEND):
            self._starts(reading, position)
            _, _, place = self._records.fields(position, 2)
            passed, _ = self._recipe(reading, place, reading.next_root())
            is_thrown = record == f.THROW
            reading.closing = (
                is_thrown and isinstance(passed, ExceptionRecipe) and passed.of == _CLOSING
            )
            if not reading.closing:
                reading.sent.append(passed)
                what = "an exception was thrown" if is_thrown else "a value was sent"
                reading.disturbed = f"{what} into it"
        elif record in (f.CHANGED, f.LOST):
            _, (_, which), place = self._records.fields(position, 2)
            if which >= len(reading.code.inputs):
                raise MalformedTrace("an input changes that does not exist")
            name = reading.code.inputs[which]
            after: Recipe = _LOST
            if record == f.CHANGED:
                after, _ = self._recipe(reading, place, reading.next_root(), which)
            if not reading.running:
                reading.disturbed = f"others changed {name} while it was suspended"
            reading.changed[name] = after
        else:
            raise MalformedTrace(CHANGED_FILE)

    def _ending(self, reading: _Reading, position: int) -> OutcomeRecipe:
        yielded, waiting = tuple(reading.yielded), reading.code.flags & f.COROUTINE
        if position < 0:
            left = reading.running or waiting
            kind = OutcomeKind.NOT_TERMINATED if left else OutcomeKind.YIELDED
            return OutcomeRecipe(kind, None, yielded)
        if reading.running:
            reading.ended = position
        record, _, place = self._records.fields(position, 1)
        if record == f.CLOSED:
            kind = OutcomeKind.NOT_TERMINATED if waiting else OutcomeKind.YIELDED
            return OutcomeRecipe(kind, None, yielded, closed=True)
        value: Recipe = _NOT_RECORDED
        if record in (f.RAISE, f.BARE_RAISE):
            _, _, place = self._records.fields(position, 2)
        if record in (f.RETURN, f.RAISE):
            value, _ = self._recipe(reading, place, reading.next_root())
        raised = record in (f.RAISE, f.BARE_RAISE)
        if (
            reading.closing
            and raised
            and isinstance(value, ExceptionRecipe)
            and value.of == _CLOSING
        ):
            return OutcomeRecipe(OutcomeKind.YIELDED, None, yielded, closed=True)
        kind = OutcomeKind.RAISED if raised else OutcomeKind.RETURNED
        return OutcomeRecipe(kind, value, yielded)

    # --- module variables ------------------------------------------------------------------------

    def _variables(
        self, reading: _Reading
    ) -> tuple[dict[QualifiedName, Recipe], dict[QualifiedName, Recipe]]:
        reads: dict[QualifiedName, Recipe] = {}
        changed: dict[QualifiedName, Recipe] = {}
        for variable in reading.code.variables if reading.began >= 0 else ():
            name = QualifiedName(*self.tables.variable(variable))
            first = self._variable_at(variable, reading.began)
            if not isinstance(first, UnboundRecipe):
                reads[name] = first
            if reading.ended >= 0:
                records = self._records.variable_records(variable)
                start, stop = np.searchsorted(records, [reading.began, reading.ended]).tolist()
                if start != stop:
                    last = self._variable_at(variable, reading.ended)
                    changed[name] = last
        return reads, changed

    def _variable_at(self, variable: int, position: int) -> Recipe:
        """What a variable held when the record at a position was written."""
        records = self._records.variable_records(variable)
        count = int(np.searchsorted(records, position))
        if count == 0:
            return UnboundRecipe()
        record_at = int(records[count - 1])
        record, _, place = self._records.fields(record_at, 1)
        if record != f.GLOBAL:
            raise MalformedTrace(CHANGED_FILE)
        return self._alone(place)

    def _alone(self, position: int) -> Recipe:
        """A root value that belongs to no call; its labels are its own."""
        reading = _Reading(NO_CODE, ValueIdentities())
        value, _ = self._recipe(reading, position, GLOBALS)
        if reading.identities:
            value, _ = self._recipe(reading, position, GLOBALS)
        return value

    def _stop(self, number: int) -> int:
        """Where a call ends."""
        position = int(self._records.positions.exit_at[number])
        return position if position >= 0 else LAST


def dangling(call: CallRecipe) -> bool:
    """Whether something refers to an object that has no recipe here."""
    labels, shared = set(), set()
    for recipe in call.recipes():
        for part in walk(recipe):
            if isinstance(part, SharedRecipe):
                shared.add(part.label)
            else:
                labels.add(getattr(part, "label", None))
    return not shared <= labels
