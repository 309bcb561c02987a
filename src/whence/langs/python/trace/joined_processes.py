"""The traces of a program's processes as one tree: each hangs below the call that started it.

A process is one more call, whose callees are what it did. Which call started it is said by its own
header, if it was forked off; else by the file of starts, to which the starting process tells it. If
neither does, or that call was lost, it hangs below the whole of the process that started it.

Whatever is wrong with the trace of a child is told by a note, and never keeps the others from being
opened. A process that ended without a call that was recorded, and started none that made one, is
left out.
"""

from __future__ import annotations

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
from whence.tree.build import Rows, as_array, link
from whence.tree.column_tree import ColumnTree, assemble_tree

_SPAN = 2**42
_HALF = 2**41
"""A detail of the joined tree is the member's number times the span, plus its own and the half."""
_MOST = 10_000
NOT_RECORDED = "<not recorded>"


@dataclass(frozen=True, slots=True)
class _JoinedProcess:
    """One process: its trace, and the name under which others speak of it."""

    name: str
    tree: ColumnTree
    source: TraceSource

    @property
    def header(self) -> TraceHeader:
        """What its trace says of it."""
        return self.source.file.header

    @property
    def is_empty(self) -> bool:
        """Whether it did nothing that is recorded. Of one that was killed nobody knows."""
        columns = self.tree.columns
        return self.source.has_ended and len(columns) == 1 and not columns.implicit[0]


class JoinedProcessSource:
    """The calls of several traces."""

    def __init__(self, members: Sequence[TraceSource], processes: int, notes: Sequence[str]):
        self.members = tuple(members)
        self.processes = processes
        """How many there were, with those that are left out."""
        self.notes = tuple(notes)

    def call(self, detail: int, function: Function, rule: Rule) -> Call:
        """The call in full, from the trace that has it."""
        member, own = member_of(detail)
        return self.members[member].call(own, function, rule)

    def site_span(self, detail: int) -> Span | None:
        """The expression in which a call was made."""
        member, own = divmod(detail, _SPAN)
        return self.members[member].site_span(own - _HALF)

    def expand(self, detail: int, levels: int) -> ColumnTree:
        """What was not recorded is not to be had from a trace."""
        raise CannotExpand(
            "the calls below this one were not recorded: record again with higher bounds"
        )


def member_of(detail: int) -> tuple[int, int]:
    """Which trace a detail of a family is in, and what it is there."""
    member, own = divmod(detail, _SPAN)
    return member, own - _HALF


Open = Callable[[TraceFile], ColumnTree]


def with_children(tree: ColumnTree, file: TraceFile, opened: Open) -> ColumnTree:
    """The tree of a trace with those of the processes that its program started, if there are."""
    folder = file.path.with_name(file.path.name + f.FOLDER)
    if not file.header.run or not folder.is_dir():
        return tree
    notes: list[str] = []
    children = sorted(
        _children(folder, file.header.run, opened, notes), key=lambda member: member.header.clock
    )
    if not children and not notes:
        return tree
    source = tree.sources[0]
    assert isinstance(source, TraceSource)
    members = [_JoinedProcess(f.MAIN, tree, source), *children]
    places = _places(members, _starts(folder))
    kept = _kept(members, places)
    return _joined(
        [members[member] for member in kept], _renumbered(places, kept), len(members), notes
    )


def _children(folder: Path, run: str, opened: Open, notes: list[str]) -> Iterator[_JoinedProcess]:
    for path in sorted(folder.glob("*.whence"))[:_MOST]:
        try:
            file = TraceFile(path)
            if file.header.run != run:
                file.close()
                continue
            tree = opened(file)
        except WhenceError as problem:
            notes.append(f"a child process is left out: {problem}")
            continue
        source = tree.sources[0]
        assert isinstance(source, TraceSource)
        yield _JoinedProcess(path.name, tree, source)


# --- who started whom ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Start:
    process: int
    call: int
    time: int
    by: str


@dataclass(frozen=True, slots=True)
class _Place:
    """The member and the position in its tree below which another one hangs."""

    member: int
    position: int


def _starts(folder: Path) -> list[_Start]:
    try:
        text = (folder / f.STARTED).read_text(errors="replace")
    except OSError:
        return []
    starts = []
    for line in text.splitlines():
        words = line.split(" ")
        if len(words) == 4 and all(len(word) < 20 and word.isdecimal() for word in words[:3]):
            starts.append(_Start(int(words[0]), int(words[1]), int(words[2]), words[3]))
    return starts


def _places(members: list[_JoinedProcess], starts: list[_Start]) -> list[_Place]:
    """Where each member hangs; that of the first, the program itself, means nothing."""
    numbers = {member.name: number for number, member in enumerate(members)}
    places = [_Place(0, 0)]
    for number, member in enumerate(members[1:], 1):
        name, call = _starter(members[:number], member, starts)
        by = numbers.get(name, 0)
        # One that is said to have been started by a later one is not to be trusted in this.
        places.append(_Place(by, _position(members[by].tree, call)) if by < number else places[0])
    return places


