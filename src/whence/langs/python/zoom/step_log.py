"""Reads the log that one call wrote about its steps: events, the state at each, and values.

Events are in order of time. An event with a state holds what changed since the last one, how many
calls had begun, and how many bytes were printed. This module does not know the function's text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from whence.langs.python.trace.trace_tables import TypeEntry
from whence.langs.python.trace.value_decoder import RootValue, ValueIdentities
from whence.langs.python.trace.value_reader import ValueReader
from whence.model.call import whole_value
from whence.model.value import Kind, Value

_CONTAINERS = (Kind.LIST, Kind.DICT, Kind.SET)
State = Mapping[str, int]
"""The number of each variable's value."""


class _TypesAndNames:
    """The tables that `ValueReader` asks for."""

    def __init__(self, log: Mapping[str, Any]):
        self._names = log["names"]
        self._types = [TypeEntry(*fields) for fields in log["types"]]

    def name(self, number: int) -> str:
        return str(self._names[number])

    def type(self, number: int) -> TypeEntry:
        return self._types[number]


class StepLog:
    """The events of a call with the state at each. Values are decoded on demand."""

    def __init__(self, log: Mapping[str, Any], printed: bytes = b""):
        self._tables: Any = _TypesAndNames(log)
        self._values: Sequence[str] = log["values"]
        self._read: dict[int, Value] = {}
        self._twice: dict[int, frozenset[tuple[str, str]]] = {}
        self.is_cut = log["why"] != "left"
        """Whether the call had not ended at the last event."""
        self.is_waiting = log["why"] == "waiting"
        """Whether it is a generator that was never resumed."""
        self.events: list[list[Any]] = log["events"]
        self.states: list[State] = []
        self.calls: list[int] = []
        self._sizes: list[int] = []
        self._printed = printed
        self._yields = [n for n, event in enumerate(self.events) if event[0] == "yield"]
        self._follow([str(name) for name in log["variables"]])

    def _follow(self, variables: Sequence[str]) -> None:
        state: dict[str, int] = {}
        calls, size = 0, 0
        for event in self.events:
            if len(event) > 3:
                changes, calls, size = event[3:6]
                if changes:
                    state = dict(state)
                for name, value in changes:
                    if value < 0:
                        state.pop(variables[name], None)
                    else:
                        state[variables[name]] = value
            self.states.append(state)
            self.calls.append(calls)
            self._sizes.append(size)

    def value(self, number: int) -> Value:
        """A value by number; a part that occurs twice is shown in full both times."""
        if number not in self._read:
            data = bytes.fromhex(self._values[number])
            identities = ValueIdentities()
            for _ in range(2):  # the first reading finds out which values occur twice
                value, _ = ValueReader(self._tables, data, RootValue(identities, 0, 0)).read(0)
            self._read[number] = whole_value(value)
            self._twice[number] = _twice(value)
        return self._read[number]

    def twice(self, number: int) -> frozenset[tuple[str, str]]:
        """Pairs of paths in a value that lead to the same list, dict or set."""
        self.value(number)
        return self._twice[number]

    def after(self, index: int) -> int:
        """The first event with a state at or after an index."""
        while index < len(self.events) - 1 and len(self.events[index]) <= 3:
            index += 1
        return min(index, len(self.events) - 1)

    def before(self, index: int) -> int:
        """The last event with a state before an index."""
        index -= 1
        while index > 0 and len(self.events[index]) <= 3:
            index -= 1
        return index

    def yielded(self, first: int, end: int) -> list[int]:
        """The numbers of the values that were yielded between two events."""
        stop = end + (end == len(self.events) - 1)  # the last event may be a yield
        indices = self._yields[bisect_left(self._yields, first) : bisect_left(self._yields, stop)]
        return [self.events[index][2] for index in indices]

    def printed_from(self, first: int, end: int) -> list[tuple[int, int]]:
        """The byte ranges of the output that were printed between two events, without those that
        others printed while a generator waited."""
        start, stop = self._sizes[first], self._sizes[end]
        if start == stop:
            return []
        indices = self._yields[bisect_left(self._yields, first) : bisect_left(self._yields, end)]
        waited = [(self._sizes[index], self._sizes[index + 1]) for index in indices]
        begins = [start, *(resumed for _, resumed in waited)]
        ends = [*(left for left, _ in waited), stop]
        return [(low, high) for low, high in zip(begins, ends, strict=True) if low < high]

    def output_between(self, first: int, end: int) -> str:
        """What was printed between two events."""
        parts = (self._printed[low:high] for low, high in self.printed_from(first, end))
        return b"".join(parts).decode("utf-8", "replace")


def _twice(value: Value) -> frozenset[tuple[str, str]]:
    first_paths: dict[int | None, str] = {}
    pairs: set[tuple[str, str]] = set()
    for steps, part in value.paths():
        if part.kind in _CONTAINERS and part.identity is not None:
            first_paths.setdefault(part.identity, "".join(steps))
        elif part.kind is Kind.SHARED and part.identity in first_paths:
            pairs.add(("".join(steps), first_paths[part.identity]))
    return frozenset(pairs)
