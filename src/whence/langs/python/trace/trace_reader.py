"""Opens a trace file as a tree: scans it once, links its calls, and keeps an index of it.

A call none of whose callees were recorded becomes implicit, with the exact weight of all of them. A
call with recorded and unrecorded callees gets a stand-in for the latter as its last callee, which
is trusted and so never blamed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.joined_processes import (
    NOT_RECORDED,
    JoinedProcessSource,
    with_children,
)
from whence.langs.python.trace.native_or_python_scan import arrange, new_scanner
from whence.langs.python.trace.trace_format import MalformedTrace, mix
from whence.langs.python.trace.trace_pages import DAMAGED, TraceError, TraceFile, TraceHeader
from whence.langs.python.trace.trace_records import RecordPositions
from whence.langs.python.trace.trace_scan import (
    CLOSED,
    CREATED,
    RAISED,
    RETURNED,
    RUNNING,
    SUSPENDED,
    UNIQUE,
    TraceScan,
)
from whence.langs.python.trace.trace_source import TraceSource, skipped_detail
from whence.langs.python.trace.trace_tables import CodeEntry, TablePositions, TraceTables, TypeEntry
from whence.model.call import Function, Location, OutcomeKind, Rule
from whence.ports import Bytes
from whence.tree import tree_index
from whence.tree.build import RowArrays, link
from whence.tree.column_tree import ColumnTree, assemble_tree

Progress = Callable[[int, int], None]
_INDEX = "trace 5"
"""Raise this whenever the results of a scan, or how they are kept, change."""


@dataclass(frozen=True, slots=True)
class RecordingSummary:
    """Facts about a recording as a whole."""

    header: TraceHeader
    size: int
    unread: int
    why_unread: str
    ended: bool
    threads: int
    notes: tuple[str, ...]
    processes: int = 1
    """How many were recorded, including those without calls of user code."""
    members: int = 1
    """How many of them are in the tree, each as a node of its own."""
    why_stopped: str = ""
    """Why the recording stopped before the program ended."""
    killed: int = 0
    """How many of the program's child processes were killed, or are still running."""


def open_trace(path: Path, progress: Progress | None = None) -> ColumnTree:
    """The tree of a trace file, with the processes that were recorded beside it.

    Whatever is wrong with it is a `TraceError`.
    """
    file = TraceFile(path)
    return with_children(_opened(file, progress), file, _opened)


def _opened(file: TraceFile, progress: Progress | None = None) -> ColumnTree:
    """The tree of one file, which is closed if there is none."""
    path = file.path
    try:
        return _tree(file, progress)
    except (MalformedTrace, RecursionError) as problem:
        file.close()
        raise TraceError(path, f"this is not a sound trace: {problem}", "record again") from None
    except MemoryError:
        file.close()
        raise TraceError(
            path, "the trace takes more memory than there is", "record with lower bounds"
        ) from None
    except BaseException:
        file.close()
        raise


def recording_summary(tree: ColumnTree) -> RecordingSummary | None:
    """What is known of the recording that a tree was opened from; None for other trees."""
    source = tree.sources[0]
    try:
        if isinstance(source, JoinedProcessSource):
            return _summary_of_joined(source)
        return _summary(source) if isinstance(source, TraceSource) else None
    except MalformedTrace as problem:
        first = source.members[0] if isinstance(source, JoinedProcessSource) else source
        assert isinstance(first, TraceSource)
        raise TraceError(first.file.path, f"a note cannot be read: {problem}") from None


def recorded_types(tree: ColumnTree) -> list[TypeEntry]:
    """The types of which values were recorded, in all processes."""
    source = tree.sources[0]
    members = source.members if isinstance(source, JoinedProcessSource) else (source,)
    types: list[TypeEntry] = []
    for member in members:
        if isinstance(member, TraceSource):
            types += member.tables.types
    return list(dict.fromkeys(types))


