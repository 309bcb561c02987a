"""The tables of a trace: names, types, code and module variables, read when they are needed.

An entry is found by the position of its record, so that opening a trace reads none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.line_table import Span
from whence.langs.python.trace.line_table import position as line_of
from whence.langs.python.trace.line_table import span as span_of
from whence.langs.python.trace.trace_format import MalformedTrace, read_bytes, read_text, read_v
from whence.langs.python.trace.trace_pages import TraceFile, printable, without_nul
from whence.model.call import Location
from whence.ports import Int64s

_OFFSET = (1 << f.PAGE_BITS) - 1
_LOCALS = "<locals>."
_UNSAID = ("builtins", "__main__", "")


@dataclass(frozen=True, slots=True)
class TypeEntry:
    """A type of the recorded program."""

    module: str
    qualname: str
    flags: int

    @property
    def short(self) -> str:
        """The name as a value of the type is written."""
        return self.qualname.rpartition(_LOCALS)[2]

    @property
    def full(self) -> str:
        """The name with its module, unless that is builtins or the script."""
        return self.short if self.module in _UNSAID else f"{self.module}.{self.short}"


@dataclass(frozen=True, slots=True)
class CodeEntry:
    """A code object of the recorded program."""

    flags: int
    file: str
    module: str
    qualname: str
    first_line: int
    parameters: tuple[str, ...]
    free_variables: tuple[str, ...]
    variables: tuple[int, ...]
    line_table: bytes

    @property
    def is_stepped(self) -> bool:
        """Whether its calls run in steps: generators and coroutines."""
        return bool(self.flags & f.STEPPED)

    @property
    def is_text(self) -> bool:
        """Whether it was compiled from a string (`exec`, `-c`) and not from a file."""
        return self.file.startswith("<")

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of its inputs."""
        return self.parameters + self.free_variables

    def location(self, place: int) -> Location | None:
        """Where in the source a place (an instruction, counted from 1) is; None if unknown."""
        if place == 0:
            return None
        line, column = line_of(self.line_table, self.first_line, place - 1)
        span = self.span(place)
        end = None if span is None else span[2:]
        return None if line is None else Location(self.file, line, column, end)

    def span(self, place: int) -> Span | None:
        """Where the expression that a place belongs to begins and ends."""
        return None if place == 0 else span_of(self.line_table, self.first_line, place - 1)


@dataclass(frozen=True, slots=True)
class TablePositions:
    """The positions of the tables' records."""

    names: Int64s
    types: Int64s
    codes: Int64s
    variables: Int64s


class TraceTables:
    """The entries by their numbers. An unknown number is `MalformedTrace`."""

    def __init__(self, file: TraceFile, directory: TablePositions) -> None:
        self._file = file
        self._directory = directory
        self._names: dict[int, str] = {}
        self._types: dict[int, TypeEntry] = {}
        self._codes: dict[int, CodeEntry] = {}
        self._variables: dict[int, tuple[str, str]] = {}

    def data_at(self, position: int) -> tuple[bytes, int]:
        """The page and the place in it that a position means."""
        return self._file.payload(position >> f.PAGE_BITS), position & _OFFSET

    def name(self, number: int) -> str:
        """A name, as it can be shown."""
        name_text = self._names.get(number)
        if name_text is None:
            data, place = self._record(self._directory.names, number, f.NAME)
            name_text = self._names[number] = printable(read_text(data, place)[0])
        return name_text

    def type(self, number: int) -> TypeEntry:
        """A type."""
        entry = self._types.get(number)
        if entry is None:
            data, place = self._record(self._directory.types, number, f.TYPE)
            module, place = read_v(data, place)
            name, place = read_v(data, place)
            flags = data[place] if place < len(data) else 0
            entry = self._types[number] = TypeEntry(self.name(module), self.name(name), flags)
        return entry

    @property
    def types(self) -> list[TypeEntry]:
        """All types of which values were recorded."""
        return [self.type(number) for number in range(len(self._directory.types))]

    def variable(self, number: int) -> tuple[str, str]:
        """The module of a module variable, and its name."""
        entry = self._variables.get(number)
        if entry is None:
            data, place = self._record(self._directory.variables, number, f.VARIABLE)
            module, place = read_v(data, place)
            name, place = read_v(data, place)
            entry = self._variables[number] = self.name(module), self.name(name)
        return entry

    @property
    def variables(self) -> range:
        """The numbers of all module variables."""
        return range(len(self._directory.variables))

    def code(self, number: int) -> CodeEntry:
        """A code object."""
        entry = self._codes.get(number)
        if entry is None:
            entry = self._codes[number] = self._read_code(number)
        return entry

    def codes(self) -> list[CodeEntry]:
        """All code objects."""
        return [self.code(number) for number in range(len(self._directory.codes))]

    def entries(self) -> tuple[Sequence[object], ...]:
        """All entries by number: files with equal entries encode equal values in equal bytes."""
        directory = self._directory
        return (
            [self.name(number) for number in range(len(directory.names))],
            [self.type(number) for number in range(len(directory.types))],
            [self.variable(number) for number in self.variables],
            self.codes(),
        )

    def _read_code(self, number: int) -> CodeEntry:
        data, place = self._record(self._directory.codes, number, f.CODE)
        head: list[int] = []
        for _ in range(8):
            field, place = read_v(data, place)
            head.append(field)
        flags, file, module, qualname, line, parameters, free, variables = head
        if parameters + free + variables > len(data) - place:
            raise MalformedTrace("a code claims more than there is")
        numbers: list[int] = []
        for _ in range(parameters + free + variables):
            field, place = read_v(data, place)
            numbers.append(field)
        names = tuple(self.name(name) for name in numbers[: parameters + free])
        return CodeEntry(
            flags=flags,
            file=without_nul(self.name(file)),
            module=self.name(module),
            qualname=self.name(qualname),
            first_line=line,
            parameters=names[:parameters],
            free_variables=names[parameters:],
            variables=tuple(numbers[parameters + free :]),
            line_table=read_bytes(data, place)[0],
        )

    def _record(self, positions: Int64s, number: int, record: int) -> tuple[bytes, int]:
        """The page and place of an entry's first field."""
        if number >= len(positions):
            raise MalformedTrace("a number leads to no entry of its table")
        data, place = self.data_at(int(positions[number]))
        if place >= len(data) or data[place] != record:
            raise MalformedTrace("the file was changed after it was opened")
        return data, place + 1
