"""Finds the call of a trace that made an operand of a failed assertion.

The source tells which expression made the operand (`source/assertions.py`), and the trace which
call was made in which expression. A call is named only if both agree on its location and name and
nothing is between the function and its caller; else the reason is given. It never guesses: the call
is asked about first, or taken to be wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from whence.langs.python.source.assertions import OperandSource, decorators, maker
from whence.langs.python.source.source_parsing import read_source
from whence.langs.python.trace.joined_processes import JoinedProcessSource
from whence.langs.python.trace.line_table import Span
from whence.langs.python.trace.trace_source import TraceSource
from whence.model.call import OutcomeKind
from whence.model.symptom import AssertionOperand, Symptom
from whence.model.value import FULL, show
from whence.tree.column_tree import ColumnTree

_HARMLESS = frozenset(
    ("abstractmethod", "cache", "cached_property", "classmethod", "fixture", "lru_cache",
     "override", "property", "staticmethod")
)  # fmt: skip
"""Decorators after which a call still gives what the function returned."""


@dataclass(frozen=True, slots=True)
class Traced:
    """The position of the call that made an operand, or why it is not known."""

    position: int | None = None
    is_wrong: bool = False
    """A wrong operand means a wrong call, because all its arguments are literals of the test."""
    is_operand: bool = True
    """Whether the result of the call is the operand itself, and not only a part of its making."""
    unknown: str = ""


def failing_call(tree: ColumnTree, symptom: Symptom) -> int | None:
    """The call in which the assertion failed: its exception left all the calls above it too.

    If a subtest failed, the recording ends at the failure, so the call did not end.
    """
    failed, columns = symptom.assertion, tree.columns
    if failed is None:
        return None
    fitting = [
        number
        for number, function in enumerate(tree.functions)
        if function.qualname == symptom.function
        and function.location is not None
        and function.location.file == failed.file
    ]
    raised = columns.outcome == OutcomeKind.RAISED
    for position in np.flatnonzero(np.isin(columns.function, fitting) & raised)[::-1].tolist():
        location = tree.call(position).outcome.location
        if location is not None and location.line == failed.line and _left_all(tree, position):
            return int(position)
    open_ones = np.isin(columns.function, fitting) & (columns.outcome == OutcomeKind.NOT_TERMINATED)
    unfinished = np.flatnonzero(open_ones)
    return int(unfinished[-1]) if len(unfinished) == 1 else None


def _left_all(tree: ColumnTree, position: int) -> bool:
    while position > 0:
        position = int(tree.columns.parent[position])
        if tree.columns.outcome[position] != OutcomeKind.RAISED:
            return False
    return True


def trace_operand(tree: ColumnTree, symptom: Symptom, operand: AssertionOperand) -> Traced:
    """The call that made an operand."""
    failed = symptom.assertion
    frame = failing_call(tree, symptom)
    if failed is None or frame is None:
        return Traced(unknown="the call in which the assertion failed is not in the recording")
    source = read_source(failed.file)
    if source is None:
        return Traced(unknown=f"{failed.file} cannot be read")
    made: OperandSource | None = maker(source, failed.line, operand)
    unknown = ""
    while made is not None:
        as_it_is = not unknown and not made.collected_by
        if made.parameter:
            fixture = _fixture(tree, frame, made)
            return fixture if as_it_is else replace(fixture, is_operand=False, is_wrong=False)
        if made.span is None:
            return Traced(unknown=made.unknown)
        position = _called_at(tree, frame, made)
        if position is not None:
            return replace(_checked(tree, position, made), is_operand=as_it_is)
        unknown = unknown or f"no call of {made.called} is recorded there"
        made = made.part_of
    return Traced(unknown=unknown)


def _called_at(tree: ColumnTree, frame: int, made: OperandSource) -> int | None:
    """The last call that the frame made in an expression: the failing one ran last."""
    assert made.span is not None
    columns = tree.columns
    inside = slice(frame + 1, int(columns.end[frame]))
    callees = frame + 1 + np.flatnonzero(columns.parent[inside] == frame)
    for position in callees[::-1].tolist():
        source = tree.sources[int(tree.source_of[position])]
        if not isinstance(source, TraceSource | JoinedProcessSource):
            continue
        site = source.site_span(int(tree.details[position]))
        if site is not None and _is_at(site, made.span):
            return int(position)
    return None


def _fixture(tree: ColumnTree, frame: int, made: OperandSource) -> Traced:
    """The fixture whose value the test received unchanged, if there is one."""
    columns, name = tree.columns, made.parameter
    received = [argument.value for argument in tree.call(frame).arguments if argument.name == name]
    parent = columns.parent[frame]
    before = np.flatnonzero(columns.parent[:frame] == parent).tolist()
    fitting = [
        position
        for position in before
        if tree.functions[int(columns.function[position])].qualname.rpartition(".")[2] == name
    ]
    if len(fitting) != 1 or len(received) != 1:
        return Traced(unknown=made.unknown)
    position = int(fitting[0])
    call = tree.call(position)
    where, outcome = call.function.location, call.outcome
    source = read_source(where.file) if where is not None else None
    around = decorators(source, where.line) if source and where and where.line else None
    values = outcome.yielded or ((outcome.value,) if outcome.value is not None else ())
    same = len(values) == 1 and show(values[0], FULL) == show(received[0], FULL)
    if around != ["fixture"] or not same:
        return Traced(unknown=made.unknown)
    return Traced(position, is_wrong=not call.arguments and not call.reads)


def _is_at(site: Span, span: Span) -> bool:
    """Whether a call was made by an expression.

    Calls that pytest makes to explain a failure have the span of the whole `assert`, which begins
    before the expression and may end with it. Of a chain over several lines a trace has only the
    end.
    """
    line, column, last, after = span  # `ast` counts columns from 0, a trace from 1
    return site[2:] == (last, after + 1) and site[:2] >= (line, column + 1)


def _checked(tree: ColumnTree, position: int, made: OperandSource) -> Traced:
    """The call, unless something else may have changed its result before the test received it."""
    call = tree.call(position)
    function = call.function
    if made.lambda_line is not None:
        where = function.location
        if "<lambda>" in function.qualname and where and where.line == made.lambda_line:
            return Traced(position)
    if function.qualname.rpartition(".")[2] != made.called:
        ran = function.short()
        return Traced(unknown=f"what ran there is {ran}, which is not known to be {made.called}")
    is_run = bool(made.collected_by and call.outcome.yielded)
    if call.outcome.kind is not OutcomeKind.RETURNED or (call.outcome.yielded and not is_run):
        return Traced(unknown=f"{made.called} gave its result in more than one step")
    where = function.location
    source = read_source(where.file) if where is not None else None
    if where is None or source is None or where.line is None:
        return Traced(unknown=f"the source of {made.called} cannot be read")
    around = decorators(source, where.line)
    if around is None:
        return Traced(unknown=f"the source of {made.called} has changed since it was recorded")
    if not _HARMLESS.issuperset(around):
        return Traced(unknown=f"a decorator of {made.called} may have changed its result")
    # A list of the yielded values is just that; other collectors may do more with them.
    is_same = not made.collected_by or (is_run and made.collected_by in ("list", "tuple"))
    is_wrong = made.from_literals and is_same and not call.reads
    return Traced(position, is_wrong=is_wrong)
