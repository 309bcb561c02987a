"""The engine: one pure step of algorithmic debugging, with three-valued answers.

After Shapiro 1982, Naish 1997 and MacLarty et al. 2005. A call is at fault when it is wrong and
every call that it leads to, looking through trusted ones, is right or inadmissible. With right
answers a call that `step` finds at fault is at fault; what stands in the way of knowing (skipped
questions, calls that were not recorded, trusted code) is said instead.

`apply` takes in an event, `react` (in `reaction.py`) says what is needed next; a session is resumed
by applying its events without reacting to each.
"""

from __future__ import annotations

from dataclasses import replace

from whence.errors import CannotExpand, UsageError
from whence.model.call import locate_mark
from whence.model.symptom import SymptomTime
from whence.model.verdict import Answer, Trust, Verdict
from whence.ports import Tree
from whence.search.registry import find_strategy
from whence.session import events
from whence.session.events import Event, Outcome
from whence.session.reaction import react, react_to_traced
from whence.session.state import Clash, Facts, State, covered_functions, earlier_answers
from whence.tree.shrinking import shrink


def step(state: State, event: Event) -> tuple[State, Outcome]:
    """The state after an event, and what the session needs next."""
    state = apply(state, event)
    return state, react(state)


def expansion(state: State, request: events.Expand) -> Event:
    """The event that answers a request to expand the tree: `Expanded` or `NotExpandable`."""
    try:
        tree = _with_room(state, request.node)
        return events.Expanded(tree.expand(tree.position(request.node), request.levels))
    except CannotExpand as problem:
        return events.NotExpandable(request.node, str(problem))


