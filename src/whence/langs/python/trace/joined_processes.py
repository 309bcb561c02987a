"""Joins the traces of a program's processes to one tree: each is below the call that started it.

A process is one more call, whose callees are its own calls. It is trusted: it is neither asked
about nor blamed. The header of a forked process names the call that started it. Other starts are
read from a file to which the starting process appends them. If neither names a call, or that call
was lost, the process is placed below the root of the one that started it.

A child whose trace cannot be read becomes a note; the others are opened all the same. A process
without recorded calls is left out, unless it started one that has some.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whence.errors import CannotExpand, WhenceError
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.line_table import Span
from whence.langs.python.trace.native_or_python_scan import arrange
from whence.langs.python.trace.trace_format import mix
from whence.langs.python.trace.trace_pages import TraceFile, TraceHeader
from whence.langs.python.trace.trace_source import TraceSource
from whence.model.call import Call, Function, OutcomeKind, Rule
from whence.ports import Int64s
from whence.regular_files import read_regular_file
from whence.tree.build import RowArrays, Rows, link
from whence.tree.column_tree import ColumnTree, assemble_tree

_SPAN = 2**42
_HALF = 2**41
"""A detail of the joined tree is the member's number × `_SPAN` + `_HALF` + its own detail there."""
_MOST_CHILDREN = 10_000
_MOST_STARTS = 64 * 2**20
"""The most bytes of the list of starts."""
NOT_RECORDED = "<not recorded>"


@dataclass(frozen=True, slots=True)
class _JoinedProcess:
    """One process: its trace, and the name by which other traces refer to it."""

    name: str
    tree: ColumnTree
    source: TraceSource

    @property
    def header(self) -> TraceHeader:
        return self.source.file.header

    @property
    def is_empty(self) -> bool:
        """Whether it ended without recorded calls. A killed process may have lost some."""
        columns = self.tree.columns
        return self.source.has_ended and len(columns) == 1 and not columns.implicit[0]


class JoinedProcessSource:
    """The calls of several traces."""

    def __init__(
        self,
        main: ColumnTree,
        members: Sequence[TraceSource],
        first_ids: Sequence[int],
        processes: int,
        notes: Sequence[str],
    ):
        self.main = main
        """The tree of the main process alone. Its calls have the same ids in the joined tree."""
        self.members = tuple(members)
        self._first_ids = tuple(first_ids)
        self.processes = processes
        """How many there were, including those that are left out."""
        self.notes = tuple(notes)

    def number_of(self, node: int) -> tuple[TraceSource, int]:
        """The trace that has a call of the joined tree, and the number of the call there."""
        member = bisect_right(self._first_ids, node) - 1
        return self.members[member], node - self._first_ids[member]

    def call(self, detail: int, function: Function, rule: Rule) -> Call:
        """The call in full, from the trace that has it."""
        member, own = member_of(detail)
        return self.members[member].call(own, function, rule)

    def site_span(self, detail: int) -> Span | None:
        """The expression in which a call was made."""
        member, own = member_of(detail)
        return self.members[member].site_span(own)

    def expand(self, detail: int, levels: int) -> ColumnTree:
        """Always refused: with a journal, only one process is recorded."""
        raise CannotExpand(
            "the calls below this one were not recorded: record again with higher bounds"
        )


def main_process(tree: ColumnTree) -> ColumnTree:
    """The tree of the main process alone: that of a recording without child processes is itself."""
    source = tree.sources[0]
    return source.main if isinstance(source, JoinedProcessSource) else tree


def member_of(detail: int) -> tuple[int, int]:
    """The number of the trace that holds a detail of the joined tree, and its detail there."""
    member, own = divmod(detail, _SPAN)
    return member, own - _HALF


def own_details(tree: ColumnTree) -> tuple[Int64s, Int64s]:
    """For each call of a recording: the number of its trace, and its detail there."""
    if not isinstance(tree.sources[0], JoinedProcessSource):
        return np.broadcast_to(np.int64(0), tree.details.shape), tree.details
    return tree.details // _SPAN, tree.details % _SPAN - _HALF


OpenTree = Callable[[TraceFile], ColumnTree]


