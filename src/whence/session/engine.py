"""The engine: one pure step of algorithmic debugging, with three-valued answers.

After Shapiro 1982, Naish 1997 and MacLarty et al. 2005. A call is at fault when it is wrong and
every call that it leads to, looking through trusted ones, is right or inadmissible. With right
answers a call that `step` finds at fault is at fault; what stands in the way of knowing (skipped
questions, calls that were not recorded, trusted code) is said instead.

`apply` takes in an event, `react` says what is needed next; a session is resumed by applying its
events without reacting to each.
"""

from __future__ import annotations

from dataclasses import replace

from whence.errors import UsageError
from whence.model.call import OutcomeKind
from whence.model.diagnosis import Diagnosis, FaultKind, Status
from whence.model.question import Question
from whence.model.verdict import Answer, Trust, Verdict
from whence.ports import Choice, Expansion
from whence.search.registry import find_strategy
from whence.search.space import SearchSpace
from whence.session.events import (
    Answered,
    Ask,
    Event,
    Exhausted,
    Expand,
    Expanded,
    Found,
    NotExpandable,
    Outcome,
    Redone,
    Rejected,
    Resolved,
    RestSearched,
    Revise,
    Started,
    StrategyChosen,
    SwitchTurned,
    TrustGiven,
    TrustWithdrawn,
    Undone,
)
from whence.session.state import Clash, Facts, State, trusted_functions
from whence.tree.weights import questions_left

EXPAND_LEVELS = 3
CALLEES_NAMED = 1000


def step(state: State, event: Event) -> tuple[State, Outcome]:
    """The state after an event, and what the session needs next."""
    state = apply(state, event)
    return state, react(state)


# --- taking in events --------------------------------------------------------------------------


def apply(state: State, event: Event) -> State:
    """The state after an event. An event that makes no sense here is a `UsageError`."""
    facts = state.facts
    match event:
        case Started():
            return state
        case Expanded(tree):
            known = state.provenance
            return replace(state, tree=tree, provenance=known and known.grown(tree))
        case NotExpandable(node, reason):
            return replace(state, not_expandable=(*state.not_expandable, (node, reason)))
        case Undone():
            if not state.past:
                raise UsageError("there is nothing to undo")
            return replace(
                state, facts=state.past[-1], past=state.past[:-1], future=(facts, *state.future)
            )
        case Redone():
            if not state.future:
                raise UsageError("there is nothing to redo")
            return replace(
                state, facts=state.future[0], past=(*state.past, facts), future=state.future[1:]
            )
        case _:
            return state.with_facts(_changed(state, event))


def _changed(state: State, event: Event) -> Facts:
    facts = state.facts
    match event:
        case Answered(answers):
            return _with_answers(state, facts, answers)
        case TrustGiven(trust):
            return _with_trust(state, facts, trust)
        case TrustWithdrawn(trust):
            if trust not in facts.trusts:
                raise UsageError(f"{trust} is not trusted, so the trust cannot be withdrawn")
            return replace(facts, trusts=tuple(t for t in facts.trusts if t != trust))
        case StrategyChosen(name):
            return replace(facts, strategy=find_strategy(name).name)
        case SwitchTurned(name, on):
            if name not in facts.switches.__dataclass_fields__:
                known = ", ".join(facts.switches.__dataclass_fields__)
                raise UsageError(f"there is no switch {name!r}; there is {known}")
            return replace(facts, switches=replace(facts.switches, **{name: on}))
        case Resolved(keep_earlier):
            return _resolved(state, facts, keep_earlier)
        case Rejected():
            return replace(
                facts,
                answers=(),
                rest=False,
                defaults=facts.answers or facts.defaults,
                rejected=facts.rejected + 1,
            )
        case RestSearched():
            return replace(facts, rest=True)
        case _:
            raise AssertionError(f"no rule for {event}")


def _with_answers(state: State, facts: Facts, answers: tuple[Answer, ...]) -> Facts:
    for number, answer in enumerate(answers, 1):
        earlier = _earlier_answers(state, facts, answer.node)
        if answer.verdict is Verdict.UNKNOWN:
            if earlier:
                raise UsageError(f"call {answer.node} was judged already; use undo to take it back")
            facts = replace(facts, answers=(*facts.answers, answer))
            continue
        opposed = [each for each in earlier if each.verdict is not answer.verdict]
        if opposed:
            why = (
                "the same call" if opposed[0].node == answer.node else "calls with equal equations"
            )
            return replace(facts, clash=Clash(opposed[0], answer, why, answers[number:]))
        facts = replace(facts, answers=(*facts.answers, answer))
    return facts


