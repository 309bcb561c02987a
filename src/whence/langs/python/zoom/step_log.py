"""What one call told while it ran: events, the state at each of them, and values.

Events come in the order of time. Those that tell the state have what changed since the last one,
how many calls had begun by then, and how much was printed. Invariant: nothing here knows the text
of the function.
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
    """What the reader of values asks for."""

    def __init__(self, told: Mapping[str, Any]):
        self._names = told["names"]
        self._types = [TypeEntry(*each) for each in told["types"]]

    def name(self, number: int) -> str:
        return str(self._names[number])

    def type(self, number: int) -> TypeEntry:
        return self._types[number]


class StepLog:
    """The events of a call, with the state at each and the values, read when they are looked at."""

    def __init__(self, told: Mapping[str, Any], printed: bytes = b""):
        self._tables: Any = _TypesAndNames(told)
        self._values: Sequence[str] = told["values"]
        self._read: dict[int, Value] = {}
        self._twice: dict[int, frozenset[tuple[str, str]]] = {}
        self.is_cut = told["why"] != "left"
        """Whether the call had not ended with the last event."""
        self.is_waiting = told["why"] == "waiting"
        """Whether it never went on: a generator that was left."""
        self.events: list[list[Any]] = told["events"]
        self.states: list[State] = []
        self.calls: list[int] = []
        self._sizes: list[int] = []
        self._printed = printed
        self._yields = [n for n, each in enumerate(self.events) if each[0] == "yield"]
        self._follow([str(each) for each in told["variables"]])

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
        """A value by its number, with each part in full wherever it occurs."""
        if number not in self._read:
            data = bytes.fromhex(self._values[number])
            identities = ValueIdentities()
            for _ in range(2):  # the first reading finds out which values occur twice
                made, _ = ValueReader(self._tables, data, RootValue(identities, 0, 0)).read(0)
            self._read[number] = whole_value(made)
            self._twice[number] = _twice(made)
        return self._read[number]

    def twice(self, number: int) -> frozenset[tuple[str, str]]:
        """The paths at which a list, dict or set of a value occurs once more, and where first."""
        self.value(number)
        return self._twice[number]

    def after(self, place: int) -> int:
        """The first event from a place on that tells the state."""
        while place < len(self.events) - 1 and len(self.events[place]) <= 3:
            place += 1
        return min(place, len(self.events) - 1)

    def before(self, place: int) -> int:
        """The last event before a place that tells the state."""
        place -= 1
        while place > 0 and len(self.events[place]) <= 3:
            place -= 1
        return place

    def yielded(self, first: int, end: int) -> list[int]:
        """What was yielded between two events."""
        stop = end + (end == len(self.events) - 1)  # it may wait where it told the last thing
        places = self._yields[bisect_left(self._yields, first) : bisect_left(self._yields, stop)]
        return [self.events[each][2] for each in places]

    def printed_from(self, first: int, end: int) -> list[tuple[int, int]]:
        """Which parts of the output were printed between two events: not what others printed
        while a generator waited."""
        start, stop = self._sizes[first], self._sizes[end]
        if start == stop:
            return []
        places = self._yields[bisect_left(self._yields, first) : bisect_left(self._yields, end)]
        waited = [(self._sizes[each], self._sizes[each + 1]) for each in places]
        begins = [start, *(resumed for _, resumed in waited)]
        ends = [*(left for left, _ in waited), stop]
        return [(low, high) for low, high in zip(begins, ends, strict=True) if low < high]

    def printed(self, first: int, end: int) -> str:
        """What was printed between two events."""
        parts = (self._printed[low:high] for low, high in self.printed_from(first, end))
        return b"".join(parts).decode("utf-8", "replace")


def _twice(value: Value) -> frozenset[tuple[str, str]]:
    places: dict[int | None, str] = {}
    found: set[tuple[str, str]] = set()
    for steps, part in value.paths():
        if part.kind in _CONTAINERS and part.identity is not None:
            places.setdefault(part.identity, "".join(steps))
        elif part.kind is Kind.SHARED and part.identity in places:
            found.add(("".join(steps), places[part.identity]))
    return frozenset(found)
