"""One trace as the source of a tree's calls."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from whence.errors import CannotExpand
from whence.langs.python.trace.call_reader import CallReader
from whence.langs.python.trace.line_table import Span
from whence.langs.python.trace.run_ending import RunEnding
from whence.langs.python.trace.standard_output import StandardOutput, split_lines
from whence.langs.python.trace.trace_format import MalformedTrace, read_text
from whence.langs.python.trace.trace_pages import TraceError, TraceFile, printable
from whence.langs.python.trace.trace_records import RecordPositions, TraceRecords
from whence.langs.python.trace.trace_tables import CodeEntry, TraceTables
from whence.model.call import Call, Function, Outcome, OutcomeKind, Rule
from whence.model.value import Value
from whence.ports import Int64s
from whence.tree.column_tree import ColumnTree


class CallExpander(Protocol):
    """Can learn the calls below an implicit call."""

    @property
    def gives_again(self) -> bool:
        """Whether its calls have the same ids each time they are materialized."""

    def expand(self, number: int, levels: int) -> ColumnTree:
        """The tree whose top is this call."""


_AT_ONCE = 10_000
_KEPT_CALLS = 16
_COUNT_BITS = 32
_MOST_COUNTED = 2**_COUNT_BITS - 1


def skipped_detail(caller: Int64s, count: Int64s) -> Int64s:
    """The detail of a stand-in for unrecorded callees of a call."""
    detail: Int64s = -(caller << _COUNT_BITS | np.minimum(count, _MOST_COUNTED))
    return detail


def skipped_by(detail: int) -> tuple[int, int]:
    """The caller of the calls that a stand-in represents, and their number."""
    return -detail >> _COUNT_BITS, -detail & _MOST_COUNTED


class TraceSource:
    """The calls of one trace. A detail is a call's number, or a `skipped_detail`."""

    def __init__(self, file: TraceFile, tables: TraceTables, positions: RecordPositions) -> None:
        self.file = file
        self.tables = tables
        self.records = TraceRecords(file, tables, positions)
        self._ending = RunEnding(self.records)
        self._reader = CallReader(self.records, self._ending)
        self._expander: CallExpander | None = None
        # One question reads the same few calls several times.
        self._kept_call = lru_cache(_KEPT_CALLS)(self._read_call)

    def call(self, detail: int, function: Function, rule: Rule) -> Call:
        """The call in full."""
        return self._kept_call(detail, function, rule)

    def _read_call(self, detail: int, function: Function, rule: Rule) -> Call:
        if detail < 0:
            text = f"{skipped_by(detail)[1]:,} calls that were not recorded"
            return Call(function, rule, Outcome(OutcomeKind.RETURNED), text=text)
        try:
            return (
                self._run(function, rule)
                if detail == 0
                else self._reader.call(detail, function, rule)
            )
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
        """Whether its implicit calls can be expanded again and again, with the same ids."""
        return self._expander is not None and self._expander.gives_again

    @property
    def has_ended(self) -> bool:
        """Whether the recording goes up to the end of the run."""
        return self._ending.has_ended

    @property
    def calls(self) -> int:
        """The number of calls, the run itself included."""
        return self.records.calls

    def ordinals(self) -> Int64s:
        """The ordinal of each call, by its number: calls that were not recorded count too."""
        positions = self.records.positions
        skipped = np.zeros(self.calls + 1, dtype=np.int64)
        np.add.at(skipped, positions.skipped_before, positions.skipped_count)
        return np.arange(self.calls) + np.cumsum(skipped)[: self.calls]

    @property
    def call_at(self) -> Int64s:
        """The position of each call's first record, which tells the order of time."""
        return self.records.positions.call_at

    @property
    def exit_at(self) -> Int64s:
        """The position of each call's last record, negative if there is none."""
        return self.records.positions.exit_at

    @property
    def interrupt(self) -> str | None:
        """The class of the exception that ended the run, if it is one that stops it."""
        return self._ending.interrupt

    @property
    def interrupted(self) -> int | None:
        """The position at which the first call ended that this exception stopped."""
        return self._ending.interrupted

    def raised(self, number: int) -> Value | None:
        """The exception that left a call; None if none did, or it was not recorded."""
        return self._reader.raised(number)

    @property
    def threads(self) -> int:
        """How many threads made calls."""
        return int(self.records.positions.threads[0])

    def code(self, detail: int) -> CodeEntry:
        """The code of a call."""
        return self.records.code(detail)

    def site_span(self, detail: int) -> Span | None:
        """The expression in which a call was made: line, column (from 1), last line, column after.

        The beginning of the expression may be left out, as Python does for methods on lines of
        their own.
        """
        head = self.records.head(detail) if detail > 0 else None
        if head is None or head.parent <= 0:
            return None
        return self.records.code(head.parent).span(head.site)

    def notes(self) -> tuple[str, ...]:
        """The recorder's notes for a person."""
        notes = []
        for position in self.records.positions.note_at.tolist():
            data, place = self.tables.data_at(position)
            notes.append(printable(read_text(data, place + 1)[0]))
        return tuple(notes)

    @cached_property
    def standard_output(self) -> StandardOutput:
        """What was printed, by line."""
        return split_lines(self._output())

    def line_printed_at(self, line: int) -> int | None:
        """The position of the record that completed a line of the output, counted from 0."""
        texts = (text for _, text in self._output())
        lines = split_lines(enumerate(texts)).lines
        at = self.records.positions.output_at
        return int(at[lines[line].calls[-1]]) if line < len(lines) else None

    def run_outcome(self) -> Outcome:
        """How the run ended."""
        return self._ending.outcome()

    def ending(self) -> int | None:
        """How the run ended (the first field of END); None if the recording breaks off."""
        return self._ending.how()

    def _output(self) -> Iterator[tuple[int, str]]:
        positions = self.records.positions
        texts = self.records.many(positions.output_at).texts()
        for start in range(0, len(positions.output_call), _AT_ONCE):
            numbers = positions.output_call[start : start + _AT_ONCE].tolist()
            yield from zip(numbers, texts, strict=False)

    def _run(self, function: Function, rule: Rule) -> Call:
        """The run itself."""
        printed = self._reader.printed(self.records.events(0))
        return Call(
            function,
            rule,
            self.run_outcome(),
            printed="".join(printed),
            output=tuple(line.text for line in self.standard_output.lines),
        )
