"""What a session needs next, given what was said: the rules of three-valued debugging.

A call is at fault when it is wrong and every call that it leads to is right or inadmissible. Before
that is said of a call, all that stands in the way is dealt with, in this order: contradictions;
calls that are not in the tree yet; what can still be asked; skipped questions; trust; and that
somebody must have said that the top is wrong. What cannot be dealt with is named instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from whence.model.call import OutcomeKind
from whence.model.diagnosis import Diagnosis, FaultKind, Status
from whence.model.question import Question
from whence.model.verdict import Trust, Verdict
from whence.ports import Choice, Expansion, Halving, Int64s
from whence.search.registry import find_strategy
from whence.search.space import SearchSpace
from whence.session.events import Ask, Exhausted, Expand, Found, Outcome, Revise, Trace
from whence.session.state import State, covered_functions, earlier_answers, expectations
from whence.tree.readable_call import readable_call

EXPAND_LEVELS = 3
CALLEES_NAMED = 1000
_HEAVY = 10
"""An implicit call of no more weight is asked about before it is expanded."""
_MOST_WEIGHED = 200
"""Among more calls than this, oracles are not asked which of them cannot be at fault."""


def react(state: State) -> Outcome:
    """What the session needs next: an answer, more of the tree, a decision; or the end."""
    if state.facts.clash is None and state.options.trace_marks:
        for answer in state.facts.answers:
            if answer.mark is not None and answer not in state.traced:
                return Trace(answer)
    return react_to_traced(state)


def react_to_traced(state: State) -> Outcome:
    """The same, without asking for marks to be traced."""
    if state.facts.clash is not None:
        clash = state.facts.clash
        return Revise(clash.earlier, clash.later, clash.why)
    space = state.space()
    verdict = space.verdict(space.top)
    if verdict in (Verdict.RIGHT, Verdict.INADMISSIBLE) and not space.top_is_acquitted:
        return Exhausted(_top_acquitted(verdict), rest=True)
    hidden = hidden_origin(state)
    if hidden is not None:
        return Expand(hidden, EXPAND_LEVELS)
    if state.tree.columns.implicit[space.top]:
        return _implicit_top(state, space)
    if _one_rule_is_left(state, space):
        return _ask_top(state, space) or Found(_at_fault(state, space, single_rule=True))
    if space.can_ask():
        return _next_question(state, space)
    return _nothing_to_ask(state, space)


def hidden_origin(state: State) -> int | None:
    """The implicit call to expand for the origin of a marked part, if there is one."""
    for judged in state.space().history:
        below = None if judged.origin is None else judged.origin.below
        if below is not None and below not in state.not_expandable:
            return below
    return None


# --- asking ------------------------------------------------------------------------------------


def _next_question(state: State, space: SearchSpace) -> Outcome:
    strategy = find_strategy(state.facts.strategy)
    ask_top = state.options.ask_top if state.options.ask_top is not None else strategy.asks_top
    if (
        space.top_is_open
        and ask_top
        and not (space.skips(space.top) or space.is_trusted(space.top))
    ):
        return Ask(_question(state, space, Choice(space.top, "the search starts at the top")))
    heavy = _heaviest_hidden(state, space) if isinstance(strategy, Halving) else None
    if heavy is not None:
        return Expand(heavy, EXPAND_LEVELS)
    chosen = strategy.choose(space)
    if isinstance(chosen, Expansion):
        node = state.tree.id(chosen.position)
        if node not in state.not_expandable:
            return Expand(node, chosen.levels)
        chosen = None
    if chosen is None:
        first = space.open_calls.first()
        assert first is not None, "there is something to ask, or we would not be here"
        chosen = Choice(first, "it is among the calls that are still open")
    return Ask(_question(state, space, chosen))


def _heaviest_hidden(state: State, space: SearchSpace) -> int | None:
    """The implicit call that weighs more than half of what is left, if there is one.

    Somewhere below it is a call that splits better; asking about calls at its edge, one expansion
    after the other, would take a question for each.
    """
    below = slice(space.top + 1, space.stop)
    hidden = space.askable(space.top + 1 + np.flatnonzero(space.columns.implicit[below]))
    if not len(hidden):
        return None
    weights = space.weight[hidden]
    heaviest = int(np.argmax(weights))
    node = state.tree.id(int(hidden[heaviest]))
    is_heavy = weights[heaviest] > max(_HEAVY, space.weight[space.top] / 2)
    return node if is_heavy and node not in state.not_expandable else None


def _ask_top(state: State, space: SearchSpace) -> Ask | None:
    """The question about the top, if nobody has called it wrong: it is not blamed before that."""
    needed = space.top_is_open and state.options.confirm_top
    if not needed or space.skips(space.top) > 1 or space.is_trusted(space.top):
        return None
    why = "all that it called is right; if it is wrong, it is at fault"
    return Ask(_question(state, space, Choice(space.top, why)))


def _question(state: State, space: SearchSpace, choice: Choice) -> Question:
    tree, equation = state.tree, state.tree.columns.equation
    weight = float(space.weight[space.top])
    default = next(
        (
            answer
            for answer in state.facts.defaults
            if answer.verdict is not Verdict.UNKNOWN
            and equation[tree.position(answer.node)] == equation[choice.position]
        ),
        None,
    )
    call, problem = readable_call(tree, choice.position)
    return Question(
        node=tree.id(choice.position),
        call=call,
        strategy=state.facts.strategy,
        why=choice.why,
        suspects=space.count() + space.top_is_open,
        weight=weight,
        expected=max(1, questions_left(weight + (not space.top_is_open))),
        default=default,
        function=choice.function,
        may_widen=space.is_sliced and not space.slice_explains_top,
        problem=problem,
    )


def questions_left(weight: float) -> int:
    """About how many questions a search by halves still needs: the logarithm, rounded up."""
    return max(0, int(-(-weight // 1)) - 1).bit_length()


def _one_rule_is_left(state: State, space: SearchSpace) -> bool:
    """Whether the single-rule stop applies. Calls that are not in the tree may have any rule."""
    return (
        state.facts.switches.single_rule
        and not space.top_is_acquitted
        and not space.is_trusted(space.top)
        and not (space.top_is_open and space.skips(space.top))
        and space.suspects_left()
        and space.single_rule()
    )


# --- when nothing is left to ask ---------------------------------------------------------------


def _implicit_top(state: State, space: SearchSpace) -> Outcome:
    """Expand an implicit top, once asking about it leads no further."""
    node = state.tree.id(space.top)
    is_gone = node in state.not_expandable
    # A person who could not judge the top may be able to judge its callees, if available.
    if not space.skips(space.top) or is_gone:
        asked = _ask_top(state, space)
        if asked is not None:
            return asked
    if not is_gone:
        return Expand(node, EXPAND_LEVELS)
    return _below_unrecorded(state, space, space.top)


def _nothing_to_ask(state: State, space: SearchSpace) -> Outcome:
    """Expand what is not in the tree yet, then say how far the answers lead."""
    hidden = space.unseen()
    for position in hidden:
        node = state.tree.id(int(position))
        if node not in state.not_expandable:
            return Expand(node, EXPAND_LEVELS)
    if space.suspects_left():
        return Found(_candidates(state, hidden))
    if space.top_is_acquitted:
        return Exhausted(_all_right(state, hidden), rest=False)
    asked = _ask_top(state, space)
    if asked is not None:
        return asked
    if len(hidden):
        return _below_unrecorded(state, space, int(hidden[0]))
    if space.is_trusted(space.top):
        return _trusted_top(state, space)
    if space.top_is_open and state.options.confirm_top:
        reason = "all that it called is right, but nobody could say whether it is"
        nodes = _ids(state, np.append(space.top, space.folded_into_top()))
        return Found(Diagnosis(Status.CANDIDATES, candidates=nodes, reason=reason))
    return Found(_at_fault(state, space, single_rule=False))


def _below_unrecorded(state: State, space: SearchSpace, hidden: int) -> Outcome:
    """Only the top's own code and what lies below an unrecorded call is left."""
    why = state.not_expandable[state.tree.id(hidden)]
    top = state.tree.id(space.top)
    if space.top_is_acquitted:
        reason = f"the calls below call {state.tree.id(hidden)} were not recorded: {why}"
    elif space.top_is_open:
        reason = f"nobody said that call {top} is wrong, and what it led to was not recorded: {why}"
    else:
        reason = f"the fault lies in call {top} or below it, and that was not recorded: {why}"
    diagnosis = Diagnosis(Status.UNDETERMINED, candidates=(top,), reason=reason)
    known_wrong = not (space.top_is_acquitted or space.top_is_open)
    return Found(diagnosis) if known_wrong else Exhausted(diagnosis, rest=False)