def _tree(file: TraceFile, progress: Progress | None) -> ColumnTree:
    stamp = _stamp(file)
    kept = _kept(file, stamp)
    if kept is not None:
        return kept
    scanned = _scanned(file, progress)
    positions, directory = _positions(scanned), _directory(scanned)
    tables = TraceTables(file, directory)
    positions = _with_interrupt(scanned, TraceSource(file, tables, positions), positions)
    source = TraceSource(file, tables, positions)
    codes = tables.codes()
    functions, numbers = _functions(codes, file.header.root or file.path.name)
    outcomes = _outcomes(scanned, codes, source)
    rows = _rows(scanned, numbers, outcomes, len(functions), _lost_count(scanned, file.header))
    if len(rows.ids) > len(scanned.parent):
        functions.append(Function(_unused(NOT_RECORDED, functions), trusted=True))
    rules = [Rule(function.name, function.name, function.location) for function in functions]
    tree = assemble_tree(link(rows, arrange), functions, rules, source)
    if tree_index.is_worthwhile(file.size, len(tree.columns)) and _stamp(file) == stamp:
        extras = {name: getattr(positions, name) for name in RecordPositions.__slots__}
        extras |= {name: getattr(directory, name) for name in TablePositions.__slots__}
        extras["pages"] = np.array([len(file)], dtype=np.int64)
        if tree_index.save(file.path, stamp, tree, _kind(file), extras):
            # From now on the columns are those on disk, and the memory is free again.
            return _kept(file, stamp, saved=tree) or tree
    return tree


def _kind(file: TraceFile) -> str:
    """The kind of index: the stamp does not cover the tail, so an index with it has its own."""
    return f"{_INDEX} with {file.tail_check:x}" if file.has_tail else _INDEX


def _stamp(file: TraceFile) -> tree_index.Stamp:
    with os.fdopen(file.open(), "rb") as opened:
        return tree_index.stamp_of(opened)


def _kept(
    file: TraceFile, stamp: tree_index.Stamp, saved: ColumnTree | None = None
) -> ColumnTree | None:
    """The tree from its index, or None if there is none that fits.

    `saved`: the tree that this process has just saved in it.
    """
    narrow = ("event_call", "global_variable", "output_call")
    names = (*RecordPositions.__slots__, *TablePositions.__slots__, "pages")
    types: dict[str, type[np.generic]] = {
        name: np.int32 if name in narrow else np.int64 for name in names
    }
    extras = tree_index.load_extras(file.path, stamp, _kind(file), types)
    if extras is None or len(extras["pages"]) != 1 or len(extras["threads"]) != 1:
        return None
    positions = RecordPositions(**{name: extras[name] for name in RecordPositions.__slots__})
    tables = TraceTables(
        file, TablePositions(**{name: extras[name] for name in TablePositions.__slots__})
    )
    source = TraceSource(file, tables, positions)
    tree = tree_index.load(file.path, stamp, source, saved)
    calls = len(positions.call_at)
    if tree is None or len(positions.exit_at) != calls or int(tree.details.max()) >= calls:
        return None
    pages = int(extras["pages"][0])
    if 0 <= pages < len(file):
        file.end_before(pages, DAMAGED)
    return tree


def _scanned(file: TraceFile, progress: Progress | None) -> TraceScan:
    """One pass over the pages, up to the first that is damaged.

    A tail has no check sum, and a power failure can damage it; then it is ignored.
    """
    try:
        return _scanned_all(file, progress)
    except MalformedTrace:
        if not file.has_tail:
            raise
        file.end_before(len(file) - 1, "the tail is damaged")
        return _scanned_all(file, progress)


def _scanned_all(file: TraceFile, progress: Progress | None) -> TraceScan:
    scanner = new_scanner()
    for page in range(len(file)):
        try:
            data = file.decoded(page)
        except MalformedTrace as problem:
            file.end_before(page, str(problem))
            break
        scanner.feed(page, data)
        if progress is not None:
            progress(page + 1, len(file))
    return scanner.finish(comparable=file.header.knows_effects)


