"""The state of a session: the facts that hold, and those that held before.

A `State` never changes; every event gives another one. `Facts` are all that the answers amount to,
so undo goes back to earlier facts, and a session can be replayed from its events. The search space
that the facts imply is large, so it is kept beside the state and advanced when the facts have only
grown (`SpaceCache`): a cache on which no result depends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from whence.model.call import RAISED, RESULT, Function, OutcomeKind, locate_mark
from whence.model.symptom import SYMPTOM, SymptomTime
from whence.model.value import Kind
from whence.model.verdict import Answer, Trust, TrustScope, Verdict
from whence.ports import CallGraph, Chronology, Judged, Presumption, Prior, Provenance, Tree
from whence.search.registry import DEFAULT
from whence.search.space import LaterCalls, SearchSpace, Switches

DEFAULT_SWITCHES = Switches()

_OUTCOMES = (RESULT, RAISED)


@dataclass(frozen=True, slots=True)
class Clash:
    """Two statements that cannot both hold. `waiting` answers were given together with the later
    one."""

    earlier: Answer | Trust
    later: Answer
    why: str
    waiting: tuple[Answer, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that was said and still holds."""

    answers: tuple[Answer, ...] = ()
    time: SymptomTime | None = None
    """When what is wrong had happened, if that is known."""
    trusts: tuple[Trust, ...] = ()
    strategy: str = DEFAULT
    switches: Switches = DEFAULT_SWITCHES
    silenced: tuple[str, ...] = ()
    """The names of the oracles that are turned off."""
    rest: bool = False
    defaults: tuple[Answer, ...] = ()
    rejected: int = 0
    clash: Clash | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """How a session treats its top and its tree.

    `ask_top`: whether the top is asked about; None leaves it to the strategy. `confirm_top`: the
    top is not blamed before somebody has said that it is wrong.
    """

    ask_top: bool | None = None
    confirm_top: bool = True
    trace_marks: bool = False
    """Whether the loop must trace each mark before the search goes on."""
    held: int = 1_000_000
    """A tree with more calls than this drops what is not needed and can be materialized again."""


class SpaceCache:
    """The last search space that was computed, and what it was computed from."""

    def __init__(self) -> None:
        self._key: object = None
        self._answers: tuple[Answer, ...] = ()
        self._space: SearchSpace | None = None
        self._origins: dict[Answer, Judged] = {}

    def space(self, state: State) -> SearchSpace:
        """The space for a state: the cached one with new answers applied, or a new one."""
        facts = state.facts
        key = (id(state.tree), facts.trusts, facts.switches, facts.rest, facts.time)
        applied = len(self._answers)
        # Removed while it changes: if an answer cannot be applied, no half-changed space is kept.
        space, self._space = self._space, None
        if space is None or key != self._key or facts.answers[:applied] != self._answers:
            if key != self._key:
                self._origins.clear()
            space = SearchSpace(
                state.tree,
                facts.switches,
                trusted_functions(state.tree, facts.trusts),
                rest=facts.rest,
                prior=None if state.prior is None else state.prior.factors(state.tree),
                presumed=None
                if state.presumption is None
                else state.presumption.presumed(state.tree),
                later=_later(state),
                graph=state.graph,
            )
            applied = 0
        for answer in facts.answers[applied:]:
            space.apply(self._judge(state, answer))
        self._space, self._key, self._answers = space, key, facts.answers
        return space

    def _judge(self, state: State, answer: Answer) -> Judged:
        position = state.tree.position(answer.node)
        is_symptom = answer.by == SYMPTOM
        if answer.mark is None or state.provenance is None:
            return Judged(position, answer.verdict, is_symptom=is_symptom)
        if answer not in self._origins:
            call = state.tree.call(position)
            inadmissible = answer.verdict is Verdict.INADMISSIBLE
            part = locate_mark(call, answer.mark, input_side=inadmissible)
            origin = state.provenance.origin(answer.node, part)
            influence = state.provenance.influence(answer.node, part)
            # An exception lacks nothing: it should not have been raised.
            is_raised = call.outcome.kind is OutcomeKind.RAISED and answer.mark.root in _OUTCOMES
            holds_others = part.value.kind is not Kind.ATOM and not is_raised
            judged = Judged(position, answer.verdict, origin, influence, holds_others, is_symptom)
            if origin.node is None and influence is None:
                return judged  # the provenance may know more later
            self._origins[answer] = judged
        return self._origins[answer]


def _later(state: State) -> LaterCalls | None:
    """The calls that began too late to have caused what is wrong."""
    time = state.facts.time
    if time is None or state.chronology is None:
        return None
    return LaterCalls(state.chronology.began_later(state.tree, time.last_begun), time.is_exact)


