"""The parts of a diagnosis, in the order in which every form of the report shows them.

`text`, `html` and `record` lay these parts out and add nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from whence.errors import WhenceError
from whence.model.call import Binding, Call, OutcomeKind
from whence.model.diagnosis import Diagnosis, FaultKind, Status
from whence.model.value import Limits, Value, names_code, show
from whence.model.verdict import PERSON, Answer, Verdict
from whence.report.certainty import doubts, some
from whence.report.changes import afterwards, changes
from whence.report.findings import NOT_ASKED, Findings
from whence.report.relevance import relevant
from whence.report.source import Block, Sources
from whence.session.state import State, expectations
from whence.tree.cycles import Cycle, describe_cycle, find_cycle
from whence.tree.readable_call import function_at, readable_call

CALLEES_SHOWN = 8
CANDIDATES_SHOWN = 10
_CALLEES_READ = 300
_CHANGES = 8
_BRIEF = Limits(depth=3, parts=6, characters=120)
_EQUATION = 160
_BROKEN_OFF = re.compile(r"[\w=]…")
"""Where a value was cut off in the middle of something."""

_WRONG = {
    FaultKind.WRONG_RESULT: "Its inputs are right and so is {callees}, yet what it did is wrong.",
    FaultKind.BAD_INPUT_PASSED: "Its inputs are right, yet it passed on what should never have "
    "been passed.",
    FaultKind.RAISED: "It raised, although its inputs are right and so is {callees}.",
    FaultKind.DID_NOT_RAISE: "It should have raised and did not, although its inputs are right and "
    "so is {callees}.",
    FaultKind.DID_NOT_END: "It did not end, although its inputs are right and so is {callees}.",
    FaultKind.MISSING_ANSWER: "It lacks an answer, although its inputs are right and so is "
    "{callees}.",
}
_ENDLESS = (FaultKind.DID_NOT_END, FaultKind.BAD_INPUT_PASSED)
_STEP = "The state before it is right{also}, yet what it did is wrong."
_LACKS = "All of its steps are right, yet together they are wrong: a step is missing."
_ALL_CALLEES = "all that it called"
_THAT_WAS_RECORDED = " and that was recorded"
_CALLEES_IN_SLICE = "all that it called that could have made what was marked"
_SAID = {
    Verdict.RIGHT: "right",
    Verdict.WRONG: "wrong",
    Verdict.INADMISSIBLE: "should never have been called so",
    None: "not asked about",
}

Row = tuple[str, list[str]]
"""A label, and the lines beside it."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The parts. `sentences` state the fault, `doubts` what the diagnosis rests on."""

    headline: str
    source: Block | None = None
    no_source: str = ""
    rows: tuple[Row, ...] = ()
    sentences: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    out_of_sight: tuple[str, ...] = ()
    """What it may have called without its being recorded: the other candidate."""
    no_lines: str = ""
    """Why it is not known which of its lines ran."""


def explain(
    state: State, diagnosis: Diagnosis, sources: Sources, findings: Findings = NOT_ASKED
) -> Explanation:
    """The parts of a diagnosis, with what was found out about it."""
    if diagnosis.status is Status.FOUND and diagnosis.node is not None:
        parts = _explain_fault(state, diagnosis, sources, findings)
        if parts.source is None:
            return parts
        source = replace(parts.source, executed=findings.executed.lines)
        return replace(parts, source=source, no_lines=findings.executed.unknown)
    listed = _listed(state, diagnosis, sources)
    if diagnosis.status is Status.CANDIDATES:
        count = len(diagnosis.candidates)
        one = "The fault may be in this call"
        opening = one if count == 1 else f"One of {count} calls is at fault"
    elif diagnosis.status is Status.NONE:
        opening = "No fault found"
    else:
        opening = "The fault could not be determined"
    return Explanation(f"{opening}: {diagnosis.reason}.", sentences=tuple(listed))


def _explain_fault(
    state: State, diagnosis: Diagnosis, sources: Sources, findings: Findings
) -> Explanation:
    tree, node = state.tree, diagnosis.node
    assert node is not None
    call, _ = readable_call(tree, tree.position(node))
    source, problem = None, ""
    try:
        source = sources.block(call)
    except WhenceError as trouble:
        problem = str(trouble)
    hidden, not_run = _out_of_sight(state, node, call, sources, findings.executed.lines)
    called = [] if diagnosis.reason else [_callees(state, diagnosis, bool(hidden))]
    rows = [*_inputs(call, sources), *called, *_outcome_rows(call, sources)]
    rows += _finding_rows(state, node, sources, findings)
    marks = [str(a.mark) for a in state.facts.answers if a.node == node and a.mark]
    rows.append(("You marked", marks))
    rows.append(("It should be", [_expected(answer) for answer in expectations(state, node)]))
    callees = _CALLEES_IN_SLICE if diagnosis.within_slice else _ALL_CALLEES
    if hidden:
        callees += _THAT_WAS_RECORDED
    sentences = [_WRONG[diagnosis.kind].format(callees=callees)]
    if diagnosis.reason:
        sentences = [f"Nobody could judge it, but {diagnosis.reason}."]
    cycle = find_cycle(tree) if diagnosis.kind in _ENDLESS else None
    if cycle is not None and _is_part(state, node, cycle):
        sentences.append(describe_cycle(tree, cycle))
    if diagnosis.group:
        sentences.append(
            "Only the rule is certain: the fault shows in this call or in one of "
            f"{len(diagnosis.group) - 1} more calls of {call.rule.name}."
        )
    other = f", or in what it ran out of sight ({some(hidden)})" if hidden else ""
    state_read = _state_from_before(state, diagnosis, call)
    if state_read:
        other += f", or in what set {some(state_read)} before it"
    headline = (
        f"The fault is in {call.function.short()}{_place(call, sources)}, call {node}{other}."
    )
    if call.step is not None:
        headline = f"The fault is in {call.function.short()}{_place(call, sources)}."
    if call.step is not None or _has_steps(state, diagnosis):
        sentences[0] = _of_step(state, diagnosis)
    return Explanation(
        headline,
        source,
        problem,
        tuple(row for row in rows if row[1]),
        tuple(sentences),
        (*doubts(state, diagnosis, call, sources, findings.notes), *not_run),
        tuple(hidden),
    )