def _trusted_top(state: State, space: SearchSpace) -> Outcome:
    """A trusted call is wrong although all that it called is right: both cannot hold."""
    top = state.tree.id(space.top)
    trust = _trust_of(state, space.top)
    answer = next(iter(earlier_answers(state.tree, state.facts, top)), None)
    if trust is not None and answer is not None:
        why = "a trusted call is wrong although all that it called is right"
        # An answer about an equal call holds for this one, and this one is meant.
        return Revise(trust, replace(answer, node=top), why)
    cure = "withdraw that trust" if trust is not None else "trust it less in the tree file"
    reason = (
        "nothing that it called can be at fault any more, and its own code is trusted; "
        f"{cure}, or take back an answer"
    )
    return Exhausted(Diagnosis(Status.UNDETERMINED, candidates=(top,), reason=reason), rest=False)


def _trust_of(state: State, position: int) -> Trust | None:
    function = int(state.tree.columns.function[position])
    for trust in state.facts.trusts:
        if function in covered_functions(state.tree, trust):
            return trust
    return None


# --- diagnoses ---------------------------------------------------------------------------------


def _at_fault(state: State, space: SearchSpace, *, single_rule: bool) -> Diagnosis:
    tree = state.tree
    callees = space.led_to(space.top)
    bad_input = np.intersect1d(callees, space.judged(Verdict.INADMISSIBLE))
    others = space.same_rule() if single_rule else space.folded_into_top()
    kind = FaultKind.BAD_INPUT_PASSED if len(bad_input) else _kind(state, space.top)
    top = tree.id(space.top)
    return Diagnosis(
        status=Status.FOUND,
        node=top,
        kind=kind,
        group=(top, *_ids(state, others)) if len(others) else (),
        callees=_ids(state, callees[:CALLEES_NAMED]),
        bad_input=_ids(state, bad_input),
        within_slice=space.is_sliced,
    )