@dataclass(frozen=True, slots=True)
class Moment:
    """What undo goes back to, the tree included, because a larger one might lead to another
    question.

    Without a tree: that one was too large to keep, and the current one replaces it. It has all
    calls that were mentioned.
    """

    facts: Facts
    tree: Tree | None
    provenance: Provenance | None


@dataclass(frozen=True)
class State:
    """A session at one moment. It never changes."""

    tree: Tree
    provenance: Provenance | None = None
    options: Options = field(default_factory=Options)
    facts: Facts = field(default_factory=Facts)
    past: tuple[Moment, ...] = ()
    future: tuple[Moment, ...] = ()
    not_expandable: Mapping[int, str] = field(default_factory=dict)
    """Calls whose callees are not available, and why."""
    traced: frozenset[Answer] = frozenset()
    """The answers whose marks were traced or given up."""
    prior: Prior | None = None
    presumption: Presumption | None = None
    chronology: Chronology | None = None
    graph: CallGraph | None = None
    cache: SpaceCache = field(default_factory=SpaceCache, compare=False, repr=False)

    def with_facts(self, facts: Facts) -> State:
        """The state in which these facts hold, one undo away from this one."""
        return replace(self, facts=facts, past=(*self.past, self.now()), future=())

    def now(self) -> Moment:
        """What undo comes back to later."""
        return Moment(self.facts, self.tree, self.provenance)

    def at(self, moment: Moment, past: tuple[Moment, ...], future: tuple[Moment, ...]) -> State:
        """The state at another moment, with the moments before and after it."""
        return replace(
            self,
            facts=moment.facts,
            tree=self.tree if moment.tree is None else moment.tree,
            provenance=self.provenance if moment.tree is None else moment.provenance,
            past=past,
            future=future,
        )

    def with_tree(self, tree: Tree) -> State:
        """The state with an expanded tree. Trees of earlier moments are dropped if they are too
        large."""
        provenance, held = self.provenance, {id(tree): len(tree.columns)}
        past = list(self.past)
        for index in range(len(past) - 2, -1, -1):  # the last one is always kept
            before = past[index].tree
            if before is not None:
                held[id(before)] = len(before.columns)
                if sum(held.values()) > 3 * self.options.held:
                    past[index] = replace(past[index], tree=None, provenance=None)
        return replace(
            self, tree=tree, provenance=provenance and provenance.with_tree(tree), past=tuple(past)
        )

    def mentioned(self) -> set[int]:
        """The ids of all calls that were mentioned, here or where undo or redo leads."""
        nodes: set[int] = set()
        for facts in (self.facts, *(moment.facts for moment in (*self.past, *self.future))):
            nodes.update(answer.node for answer in (*facts.answers, *facts.defaults))
            if facts.clash is not None:
                statements = (facts.clash.earlier, facts.clash.later, *facts.clash.waiting)
                nodes.update(
                    statement.node for statement in statements if isinstance(statement, Answer)
                )
        return nodes

    def space(self) -> SearchSpace:
        """The search space that the facts imply."""
        return self.cache.space(self)


def covered_functions(tree: Tree, trust: Trust) -> list[int]:
    """The numbers of the functions that a trust is about."""

    def covered(function: Function) -> bool:
        if trust.scope is TrustScope.FUNCTION:
            return function.name == trust.name
        if trust.scope is TrustScope.MODULE:
            return function.module == trust.name
        return function.location is not None and function.location.file == trust.name

    return [number for number, function in enumerate(tree.functions) if covered(function)]


def trusted_functions(tree: Tree, trusts: Sequence[Trust]) -> set[int]:
    """The numbers of the functions that the tracer or the person trusts."""
    by_tracer = {n for n, function in enumerate(tree.functions) if function.trusted}
    return by_tracer.union(*(covered_functions(tree, trust) for trust in trusts))


def expectations(state: State, node: int) -> list[Answer]:
    """The answers that say what this call, or one with an equal equation, should have returned."""
    answers = earlier_answers(state.tree, state.facts, node)
    return [answer for answer in answers if answer.expected is not None]


def earlier_answers(tree: Tree, facts: Facts, node: int) -> list[Answer]:
    """The definite answers about this call or one with an equal equation."""
    tree.position(node)  # refuses an unknown id
    definite = [answer for answer in facts.answers if answer.verdict is not Verdict.UNKNOWN]
    if not facts.switches.duplicates:
        return [answer for answer in definite if answer.node == node]
    equations = tree.columns.equation[tree.positions([node, *(answer.node for answer in definite)])]
    equal = np.flatnonzero(equations[1:] == equations[0])
    return [definite[index] for index in equal.tolist()]