def _out_of_sight(
    state: State, node: int, call: Call, sources: Sources, executed: Collection[int] | None
) -> tuple[list[str], list[str]]:
    """The names of what a call may have called without its being recorded; and a sentence about
    those whose lines did not run, if it is known which lines did."""
    tree = state.tree
    columns, position = tree.columns, tree.position(node)
    area = slice(position + 1, int(columns.end[position]))
    callees = np.flatnonzero(columns.parent[area] == position) + position + 1
    numbers = set(columns.function[callees].tolist())
    # The calls of a process count as calls of the one that started it.
    for number in [number for number in numbers if tree.functions[number].trusted]:
        tops = callees[columns.function[callees] == number]
        below = np.isin(columns.parent[area], tops)
        numbers.update(columns.function[area][below].tolist())
    functions = [tree.functions[number] for number in sorted(numbers)]
    calls = None
    if len(callees) <= _CALLEES_READ:
        calls = [readable_call(tree, int(callee))[0] for callee in callees]
    hidden = sources.calls_out_of_sight(call, functions, tree.functions, calls)
    if executed is None:
        return list(hidden), []
    not_run = [name for name, on in hidden.items() if on and not set(on) & set(executed)]
    said = f"its lines with {some(not_run)} did not run when the lines were followed"
    return [name for name in hidden if name not in not_run], [said] if not_run else []


def _state_from_before(state: State, diagnosis: Diagnosis, call: Call) -> list[str]:
    """State that made calls inadmissible and that the call at fault neither read nor changed.

    Nobody has judged it as an input of that call: it may have been wrong before.
    """
    judged = {read.name for read in call.reads} | {effect.target for effect in call.effects}
    names = []
    for node in diagnosis.bad_input:
        marks = [answer.mark for answer in state.facts.answers if answer.node == node]
        callee, _ = readable_call(state.tree, state.tree.position(node))
        arguments = {argument.name for argument in callee.arguments}
        if any(mark is not None and mark.root in arguments for mark in marks):
            continue
        names += [read.name for read in callee.reads if not names_code(read.value)]
    return [name for name in dict.fromkeys(names) if name not in judged]


def _is_part(state: State, node: int, cycle: Cycle) -> bool:
    """Whether the function of a call is part of a cycle."""
    tree = state.tree
    functions = {function_at(tree, tree.position(other)) for other in cycle.path}
    return function_at(tree, tree.position(node)) in functions


def _has_steps(state: State, diagnosis: Diagnosis) -> bool:
    tree = state.tree
    calls = (readable_call(tree, tree.position(node))[0] for node in diagnosis.callees)
    return any(call.step is not None for call in calls)


def _of_step(state: State, diagnosis: Diagnosis) -> str:
    if diagnosis.kind is FaultKind.BAD_INPUT_PASSED:
        return _WRONG[diagnosis.kind]
    if _has_steps(state, diagnosis):
        return _LACKS
    also = f" and so is {_ALL_CALLEES}" if diagnosis.callees else ""
    return _STEP.format(also=also)


def _expected(answer: Answer) -> str:
    return f"{answer.mark} = {answer.expected}" if answer.mark else f"{answer.expected}"


def _inputs(call: Call, sources: Sources) -> list[Row]:
    if call.text:
        return [("It was", [call.text])]
    if call.step is not None:
        before = _bindings(relevant(call, sources).arguments)
        parts = _bindings(call.step.parts)
        return [("It is", [call.step.label]), ("Before it", before), ("It evaluated", parts)]
    read = _bindings([read for read in call.reads if not names_code(read.value)])
    return [("It was given", _bindings(call.arguments)), ("It read", read)]


def _bindings(bindings: Sequence[Binding]) -> list[str]:
    return [
        f"{binding.name or f'arg{number}'} = {_short(binding.value)}"
        for number, binding in enumerate(bindings, 1)
    ]


