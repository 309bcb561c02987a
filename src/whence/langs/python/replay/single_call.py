"""Learns which lines a recorded call ran, by making this one call again in a worker.

The program as a whole does not run again: a person has to allow that (`call_details.py`). The
worker loads the program's modules and makes the call isolated from the world; whatever would reach
beyond the process ends it.

Invariant: nothing is believed of a call whose outcome is not the recorded one.
"""

from __future__ import annotations

import platform
from dataclasses import replace
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.python.oracles.call_requests import CannotRequest, request_for_call
from whence.langs.python.oracles.program_versions import VersionPair, is_body
from whence.langs.python.oracles.recipe_comparison import (
    CallEquation,
    Match,
    compare_equations,
    compare_state,
    is_opaque,
)
from whence.langs.python.oracles.reference_runs import NotFullyRecorded, equation_at
from whence.langs.python.oracles.type_hints import unchanged_files
from whence.langs.python.oracles.worker.worker_protocol import CallDone
from whence.langs.python.oracles.worker_process import Worker, WorkerFailed
from whence.langs.python.replay.scratch_folder import ScratchFolder
from whence.langs.python.trace.call_recipes import place_of
from whence.langs.python.trace.trace_reader import open_trace
from whence.langs.python.trace.trace_source import TraceSource
from whence.langs.python.trace.trace_tables import CodeEntry
from whence.langs.python.trace.value_recipes import ExceptionRecipe, QualifiedName
from whence.model.call import OutcomeKind
from whence.tree.column_tree import ColumnTree

LOADING = 10.0
"""Seconds that the program's modules may take to be loaded."""
CALLING = 5.0
_TOO_DEEP = QualifiedName("builtins", "RecursionError")


class CannotTell(WhenceError):
    """Why the lines are not known."""


def lines_of_call(tree: ColumnTree, node: int) -> frozenset[int]:
    """The lines that a call ran, itself and not what it called; `CannotTell` says why not."""
    position = tree.position(node)
    try:
        source, number = place_of(tree, position)
        if number < 1:
            raise CannotTell("it is not a call of user code")
        _check(source, source.code(number))
        ours = equation_at(tree, position)
        if ours.call.outcome.kind is OutcomeKind.NOT_TERMINATED:
            raise CannotTell("it did not end")
        ended = ours.call.outcome.value
        if isinstance(ended, ExceptionRecipe) and ended.of == _TOO_DEEP:
            raise CannotTell("it called itself as often as Python allows")
        return _made_again(source, number, ours)
    except (TypeError, NotFullyRecorded, CannotRequest, WorkerFailed) as problem:
        raise CannotTell(str(problem)) from None


def _check(source: TraceSource, code: CodeEntry) -> None:
    if source.file.header.python != platform.python_version():
        raise CannotTell(f"it was recorded with Python {source.file.header.python}")
    if is_body(code):
        raise CannotTell("it is the body of a module or class")
    if code.is_stepped:
        raise CannotTell("it is a generator or coroutine")
    if code.is_text or code.module not in unchanged_files(source):
        raise CannotTell("its file has changed or is gone")


def _made_again(source: TraceSource, number: int, ours: CallEquation) -> frozenset[int]:
    version = VersionPair(source).own()
    request, unsent = request_for_call(source, number, ours, version.modules)
    with ScratchFolder() as folder:
        worker = Worker(version, loading=LOADING, writable=folder)
        output = Path(folder) / "call.whence"
        line = ours.call.code.first_line
        try:
            request = replace(request, trace=str(output), seed=1, line=line, wants_lines=True)
            done = worker.ask(request, CallDone, CALLING)
        finally:
            worker.close()
        tree = open_trace(output)
        if len(tree.columns) < 2:
            raise CannotTell("made again, it was not recorded")
        theirs = equation_at(tree, 1)
    for name in theirs.variables.keys() & unsent.keys():
        if not is_opaque(unsent[name]):
            raise CannotTell(f"it reads {name.qualname}, which cannot be made again")
    for compared in (compare_state(ours, theirs), compare_equations(ours, theirs)):
        if compared.match is not Match.SAME:
            raise CannotTell(f"made again, it has a different outcome ({compared.why})")
    return frozenset(done.lines or ())
