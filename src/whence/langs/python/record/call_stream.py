"""Writes the records of docs/trace-format.md for the events of calls, in Python.

Knows calls, values and records, not frames, threads or hooks: `Activations` passes it the events
with the values at that time. Between two events it keeps only bytes and numbers of them.

Invariant: all records of an event reach the page, or none.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

from whence.langs.python.objects.newer_types import is_lazy_import
from whence.langs.python.objects.raw_class import is_builtin_function
from whence.langs.python.record.backend import CodeDescription
from whence.langs.python.record.frame_values import UNBOUND, UNKNOWN
from whence.langs.python.record.options import (
    GLOBAL_BOUND,
    SHALLOW_BOUND,
    WHOLE_BOUND,
    Bound,
    Detail,
    RecordOptions,
)
from whence.langs.python.record.snapshot import (
    Snapshots,
    Tables,
    has_identity,
    is_class,
)
from whence.langs.python.record.summaries import Summary
from whence.langs.python.record.trace_output import TraceOutput
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace import trace_writer as w
from whence.secret_values import secrets_for

_INPUT = bytes((f.INPUT,))
_MOST_PRINTED = 10_000
"""Characters of one write that are kept."""
# The reference count of an input that only the call holds: the frame, the list of inputs, and the
# argument of `getrefcount`.
_SOLE = 3
_FULL = (
    "the trace reached its size limit: calls from here on were counted, not recorded, and of open "
    "calls only the end was"
)


@dataclass(slots=True, eq=False)
class CodeEntry:
    """A code object of user code."""

    description: CodeDescription
    inputs: tuple[str, ...]
    first_free: int
    """Inputs from here on are free variables: other functions see it if they are rebound."""
    rebound: frozenset[str] = frozenset()
    """The parameters that the code rebinds or deletes."""
    number: int = -1
    variables: tuple[int, ...] = ()
    calls: int = 0
    outcomes: Counter[int] = field(default_factory=Counter)
    """Of a generator: how many yields and returns had the larger bound, by their record."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """What a generator or coroutine is resumed with; `UNKNOWN` if the value is not available."""

    value: Any = None
    thrown: bool = False


START = Resumption()


@dataclass(slots=True, eq=False)
class OpenCall:
    """A recorded call that has not ended. The run itself is one, number 0."""

    number: int
    code: CodeEntry | None = None
    depth: int = 0
    bound: Bound = GLOBAL_BOUND
    known: list[bytes] = field(default_factory=list)
    """Each input as it was last written, in the order of the inputs."""
    objects: list[int] = field(default_factory=list)
    """The `id` of each input that is a container, else 0."""
    mutable: list[bool] = field(default_factory=list)
    fleeting: list[bool] = field(default_factory=list)
    """Inputs that only the call held and whose name is rebound: the same `id` may later be that of
    another object."""
    skipped: int = 0


class CallStream:
    """Writes the records of one trace.

    It is one class because an event writes several records that refer to each other: the methods
    share the numbers of calls, names and values, and the buffer of the event.
    """

    def __init__(
        self, descriptor: int, options: RecordOptions, summaries: Mapping[type, Summary]
    ) -> None:
        self._options = options
        self._early_calls = options.early_calls if options.first_calls else 0
        self._early_outcomes = self._early_calls
        self._said_full = self._has_ended = False
        self._detail = options.detail
        self._output = TraceOutput(descriptor, options.max_bytes)
        self._scratch = bytearray()
        self._user_modules: set[str] = set()
        self._tables = Tables(self._scratch, self._user_modules)
        self._secrets = secrets_for(options.keep_secrets, options.secret_names)
        self._snapshots = Snapshots(self._tables, summaries, self._secrets)
        self._roots = w.RootNumbering()
        self._codes = 0
        self._variables: dict[tuple[str, str], int] = {}
        self._last_global: dict[int, bytes] = {}
        self._next = 1
        self._thread = 0
        self.root = OpenCall(0)

    @property
    def calls(self) -> int:
        """How many calls were recorded."""
        return self._next - 1

    @property
    def problem(self) -> str | None:
        """Why nothing is written any more, if so."""
        return self._output.problem

    def keep_tail(self, path: str, descriptor: int, check: int) -> None:
        """Keep in this file, too, what is in no page yet."""
        self._output.keep_tail(path, descriptor, check)

    # --- events ---

    def begin(
        self, code: CodeEntry, parent: OpenCall, site: int, inputs: Sequence[Any], namespace: Any,
        is_borrowed: Callable[[str], bool],
    ) -> OpenCall | None:  # fmt: skip
        """A call starts, or a generator is created; None if it is only counted."""
        if self._is_beyond(parent.depth + 1):
            parent.skipped += 1
            return None
        if code.number < 0:
            self._add_code(code)
        code.calls += 1
        call = OpenCall(self._next, code, parent.depth + 1, self._bound_for(code))
        if self._detail is Detail.FULL:
            self._add_globals(code, namespace)
        record = f.BARE_CALL if self._detail is Detail.IDS else f.CALL
        values = bytearray()
        if record == f.CALL:
            call.known, call.mutable = self._encoded(call, inputs)
            call.objects = [id(value) if has_identity(value) else 0 for value in inputs]
            call.fleeting = [
                name in code.rebound
                and sys.getrefcount(inputs[index]) == _SOLE
                and not is_borrowed(name)
                for index, name in enumerate(code.inputs)
            ]
            for encoding in call.known:
                self._roots.add(values, encoding)
        # Before the number is taken: a parent's distance counts from it.
        w.add_record(self._scratch, record, self._next - parent.number, code.number, site)
        self._scratch += values
        self._next += 1
        self._commit()
        return call

    def resume(
        self, call: OpenCall, resumer: OpenCall, with_: Resumption, inputs: Sequence[Any],
        namespace: Any,
    ) -> None:  # fmt: skip
        """A generator or coroutine starts to run, or runs on."""
        if self._output.is_full():
            return
        self._before_step(call, inputs, namespace)
        value = with_.value
        bare = self._detail is Detail.IDS or (value is None and not with_.thrown)
        record = f.RESUME if bare else f.THROW if with_.thrown else f.SEND
        encoding = bytes((f.LEFT_OUT,))
        if not bare and value is not UNKNOWN:
            encoding = self._snapshots.write(value, call.bound)
        w.add_record(self._scratch, record, self._next - call.number, self._next - resumer.number)
        if not bare:
            self._roots.add(self._scratch, encoding)
        self._commit()

    def returned(self, call: OpenCall, value: Any, inputs: Sequence[Any], namespace: Any) -> None:
        """A call ends with a result."""
        self._leave(call, f.RETURN, (), value, inputs, namespace)

    def yielded(
        self, call: OpenCall, value: Any, inputs: Sequence[Any], namespace: Any, bare: bool
    ) -> None:
        """A generator yields a value, or a coroutine waits (`bare`: without its value)."""
        if not self._output.is_full():
            self._leave(call, f.YIELD, (), value, inputs, namespace, bare)

    def raised(
        self,
        call: OpenCall,
        place: int,
        exception: Any,
        inputs: Sequence[Any],
        namespace: Any,
        known: bool = True,
        encoding: bytes = b"",
    ) -> None:
        """A call ends with an exception; if that is not `known`, `encoding` may have it."""
        bare = not known and not encoding
        self._leave(call, f.RAISE, (place,), exception, inputs, namespace, bare, encoding)

    def exception(self, call: OpenCall, exception: Any, inputs: Sequence[Any]) -> bytes:
        """An exception as it would be written if it left the call now."""
        if self._detail is Detail.IDS:
            return b""
        encoding = self._outcome(call, exception, inputs, call.bound, least=0)
        self._commit()
        return encoding

    def closed(self, call: OpenCall) -> None:
        """A suspended generator ended without running on."""
        self._add_skipped(call)
        w.add_record(self._scratch, f.CLOSED, self._next - call.number)
        self._commit()

    def printed(self, call: OpenCall, descriptor: int, text: str) -> None:
        """A call wrote a text to a standard stream."""
        if self._output.is_full():
            return
        left_out = str.__len__(text) - _MOST_PRINTED
        text = self._secrets.without_keys(str.__getitem__(text, slice(_MOST_PRINTED)))
        if left_out > 0:
            text += f"…{left_out} more characters\n"
        w.add_output(self._scratch, self._next - call.number, descriptor, text)
        self._commit()

    def thread(self, number: int) -> None:
        """The following records are of this thread."""
        if number != self._thread:
            self._thread = number
            w.add_record(self._scratch, f.THREAD, number)

    def note(self, text: str) -> None:
        """A NOTE record."""
        w.add_note(self._scratch, text)
        self._commit()

    def exit(self, status: int) -> None:
        """The process ends at once with this status; no other END record is written."""
        self._add_skipped(self.root)
        self.end(f.BY_EXIT, status)
        self._has_ended = True

    def end(self, how: int, value: object) -> None:
        """The last record."""
        if self._has_ended:
            return
        full = self._detail is Detail.FULL
        encoding = self._snapshots.write(
            value, self._options.first_bound if full else SHALLOW_BOUND
        )
        self._scratch.append(f.END)
        self._scratch.append(how)
        self._roots.add(self._scratch, encoding)
        self._commit()
        self.flush()
        self._output.close_tail()

    def flush(self) -> None:
        """Write all that is in memory."""
        self._add_skipped(self.root)
        self._commit()
        self._output.flush()

    def abandon(self, why: str) -> None:
        """Drop the records of the event that failed; those of earlier events are complete."""
        self._scratch.clear()
        self._tables.drop_uncommitted()
        self._roots = w.RootNumbering()
        if why:
            self.note(why)

    def drop(self) -> None:
        """In a forked child: forget what was not written, which the parent will write."""
        self._scratch.clear()
        self._output.drop()

    # --- bounds ---

    def _is_beyond(self, depth: int) -> bool:
        options = self._options
        if options.depth is not None and depth > options.depth:
            return True
        if options.max_calls is not None and self._next > options.max_calls:
            return True
        return self._output.is_full()

    def _bound_for(self, code: CodeEntry) -> Bound:
        if self._detail is Detail.SHALLOW:
            return SHALLOW_BOUND
        options = self._options
        if options.whole_calls is not None:
            first_whole, last_whole = options.whole_calls
            if first_whole <= self._next <= last_whole:
                return WHOLE_BOUND
        # Not for a generator: each of its steps is compared with the one before.
        first = code.calls <= options.first_calls or self._next <= self._early_calls
        first = first and not code.description.flags & f.STEPPED
        return options.first_bound if first else options.bound

    def _bound_of_outcome(self, call: OpenCall, record: int) -> Bound:
        # Unlike the inputs of a generator, its outcomes are not compared, so they may be larger.
        assert call.code is not None
        options, code = self._options, call.code
        if (
            code.description.flags & f.STEPPED
            and call.bound == options.bound
            and record != f.RAISE
            and self._detail is Detail.FULL
        ):
            if code.outcomes[record] < options.first_calls:
                code.outcomes[record] += 1
                return options.first_bound
            if self._early_outcomes > 0:
                self._early_outcomes -= 1
                return options.first_bound
        return call.bound

    # --- values ---

    def _encoded(self, call: OpenCall, inputs: Sequence[Any]) -> tuple[list[bytes], list[bool]]:
        """The snapshot of each input, or a reference if it is an earlier one; and which of them
        can change."""
        first_index: dict[int, int] = {}
        encodings, mutable = [], []
        for index, value in enumerate(inputs):
            first = first_index.setdefault(id(value), index) if has_identity(value) else index
            if first != index:
                encoding = bytearray()
                w.add_record(encoding, f.INPUT, first)
                encodings.append(bytes(encoding))
                mutable.append(False)
            else:
                encodings.append(self._value(value, call.bound, self._least(call, index)))
                mutable.append(value is not UNBOUND and self._snapshots.mutable)
        return encodings, mutable

    def _value(self, value: Any, bound: Bound, least: int) -> bytes:
        if value is UNBOUND:
            return bytes((f.UNBOUND,))
        return self._snapshots.write(value, bound, least=least)

    def _least(self, call: OpenCall, index: int) -> int:
        """How long an input must be to be a secret."""
        assert call.code is not None
        return self._secrets.least(call.code.inputs[index])

    def _outcome(
        self, call: OpenCall, value: Any, inputs: Sequence[Any], bound: Bound, least: int
    ) -> bytes:
        """The snapshot of a result; parts that are inputs of the call are references to them."""
        held: dict[int, int] = {}
        for index, now in enumerate(inputs):
            if call.objects and call.objects[index] and self._is_still(call, index, now):
                held.setdefault(id(now), index)
        return self._snapshots.write(value, bound, held, least=least)

    @staticmethod
    def _is_still(call: OpenCall, index: int, now: Any) -> bool:
        """Whether an input is certainly the same object as at entry."""
        return id(now) == call.objects[index] and not call.fleeting[index]

    # --- the parts of an event ---

    def _before_step(self, call: OpenCall, inputs: Sequence[Any], namespace: Any) -> None:
        """Record what others changed while the call was suspended or not yet started."""
        if self._detail is not Detail.FULL:
            return
        assert call.code is not None
        self._add_globals(call.code, namespace)
        self._add_changes(call, inputs)

    def _leave(
        self,
        call: OpenCall,
        record: int,
        fields: tuple[int, ...],
        value: Any,
        inputs: Sequence[Any],
        namespace: Any,
        bare: bool = False,
        encoding: bytes = b"",
    ) -> None:
        assert call.code is not None
        full = self._output.is_full()
        if self._detail is Detail.FULL and not full:
            self._add_globals(call.code, namespace)
            self._add_changes(call, inputs)
        self._add_skipped(call)
        bare = bare or full or self._detail is Detail.IDS
        if not bare and not encoding:
            qualname = call.code.description.qualname
            least = 0 if record == f.RAISE else self._secrets.least_of_result(qualname)
            bound = self._bound_of_outcome(call, record)
            encoding = self._outcome(call, value, inputs, bound, least)
        # A record's bare twin has the next number.
        w.add_record(self._scratch, record + bare, self._next - call.number, *fields)
        if not bare:
            self._roots.add(self._scratch, encoding)
        self._commit()

    def _add_changes(self, call: OpenCall, inputs: Sequence[Any]) -> None:
        assert call.code is not None
        for index, value in enumerate(inputs):
            is_free = index >= call.code.first_free
            if not is_free:
                if not call.mutable[index]:
                    continue
                if not self._is_still(call, index, value):
                    call.mutable[index] = False  # so that it is recorded once
                    w.add_record(self._scratch, f.LOST, self._next - call.number, index)
                    continue
            if call.known[index][:1] == _INPUT:
                continue
            encoding = self._value(value, call.bound, self._least(call, index))
            if encoding != call.known[index]:
                call.known[index] = encoding
                w.add_record(self._scratch, f.CHANGED, self._next - call.number, index)
                self._roots.add(self._scratch, encoding)
            if is_free:
                call.objects[index] = id(value) if has_identity(value) else 0

    def _add_globals(self, code: CodeEntry, namespace: Any) -> None:
        if type(namespace) is not dict:
            return  # it may run code of the program, or its variables never change
        for name, number in zip(code.description.global_names, code.variables, strict=True):
            value = dict.get(namespace, name, UNBOUND)
            if value is UNBOUND:
                if number not in self._last_global:
                    continue  # a builtin
                encoding = bytes((f.UNBOUND,))
            elif number not in self._last_global and not _is_data(value):
                continue
            else:
                encoding = self._snapshots.write(
                    value, self._options.global_bound, foreign_is_opaque=True,
                    least=self._secrets.least(name),
                )  # fmt: skip
            if self._last_global.get(number) != encoding:
                self._last_global[number] = encoding
                w.add_record(self._scratch, f.GLOBAL, number)
                self._roots.add(self._scratch, encoding)

    def _add_skipped(self, call: OpenCall) -> None:
        if call.skipped:
            distance = self._next - call.number
            w.add_record(self._scratch, f.SKIPPED, distance, call.skipped)
            call.skipped = 0

    def _add_code(self, code: CodeEntry) -> None:
        about, tables = code.description, self._tables
        self._user_modules.add(about.module)
        place = (
            tables.name(about.file), tables.name(about.module), tables.name(about.qualname),
            about.first_line,
        )  # fmt: skip
        parameters = [tables.name(name) for name in about.parameters]
        free = [tables.name(name) for name in about.free_variables]
        code.variables = tuple(self._variable(about.module, name) for name in about.global_names)
        w.add_code(
            self._scratch,
            about.flags,
            place,
            (parameters, free),
            code.variables,
            about.line_table,
        )
        code.number = self._codes
        self._codes += 1

    def _variable(self, module: str, name: str) -> int:
        number = self._variables.get((module, name))
        if number is None:
            names = self._tables.name(module), self._tables.name(name)
            number = self._variables[module, name] = len(self._variables)
            w.add_record(self._scratch, f.VARIABLE, *names)
        return number

    def _commit(self) -> None:
        if self._output.is_full() and not self._said_full:
            self._said_full = True
            w.add_note(self._scratch, _FULL)
        self._output.add(self._scratch)
        self._tables.commit()
        self._scratch.clear()


def _is_data(value: Any) -> bool:
    """Not a module, function or class: those are the program's text, not its state."""
    kind = type(value)
    if kind is FunctionType or kind is ModuleType or is_builtin_function(kind):
        return False
    return not is_class(value) and not is_lazy_import(value)
