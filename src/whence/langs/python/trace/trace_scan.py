"""One pass over all records of a trace: which call made which, how each ended, where all stands.

Values are skipped, not decoded; what is kept of one is a digest, by which equal calls are found.
The result is a set of flat arrays, indexed by the number of the call: some 60 bytes a call and 20
a stored value, whatever the values are.

`PythonTraceScanner` defines what the scanner in C does: for every sequence of pages they give equal
arrays or both raise `MalformedTrace`, and a test holds them to it.

Every number is checked before it is used, and nothing that a record claims is allocated: an array
grows by one entry for a record that was read.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.trace_format import MalformedTrace, digest_of, mix, read_v
from whence.ports import Bytes, Int32s, Int64s

# How far a call has come.
CREATED, RUNNING, SUSPENDED, RETURNED, RAISED, CLOSED = range(6)

MAX_CALLS = 2**31 - 2**20
NOWHERE = -1
"""The position of a record that is not there."""

_MOST_SHOWN = 300
_FRAME = 6
_MAX_EFFORT = 2**31 - 1
_MAX_LINE = 2**31 - 1
UNIQUE = 0x55
_CONTENTS = frozenset((*range(f.WHOLE, f.BYTEARRAY + 1), *range(f.LIST, f.DICT + 1), f.OPAQUE))


@dataclass(frozen=True, slots=True)
class TraceScan:
    """What a pass found. The first six are by number of call, 0 the run itself."""

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
    """The number of the next call that was recorded."""
    event_call: Int32s
    """The records between a call's first and its last, in order of time: of which call, where."""
    event_at: Int64s
    root_at: Int64s
    global_variable: Int32s
    global_at: Int64s
    name_at: Int64s
    type_at: Int64s
    code_at: Int64s
    variable_at: Int64s
    output_call: Int32s
    """What went to standard output, in order of time: which call wrote it, where the record is."""
    output_at: Int64s
    note_at: Int64s
    end_at: Int64s
    threads: Int64s
    """One entry: how many threads made calls."""

    @classmethod
    def from_buffers(cls, found: Mapping[str, Any]) -> TraceScan:
        """The arrays from their bytes."""
        return cls(**{name: np.frombuffer(found[name], DTYPES[name]) for name in DTYPES})


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
DTYPES: dict[str, Any] = {
    each.name: np.uint8 if each.name in _BYTES else np.int32 if each.name in _NARROW else np.int64
    for each in fields(TraceScan)
}
"""The type of the entries of each array."""


@dataclass(frozen=True, slots=True)
class _Code:
    """What the pass needs to know of a code object."""

    inputs: int
    stepped: bool
    variables: tuple[int, ...]
    effort: int