def _with_trust(state: State, facts: Facts, trust: Trust) -> Facts:
    if trust in facts.trusts:
        raise UsageError(f"{trust} is trusted already")
    if not trusted_functions(state.tree, (trust,)):
        raise UsageError(f"nothing in this tree is in {trust}")
    return replace(facts, trusts=(*facts.trusts, trust))


def _resolved(state: State, facts: Facts, keep_earlier: bool) -> Facts:
    clash = facts.clash or _trust_clash(state, state.space())
    if clash is None:
        raise UsageError("there is no contradiction to resolve")
    facts = replace(facts, clash=None)
    earlier, later = clash.earlier, clash.later
    if isinstance(earlier, Trust):
        if keep_earlier:
            return replace(facts, answers=_without(state, facts, later.node))
        return replace(facts, trusts=tuple(t for t in facts.trusts if t != earlier))
    if not keep_earlier:
        facts = replace(facts, answers=(*_without(state, facts, earlier.node), later))
    return _with_answers(state, facts, clash.waiting)


def _without(state: State, facts: Facts, node: int) -> tuple[Answer, ...]:
    gone = _earlier_answers(state, facts, node)
    return tuple(answer for answer in facts.answers if answer not in gone)


def _trust_clash(state: State, space: SearchSpace) -> Clash | None:
    """A trusted call was judged wrong while all that it called is right: both cannot hold."""
    trust = _trust_of(state, state.facts, space.top)
    answer = next(iter(_earlier_answers(state, state.facts, state.tree.id(space.top))), None)
    if trust is None or answer is None or space.suspects_left():
        return None
    return Clash(trust, answer, "a trusted call is wrong although all that it called is right")


def _earlier_answers(state: State, facts: Facts, node: int) -> list[Answer]:
    """The definite answers that were given about this call or one with an equal equation."""
    tree = state.tree
    equation = tree.columns.equation
    wanted = equation[tree.position(node)]
    return [
        answer
        for answer in facts.answers
        if answer.verdict is not Verdict.UNKNOWN
        and (
            answer.node == node
            or (facts.switches.duplicates and equation[tree.position(answer.node)] == wanted)
        )
    ]


def _trust_of(state: State, facts: Facts, position: int) -> Trust | None:
    function = int(state.tree.columns.function[position])
    for trust in facts.trusts:
        if function in trusted_functions(state.tree, (trust,)):
            return trust
    return None


# --- what is needed next -----------------------------------------------------------------------


def react(state: State) -> Outcome:
    """What the session needs next: an answer, more of the tree, a decision; or that it is over."""
    facts = state.facts
    if facts.clash is not None:
        return Revise(facts.clash.earlier, facts.clash.later, facts.clash.why)
    space = state.space()
    verdict = space.verdict(space.top)
    if (
        space.top == 0
        and not space.top_is_acquitted
        and verdict in (Verdict.RIGHT, Verdict.INADMISSIBLE)
    ):
        return Exhausted(_top_acquitted(state, verdict), rest=True)
    missing = dict(state.not_expandable)
    top = state.tree.id(space.top)
    if state.tree.columns.implicit[space.top] and not (space.top_is_open or space.top_is_acquitted):
        return Found(_below_unrecorded(top, missing[top])) if top in missing else _expand(top)
    if not space.suspects_left():
        return _nothing_left(state, space)
    stops_here = facts.switches.single_rule and not space.top_is_acquitted
    if stops_here and not _top_is_trusted(state, space) and space.single_rule():
        return _ask_top(state, space) or Found(_at_fault(state, space, single_rule=True))
    if not space.can_ask():
        return Found(_candidates(state, space))
    return _next_question(state, space)


def _next_question(state: State, space: SearchSpace) -> Outcome:
    strategy = find_strategy(state.facts.strategy)
    ask_top = state.options.ask_top if state.options.ask_top is not None else strategy.asks_top
    if space.top_is_open and ask_top and not _skipped(state, space.top):
        return Ask(_question(state, space, Choice(space.top, "the search starts at the top")))
    chosen = strategy.choose(space)
    if isinstance(chosen, Expansion):
        node = state.tree.id(chosen.position)
        reasons = dict(state.not_expandable)
        if node not in reasons:
            return Expand(node, chosen.levels)
        chosen = None
    if chosen is None:
        first = space.open_calls.lightest_from(space.weight, 0.0)
        assert first is not None, "there is something to ask, or we would not be here"
        chosen = Choice(first, "it is among the calls that are still open")
    return Ask(_question(state, space, chosen))


def _skipped(state: State, position: int) -> bool:
    node = state.tree.id(position)
    return any(answer.node == node for answer in state.facts.answers)