def _directory(scanned: TraceScan) -> TablePositions:
    return TablePositions(scanned.name_at, scanned.type_at, scanned.code_at, scanned.variable_at)


def _positions(scanned: TraceScan) -> RecordPositions:
    by_call = np.argsort(scanned.event_call, kind="stable")
    by_variable = np.argsort(scanned.global_variable, kind="stable")
    return RecordPositions(
        call_at=scanned.call_at,
        exit_at=scanned.exit_at,
        event_call=scanned.event_call[by_call],
        event_at=scanned.event_at[by_call],
        global_variable=scanned.global_variable[by_variable],
        global_at=scanned.global_at[by_variable],
        root_at=scanned.root_at,
        end_at=scanned.end_at,
        output_call=scanned.output_call,
        output_at=scanned.output_at,
        interrupted=np.empty(0, dtype=np.int64),
        note_at=scanned.note_at,
        skipped_count=scanned.skipped_count,
        skipped_before=scanned.skipped_before,
        threads=scanned.threads,
    )


def _lost_count(scanned: TraceScan, header: TraceHeader) -> list[int]:
    """The calls of a killed process whose number of skipped callees was lost.

    That number is written when a call ends.
    """
    bound = header.options.get("depth")
    if len(scanned.end_at) or not isinstance(bound, int):
        return []
    lost = []
    for number in (np.flatnonzero(scanned.state[1:] == RUNNING) + 1).tolist():
        depth, above = 0, number
        while above > 0:
            depth, above = depth + 1, int(scanned.parent[above])
        if depth >= bound:
            lost.append(number)
    return lost


def _rows(
    scanned: TraceScan, numbers: list[int], outcomes: Bytes, not_recorded: int, lost: list[int]
) -> RowArrays:
    """The run, the calls in order of time, then stand-ins for skipped calls.

    The calls in `lost` are implicit: the number of their callees is not known.
    """
    count = len(scanned.parent)
    function = np.zeros(count, dtype=np.int32)
    function[1:] = np.array(numbers, dtype=np.int32)[scanned.code[1:]]
    in_order = np.arange(count, dtype=np.int64)
    rows = RowArrays(
        ids=in_order,
        parents=scanned.parent,
        functions=function,
        rules=function,
        outcomes=outcomes,
        own=np.broadcast_to(np.float64(1), (count,)),
        equations=scanned.equation,
        efforts=scanned.effort,
        implicit=np.broadcast_to(np.uint8(0), (count,)),
        details=in_order,
    )
    if not len(scanned.skipped_call) and not lost:
        return rows
    skipped = np.zeros(count)
    np.add.at(skipped, scanned.skipped_call, scanned.skipped_count)
    calls_some = np.zeros(count, dtype=bool)
    calls_some[scanned.parent[1:]] = True
    implicit = (skipped > 0) & ~calls_some
    implicit[lost] = True
    mixed = np.flatnonzero((skipped > 0) & calls_some)
    hidden = skipped[mixed]
    unique = [mix(UNIQUE, number) for number in range(count, count + len(mixed))]

    def joined(calls: npt.NDArray[Any], others: npt.ArrayLike) -> npt.NDArray[Any]:
        return np.concatenate([calls, np.asarray(others).astype(calls.dtype)])

    functions = joined(function, np.full(len(mixed), not_recorded))
    return RowArrays(
        ids=np.arange(count + len(mixed), dtype=np.int64),
        parents=joined(scanned.parent, mixed),
        functions=functions,
        rules=functions,
        outcomes=joined(outcomes, np.full(len(mixed), OutcomeKind.RETURNED)),
        own=joined(np.where(implicit, 1 + skipped, 1.0), hidden),
        equations=joined(scanned.equation, np.array(unique, np.uint64)),
        efforts=joined(scanned.effort, np.full(len(mixed), len(NOT_RECORDED))),
        implicit=joined(implicit.astype(np.uint8), np.ones(len(mixed))),
        details=joined(rows.details, skipped_detail(mixed, hidden.astype(np.int64))),
    )