_KINDS = {
    OutcomeKind.RAISED: FaultKind.RAISED,
    OutcomeKind.NOT_TERMINATED: FaultKind.DID_NOT_END,
    OutcomeKind.FAILED: FaultKind.MISSING_ANSWER,
}


def _kind(state: State, position: int) -> FaultKind:
    outcome = OutcomeKind(int(state.tree.columns.outcome[position]))
    kind = _KINDS.get(outcome, FaultKind.WRONG_RESULT)
    answers = (
        expectations(state, state.tree.id(position)) if outcome is OutcomeKind.RETURNED else []
    )
    return FaultKind.DID_NOT_RAISE if any(answer.expects_exception for answer in answers) else kind


def narrow_diagnosis(
    state: State,
    diagnosis: Diagnosis,
    acquitted: Callable[[int], str | None],
    doubted: Callable[[int], str | None],
    limited: Callable[[Sequence[int]], str | None] = lambda nodes: None,
) -> Diagnosis:
    """A diagnosis without the calls that cannot be at fault, whatever was said of them.

    The fault is in one of the candidates. If only one of them can be at fault, it is; if all that
    can are calls of one function, that function is. `acquitted` and `doubted` tell why a call
    cannot be at fault, and why it may not be although no other call is left; `limited`, why one of
    some calls has to be.
    """
    if diagnosis.group:
        return _narrow_group(diagnosis, acquitted, doubted)
    is_found = diagnosis.status is Status.FOUND and diagnosis.node is not None
    nodes = (diagnosis.node,) if is_found else diagnosis.candidates
    reasons = {node: acquitted(node) for node in nodes if node is not None}
    left = tuple(node for node, reason in reasons.items() if reason is None)
    if is_found and left:
        reasons = {node: doubted(node) for node in left}
        left = tuple(node for node, reason in reasons.items() if reason is None)
    if is_found and len(left) == len(nodes):
        return diagnosis
    if len(left) == len(nodes) and (left and limited(left)) is None:
        return diagnosis
    if not left:
        called = "all that it called is right, but " if is_found else ""
        why = called + "; ".join(dict.fromkeys(filter(None, reasons.values())))
        return Diagnosis(Status.UNDETERMINED, candidates=tuple(reasons), reason=why)
    columns = state.tree.columns
    positions = [state.tree.position(node) for node in left]
    one_function = len({int(columns.function[position]) for position in positions}) == 1
    is_sure = diagnosis.status is Status.CANDIDATES and one_function
    if not is_sure or any(doubted(node) for node in left):
        return replace(diagnosis, candidates=left)
    return Diagnosis(
        Status.FOUND,
        node=left[0],
        kind=_kind(state, positions[0]),
        group=left if len(left) > 1 else (),
        reason=limited(left)
        or "every other call that is left cannot be at fault: "
        + "; ".join(dict.fromkeys(filter(None, reasons.values()))),
    )


