"""One pass over all records of a trace: who called whom, how each call ended, where records are.

Values are skipped, not decoded; only a digest of each is kept, by which equal calls are found. The
result is a set of flat arrays, indexed by the number of the call: about 60 bytes for each call and
20 for each stored value, independent of the values.

`PythonTraceScanner` defines what the scanner in C does: for every sequence of pages they give equal
arrays or both raise `MalformedTrace`, and a test checks that.

Every number is checked before it is used, and no length in a record leads to an allocation: an
array grows by one entry for a record that was read.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.table_scan import ScannedCode, TableScanner
from whence.langs.python.trace.trace_format import MalformedTrace, digest_of, mix, read_v, skip_text
from whence.langs.python.trace.value_scan import ValueScanner
from whence.ports import Bytes, Int32s, Int64s

# The states of a call.
CREATED, RUNNING, SUSPENDED, RETURNED, RAISED, CLOSED = range(6)

MAX_CALLS = 2**31 - 2**20
NOWHERE = -1
"""The position of a record that does not exist."""

Buffer: TypeAlias = "bytes | bytearray | array[int]"  # not before 3.12 at run time

_MOST_SHOWN = 300
_MAX_EFFORT = 2**31 - 1
UNIQUE = 0x55


@dataclass(frozen=True, slots=True)
class TraceScan:
    """The result of a pass. The first seven arrays are indexed by call; 0 is the run itself."""

    parent: Int32s
    code: Int32s
    state: Bytes
    call_at: Int64s
    exit_at: Int64s
    equation: Int64s
    effort: Int32s
    skipped_call: Int32s
    skipped_count: Int64s
    skipped_before: Int64s
    """The number of the next recorded call."""
    event_call: Int32s
    """For the records between the first and the last of calls, in order of time: their call."""
    event_at: Int64s
    root_at: Int64s
    global_variable: Int32s
    global_at: Int64s
    name_at: Int64s
    type_at: Int64s
    code_at: Int64s
    variable_at: Int64s
    output_call: Int32s
    """For the texts written to standard output, in order of time: the call that wrote them."""
    output_at: Int64s
    note_at: Int64s
    end_at: Int64s
    threads: Int64s
    """One entry: how many threads made calls."""

    @classmethod
    def from_buffers(cls, buffers: Mapping[str, Buffer]) -> TraceScan:
        """The arrays from their bytes."""
        return cls(**{name: np.frombuffer(buffers[name], DTYPES[name]) for name in DTYPES})


_BYTES = ("state",)
_NARROW = (
    "parent",
    "code",
    "effort",
    "skipped_call",
    "event_call",
    "global_variable",
    "output_call",
)
DTYPES: dict[str, npt.DTypeLike] = {
    name: np.uint8 if name in _BYTES else np.int32 if name in _NARROW else np.int64
    for name in (column.name for column in fields(TraceScan))
}
"""The type of the entries of each array."""


class PythonTraceScanner:
    """Scans the pages in their order.

    Each kind of record has a method; they share the arrays of calls. Tables and values have
    scanners of their own.
    """

    def __init__(self) -> None:
        self._parent = array("i", [-1])
        self._code = array("i", [-1])
        self._state = bytearray([RUNNING])
        self._call_at = array("q", [NOWHERE])
        self._exit_at = array("q", [NOWHERE])
        self._effort = array("q", [0])
        self._digest = array("Q", [0])
        self._unique = bytearray([1])
        """For each call, whether it cannot be known to equal another."""
        self._skipped_call, self._skipped_count = array("i"), array("q")
        self._skipped_before = array("q")
        self._event_call, self._event_at = array("i"), array("q")
        self._output_call, self._output_at = array("i"), array("q")
        self._global_variable, self._global_at = array("i"), array("q")
        self._note_at, self._end_at = array("q"), array("q")
        self._tables = TableScanner()
        self._values = ValueScanner(self._tables)
        self._global_digest: dict[int, int] = {}
        self._global_complete: dict[int, bool] = {}
        self._threads = 1
        self._data = b""
        self._base = 0
        self._handlers = self._table()

    def feed(self, page: int, data: bytes) -> None:
        """All records of a page."""
        self._data, self._base = data, page << f.PAGE_BITS
        for scanner in (self._tables, self._values):
            scanner.data, scanner.base = data, self._base
        handlers, place, end = self._handlers, 0, len(data)
        while place < end:
            handler = handlers.get(data[place])
            if handler is None:
                raise MalformedTrace(f"there is no record 0x{data[place]:02x}")
            place = handler(place, place + 1)
        if place > end:
            raise MalformedTrace("a record breaks off")

    def finish(self, *, comparable: bool) -> TraceScan:
        """The result. `comparable`: equal records of two calls mean that the calls are equal."""
        equation = array("Q")
        for number, digest in enumerate(self._digest):
            ended = RETURNED <= self._state[number] <= RAISED
            can_equal = comparable and ended and not self._unique[number]
            equation.append(digest if can_equal else mix(UNIQUE, number))
        effort = array("i", (min(total, _MAX_EFFORT) for total in self._effort))
        tables = self._tables
        arrays: dict[str, Buffer] = {
            "state": bytes(self._state),
            "equation": array("q", equation.tobytes()),
            "effort": effort,
            "threads": array("q", [self._threads]),
            "root_at": self._values.root_at,
            "name_at": tables.name_at,
            "type_at": tables.type_at,
            "code_at": tables.code_at,
            "variable_at": tables.variable_at,
        }
        for name in DTYPES.keys() - arrays.keys():
            arrays[name] = getattr(self, f"_{name}")
        return TraceScan.from_buffers(arrays)

    def _table(self) -> dict[int, Callable[[int, int], int]]:
        return {
            f.CALL: self._call,
            f.BARE_CALL: self._bare_call,
            f.RETURN: self._return,
            f.BARE_RETURN: self._bare_return,
            f.YIELD: self._yield,
            f.BARE_YIELD: self._bare_yield,
            f.RESUME: self._resume,
            f.THROW: self._resume_with_value,
            f.SEND: self._resume_with_value,
            f.RAISE: self._raise,
            f.BARE_RAISE: self._bare_raise,
            f.CLOSED: self._closed,
            f.CHANGED: self._changed,
            f.LOST: self._lost,
            f.GLOBAL: self._global,
            f.THREAD: self._thread,
            f.SKIPPED: self._skipped,
            f.NAME: self._tables.name,
            f.TYPE: self._tables.type,
            f.CODE: self._tables.code,
            f.VARIABLE: self._tables.variable,
            f.OUTPUT: self._output,
            f.NOTE: self._note,
            f.END: self._end,
        }

    # --- calls -----------------------------------------------------------------------------------

    def _new_call(self, at: int, place: int) -> tuple[ScannedCode, int]:
        """The fields of a CALL up to its values."""
        number = len(self._parent)
        if number >= MAX_CALLS:
            raise MalformedTrace(f"there are more than {MAX_CALLS:,} calls")
        distance, place = read_v(self._data, place)
        if not 1 <= distance <= number:
            raise MalformedTrace(f"call {number} has a parent that does not exist")
        code_number, place = read_v(self._data, place)
        if code_number >= len(self._tables.codes):
            raise MalformedTrace(f"call {number} is of a code that does not exist")
        _, place = read_v(self._data, place)
        code = self._tables.codes[code_number]
        self._parent.append(number - distance)
        self._code.append(code_number)
        self._state.append(CREATED if code.stepped else RUNNING)
        self._call_at.append(self._base | at)
        self._exit_at.append(NOWHERE)
        self._effort.append(code.effort)
        self._digest.append(mix(0, code_number))
        self._unique.append(0)
        return code, place

    def _call(self, at: int, place: int) -> int:
        code, place = self._new_call(at, place)
        number = len(self._parent) - 1
        for _ in range(code.inputs):
            place = self._values.root(place)
            self._take(number, f.CALL)
        self._take_globals(number)
        return place

    def _bare_call(self, at: int, place: int) -> int:
        _, place = self._new_call(at, place)
        self._unique[-1] = 1
        return place

    def _of_call(self, place: int) -> tuple[int, int]:
        """The call at a distance; it may be 0, the run."""
        distance, place = read_v(self._data, place)
        number = len(self._parent) - distance
        if distance < 1 or number < 0:
            raise MalformedTrace("a record is of a call that does not exist")
        return number, place

    def _open_call(self, place: int) -> tuple[int, int]:
        """The call at a distance, which must not have ended."""
        number, place = self._of_call(place)
        if number == 0 or self._state[number] >= RETURNED:
            raise MalformedTrace(f"call {number} goes on after its end")
        return number, place

    def _return(self, at: int, place: int) -> int:
        number, place = self._ended(at, place, RETURNED)
        place = self._values.root(place)
        self._take(number, f.RETURN)
        return place

    def _bare_return(self, at: int, place: int) -> int:
        number, place = self._ended(at, place, RETURNED)
        self._unique[number] = 1
        return place

    def _raise(self, at: int, place: int) -> int:
        number, place = self._ended(at, place, RAISED)
        _, place = read_v(self._data, place)
        place = self._values.root(place)
        self._take(number, f.RAISE)
        return place

    def _bare_raise(self, at: int, place: int) -> int:
        number, place = self._ended(at, place, RAISED)
        _, place = read_v(self._data, place)
        self._unique[number] = 1
        return place

    def _closed(self, at: int, place: int) -> int:
        return self._ended(at, place, CLOSED)[1]

    def _ended(self, at: int, place: int, state: int) -> tuple[int, int]:
        number, place = self._open_call(place)
        self._state[number] = state
        self._exit_at[number] = self._base | at
        self._take_globals(number)
        return number, place

    # --- steps -----------------------------------------------------------------------------------

    def _event(self, at: int, number: int) -> None:
        self._event_call.append(number)
        self._event_at.append(self._base | at)

    def _yield(self, at: int, place: int) -> int:
        number, place = self._suspended(at, place)
        place = self._values.root(place)
        self._take(number, f.YIELD)
        return place

    def _bare_yield(self, at: int, place: int) -> int:
        number, place = self._suspended(at, place)
        self._unique[number] = 1
        return place

    def _suspended(self, at: int, place: int) -> tuple[int, int]:
        number, place = self._open_call(place)
        self._state[number] = SUSPENDED
        self._event(at, number)
        self._take_globals(number)
        return number, place

    def _resume(self, at: int, place: int) -> int:
        return self._resumed(at, place)[1]

    def _resume_with_value(self, at: int, place: int) -> int:
        number, place = self._resumed(at, place)
        place = self._values.root(place)
        self._take(number, self._data[at])
        return place

    def _resumed(self, at: int, place: int) -> tuple[int, int]:
        number, place = self._open_call(place)
        self._state[number] = RUNNING
        # A change before this was made by others, one after it by the call.
        self._digest[number] = mix(self._digest[number], f.RESUME)
        self._event(at, number)
        self._take_globals(number)
        _, place = self._of_call(place)
        return number, place

    def _changed(self, at: int, place: int) -> int:
        number, place = self._of_input(at, place)
        place = self._values.root(place)
        self._take(number, f.CHANGED)
        return place

    def _lost(self, at: int, place: int) -> int:
        number, place = self._of_input(at, place)
        self._unique[number] = 1
        return place

    def _of_input(self, at: int, place: int) -> tuple[int, int]:
        number, place = self._open_call(place)
        which, place = read_v(self._data, place)
        if which >= self._tables.codes[self._code[number]].inputs:
            raise MalformedTrace(f"call {number} changes an input that it has not")
        self._digest[number] = mix(self._digest[number], which)
        self._event(at, number)
        return number, place

    def _skipped(self, at: int, place: int) -> int:
        number, place = self._of_call(place)
        if number and self._state[number] >= RETURNED:
            raise MalformedTrace(f"call {number} goes on after its end")
        count, place = read_v(self._data, place)
        if count >= 2**53:
            raise MalformedTrace("more calls were skipped than can be counted")
        self._skipped_call.append(number)
        self._skipped_count.append(count)
        self._skipped_before.append(len(self._parent))
        return place

    def _output(self, at: int, place: int) -> int:
        number, place = self._of_call(place)
        if place >= len(self._data):
            raise MalformedTrace("a record breaks off")
        descriptor = self._data[place]
        start = place + 1
        place = skip_text(self._data, start)
        self._event(at, number)
        self._take_digest(
            number, f.OUTPUT, mix(digest_of(self._data, start, place), descriptor), place - start
        )
        if descriptor == f.STANDARD_OUTPUT:
            self._output_call.append(number)
            self._output_at.append(self._base | at)
        return place

    def _global(self, at: int, place: int) -> int:
        variable, place = read_v(self._data, place)
        if variable >= len(self._tables.variable_at):
            raise MalformedTrace("a global that does not exist changes")
        self._global_variable.append(variable)
        self._global_at.append(self._base | at)
        place = self._values.root(place)
        self._global_digest[variable] = self._values.digest
        self._global_complete[variable] = self._values.complete
        return place

    def _thread(self, at: int, place: int) -> int:
        thread, place = read_v(self._data, place)
        if thread > self._threads:
            raise MalformedTrace("threads are not numbered in order")
        self._threads = max(self._threads, thread + 1)
        return place

    def _note(self, at: int, place: int) -> int:
        self._note_at.append(self._base | at)
        return skip_text(self._data, place)

    def _end(self, at: int, place: int) -> int:
        if self._end_at:
            raise MalformedTrace("the run ends twice")
        if place >= len(self._data):
            raise MalformedTrace("a record breaks off")
        if self._data[place] > f.STOPPED:
            raise MalformedTrace("the run ends in an unknown way")
        self._end_at.append(self._base | at)
        return self._values.root(place + 1)

    def _take(self, number: int, tag: int) -> None:
        """Add the root that was read last to a call's equation."""
        values = self._values
        self._take_digest(number, tag, values.digest, values.size)
        if not values.complete:
            self._unique[number] = 1

    def _take_digest(self, number: int, tag: int, digest: int, size: int) -> None:
        self._digest[number] = mix(mix(self._digest[number], tag), digest)
        self._effort[number] += min(2 * size, _MOST_SHOWN)

    def _take_globals(self, number: int) -> None:
        """Add the current values of the globals that a call names to its equation."""
        variables = self._tables.codes[self._code[number]].variables
        if not variables:
            return
        digest = self._digest[number]
        for variable in variables:
            digest = mix(digest, self._global_digest.get(variable, 0))
            if not self._global_complete.get(variable, True):
                self._unique[number] = 1
        self._digest[number] = digest