def _question(state: State, space: SearchSpace, choice: Choice) -> Question:
    node = state.tree.id(choice.position)
    equation = state.tree.columns.equation
    weight = float(space.weight[space.top])
    default = next(
        (
            answer
            for answer in state.facts.defaults
            if equation[state.tree.position(answer.node)] == equation[choice.position]
        ),
        None,
    )
    return Question(
        node=node,
        call=state.tree.call(choice.position),
        strategy=state.facts.strategy,
        why=choice.why,
        suspects=space.count() + space.top_is_open,
        weight=weight,
        expected=max(1, questions_left(weight + (not space.top_is_open))),
        default=default,
    )


def _expand(node: int) -> Expand:
    return Expand(node, EXPAND_LEVELS)


def _nothing_left(state: State, space: SearchSpace) -> Outcome:
    """Every call below the top was judged: blame the top, unless something forbids it."""
    reasons = dict(state.not_expandable)
    for position in space.hidden_below_trust():
        node = state.tree.id(int(position))
        if node not in reasons:
            return _expand(node)
    if space.top_is_acquitted:
        reason = "every call was judged right, the top included"
        return Exhausted(Diagnosis(Status.NONE, reason=reason), rest=False)
    top = state.tree.id(space.top)
    if _top_is_trusted(state, space):
        clash = _trust_clash(state, space)
        if clash is not None:
            return Revise(clash.earlier, clash.later, clash.why)
        reason = (
            "all that it called was judged right, and the code of the top itself is trusted; "
            "withdraw that trust, or take back an answer"
        )
        return Exhausted(Diagnosis(Status.UNDETERMINED, candidates=(top,), reason=reason), False)
    asked = _ask_top(state, space)
    if asked is not None:
        return asked
    if space.top_is_open and _skipped(state, space.top) and state.options.confirm_top:
        reason = "all that it called is right, but nobody could say whether it is"
        return Found(Diagnosis(Status.CANDIDATES, candidates=(top,), reason=reason))
    hidden = [state.tree.id(int(position)) for position in space.hidden_below_trust()]
    if hidden:
        return Found(_below_unrecorded(top, reasons[hidden[0]]))
    return Found(_at_fault(state, space, single_rule=False))


def _top_is_trusted(state: State, space: SearchSpace) -> bool:
    function = int(state.tree.columns.function[space.top])
    return function in trusted_functions(state.tree, state.facts.trusts)


def _ask_top(state: State, space: SearchSpace) -> Ask | None:
    """Before the top is blamed, somebody must have said that it is wrong."""
    if not (space.top_is_open and state.options.confirm_top) or _skipped(state, space.top):
        return None
    why = "all that it called is right; if it is wrong, it is at fault"
    return Ask(_question(state, space, Choice(space.top, why)))


# --- diagnoses ---------------------------------------------------------------------------------


def _at_fault(state: State, space: SearchSpace, *, single_rule: bool) -> Diagnosis:
    tree = state.tree
    callees = space.led_to(space.top)
    judged = [(int(p), space.verdict(int(p))) for p in callees[:CALLEES_NAMED]]
    bad_input = tuple(tree.id(p) for p, v in judged if v is Verdict.INADMISSIBLE)
    others = space.same_rule() if single_rule else space.folded_into_top()
    outcome = OutcomeKind(int(tree.columns.outcome[space.top]))
    kind = FaultKind.WRONG_RESULT
    if bad_input:
        kind = FaultKind.BAD_INPUT_PASSED
    elif outcome is OutcomeKind.RAISED:
        kind = FaultKind.RAISED
    elif outcome is OutcomeKind.NOT_TERMINATED:
        kind = FaultKind.DID_NOT_END
    top = tree.id(space.top)
    return Diagnosis(
        status=Status.FOUND,
        node=top,
        kind=kind,
        group=(top, *(tree.id(int(p)) for p in others)) if len(others) else (),
        callees=tuple(tree.id(p) for p, _ in judged),
        bad_input=bad_input,
    )


def _candidates(state: State, space: SearchSpace) -> Diagnosis:
    left = tuple(state.tree.id(int(p)) for p in space.left())
    acquitted = space.top_is_acquitted or _top_is_trusted(state, space)
    top = () if acquitted else (state.tree.id(space.top),)
    return Diagnosis(
        Status.CANDIDATES,
        candidates=top + left,
        reason="nobody could say which",
    )


def _below_unrecorded(node: int, reason: str) -> Diagnosis:
    return Diagnosis(
        Status.UNDETERMINED,
        candidates=(node,),
        reason=f"the fault lies in call {node} or below it, and that was not recorded: {reason}",
    )


def _top_acquitted(state: State, verdict: Verdict) -> Diagnosis:
    said = {
        Verdict.RIGHT: "the top of the tree was judged right, so there is no fault to find in it",
        Verdict.INADMISSIBLE: "the program was given input that it should never get: "
        "the fault lies outside of this tree",
    }
    return Diagnosis(Status.NONE, reason=said[verdict])