def _narrow_group(
    diagnosis: Diagnosis,
    acquitted: Callable[[int], str | None],
    doubted: Callable[[int], str | None],
) -> Diagnosis:
    """One of a group is at fault, so none may be in doubt, and not all of them acquitted."""
    reasons = [acquitted(node) for node in diagnosis.group]
    left = [node for node, why in zip(diagnosis.group, reasons, strict=True) if why is None]
    doubts = (doubted(node) for node in left)
    doubt = next((why for why in doubts if why is not None), None)
    if left and doubt is None:
        return diagnosis
    why = doubt or "; ".join(dict.fromkeys(filter(None, reasons)))
    reason = f"all that they called is right, but {why}"
    return Diagnosis(Status.UNDETERMINED, candidates=diagnosis.group, reason=reason)


def only_suspect(
    state: State,
    acquitted: Callable[[int], str | None],
    doubted: Callable[[int], str | None],
    limited: Callable[[Sequence[int]], str | None] = lambda nodes: None,
) -> Diagnosis | None:
    """The call at fault, if no other call that is left can be: then no question is needed."""
    space = state.space()
    nodes = left_to_blame(state, _MOST_WEIGHED + 1)
    if space.top_is_open or len(nodes) > _MOST_WEIGHED or len(space.unseen()):
        return None
    candidates = Diagnosis(Status.CANDIDATES, candidates=nodes)
    diagnosis = narrow_diagnosis(state, candidates, acquitted, doubted, limited)
    is_one = diagnosis.status is Status.FOUND and not diagnosis.group
    return diagnosis if is_one else None


def left_to_blame(state: State, most: int | None = None) -> tuple[int, ...]:
    """The ids of the calls that can be at fault now, at most the first `most` of them."""
    space = state.space()
    below = space.left(most)
    if space.top_is_acquitted or space.is_trusted(space.top):
        return _ids(state, below)
    return (state.tree.id(space.top), *_ids(state, below))


def count_left(state: State) -> int:
    """How many calls can be at fault now."""
    space = state.space()
    top_is_out = space.top_is_acquitted or space.is_trusted(space.top)
    return space.count_left() + (0 if top_is_out else 1)


def _candidates(state: State, hidden: Int64s) -> Diagnosis:
    reason = "nobody could say which"
    if len(hidden):
        reason += "; calls below one of them were not recorded, and it may lie there too"
    return Diagnosis(Status.CANDIDATES, candidates=left_to_blame(state), reason=reason)


def _all_right(state: State, hidden: Int64s) -> Diagnosis:
    if not len(hidden):
        return Diagnosis(Status.NONE, reason="every call was judged right, the top included")
    nodes = _ids(state, hidden)
    reason = "every call that was recorded is right, but calls below some were not recorded"
    return Diagnosis(Status.UNDETERMINED, candidates=nodes, reason=reason)


def _top_acquitted(verdict: Verdict | None) -> Diagnosis:
    if verdict is Verdict.RIGHT:
        reason = "the top of the tree was judged right, so there is no fault to find in it"
    else:
        reason = (
            "the program was given input that it should never get: "
            "the fault lies outside of this tree"
        )
    return Diagnosis(Status.NONE, reason=reason)


def _ids(state: State, positions: Int64s) -> tuple[int, ...]:
    return tuple(state.tree.id(int(position)) for position in positions)
