"""Calls of a session as messages: rows of lists, whole calls, questions, sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from whence.errors import WhenceError
from whence.model.call import Binding, Call, Location, OutcomeKind
from whence.model.question import Question
from whence.model.value import Kind, Limits, cut
from whence.protocol.values import Bounds, ValueView, value_view
from whence.protocol.views import (
    CallRow,
    CallView,
    ChangeView,
    FunctionView,
    InputView,
    OutcomeView,
    PlaceView,
    PrintedView,
    SourceLine,
    SourceView,
    StepView,
)
from whence.report.changes import Change
from whence.report.explanation import short_equation
from whence.report.question_content import (
    QuestionContent,
    call_content,
    changed_parts,
    data_read,
    question_content,
)
from whence.report.relevance import with_field_names
from whence.report.source import Sources
from whence.search.space import ASIDE, SKIPPED, TRUSTED, SearchSpace
from whence.session.state import State
from whence.tree.readable_call import function_at, readable_call, up_from

MOST_CHANGES, MOST_PRINTED, MOST_CALLERS, MOST_CALLEES, MOST_YIELDED = 24, 20, 12, 20, 12
MOST_EQUATION = 300
MOST_SOURCE, MOST_CALLS_OF_SOURCE = 400, 2000
SUSPECT = "suspect"
_WORDS = Limits(depth=3, parts=8, characters=200)
_KINDS = {Kind.LIST: "inserted", Kind.SET: "added", Kind.DICT: "reordered", None: "made"}


def call_state(space: SearchSpace, position: int) -> str:
    """What is known of a call: a verdict, `trusted`, `skipped`, `set aside`, `suspect`, or `ruled
    out`."""
    verdict = space.verdict(position)
    if verdict is not None:
        return verdict.value
    flags = space.flags[position]
    for flag, word in ((TRUSTED, "trusted"), (SKIPPED, "skipped")):
        if flags & flag:
            return word
    if space.is_suspect(np.array([position]))[0] or (position == space.top and space.top_is_open):
        return SUSPECT
    return "set aside" if flags & ASIDE else "ruled out"


def place_view(where: Location | None, sources: Sources) -> PlaceView | None:
    """A place, if there is one."""
    if where is None:
        return None
    return PlaceView(where.file, where.line, where.column, sources.shown(where))


def call_row(state: State, position: int, sources: Sources) -> CallRow:
    """A call on one line."""
    tree, columns = state.tree, state.tree.columns
    call, _ = readable_call(tree, position)
    return CallRow(
        tree.id(position),
        function_at(tree, position).short(),
        equation_of(call),
        call_state(state.space(), position),
        int(columns.end[position]) - position,
        place_view(call.where(), sources),
        bool(columns.implicit[position]),
    )


def equation_of(call: Call) -> str:
    """A call and its outcome, on one line that is not too long."""
    return cut(" ".join(short_equation(call).split()), MOST_EQUATION)


def question_call(
    state: State, question: Question, sources: Sources, bounds: Bounds = Bounds()
) -> CallView:
    """The call that is asked about."""
    content = question_content(state, question, sources)
    return _call_view(state, question.node, content, sources, bounds)


def whole_call(
    state: State, node: int, sources: Sources, bounds: Bounds = Bounds(), *, whole: bool = False
) -> CallView:
    """Any call; `whole`: also what it did not use."""
    position = state.tree.position(node)
    call, problem = readable_call(state.tree, position)
    content = call_content(state, node, call, sources)
    if whole:
        content = replace(content, call=call)
    view = _call_view(state, node, content, sources, bounds, all_reads=whole)
    return replace(view, problem=problem)


def _call_view(
    state: State,
    node: int,
    content: QuestionContent,
    sources: Sources,
    bounds: Bounds,
    *,
    all_reads: bool = False,
) -> CallView:
    tree = state.tree
    position, call = tree.position(node), content.call
    changes, more_changes = _changes(call, bounds)
    return CallView(
        node,
        FunctionView(call.function.name, call.function.short(), call.function.module),
        equation_of(call),
        call_state(state.space(), position),
        content.asked,
        place_view(call.where(), sources),
        _inputs(call, content, sources, bounds),
        _outcome(call, content, sources, bounds),
        changes,
        more_changes,
        _reads(call, content, bounds, all_reads=all_reads),
        _printed(call),
        content.documentation,
        content.outline,
        content.called_as,
        place_view(call.site, sources),
        call.text,
        _step(call, bounds),
        tuple(call_row(state, at, sources) for at in _callers(state, position)),
        *_callees(state, position, sources),
    )


def _callers(state: State, position: int) -> list[int]:
    _, *above = up_from(state.tree, position)
    return above[:MOST_CALLERS]


def _callees(state: State, position: int, sources: Sources) -> tuple[tuple[CallRow, ...], int]:
    callees = callee_positions(state, position, MOST_CALLEES)
    rows = tuple(call_row(state, at, sources) for at in callees)
    return rows, count_callees(state, position) - len(rows)


def callee_positions(state: State, position: int, most: int) -> list[int]:
    """The positions of the first calls that a call made."""
    columns, callees = state.tree.columns, list[int]()
    at, end = position + 1, int(columns.end[position])
    while at < end and len(callees) < most:
        callees.append(at)
        at = int(columns.end[at])
    return callees


def count_callees(state: State, position: int) -> int:
    """How many calls a call made."""
    columns = state.tree.columns
    return int(np.count_nonzero(columns.parent[position + 1 : columns.end[position]] == position))


def _inputs(
    call: Call, content: QuestionContent, sources: Sources, bounds: Bounds
) -> tuple[InputView, ...]:
    named = with_field_names(call, sources)
    pairs = zip(call.arguments, named.arguments, strict=True)
    return tuple(
        InputView(
            binding.name,
            value_view(binding.value, binding.name or f"arg{number}", bounds, names.value),
            "input",
            binding.name in content.differing,
            binding.name in content.defaults,
        )
        for number, (binding, names) in enumerate(pairs, 1)
    )


def _reads(
    call: Call, content: QuestionContent, bounds: Bounds, *, all_reads: bool
) -> tuple[InputView, ...]:
    reads: Sequence[Binding] = call.reads if all_reads else data_read(call)
    return tuple(
        InputView(
            read.name,
            value_view(read.value, read.name, bounds),
            "input",
            read.name in content.differing,
        )
        for read in reads
    )


def _outcome(call: Call, content: QuestionContent, sources: Sources, bounds: Bounds) -> OutcomeView:
    outcome, named = call.outcome, with_field_names(call, sources).outcome
    value: ValueView | None = None
    if outcome.value is not None:
        value = value_view(outcome.value, "result", bounds, named.value)
    shown = outcome.yielded[:MOST_YIELDED]
    pairs = zip(shown, named.yielded, strict=False)
    raised = outcome.kind is OutcomeKind.RAISED
    return OutcomeView(
        outcome.kind.name.lower().replace("_", " "),
        value,
        tuple(
            value_view(one, f"yielded[{index}]", bounds, names)
            for index, (one, names) in enumerate(pairs)
        ),
        len(outcome.yielded) - len(shown),
        place_view(outcome.location, sources) if raised else None,
        content.raised_by,
    )


def _changes(call: Call, bounds: Bounds) -> tuple[tuple[ChangeView, ...], int]:
    out: list[ChangeView] = []
    for effect in call.effects:
        parts = changed_parts(effect)
        out += [_change(part.target, part.change, bounds) for part in parts]
        if not parts:
            words = f"it changed {effect.target} in a part that was not recorded"
            out.append(ChangeView(effect.target, "not recorded", words))
    return tuple(out[:MOST_CHANGES]), max(0, len(out) - MOST_CHANGES)


def _change(target: str, change: Change, bounds: Bounds) -> ChangeView:
    path = target + "".join(change.steps)
    if change.is_unseen():
        kind = "not recorded"
    elif change.before is None:
        kind = _KINDS[change.within]
    elif change.after is None:
        kind = "removed"
    else:
        kind = "reordered" if change.within is Kind.DICT else "changed"
    before, after = (
        None if value is None else value_view(value, path, bounds)
        for value in (change.before, change.after)
    )
    return ChangeView(path, kind, f"it {change.words(target, _WORDS)}", before, after)


def _printed(call: Call) -> PrintedView:
    lines = call.output or tuple(call.printed.splitlines())
    shown = tuple(cut(line, MOST_EQUATION) for line in lines[:MOST_PRINTED])
    return PrintedView(shown, len(lines) - len(shown))


def _step(call: Call, bounds: Bounds) -> StepView | None:
    step = call.step
    if step is None:
        return None
    parts = tuple(
        InputView(part.name, value_view(part.value, part.name, bounds), "outcome")
        for part in step.parts
    )
    return StepView(step.label, step.ending, parts, step.same)


def source_view(
    state: State,
    node: int,
    sources: Sources,
    executed: frozenset[int] | None = None,
    unknown: str = "",
) -> SourceView:
    """The source of what a call ran, each line with the calls that it made."""
    position = state.tree.position(node)
    call, _ = readable_call(state.tree, position)
    block = sources.block(call)
    calls = _calls_by_line(state, position, call)
    first = block.first or 1
    lines = tuple(
        SourceLine(
            number,
            text,
            None if executed is None else number in executed,
            tuple(calls.get(number, ())),
        )
        for number, text in enumerate(block.lines[:MOST_SOURCE], first)
    )
    return SourceView(
        node,
        place_view(call.where(), sources),
        lines,
        len(block.lines) - len(lines),
        block.changed,
        block.raised,
        unknown,
    )


def _calls_by_line(state: State, position: int, call: Call) -> dict[int, list[int]]:
    """For the lines of a call's own source, the calls that they made."""
    where, tree = call.where(), state.tree
    calls: dict[int, list[int]] = {}
    for at in callee_positions(state, position, MOST_CALLS_OF_SOURCE):
        try:
            site = tree.call(at).site
        except WhenceError:
            continue
        if site is not None and site.line and where is not None and site.file == where.file:
            calls.setdefault(site.line, []).append(tree.id(at))
    return calls
