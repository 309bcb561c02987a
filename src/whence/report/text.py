"""The diagnosis for a person: which call, where, what it was given, what it got, what was wrong."""

from __future__ import annotations

from whence.model.call import Call, OutcomeKind
from whence.model.diagnosis import Diagnosis, FaultKind, Status
from whence.model.value import Limits, show
from whence.model.verdict import Verdict
from whence.ports import Tree
from whence.session.state import State

_CALLEES_SHOWN = 8
_CANDIDATES_SHOWN = 10
_BRIEF = Limits(depth=3, parts=6, characters=120)

_WRONG = {
    FaultKind.WRONG_RESULT: "its inputs are right and so is all that it called, yet it is wrong",
    FaultKind.BAD_INPUT_PASSED: "it passed on input that should never have been passed",
    FaultKind.RAISED: "it raised, although its inputs are right and so is all that it called",
    FaultKind.DID_NOT_END: "it did not end, although its inputs are right and all that it "
    "called is",
}


def lines(state: State, diagnosis: Diagnosis) -> list[str]:
    """The diagnosis, ready to be printed."""
    if diagnosis.status is Status.FOUND and diagnosis.node is not None:
        return _found(state, diagnosis, diagnosis.node)
    if diagnosis.status is Status.CANDIDATES:
        return _candidates(state.tree, diagnosis)
    opening = (
        "No fault found" if diagnosis.status is Status.NONE else "The fault could not be determined"
    )
    return [f"{opening}: {diagnosis.reason}.", *_listed(state.tree, diagnosis.candidates)]


def _found(state: State, diagnosis: Diagnosis, node: int) -> list[str]:
    tree = state.tree
    call = tree.call(tree.position(node))
    out = [f"The fault is in {call.function.short()}{_place(call)}: call {node}."]
    out += [f"    {line}" for line in call.rule.source.splitlines()]
    out += [f"  {call.equation()}", f"  What is wrong: {_WRONG[diagnosis.kind]}."]
    out += _given(call)
    out += _callees(state, diagnosis)
    out += _gave_back(call)
    if diagnosis.group:
        out.append(
            f"  Only the rule is certain: the fault shows in this call or in one of "
            f"{len(diagnosis.group) - 1} more calls of {call.rule.name}."
        )
    marks = [str(a.mark) for a in state.facts.answers if a.node == node and a.mark]
    if marks:
        out.append(f"  You marked {', '.join(marks)}.")
    return out


def _given(call: Call) -> list[str]:
    inputs = [*call.arguments, *call.reads]
    if not inputs or call.text:
        return []
    return ["  It was given:"] + [
        f"    {each.name or f'arg{number}'} = {show(each.value, _BRIEF)}"
        for number, each in enumerate(inputs, 1)
    ]


def _callees(state: State, diagnosis: Diagnosis) -> list[str]:
    if not diagnosis.callees:
        return ["  It made no calls that could be at fault."]
    tree, space = state.tree, state.space()
    out = ["  From the calls that it made it got:"]
    shown = sorted(diagnosis.callees[:], key=lambda node: node not in diagnosis.bad_input)
    for node in shown[:_CALLEES_SHOWN]:
        position = tree.position(node)
        verdict = space.verdict(position)
        said = {Verdict.INADMISSIBLE: "should never have got this", None: "not asked about"}
        word = said.get(verdict, "right")
        out.append(f"    {tree.call(position).equation(_BRIEF)}  ({word})")
    if len(shown) > _CALLEES_SHOWN:
        out.append(f"    … and {len(shown) - _CALLEES_SHOWN} more")
    return out


def _gave_back(call: Call) -> list[str]:
    out = [] if call.text else [f"  It gave back: {call.right(_BRIEF).removeprefix('→ ')}"]
    for effect in call.effects:
        before = "nothing" if effect.before is None else show(effect.before, _BRIEF)
        after = "nothing" if effect.after is None else show(effect.after, _BRIEF)
        out.append(f"  It changed {effect.target}: {before} → {after}")
    if call.printed:
        out.append(f"  It printed: {call.printed[:200]!r}")
    if call.outcome.kind is OutcomeKind.RAISED and call.outcome.location:
        out.append(f"  It was raised at {call.outcome.location}")
    return out


def _candidates(tree: Tree, diagnosis: Diagnosis) -> list[str]:
    count = len(diagnosis.candidates)
    noun = "call" if count == 1 else "calls"
    return [
        f"The fault is in one of {count} {noun}: {diagnosis.reason}.",
        *_listed(tree, diagnosis.candidates),
    ]


def _listed(tree: Tree, nodes: tuple[int, ...]) -> list[str]:
    out = []
    for node in nodes[:_CANDIDATES_SHOWN]:
        call = tree.call(tree.position(node))
        out.append(f"  {node}: {call.equation(_BRIEF)}{_place(call)}")
    if len(nodes) > _CANDIDATES_SHOWN:
        out.append(f"  … and {len(nodes) - _CANDIDATES_SHOWN} more")
    return out


def _place(call: Call) -> str:
    where = call.where()
    return f" ({where})" if where else ""
