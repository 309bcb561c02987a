"""Finds the call of a trace that made an operand of a failed assertion.

The source tells which expression made the operand (`source/assertions.py`), and the trace which
call was made in which expression. So a call is found by its place, whatever the test calls it. It
is asked about first. It is taken to be wrong only if its name agrees as well and nothing is between
the function and its caller.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass, replace

import numpy as np

from whence.langs.python.source.assertions import OperandSource, decorators, maker
from whence.langs.python.source.definitions import literal
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
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


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
    whole = maker(source, failed.line, operand)
    made: OperandSource | None = whole
    unknown = ""
    while made is not None:
        as_it_is = not unknown and not made.collected_by
        if made.parameter:
            fixture = _fixture(tree, frame, made)
            return fixture if as_it_is else replace(fixture, is_operand=False, is_wrong=False)
        if made.span is None:
            unknown = made.unknown
            break
        position = _called_at(tree, frame, made)
        if position is not None:
            traced = _checked(tree, position, made)
            return replace(traced, is_operand=as_it_is and traced.is_operand)
        unknown = unknown or f"no call of {made.called} is recorded there"
        made = made.part_of
    span = whole.within or whole.span
    parts = [] if span is None else _within(tree, frame, span)
    if not parts:
        return Traced(unknown=unknown)
    others = [literal(other.expression) for other in failed.operands if other is not operand]
    is_collected = whole.within is not None and len(others) == 1
    return _among(tree, parts, others[0] if is_collected else None)


def _called_at(tree: ColumnTree, frame: int, made: OperandSource) -> int | None:
    """The last call that the frame made in an expression: the failing one ran last.

    What a builtin such as `map` called is not what the expression called.
    """
    assert made.span is not None
    for position, site in reversed(_sites(tree, frame) if made.called else []):
        if _is_at(site, made.span):
            function = tree.functions[int(tree.columns.function[position])]
            name = function.qualname.rpartition(".")[2]
            if name == made.called or made.lambda_line or not hasattr(builtins, made.called):
                return position
    return None


def _sites(tree: ColumnTree, frame: int) -> list[tuple[int, Span]]:
    """The calls that a call made, with the expressions that made them, in order of time."""
    columns = tree.columns
    inside = slice(frame + 1, int(columns.end[frame]))
    sites = []
    for position in (frame + 1 + np.flatnonzero(columns.parent[inside] == frame)).tolist():
        source = tree.sources[int(tree.source_of[position])]
        if isinstance(source, TraceSource | JoinedProcessSource):
            site = source.site_span(int(tree.details[position]))
            if site is not None:
                sites.append((int(position), site))
    return sites


def _within(tree: ColumnTree, frame: int, span: Span) -> list[tuple[int, Span]]:
    """The calls that were made in parts of an expression, those of its comprehensions too."""
    line, column, last, after = span
    begin, end = (line, column + 1), (last, after + 1)
    calls = []
    for position, site in _sites(tree, frame):
        name = tree.functions[int(tree.columns.function[position])].qualname
        if not (begin <= site[:2] and site[2:] <= end):
            continue
        if name.endswith(_COMPREHENSIONS):
            calls += _within(tree, position, span)
        else:
            calls.append((position, site))
    return calls


def _among(tree: ColumnTree, calls: list[tuple[int, Span]], expected: object) -> Traced:
    """The call among several that is to be asked about first.

    If each call made an item of a list, and the items that are `expected` are known, it is the
    first that made another item.
    """
    outermost = [
        position
        for position, site in calls
        if not any(other != site and _encloses(other, site) for _, other in calls)
    ]
    if len({site for position, site in calls if position in outermost}) > 1:
        names = {tree.functions[int(tree.columns.function[p])].short() for p, _ in calls}
        return Traced(unknown=f"several calls made it: {', '.join(sorted(names))}")
    if len(outermost) > 1:
        if not isinstance(expected, list | tuple) or len(expected) != len(outermost):
            return Traced(unknown=f"{len(outermost)} calls made it")
        values = [tree.call(position).outcome.value for position in outermost]
        differs = [
            value is None or show(value, FULL) != repr(item)
            for value, item in zip(values, expected, strict=True)
        ]
        outermost = [p for p, wrong in zip(outermost, differs, strict=True) if wrong] or outermost
    return Traced(outermost[0], is_operand=False)


def _encloses(outer: Span, inner: Span) -> bool:
    return outer[:2] <= inner[:2] and inner[2:] <= outer[2:]


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
    """The call; it is wrong if the operand is, unless something may have come between the two."""
    call = tree.call(position)
    function = call.function
    if made.lambda_line is not None:
        where = function.location
        if "<lambda>" in function.qualname and where and where.line == made.lambda_line:
            return Traced(position)
    is_run = bool(made.collected_by and call.outcome.yielded)
    if call.outcome.kind is not OutcomeKind.RETURNED or (call.outcome.yielded and not is_run):
        return Traced(position, is_operand=False)
    if function.qualname.rpartition(".")[2] != made.called:
        return Traced(position, is_operand=False)
    where = function.location
    source = read_source(where.file) if where is not None else None
    around = decorators(source, where.line) if source and where and where.line else None
    if around is None or not _HARMLESS.issuperset(around):
        return Traced(position, is_operand=False)
    # A list of the yielded values is just that; other collectors may do more with them.
    is_same = not made.collected_by or (is_run and made.collected_by in ("list", "tuple"))
    is_wrong = made.from_literals and is_same and not call.reads
    return Traced(position, is_wrong=is_wrong)