def _outcomes(scanned: TraceScan, codes: list[CodeEntry], source: TraceSource) -> Bytes:
    """How each call ended, as in `TraceSource.call`."""
    left = int(OutcomeKind.YIELDED)
    by_state = np.zeros(6, dtype=np.uint8)
    by_state[[CREATED, SUSPENDED, CLOSED]] = left
    by_state[RUNNING] = OutcomeKind.NOT_TERMINATED
    by_state[RETURNED], by_state[RAISED] = OutcomeKind.RETURNED, OutcomeKind.RAISED
    outcomes = by_state[scanned.state]
    waiting = np.array([bool(code.flags & f.COROUTINE) for code in codes] + [False])
    outcomes[waiting[scanned.code] & (outcomes == left)] = OutcomeKind.NOT_TERMINATED
    if source.interrupted is not None:
        after = scanned.exit_at >= source.interrupted
        outcomes[after & (outcomes == OutcomeKind.RAISED)] = OutcomeKind.NOT_TERMINATED
    outcomes[0] = source.run_outcome().kind
    return outcomes


def _with_interrupt(
    scanned: TraceScan, source: TraceSource, positions: RecordPositions
) -> RecordPositions:
    """Find the calls that were stopped by an exception, such as an interrupt, that ended the run.

    They are the last calls that an exception left, back to one that another exception left.
    """
    name = source.interrupt
    if name is None:
        return positions
    raised = np.flatnonzero(scanned.state == RAISED)
    first = None
    for number in raised[np.argsort(scanned.exit_at[raised])][::-1].tolist():
        value = source.raised(number)
        if value is None or value.text != name:
            break
        first = int(scanned.exit_at[number])
    interrupted = np.array([] if first is None else [first], dtype=np.int64)
    return replace(positions, interrupted=interrupted)


def _functions(codes: list[CodeEntry], root: str) -> tuple[list[Function], list[int]]:
    """The functions, the run first, and the number of each code's function.

    Equal code is one function: a module that was loaded anew has code of its own.
    """
    functions = [Function(root)]
    numbers: dict[CodeEntry, int] = {}
    names = Counter(_name(code) for code in set(codes))
    names[root] += 1
    taken = {root}
    for code in codes:
        if code in numbers:
            continue
        name = _name(code)
        if names[name] > 1:
            name = f"{name} ({code.file}:{code.first_line})"
        unique, copy = name, 1
        while unique in taken:
            copy += 1
            unique = f"{name} #{copy}"
        taken.add(unique)
        numbers[code] = len(functions)
        location = Location(code.file, code.first_line or None)
        functions.append(Function(unique, code.qualname, code.module, location))
    return functions, [numbers[code] for code in codes]


def _name(code: CodeEntry) -> str:
    return f"{code.module}.{code.qualname}" if code.module else code.qualname


def _unused(name: str, functions: list[Function]) -> str:
    while any(function.name == name for function in functions):
        name += "′"
    return name


def _summary(source: TraceSource) -> RecordingSummary:
    file = source.file
    return RecordingSummary(
        header=file.header,
        size=file.size,
        unread=file.unread,
        why_unread=file.why_unread,
        ended=source.has_ended,
        threads=source.threads,
        notes=source.notes(),
        why_stopped=file.why_stopped,
    )


def _summary_of_joined(source: JoinedProcessSource) -> RecordingSummary:
    """The summary of a program with its child processes."""
    program, *children = (_summary(member) for member in source.members)
    notes = [*program.notes, *source.notes]
    for member, child in zip(source.members[1:], children, strict=True):
        notes += [f"process {member.file.header.pid}: {note}" for note in child.notes]
    return replace(
        program,
        size=program.size + sum(child.size for child in children),
        threads=program.threads + sum(child.threads for child in children),
        notes=tuple(notes),
        processes=source.processes,
        members=len(source.members),
        killed=sum(not child.ended for child in children),
    )