def _with_room(state: State, node: int) -> Tree:
    """The tree; one that is too large, without what can be recorded again and is not at fault."""
    tree, answers = state.tree, state.facts.answers
    is_marked = any(answer.mark is not None for answer in answers)
    if len(tree.columns) <= state.options.held or is_marked:  # the origin of a mark may be anywhere
        return tree
    needed = state.space().can_matter()
    needed[tree.positions([node, *state.mentioned()])] = True
    return shrink(tree, state.options.held // 2, needed, [answer.node for answer in answers])


# --- taking in events --------------------------------------------------------------------------


def apply(state: State, event: Event) -> State:
    """The state after an event. An event that makes no sense here is a `UsageError`."""
    match event:
        case events.Started():
            return state
        case events.Expanded(tree):
            return state.with_tree(tree)
        case events.NotExpandable(node, reason):
            return replace(state, not_expandable={**state.not_expandable, node: reason})
        case events.MarkTraced(answer):
            return replace(state, traced=state.traced | {answer})
        case events.Answered(answers):
            state = state.with_facts(_next_facts(state, event))
            # Said again, a mark is traced again: a re-run may be allowed by now.
            return replace(state, traced=state.traced.difference(answers))
        case events.Begun():
            return replace(state, past=(), future=())
        case events.Undone():
            if not state.past:
                raise UsageError("there is nothing to undo")
            return state.at(state.past[-1], state.past[:-1], (state.now(), *state.future))
        case events.Redone():
            if not state.future:
                raise UsageError("there is nothing to redo")
            return state.at(state.future[0], (*state.past, state.now()), state.future[1:])
        case _:
            return state.with_facts(_next_facts(state, event))


def _next_facts(state: State, event: Event) -> Facts:
    facts = state.facts
    match event:
        case events.Answered(answers):
            if facts.clash is not None:
                raise UsageError("two answers contradict each other: first say which one holds")
            return _with_answers(state, facts, answers)
        case events.SymptomTimed(last_begun, is_exact):
            state.tree.position(last_begun)  # refuses an unknown id
            return replace(facts, time=SymptomTime(last_begun, is_exact))
        case events.TrustGiven(trust):
            return _with_trust(state, facts, trust)
        case events.TrustWithdrawn(trust):
            if trust not in facts.trusts:
                raise UsageError(f"{trust} is not trusted, so the trust cannot be withdrawn")
            return replace(facts, trusts=tuple(t for t in facts.trusts if t != trust))
        case events.StrategyChosen(name):
            return replace(facts, strategy=find_strategy(name).name)
        case events.SwitchTurned(name, on):
            if name not in facts.switches.__dataclass_fields__:
                names = ", ".join(facts.switches.__dataclass_fields__)
                raise UsageError(f"there is no switch {name!r}; there is {names}")
            facts = replace(facts, switches=replace(facts.switches, **{name: on}))
            if name == "duplicates" and on and facts.clash is None:
                return _check_again(state, facts, facts.answers)
            return facts
        case events.OracleTurned(name, on):
            return _with_oracle(state, facts, name, on)
        case events.Resolved(keep_earlier):
            return _resolve_contradiction(state, facts, keep_earlier)
        case events.Rejected():
            return replace(
                facts,
                answers=(),
                time=None,
                rest=False,
                clash=None,
                defaults=(*facts.answers, *facts.defaults),
                rejected=facts.rejected + 1,
            )
        case events.RestSearched():
            outcome = react_to_traced(state)
            if not (isinstance(outcome, events.Exhausted) and outcome.rest):
                raise UsageError("the rest is searched when the top of the tree was judged right")
            return replace(facts, rest=True)
        case _:
            raise AssertionError(f"no rule for {event}")


def _check_again(state: State, facts: Facts, answers: tuple[Answer, ...]) -> Facts:
    """The facts with these answers alone, each checked again against those before it."""
    return _with_answers(state, replace(facts, answers=()), answers, again=True)


def _with_answers(
    state: State, facts: Facts, answers: tuple[Answer, ...], *, again: bool = False
) -> Facts:
    """The facts with more answers. `again`: they were accepted before, so one that skips a call
    which has been judged meanwhile is dropped instead of refused."""
    for number, answer in enumerate(answers, 1):
        _check_mark(state, answer)
        earlier = earlier_answers(state.tree, facts, answer.node)
        if answer.verdict is Verdict.UNKNOWN:
            if not earlier:
                facts = replace(facts, answers=(*facts.answers, answer))
            elif not again:
                raise UsageError(f"call {answer.node} was judged already; use undo to take it back")
            continue
        opposed = [previous for previous in earlier if previous.verdict is not answer.verdict]
        if opposed:
            why = (
                "the same call"
                if opposed[0].node == answer.node
                else "calls with equal inputs and outcomes"
            )
            return replace(facts, clash=Clash(opposed[0], answer, why, answers[number:]))
        facts = replace(facts, answers=(*facts.answers, answer))
    return facts


def _check_mark(state: State, answer: Answer) -> None:
    """Refuse a mark that addresses nothing."""
    if answer.mark is None:
        return
    if answer.verdict not in (Verdict.WRONG, Verdict.INADMISSIBLE):
        raise UsageError("a part is marked with n (wrong) or i (should never be given)")
    call = state.tree.call(state.tree.position(answer.node))
    locate_mark(call, answer.mark, input_side=answer.verdict is Verdict.INADMISSIBLE)


def _with_trust(state: State, facts: Facts, trust: Trust) -> Facts:
    if trust in facts.trusts:
        raise UsageError(f"{trust} is trusted already")
    if not covered_functions(state.tree, trust):
        raise UsageError(f"nothing in this tree is in {trust}")
    return replace(facts, trusts=(*facts.trusts, trust))


def _with_oracle(state: State, facts: Facts, name: str, on: bool) -> Facts:
    if on is (name not in facts.silenced):
        raise UsageError(f"{name} is {'on' if on else 'off'} already")
    if on:
        return replace(
            facts, silenced=tuple(silenced for silenced in facts.silenced if silenced != name)
        )
    clash = facts.clash
    answers = (*facts.answers, *((clash.later, *clash.waiting) if clash else ()))
    facts = replace(facts, silenced=(*facts.silenced, name), clash=None)
    return _check_again(state, facts, tuple(answer for answer in answers if answer.by != name))


def _resolve_contradiction(state: State, facts: Facts, keep_earlier: bool) -> Facts:
    outcome = react_to_traced(state)
    if not isinstance(outcome, events.Revise):
        raise UsageError("there is no contradiction to resolve")
    waiting = facts.clash.waiting if facts.clash else ()
    facts = replace(facts, clash=None)
    earlier, later = outcome.earlier, outcome.later
    if isinstance(earlier, Trust):
        if keep_earlier:
            return replace(facts, answers=_without(state, facts, later.node))
        return replace(facts, trusts=tuple(t for t in facts.trusts if t != earlier))
    if keep_earlier:
        answers = (*facts.answers, *waiting)
    else:
        answers = (*_without(state, facts, earlier.node), later, *waiting)
    # Check all of them: there may be more contradictions if a switch was turned in between.
    return _check_again(state, facts, answers)


def _without(state: State, facts: Facts, node: int) -> tuple[Answer, ...]:
    gone = earlier_answers(state.tree, facts, node)
    return tuple(answer for answer in facts.answers if answer not in gone)
