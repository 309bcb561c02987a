"""The diagnosis for a person: which call, where, what it was given, what it got, what was wrong."""

from __future__ import annotations

from whence.model.call import Call, OutcomeKind
from whence.model.diagnosis import Diagnosis, FaultKind, Status
from whence.model.value import Limits, Value, show
from whence.model.verdict import Answer, Verdict
from whence.ports import Tree
from whence.session.state import State, expectations
from whence.tree.reading import readable_call

_CALLEES_SHOWN = 8
_CANDIDATES_SHOWN = 10
_BRIEF = Limits(depth=3, parts=6, characters=120)
_LABEL = 14

_WRONG = {
    FaultKind.WRONG_RESULT: "Its inputs are right and so is {callees}, yet what it did is wrong.",
    FaultKind.BAD_INPUT_PASSED: "Its inputs are right, yet it passed on what should never have "
    "been passed.",
    FaultKind.RAISED: "It raised, although its inputs are right and so is {callees}.",
    FaultKind.DID_NOT_END: "It did not end, although its inputs are right and so is {callees}.",
}
_ALL_CALLEES = "all that it called"
_CALLEES_IN_SLICE = "all that it called that could have made what was marked"
_SAID = {
    Verdict.RIGHT: "right",
    Verdict.WRONG: "wrong",
    Verdict.INADMISSIBLE: "should never have been called so",
    None: "not asked about",
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
    call, _ = readable_call(tree, tree.position(node))
    out = [f"The fault is in {call.function.short()}{_place(call)}, call {node}."]
    out += [f"    {line}" for line in call.rule.source.splitlines()]
    out += _given(call) + _callees(state, diagnosis) + _gave_back(call)
    marks = [str(a.mark) for a in state.facts.answers if a.node == node and a.mark]
    out += _labelled("You marked", marks)
    out += _labelled("It should be", [_expected(each) for each in expectations(state, node)])
    callees = _CALLEES_IN_SLICE if diagnosis.within_slice else _ALL_CALLEES
    out.append(f"  {_WRONG[diagnosis.kind].format(callees=callees)}")
    if diagnosis.group:
        out.append(
            f"  Only the rule is certain: the fault shows in this call or in one of "
            f"{len(diagnosis.group) - 1} more calls of {call.rule.name}."
        )
    return out


def _expected(answer: Answer) -> str:
    return f"{answer.mark} = {answer.expected}" if answer.mark else f"{answer.expected}"


def _labelled(label: str, items: list[str]) -> list[str]:
    """The items below each other, with a label before the first."""
    return [
        f"  {label if number == 0 else '':{_LABEL}} {item}" for number, item in enumerate(items)
    ]


def _given(call: Call) -> list[str]:
    if call.text:
        return _labelled("It was", [call.text])
    given = [
        f"{each.name or f'arg{number}'} = {show(each.value, _BRIEF)}"
        for number, each in enumerate(call.arguments, 1)
    ]
    read = [f"{each.name} = {show(each.value, _BRIEF)}" for each in call.reads]
    return _labelled("It was given", given) + _labelled("It read", read)


def _callees(state: State, diagnosis: Diagnosis) -> list[str]:
    tree, space = state.tree, state.space()
    shown = sorted(diagnosis.callees, key=lambda node: node not in diagnosis.bad_input)
    calls = []
    for node in shown[:_CALLEES_SHOWN]:
        position = tree.position(node)
        said = _SAID[space.verdict(position)]
        calls.append(f"{readable_call(tree, position)[0].equation(_BRIEF)}  ({said})")
    if len(shown) > _CALLEES_SHOWN:
        calls.append(f"… and {len(shown) - _CALLEES_SHOWN} more")
    return _labelled("It called", calls or ["nothing that could be at fault"])


def _gave_back(call: Call) -> list[str]:
    out = [] if call.text else _outcome(call)
    changes = [
        f"{effect.target}: {_or_nothing(effect.before)} → {_or_nothing(effect.after)}"
        for effect in call.effects
    ]
    out += _labelled("It changed", changes)
    if call.printed:
        out += _labelled("It printed", [repr(call.printed[:200])])
    return out


def _outcome(call: Call) -> list[str]:
    outcome = call.outcome
    if outcome.kind is not OutcomeKind.RAISED or outcome.yielded or outcome.value is None:
        return _labelled("It gave back", [call.right(_BRIEF).removeprefix("→ ")])
    place = f"  ({outcome.location})" if outcome.location else ""
    return _labelled("It raised", [show(outcome.value, _BRIEF) + place])


def _or_nothing(value: Value | None) -> str:
    return "nothing" if value is None else show(value, _BRIEF)


def _candidates(tree: Tree, diagnosis: Diagnosis) -> list[str]:
    count = len(diagnosis.candidates)
    opening = "The fault may be in this call" if count == 1 else f"One of {count} calls is at fault"
    return [f"{opening}: {diagnosis.reason}.", *_listed(tree, diagnosis.candidates)]


def _listed(tree: Tree, nodes: tuple[int, ...]) -> list[str]:
    out = []
    for node in nodes[:_CANDIDATES_SHOWN]:
        call, _ = readable_call(tree, tree.position(node))
        out.append(f"  {node}: {call.equation(_BRIEF)}{_place(call)}")
    if len(nodes) > _CANDIDATES_SHOWN:
        out.append(f"  … and {len(nodes) - _CANDIDATES_SHOWN} more")
    return out


def _place(call: Call) -> str:
    where = call.where()
    return f" ({where})" if where else ""
