"""When a symptom had happened: what began later cannot have caused it.

A line of the output has happened when its last character was written, a failed assertion when its
exception left the call that it stands in. An exception has happened when it left the first call;
which call that was is told by how exceptions look, so it is not certain.
"""

from __future__ import annotations

from whence.langs.python.trace.assertion_operands import failing_call
from whence.langs.python.trace.chronology import last_begun_at
from whence.langs.python.trace.trace_provenance import TraceProvenance, program_of
from whence.langs.python.trace.trace_source import TraceSource
from whence.model.call import RESULT, OutcomeKind, find_mark
from whence.model.symptom import Symptom, SymptomKind, SymptomTime
from whence.tree.column_tree import ColumnTree


def symptom_time(tree: ColumnTree, symptom: Symptom) -> SymptomTime | None:
    """When a symptom had happened; None if that is not known."""
    program = program_of(tree)
    if program is None or (symptom.function and symptom.kind is not SymptomKind.ASSERTION):
        return None
    at = None
    if symptom.kind is SymptomKind.OUTPUT and symptom.line is not None:
        at = program.line_printed_at(symptom.line - 1)
    elif symptom.kind is SymptomKind.ASSERTION:
        at = _left_at(program, failing_call(tree, symptom), tree)
    elif symptom.kind is SymptomKind.EXCEPTION:
        at = _left_at(program, _first_left(tree), tree)
    if at is None:
        return None
    is_exact = symptom.kind is not SymptomKind.EXCEPTION
    return SymptomTime(last_begun_at(program, at), is_exact)


def _first_left(tree: ColumnTree) -> int | None:
    """The position of the call that the exception of the run left first."""
    run = tree.call(0)
    if run.outcome.kind is not OutcomeKind.RAISED or run.outcome.value is None:
        return None
    origin = TraceProvenance(tree).origin(tree.id(0), find_mark(run, RESULT, input_side=False))
    return None if origin.node is None else tree.position(origin.node)


def _left_at(program: TraceSource, position: int | None, tree: ColumnTree) -> int | None:
    """The position of the record with which a call of the program ended."""
    node = 0 if position is None else tree.id(position)
    if not 0 < node < program.calls or program.exit_at[node] < 0:
        return None
    return int(program.exit_at[node])