def _starter(
    before: list[_JoinedProcess], member: _JoinedProcess, starts: list[_Start]
) -> tuple[str, int]:
    """The name of the trace, and the call in it, that started a process."""
    header = member.header
    name = header.parent or f.MAIN
    if header.parent_call is not None:
        return name, header.parent_call
    own = [each for each in starts if each.process == header.pid and each.time <= header.clock]
    if own:
        last = max(own, key=lambda each: each.time)
        return last.by, last.call
    # A process that was forked off may have become another program, with its number kept.
    for other in reversed(before):
        if other.header.pid == header.pid:
            return other.name, 0
    return name, 0


def _position(tree: ColumnTree, call: int) -> int:
    try:
        return tree.position(call)
    except WhenceError:
        return 0  # it was lost with the last page, or never written


def _kept(members: list[_JoinedProcess], places: list[_Place]) -> list[int]:
    """Those with calls, and those that started one with calls."""
    keep = [number == 0 or not member.is_empty for number, member in enumerate(members)]
    for number in range(len(members) - 1, 0, -1):
        if keep[number]:
            keep[places[number].member] = True
    return [number for number, wanted in enumerate(keep) if wanted]


def _renumbered(places: list[_Place], kept: list[int]) -> list[_Place]:
    new = {number: index for index, number in enumerate(kept)}
    return [_Place(new[places[number].member], places[number].position) for number in kept]


# --- one tree ------------------------------------------------------------------------------------


def _joined(
    members: list[_JoinedProcess], places: list[_Place], processes: int, notes: list[str]
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
            parents[0] = ids[places[number].member][places[number].position]
        base = int(ids[-1].max()) + 1
        mapped = functions.numbers(tree.functions)[own.function]
        # The digests of two traces count their own tables: equal ones do not mean equal calls.
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
    _make_explicit(columns, places[1:], functions, base)
    typecodes = {name: getattr(Rows(), name).typecode for name in Rows.__slots__}
    rows = Rows(
        **{name: as_array(code, np.concatenate(columns[name])) for name, code in typecodes.items()}
    )
    rules = [Rule(function.name, function.name, function.location) for function in functions.table]
    source = JoinedProcessSource([member.source for member in members], processes, notes)
    return assemble_tree(link(rows, arrange), functions.table, rules, source)


def _ids(tree: ColumnTree) -> Int64s:
    if tree.ids is not None:
        return tree.ids
    return np.arange(len(tree.columns), dtype=np.int64) + tree.first_id


class _Functions:
    """The functions of all members. Equal ones are one; different ones get different names."""

    def __init__(self) -> None:
        self.table: list[Function] = []
        self._known: dict[Function, int] = {}
        self._taken: set[str] = set()

    def numbers(self, functions: Sequence[Function]) -> npt.NDArray[np.int32]:
        """The number of each; those that are new are added."""
        return np.array([self.number(function) for function in functions], dtype=np.int32)

    def number(self, function: Function) -> int:
        """The number of one."""
        if function not in self._known:
            self._known[function] = len(self.table)
            name, copy = function.name, 1
            if name in self._taken and function.location is not None:
                name = f"{name} ({function.location})"
            spelt = name
            while spelt in self._taken:
                copy += 1
                spelt = f"{name} #{copy}"
            self._taken.add(spelt)
            self.table.append(replace(function, name=spelt))
        return self._known[function]


def _make_explicit(
    columns: dict[str, list[npt.NDArray[Any]]],
    places: list[_Place],
    functions: _Functions,
    base: int,
) -> None:
    """A call that started a process has it below, and so cannot stand for unrecorded calls too."""
    filler = Function(NOT_RECORDED, trusted=True)
    added: dict[str, list[float]] = {name: [] for name in Rows.__slots__}
    for place in dict.fromkeys(places):
        implicit, own = columns["implicit"][place.member], columns["own"][place.member]
        if not implicit[place.position]:
            continue
        hidden = float(own[place.position]) - 1
        implicit[place.position], own[place.position] = 0, 1.0
        number = functions.number(filler)
        values: dict[str, float] = {
            "ids": base + len(added["ids"]),
            "parents": int(columns["ids"][place.member][place.position]),
            "functions": number,
            "rules": number,
            "outcomes": int(OutcomeKind.RETURNED),
            "own": hidden,
            "equations": int(np.uint64(mix(base, len(added["ids"]))).astype(np.int64)),
            "efforts": len(NOT_RECORDED),
            "implicit": 1,
            "details": place.member * _SPAN + _HALF - int(hidden),
        }
        for name, value in values.items():
            added[name].append(value)
    for name, more in added.items():
        if more:
            columns[name].append(np.array(more, dtype=columns[name][0].dtype))