class PythonTraceScanner:
    """Is fed the pages in their order, and gives what it found."""

    def __init__(self) -> None:
        self._parent = array("i", [-1])
        self._code = array("i", [-1])
        self._state = bytearray([RUNNING])
        self._call_at = array("q", [NOWHERE])
        self._exit_at = array("q", [NOWHERE])
        self._effort = array("q", [0])
        self._digest = array("Q", [0])
        self._unique = bytearray([1])
        """Calls that no other call can be known to equal."""
        self._skipped_call, self._skipped_count = array("i"), array("q")
        self._skipped_before = array("q")
        self._event_call, self._event_at = array("i"), array("q")
        self._output_call, self._output_at = array("i"), array("q")
        self._root_at, self._root_digest, self._root_size = array("q"), array("Q"), array("i")
        self._root_complete = bytearray()
        self._global_variable, self._global_at = array("i"), array("q")
        self._name_at, self._name_size, self._name_vague = array("q"), array("q"), bytearray()
        self._type_at, self._code_at, self._variable_at = array("q"), array("q"), array("q")
        self._note_at, self._end_at = array("q"), array("q")
        self._codes: list[_Code] = []
        self._global_digest: list[int] = []
        self._global_complete: list[bool] = []
        self._threads = 1
        # Of the value that was skipped last.
        self._complete = True
        self._containers = 0
        self._value_digest = 0
        self._value_size = 0
        self._data = b""
        self._base = 0
        self._handlers = self._table()

    def feed(self, page: int, data: bytes) -> None:
        """All records of a page."""
        self._data, self._base = data, page << f.PAGE_BITS
        handlers, place, end = self._handlers, 0, len(data)
        while place < end:
            handler = handlers.get(data[place])
            if handler is None:
                raise MalformedTrace(f"there is no record 0x{data[place]:02x}")
            place = handler(place, place + 1)
        if place > end:
            raise MalformedTrace("a record breaks off")

    def finish(self, *, comparable: bool) -> TraceScan:
        """What was found. `comparable`: equal records of two calls mean that they are equal."""
        equation = array("Q")
        for number, digest in enumerate(self._digest):
            ended = RETURNED <= self._state[number] <= RAISED
            known = comparable and ended and not self._unique[number]
            equation.append(digest if known else mix(UNIQUE, number))
        effort = array("i", (min(each, _MAX_EFFORT) for each in self._effort))
        found: dict[str, Any] = {
            name: getattr(self, f"_{name}")
            for name in DTYPES
            if name not in ("state", "equation", "effort", "threads")
        }
        found["state"] = bytes(self._state)
        found["equation"] = array("q", equation.tobytes())
        found["effort"] = effort
        found["threads"] = array("q", [self._threads])
        return TraceScan.from_buffers(found)

    def _table(self) -> dict[int, Callable[[int, int], int]]:
        return {
            f.CALL: self._call,
            f.BARE_CALL: self._bare_call,
            f.RETURN: self._return,
            f.BARE_RETURN: self._bare_return,
            f.YIELD: self._yield,
            f.BARE_YIELD: self._bare_yield,
            f.RESUME: self._resume,
            f.THROW: self._throw,
            f.SEND: self._send,
            f.RAISE: self._raise,
            f.BARE_RAISE: self._bare_raise,
            f.CLOSED: self._closed,
            f.CHANGED: self._changed,
            f.LOST: self._lost,
            f.GLOBAL: self._global,
            f.THREAD: self._thread,
            f.SKIPPED: self._skipped,
            f.NAME: self._name,
            f.TYPE: self._type,
            f.CODE: self._code_record,
            f.VARIABLE: self._variable,
            f.OUTPUT: self._output,
            f.NOTE: self._note,
            f.END: self._end,
        }

    # --- calls -----------------------------------------------------------------------------------

    def _new_call(self, at: int, place: int) -> tuple[_Code, int]:
        """The fields of a CALL up to its values."""
        number = len(self._parent)
        if number >= MAX_CALLS:
            raise MalformedTrace(f"there are more than {MAX_CALLS:,} calls")
        distance, place = read_v(self._data, place)
        if not 1 <= distance <= number:
            raise MalformedTrace(f"call {number} has a parent that there is not")
        code_number, place = read_v(self._data, place)
        if code_number >= len(self._codes):
            raise MalformedTrace(f"call {number} is of a code that there is not")
        _, place = read_v(self._data, place)
        code = self._codes[code_number]
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
            place = self._root(place)
            self._take(number, f.CALL)
        self._take_globals(number)
        return place

    def _bare_call(self, at: int, place: int) -> int:
        _, place = self._new_call(at, place)
        self._unique[-1] = 1
        return place

    def _of_call(self, place: int) -> tuple[int, int]:
        """The call that a distance leads to, 0 included."""
        distance, place = read_v(self._data, place)
        number = len(self._parent) - distance
        if distance < 1 or number < 0:
            raise MalformedTrace("a record is of a call that there is not")
        return number, place

    def _open_call(self, place: int) -> tuple[int, int]:
        """The same, of a call that has not ended."""
        number, place = self._of_call(place)
        if number == 0 or self._state[number] >= RETURNED:
            raise MalformedTrace(f"call {number} goes on after its end")
        return number, place

    def _return(self, at: int, place: int) -> int:
        number, place = self._ended(at, place, RETURNED)
        place = self._root(place)
        self._take(number, f.RETURN)
        return place

    def _bare_return(self, at: int, place: int) -> int:
        number, place = self._ended(at, place, RETURNED)
        self._unique[number] = 1
        return place

    def _raise(self, at: int, place: int) -> int:
        number, place = self._ended(at, place, RAISED)
        _, place = read_v(self._data, place)
        place = self._root(place)
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
        place = self._root(place)
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

    def _throw(self, at: int, place: int) -> int:
        number, place = self._resumed(at, place)
        place = self._root(place)
        self._take(number, f.THROW)
        return place

    def _send(self, at: int, place: int) -> int:
        number, place = self._resumed(at, place)
        place = self._root(place)
        self._take(number, f.SEND)
        return place

    def _resumed(self, at: int, place: int) -> tuple[int, int]:
        number, place = self._open_call(place)
        self._state[number] = RUNNING
        # A change right before this is others' doing, one right after it the call's.
        self._digest[number] = mix(self._digest[number], f.RESUME)
        self._event(at, number)
        self._take_globals(number)
        _, place = self._of_call(place)
        return number, place

    def _changed(self, at: int, place: int) -> int:
        number, place = self._of_input(at, place)
        place = self._root(place)
        self._take(number, f.CHANGED)
        return place

    def _lost(self, at: int, place: int) -> int:
        number, place = self._of_input(at, place)
        self._unique[number] = 1
        return place

    def _of_input(self, at: int, place: int) -> tuple[int, int]:
        number, place = self._open_call(place)
        which, place = read_v(self._data, place)
        if which >= self._codes[self._code[number]].inputs:
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
        place = self._text(start)
        self._event(at, number)
        self._value_digest = mix(digest_of(self._data, start, place), descriptor)
        self._value_size, self._complete = place - start, True
        self._take(number, f.OUTPUT)
        if descriptor == f.STANDARD_OUTPUT:
            self._output_call.append(number)
            self._output_at.append(self._base | at)
        return place

    def _global(self, at: int, place: int) -> int:
        variable, place = read_v(self._data, place)
        if variable >= len(self._variable_at):
            raise MalformedTrace("a global changes that there is not")
        self._global_variable.append(variable)
        self._global_at.append(self._base | at)
        place = self._root(place)
        self._global_digest[variable] = self._value_digest
        self._global_complete[variable] = self._complete
        return place

    def _thread(self, at: int, place: int) -> int:
        thread, place = read_v(self._data, place)
        if thread > self._threads:
            raise MalformedTrace("threads are not numbered in order")
        self._threads = max(self._threads, thread + 1)
        return place

    def _note(self, at: int, place: int) -> int:
        self._note_at.append(self._base | at)
        return self._text(place)

    def _end(self, at: int, place: int) -> int:
        if self._end_at:
            raise MalformedTrace("the run ends twice")
        if place >= len(self._data):
            raise MalformedTrace("a record breaks off")
        if self._data[place] > f.STOPPED:
            raise MalformedTrace("the run ends in a way that there is not")
        self._end_at.append(self._base | at)
        return self._root(place + 1)

    # --- tables ----------------------------------------------------------------------------------

    def _text(self, place: int) -> int:
        length, place = read_v(self._data, place)
        if length > len(self._data) - place:
            raise MalformedTrace("a record breaks off")
        return place + length

    def _name(self, at: int, place: int) -> int:
        stop = self._text(place)
        length, start = read_v(self._data, place)
        self._name_at.append(self._base | at)
        self._name_size.append(length)
        # <lambda>, f.<locals>.g: different functions can have this name.
        self._name_vague.append(b"<" in self._data[start:stop])
        return stop

    def _name_number(self, place: int) -> tuple[int, int]:
        number, place = read_v(self._data, place)
        if number >= len(self._name_at):
            raise MalformedTrace("there is no name of this number")
        return number, place

    def _type(self, at: int, place: int) -> int:
        _, place = self._name_number(place)
        _, place = self._name_number(place)
        self._type_at.append(self._base | at)
        return place + 1

    def _variable(self, at: int, place: int) -> int:
        _, place = self._name_number(place)
        _, place = self._name_number(place)
        self._variable_at.append(self._base | at)
        self._global_digest.append(0)
        self._global_complete.append(True)
        return place

    def _code_record(self, at: int, place: int) -> int:
        flags, place = read_v(self._data, place)
        _, place = self._name_number(place)
        _, place = self._name_number(place)
        qualname, place = self._name_number(place)
        line, place = read_v(self._data, place)
        parameters, place = read_v(self._data, place)
        free, place = read_v(self._data, place)
        count, place = read_v(self._data, place)
        if line > _MAX_LINE or parameters + free + count > len(self._data) - place:
            raise MalformedTrace("a code claims more than there is")
        effort = _FRAME + self._name_size[qualname]
        for _ in range(parameters + free):
            name, place = self._name_number(place)
            effort += self._name_size[name] + 2
        variables: list[int] = []
        for _ in range(count):
            variable, place = read_v(self._data, place)
            if variable >= len(self._variable_at):
                raise MalformedTrace("a code names a global that there is not")
            variables.append(variable)
        place = self._text(place)
        self._code_at.append(self._base | at)
        stepped = bool(flags & f.STEPPED)
        self._codes.append(_Code(parameters + free, stepped, tuple(variables), effort))
        return place

    # --- values ----------------------------------------------------------------------------------

    def _take(self, number: int, tag: int) -> None:
        """Let the root that was read last count as a part of a call's equation."""
        self._digest[number] = mix(mix(self._digest[number], tag), self._value_digest)
        self._effort[number] += min(2 * self._value_size, _MOST_SHOWN)
        if not self._complete:
            self._unique[number] = 1

    def _take_globals(self, number: int) -> None:
        """Let the globals that a call names count, as they are now."""
        variables = self._codes[self._code[number]].variables
        if not variables:
            return
        digest = self._digest[number]
        for variable in variables:
            digest = mix(digest, self._global_digest[variable])
            if not self._global_complete[variable]:
                self._unique[number] = 1
        self._digest[number] = digest

    def _root(self, place: int) -> int:
        """Skip a root value; what is known of it is left in this object."""
        data = self._data
        if place < len(data) and data[place] == f.REFERENCE:
            distance, place = read_v(data, place + 1)
            number = len(self._root_at) - distance
            if distance < 1 or number < 0:
                raise MalformedTrace("a value refers to one that there is not")
            self._value_digest = self._root_digest[number]
            self._value_size = self._root_size[number]
            self._complete = bool(self._root_complete[number])
            return place
        self._complete, self._containers = True, 0
        stop = self._value(place, 0)
        if stop > len(data):
            raise MalformedTrace("a record breaks off")
        self._value_digest = digest_of(data, place, stop)
        self._value_size = stop - place
        if stop - place >= f.NUMBERED:
            self._root_at.append(self._base | place)
            self._root_digest.append(self._value_digest)
            self._root_size.append(stop - place)
            self._root_complete.append(self._complete)
        return stop

    def _value(self, place: int, nesting: int) -> int:
        """Skip a value. The place returned may lie behind the end of the data."""
        data = self._data
        if place >= len(data):
            raise MalformedTrace("a record breaks off")
        kind = data[place]
        place += 1
        if kind >= f.SMALL or kind <= f.FALSE:
            return place
        if kind in f.CONTAINERS:
            self._containers += 1
        if kind == f.WHOLE:
            return read_v(data, place)[1]
        if kind == f.STRING:
            return self._text(place)
        if f.LIST <= kind <= f.DICT:
            return self._parts(place, nesting, kind == f.DICT)
        if kind == f.OBJECT:
            return self._attributes(self._type_number(place), nesting)
        return self._rare_value(kind, place, nesting)

    def _rare_value(self, kind: int, place: int, nesting: int) -> int:
        data = self._data
        if kind == f.FLOAT:
            return place + 8
        if kind == f.COMPLEX:
            return place + 16
        if kind == f.LARGE:
            bits, place = read_v(data, place + 1)
            return self._stored(-(-bits // 8), place)
        if kind == f.CUT_STRING:
            self._complete = False
            return self._text(read_v(data, place)[1])
        if kind in (f.BYTES, f.BYTEARRAY):
            length, place = read_v(data, place)
            return self._stored(length, place)
        if kind in (f.SUBCLASS, f.EXCEPTION):
            return self._built_in(kind, self._type_number(place), nesting)
        if kind == f.OPAQUE:
            self._complete = False
            return self._type_number(place)
        if kind == f.SUMMARY:
            place = self._type_number(place)
            if place >= len(data) or data[place] != 1:
                self._complete = False
            return self._text(place + 1)
        if kind == f.CLASS:
            return self._type_number(place)
        if kind == f.FUNCTION:
            _, place = self._name_number(place)
            return self._function_name(place)
        if kind == f.METHOD:
            return self._value(self._function_name(place), self._below(nesting))
        if kind == f.MODULE:
            return self._name_number(place)[1]
        if kind == f.LEFT_OUT:
            self._complete = False
            return place
        return self._reference(kind, place)

    def _reference(self, kind: int, place: int) -> int:
        if kind == f.SAME:
            back, place = read_v(self._data, place)
            if not 1 <= back <= self._containers:
                raise MalformedTrace("a value is the same as one that there is not")
            return place
        if kind == f.INPUT:
            return read_v(self._data, place)[1]
        raise MalformedTrace(f"there is no value 0x{kind:02x} here")

    def _function_name(self, place: int) -> int:
        name, place = self._name_number(place)
        if self._name_vague[name]:
            self._complete = False
        return place

    def _below(self, nesting: int) -> int:
        if nesting >= f.MAX_NESTING:
            raise MalformedTrace(f"a value is nested more than {f.MAX_NESTING} levels deep")
        return nesting + 1

    def _type_number(self, place: int) -> int:
        number, place = read_v(self._data, place)
        if number >= len(self._type_at):
            raise MalformedTrace("there is no type of this number")
        return place

    def _stored(self, length: int, place: int) -> int:
        """Skip bytes of which some may have been left out."""
        stored, place = self._stored_count(length, place)
        if stored > len(self._data) - place:
            raise MalformedTrace("a record breaks off")
        return place + stored

    def _stored_count(self, length: int, place: int) -> tuple[int, int]:
        stored, place = read_v(self._data, place)
        if stored > length:
            raise MalformedTrace("more of a value is stored than there is")
        if stored < length:
            self._complete = False
        return stored, place

    def _parts(self, place: int, nesting: int, pairs: bool) -> int:
        length, place = read_v(self._data, place)
        stored, place = self._stored_count(length, place)
        if not stored:
            return place
        below = self._below(nesting)
        for _ in range(2 * stored if pairs else stored):
            place = self._value(place, below)
        return place

    def _attributes(self, place: int, nesting: int) -> int:
        length, place = read_v(self._data, place)
        stored, place = self._stored_count(length, place)
        if not stored:
            return place
        below = self._below(nesting)
        for _ in range(stored):
            _, place = self._name_number(place)
            place = self._value(place, below)
        return place

    def _built_in(self, kind: int, place: int, nesting: int) -> int:
        if place >= len(self._data):
            raise MalformedTrace("a record breaks off")
        content = self._data[place]
        fits = content == f.TUPLE if kind == f.EXCEPTION else content in _CONTENTS
        if not fits and not (content >= f.SMALL and kind == f.SUBCLASS):
            raise MalformedTrace("an instance of a subclass has no content")
        place = self._value(place, self._below(nesting))
        return self._attributes(place, nesting)