def with_children(tree: ColumnTree, file: TraceFile, open_tree: OpenTree) -> ColumnTree:
    """The tree of a trace, joined with those of the processes that its program started."""
    folder = file.path.with_name(file.path.name + f.FOLDER)
    if not file.header.run or not folder.is_dir():
        return tree
    notes: list[str] = []
    children = sorted(
        _children(folder, file.header.run, open_tree, notes), key=lambda member: member.header.clock
    )
    starts = _starts(folder)
    notes += _unrecorded(starts, file.header, children)
    if not children and not notes:
        return tree
    source = tree.sources[0]
    assert isinstance(source, TraceSource)
    members = [_JoinedProcess(f.MAIN, tree, source), *children]
    parents = _parents(members, starts)
    kept = _with_calls(members, parents)
    return _join(
        [members[member] for member in kept], _renumber(parents, kept), len(members), notes
    )


def _children(
    folder: Path, run: str, open_tree: OpenTree, notes: list[str]
) -> Iterator[_JoinedProcess]:
    for path in sorted(folder.glob("*.whence"))[:_MOST_CHILDREN]:
        try:
            file = TraceFile(path, stays_open=False)
            if file.header.run != run:
                file.close()
                continue
            tree = open_tree(file)
        except WhenceError as problem:
            notes.append(f"a child process is left out: {problem}")
            continue
        source = tree.sources[0]
        assert isinstance(source, TraceSource)
        yield _JoinedProcess(path.name, tree, source)


# --- which call started which process ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Start:
    process: int
    call: int
    time: int
    by: str


@dataclass(frozen=True, slots=True)
class _Parent:
    """The call below which a process is placed: a member and a position in its tree."""

    member: int
    position: int


def _starts(folder: Path) -> list[_Start]:
    try:
        text = read_regular_file(folder / f.STARTED, _MOST_STARTS).decode(errors="replace")
    except OSError:
        return []
    starts = []
    for line in text.splitlines():
        fields = line.split(" ")
        if len(fields) == 4 and all(len(field) < 20 and field.isdecimal() for field in fields[:3]):
            starts.append(_Start(int(fields[0]), int(fields[1]), int(fields[2]), fields[3]))
    return starts


def _unrecorded(
    starts: list[_Start], program: TraceHeader, children: list[_JoinedProcess]
) -> Iterator[str]:
    """A note about processes that were started without being recorded."""
    # A process that becomes another program (exec) starts itself, if it can.
    recorded = {program.pid, *(child.header.pid for child in children)}
    own = [start for start in starts if start.time >= program.clock]
    count = len({start.process for start in own} - recorded)
    if count:
        several = f"{count:,} processes that the program started were" if count > 1 else ""
        yield f"{several or 'a process that the program started was'} not recorded"


def _parents(members: list[_JoinedProcess], starts: list[_Start]) -> list[_Parent]:
    """The parent of each member; that of the first, the main process, has no meaning."""
    numbers = {member.name: number for number, member in enumerate(members)}
    parents = [_Parent(0, 0)]
    for number, member in enumerate(members[1:], 1):
        name, call = _starter(members[:number], member, starts)
        by = numbers.get(name, 0)
        # A process cannot have been started by a later one: such a claim is ignored.
        parents.append(
            _Parent(by, _position(members[by].tree, call)) if by < number else parents[0]
        )
    return parents


def _starter(
    before: list[_JoinedProcess], member: _JoinedProcess, starts: list[_Start]
) -> tuple[str, int]:
    """The name of the trace, and the call in it, that started a process."""
    header = member.header
    name = header.parent or f.MAIN
    if header.parent_call is not None:
        return name, header.parent_call
    own = [start for start in starts if start.process == header.pid and start.time <= header.clock]
    if own:
        last = max(own, key=lambda start: start.time)
        return last.by, last.call
    # A process may have become another program (exec), which keeps its pid.
    for other in reversed(before):
        if other.header.pid == header.pid:
            return other.name, 0
    return name, 0


def _position(tree: ColumnTree, call: int) -> int:
    try:
        return tree.position(call)
    except WhenceError:
        return 0  # it was lost with the last page, or never written


def _with_calls(members: list[_JoinedProcess], parents: list[_Parent]) -> list[int]:
    """The members that have calls, and those that started one that has calls."""
    keep = [number == 0 or not member.is_empty for number, member in enumerate(members)]
    for number in range(len(members) - 1, 0, -1):
        if keep[number]:
            keep[parents[number].member] = True
    return [number for number, wanted in enumerate(keep) if wanted]


def _renumber(parents: list[_Parent], kept: list[int]) -> list[_Parent]:
    new = {number: index for index, number in enumerate(kept)}
    return [_Parent(new[parents[number].member], parents[number].position) for number in kept]


# --- one tree ------------------------------------------------------------------------------------