def _callees(state: State, diagnosis: Diagnosis, has_hidden: bool) -> Row:
    tree, space = state.tree, state.space()
    by = {answer.node: answer.by for answer in state.facts.answers if answer.by != PERSON}
    shown = sorted(diagnosis.callees, key=lambda node: node not in diagnosis.bad_input)
    calls = []
    for node in shown[:CALLEES_SHOWN]:
        position = tree.position(node)
        said = _SAID[space.verdict(position)]
        giver = f", says {by[node]}" if node in by else ""
        call = readable_call(tree, position)[0]
        what = short_equation(call) if call.step is None else call.step.label
        calls.append(f"{what}  ({said}{giver})")
    if len(shown) > CALLEES_SHOWN:
        calls.append(f"… and {len(shown) - CALLEES_SHOWN} more")
    blamed = diagnosis.node
    if _has_steps(state, diagnosis):
        return "Its steps", calls
    if blamed is not None and readable_call(tree, tree.position(blamed))[0].step is not None:
        return "It called", calls  # usually none
    none = f"nothing {'recorded ' if has_hidden else ''}that could be at fault"
    return "It called", calls or [none]


def _outcome_rows(call: Call, sources: Sources) -> list[Row]:
    if call.step is not None:
        printed = [("It printed", [repr(call.printed[:200])])] if call.printed else []
        after = [
            words if value is None else words + _short(value)
            for words, value in afterwards(call, _BRIEF, _BRIEF.characters)
        ]
        return [("After it", after), *printed]
    out = [] if call.text else [_outcome(call, sources)]
    changed = []
    for effect in call.effects:
        differences = list(changes(effect.before, effect.after))
        changed += [change.short(effect.target, _BRIEF) for change in differences]
        if not differences:
            changed.append(f"{effect.target}, in a part that was not recorded")
    more = len(changed) - _CHANGES
    if more > 0:
        changed[_CHANGES:] = [f"… and {more} more"]
    out.append(("It changed", changed))
    if call.printed:
        out.append(("It printed", [repr(call.printed[:200])]))
    return out


def _outcome(call: Call, sources: Sources) -> Row:
    outcome = call.outcome
    if outcome.kind is not OutcomeKind.RAISED or outcome.yielded or outcome.value is None:
        right = _right(call)
        return "It returned" if right.startswith("→ ") else "Outcome", [right.removeprefix("→ ")]
    place = f"  ({sources.shown(outcome.location)})" if outcome.location else ""
    return "It raised", [_short(outcome.value) + place]


def _finding_rows(state: State, node: int, sources: Sources, findings: Findings) -> list[Row]:
    """The operation that raised, and the origin of inadmissible input that was passed on."""
    out: list[Row] = []
    raised, passed = findings.raised_by, findings.passed
    if raised is not None:
        where = f"  ({sources.shown(raised.location)}" if raised.location else "  ("
        place = "" if raised.node == node else f"{where}, in {_named(state, raised.node)})"
        out.append(("Raised by", [raised.text + place, *_bindings(raised.operands)]))
    if passed is not None:
        argument = f"{passed.part.mark} = {_short(passed.part.value)}"
        origin = passed.origin
        assert origin.node is not None
        expression = f" as {origin.expression}" if origin.expression else ""
        place = f" at {sources.shown(origin.location)}" if origin.location else ""
        made = f"made{expression}{place}, in {_named(state, origin.node)}"
        out.append(("It passed on", [f"{argument}, {made}"]))
    return out


def _named(state: State, node: int) -> str:
    return f"{function_at(state.tree, state.tree.position(node)).short()}, call {node}"


def _short(value: Value) -> str:
    return _first_fitting(lambda limits: show(value, limits), _BRIEF.characters, 1)


def short_equation(call: Call) -> str:
    """A call and its outcome on a line or two; of the outcome one level is always shown."""
    if call.text:
        return call.text
    return f"{_first_fitting(call.left, _EQUATION, 0)} {_right(call)}"


def _right(call: Call) -> str:
    return _first_fitting(call.right, _EQUATION, 1)


def _first_fitting(shown: Callable[[Limits], str], most: int, least: int) -> str:
    """A text with as much of what is nested in it, `least` levels at least, as there is room."""
    depths = range(_BRIEF.depth, least - 1, -1)
    texts = [shown(replace(_BRIEF, depth=depth)) for depth in depths]
    fitting = (text for text in texts if len(text) <= most and not _BROKEN_OFF.search(text))
    return next(fitting, texts[-1])


def _listed(state: State, diagnosis: Diagnosis, sources: Sources) -> list[str]:
    nodes, more = diagnosis.candidates, diagnosis.more_candidates
    out = []
    for node in nodes[:CANDIDATES_SHOWN]:
        call, _ = readable_call(state.tree, state.tree.position(node))
        out.append(f"{node}: {short_equation(call)}{_place(call, sources)}")
    rest = len(nodes) - CANDIDATES_SHOWN + more
    if rest > 0:
        out.append(f"… and {rest:,} more")
    return out


def _place(call: Call, sources: Sources) -> str:
    where = call.where()
    return f" ({sources.shown(where)})" if where else ""