def _join(
    members: list[_JoinedProcess], placed_below: list[_Parent], processes: int, notes: list[str]
) -> ColumnTree:
    functions = _Functions()
    columns: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in Rows.__slots__}
    ids: list[Int64s] = []
    base = 0
    for number, member in enumerate(members):
        tree, own = member.tree, member.tree.columns
        ids.append(_ids(tree) + base)
        parent = own.parent.astype(np.int64)
        parents = np.where(parent < 0, -1, ids[-1][parent])
        if number:
            parents[0] = ids[placed_below[number].member][placed_below[number].position]
        base = int(ids[-1].max()) + 1
        table = list(tree.functions)
        if number:
            # Nobody can judge a process as such, only its calls: it is neither asked about nor
            # blamed, and its calls count as calls of the one that started it.
            top = int(own.function[0])
            table[top] = replace(table[top], trusted=True)
        mapped = functions.numbers(table)[own.function]
        # Digests contain numbers of their trace's tables, so they do not compare across traces.
        salt = np.uint64(mix(number, 0x70726F63) if number else 0).astype(np.int64)
        added = {
            "ids": ids[-1],
            "parents": parents,
            "functions": mapped,
            "rules": mapped,
            "outcomes": own.outcome,
            "own": own.own.copy(),
            "equations": own.equation ^ salt,
            "efforts": own.effort,
            "implicit": own.implicit.copy(),
            "details": tree.details + (number * _SPAN + _HALF),
        }
        for name, values in added.items():
            columns[name].append(np.asarray(values))
    _make_explicit(columns, placed_below[1:], functions, base)
    typecodes = {name: getattr(Rows(), name).typecode for name in Rows.__slots__}
    rows = RowArrays(
        **{
            name: np.concatenate(columns[name]).astype(code, copy=False)
            for name, code in typecodes.items()
        }
    )
    rules = [Rule(function.name, function.name, function.location) for function in functions.table]
    first_ids = [int(numbers[0]) for numbers in ids]
    sources = [member.source for member in members]
    source = JoinedProcessSource(members[0].tree, sources, first_ids, processes, notes)
    return assemble_tree(link(rows, arrange), functions.table, rules, source)


def _ids(tree: ColumnTree) -> Int64s:
    if tree.ids is not None:
        return tree.ids
    return np.arange(len(tree.columns), dtype=np.int64) + tree.first_id


class _Functions:
    """The functions of all members. Equal ones are one; different ones get different names."""

    def __init__(self) -> None:
        self.table: list[Function] = []
        self._numbers: dict[Function, int] = {}
        self._taken: set[str] = set()

    def numbers(self, functions: Sequence[Function]) -> npt.NDArray[np.int32]:
        return np.array([self.number(function) for function in functions], dtype=np.int32)

    def number(self, function: Function) -> int:
        """The number of a function; a new one is added."""
        if function not in self._numbers:
            self._numbers[function] = len(self.table)
            name, copy = function.name, 1
            if name in self._taken and function.location is not None:
                name = f"{name} ({function.location})"
            unique = name
            while unique in self._taken:
                copy += 1
                unique = f"{name} #{copy}"
            self._taken.add(unique)
            self.table.append(replace(function, name=unique))
        return self._numbers[function]


def _make_explicit(
    columns: dict[str, list[npt.NDArray[Any]]],
    parents: list[_Parent],
    functions: _Functions,
    base: int,
) -> None:
    """Make calls that started a process explicit: their unrecorded callees become one filler."""
    filler = Function(NOT_RECORDED, trusted=True)
    added: dict[str, list[float]] = {name: [] for name in Rows.__slots__}
    for parent in dict.fromkeys(parents):
        implicit, own = columns["implicit"][parent.member], columns["own"][parent.member]
        if not implicit[parent.position]:
            continue
        hidden = float(own[parent.position]) - 1
        implicit[parent.position], own[parent.position] = 0, 1.0
        number = functions.number(filler)
        values: dict[str, float] = {
            "ids": base + len(added["ids"]),
            "parents": int(columns["ids"][parent.member][parent.position]),
            "functions": number,
            "rules": number,
            "outcomes": int(OutcomeKind.RETURNED),
            "own": hidden,
            "equations": int(np.uint64(mix(base, len(added["ids"]))).astype(np.int64)),
            "efforts": len(NOT_RECORDED),
            "implicit": 1,
            "details": parent.member * _SPAN + _HALF - int(hidden),
        }
        for name, value in values.items():
            added[name].append(value)
    for name, more in added.items():
        if more:
            columns[name].append(np.array(more, dtype=columns[name][0].dtype))
