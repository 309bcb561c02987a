"""Any event in any state: an outcome or a `WhenceError`, the same one on replay, no wrong blame.

Trees have repeated rules and equations, trusted code and calls that are implicit, some of which
are not available; marks have origins and influences at random. In between the person lies, skips,
undoes and sends what makes no sense; in the end the lies are rejected, the truth is told, and what
is blamed has to be at fault.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from whence.errors import CannotExpand, UsageError, WhenceError
from whence.model.call import Mark, MarkedPart
from whence.model.diagnosis import Diagnosis, Status
from whence.model.origin import Influence, Origin
from whence.model.verdict import Answer, Trust, TrustScope, Verdict
from whence.ports import Tree
from whence.report.text import lines
from whence.search.registry import STRATEGIES
from whence.search.space import ASIDE, FOLDED, JUDGED, REMOVED, TRUSTED, SearchSpace, Switches
from whence.session.engine import apply, expansion, step
from whence.session.events import (
    Answered,
    Ask,
    Event,
    Exhausted,
    Expand,
    Expanded,
    Found,
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
from whence.session.log_entries import InsideCall, LogEntry, decode, encode
from whence.session.reaction import react
from whence.session.state import Options, SpaceCache, State, trusted_functions
from whence.testing.meanings import Meaning
from whence.testing.trees import HidingCalls, partly_implicit, random_parents, tree_from_parents
from whence.tree.build import subtree_sums
from whence.tree.column_tree import ColumnTree

FINE = (Verdict.RIGHT, Verdict.INADMISSIBLE)
DEFINITE = (Verdict.RIGHT, Verdict.WRONG, Verdict.INADMISSIBLE)
MARKS = {Verdict.WRONG: Mark("result"), Verdict.INADMISSIBLE: Mark("x")}
NUMBERS = st.integers(0, 2**32)


@dataclass(frozen=True)
class ForgetfulCalls(HidingCalls):
    """Has a whole tree, and shows some of it when asked; what is below some calls is gone."""

    gone: frozenset[int] = frozenset()

    def expand(self, detail: int, levels: int) -> ColumnTree:
        """The levels below a call."""
        if detail in self.gone:
            raise CannotExpand("nothing was kept")
        return super().expand(detail, levels)


@dataclass(frozen=True)
class RandomProvenance:
    """Origins and influences at random, the same for the same question about the same tree.

    A complete influence holds the callers of what it holds: else what is in it and below an
    implicit call outside could not be found.
    """

    tree: Tree
    seed: int

    def origin(self, node: int, part: MarkedPart) -> Origin:
        numbers, nodes = self._known("origin", node, part)
        if numbers.random() < 0.3:
            return Origin(None, unknown="nobody knows")
        chain = numbers.sample(nodes, numbers.randint(1, min(4, len(nodes))))
        chain = [each for each in chain if each != node] or nodes[:1]
        return Origin(chain[0], tuple(chain), frozenset(chain[1::2]))

    def influence(self, node: int, part: MarkedPart) -> Influence | None:
        numbers, nodes = self._known("influence", node, part)
        if numbers.random() < 0.2:
            return None
        inside = [each for each in nodes if numbers.random() < 0.4]
        complete = numbers.random() < 0.5
        if complete:
            inside += [caller for each in inside for caller in callers(self.tree, each)]
        return Influence(frozenset(inside), complete)

    def with_tree(self, tree: Tree) -> RandomProvenance:
        return replace(self, tree=tree)

    def _known(self, what: str, node: int, part: MarkedPart) -> tuple[random.Random, list[int]]:
        numbers = random.Random(f"{self.seed} {what} {node} {part.mark} {part.is_input}")
        return numbers, [self.tree.id(p) for p in range(len(self.tree.columns))]


def callers(tree: Tree, node: int) -> list[int]:
    """The ids of a call's callers."""
    found = []
    position = int(tree.columns.parent[tree.position(node)])
    while position >= 0:
        found.append(tree.id(position))
        position = int(tree.columns.parent[position])
    return found


def made_up(numbers: random.Random) -> ColumnTree:
    """A small tree with repeated rules and equations, some of its code trusted by the tracer."""
    count = numbers.randint(1, 14)
    parents = random_parents(numbers, count, numbers.choice(["random", "deep", "wide", "binary"]))
    kinds = max(1, count // numbers.choice([1, 2, 4]))
    rules = [numbers.randrange(kinds) for _ in range(count)]
    weights = [numbers.choice([0, 1, 1, 3]) for _ in range(count)]
    copies = numbers.choice([2, 100])
    equations = [kind + count * numbers.randrange(copies) for kind in rules]
    tree = tree_from_parents(parents, rules, weights, equations)
    trusting = numbers.choice([0.0, 0.2])
    functions = [replace(f, trusted=numbers.random() < trusting) for f in tree.functions]
    return replace(tree, functions=functions)


class AnySession(RuleBasedStateMachine):
    """A session, the whole tree, and what an all-knowing person would say of every call."""

    @initialize(
        number=NUMBERS,
        hidden=st.booleans(),
        strategy=st.sampled_from(list(STRATEGIES)),
        switches=st.sets(st.sampled_from(["compression", "single_rule", "duplicates"])),
        held=st.sampled_from([3, 1000]),
    )
    def begin(
        self, number: int, hidden: bool, strategy: str, switches: set[str], held: int
    ) -> None:
        numbers = random.Random(number)
        self.whole = tree = made_up(numbers)
        by_equation = {int(e): numbers.choice(DEFINITE) for e in tree.columns.equation}
        by_equation[int(tree.columns.equation[0])] = numbers.choice(
            [Verdict.WRONG, Verdict.WRONG, *DEFINITE]
        )
        equations = tree.columns.equation.tolist()
        self.truth = Meaning({n: by_equation[e] for n, e in enumerate(equations)})
        if hidden:
            gone = frozenset(p for p in range(len(tree.columns)) if numbers.random() < 0.3)
            source = ForgetfulCalls(tree, lambda _, weight: weight, gone=gone)
            tree = partly_implicit(tree, numbers.randint(0, 2), source=source)
        self.first = State(tree, RandomProvenance(tree, number), Options(held=held))
        self.entries: list[LogEntry] = []
        self.state, self.outcome = step(self.first, Started())
        self.settle()
        self.send(StrategyChosen(strategy))
        for name in switches:
            self.send(SwitchTurned(name, name != "duplicates"))

    # --- events in place -----------------------------------------------------------------------

    @precondition(lambda self: isinstance(self.outcome, Ask))
    @rule(said=st.sampled_from(["the truth", "a mark", "nothing"]))
    def answer(self, said: str) -> None:
        assert isinstance(self.outcome, Ask)
        node = self.outcome.question.node
        verdict = self.truth.verdicts[node] if said != "nothing" else Verdict.UNKNOWN
        mark = MARKS.get(verdict) if said == "a mark" else None
        self.send(Answered((Answer(node, verdict, mark),)))

    @precondition(lambda self: isinstance(self.outcome, Revise))
    @rule(keep_earlier=st.booleans())
    def resolve(self, keep_earlier: bool) -> None:
        self.send(Resolved(keep_earlier))

    # --- events anywhere -----------------------------------------------------------------------

    @rule(numbers=st.lists(NUMBERS, min_size=1, max_size=3), marked=st.booleans())
    def judge_any_calls(self, numbers: list[int], marked: bool) -> None:
        nodes = [self.some_node(number) for number in numbers]
        verdicts = [self.truth.verdicts[node] for node in nodes]
        marks = [MARKS.get(verdict) if marked else None for verdict in verdicts]
        self.send(Answered(tuple(map(Answer, nodes, verdicts, marks))))

    @rule(
        numbers=st.lists(NUMBERS, min_size=1, max_size=3),
        verdict=st.sampled_from(Verdict),
        mark=st.sampled_from([None, None, Mark("x"), Mark("result"), Mark("nothing")]),
    )
    def say_anything(self, numbers: list[int], verdict: Verdict, mark: Mark | None) -> None:
        self.send(Answered(tuple(Answer(self.some_node(n), verdict, mark) for n in numbers)))

    @rule(
        number=NUMBERS,
        scope=st.sampled_from([TrustScope.FUNCTION, TrustScope.FUNCTION, TrustScope.MODULE]),
    )
    def trust_or_distrust(self, number: int, scope: TrustScope) -> None:
        function = self.whole.functions[number % len(self.whole.functions)]
        trust = Trust(scope, function.name if scope is TrustScope.FUNCTION else function.module)
        trusted = trust in self.state.facts.trusts
        self.send(TrustWithdrawn(trust) if trusted else TrustGiven(trust))

    @rule(name=st.sampled_from(list(Switches.__dataclass_fields__)), on=st.booleans())
    def turn_a_switch(self, name: str, on: bool) -> None:
        self.send(SwitchTurned(name, on))

    @rule(name=st.sampled_from(list(STRATEGIES)))
    def choose_a_strategy(self, name: str) -> None:
        self.send(StrategyChosen(name))

    @rule(event=st.sampled_from([Undone(), Undone(), Redone()]))
    def go_back_or_forth(self, event: Event) -> None:
        self.send(event)

    @rule(event=st.sampled_from([Resolved(True), Resolved(False), Rejected(), RestSearched()]))
    def send_what_may_make_no_sense(self, event: Event) -> None:
        self.send(event)

    @rule(number=NUMBERS)
    def expand_some_call(self, number: int) -> None:
        implicit = np.flatnonzero(self.state.tree.columns.implicit).tolist()
        if implicit:
            self.expand(Expand(self.state.tree.id(implicit[number % len(implicit)]), 1))
            self.settle()

    # --- what has to hold after each of them ---------------------------------------------------

    def send(self, event: Event) -> None:
        before, shown = self.state, self.outcome
        try:
            self.state, self.outcome = step(before, event)
        except WhenceError:
            assert react(before) == shown, "a refused event leaves no trace"
            return
        self.entries.append(event)
        self.settle()
        if not isinstance(event, Undone | Redone):
            assert react(apply(self.state, Undone())) == shown, "undo restores the question"
        self.check()

    def settle(self) -> None:
        while isinstance(self.outcome, Expand):
            self.expand(self.outcome)

    def expand(self, request: Expand) -> None:
        event = expansion(self.state, request)
        self.state, self.outcome = step(self.state, event)
        if isinstance(event, Expanded):
            self.entries.append(request)

    def check(self) -> None:
        anew = replace(self.state, cache=SpaceCache())
        assert react(anew) == self.outcome, "no result depends on the cache"
        assert self.replayed() == self.outcome, "a replayed session goes on with the same question"
        if self.state.facts.clash is None:
            check_weights(self.state.space())
            self.check_consistency()
        if isinstance(self.outcome, Ask):
            self.check_question(self.outcome.question.node)
        elif isinstance(self.outcome, Found | Exhausted):
            assert lines(self.state, self.outcome.diagnosis)

    def replayed(self) -> Outcome:
        state = replace(self.first, cache=SpaceCache())
        for entry in self.entries:
            same = decode(json.loads(json.dumps(encode(entry))))
            assert same == entry, "a log gives back what was written"
            assert not isinstance(same, InsideCall)
            state = apply(state, expansion(state, same) if isinstance(same, Expand) else same)
        outcome = react(state)
        while isinstance(outcome, Expand):
            state, outcome = step(state, expansion(state, outcome))
        return outcome

    def check_consistency(self) -> None:
        facts, equation = self.state.facts, self.whole.columns.equation
        said: dict[int, Verdict] = {}
        for answer in facts.answers:
            key = int(equation[answer.node]) if facts.switches.duplicates else answer.node
            if answer.verdict is not Verdict.UNKNOWN:
                assert said.setdefault(key, answer.verdict) is answer.verdict, "a contradiction"

    def check_question(self, node: int) -> None:
        space = self.state.space()
        position = self.state.tree.position(node)
        said = [a.verdict for a in self.state.facts.answers if a.node == node]
        assert all(verdict is Verdict.UNKNOWN for verdict in said), "no call is judged twice"
        assert len(said) <= 1, "no call is asked about more than twice"
        assert space.verdict(position) is None, "an equal call was not judged either"
        if position != space.top:
            assert space.top < position < space.stop, "only what is left is asked about"
            assert node not in self.trusted(), "trusted code is not asked about"

    # --- the end -------------------------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "outcome"):
            return
        for _ in self.entries:
            if self.state.facts.clash is not None:
                self.send(Resolved(keep_earlier=False))
        assert self.state.facts.clash is None, "contradictions can be resolved"
        if any(self.is_lie(answer) for answer in self.state.facts.answers):
            self.send(Rejected())
        for turn in range(200):
            if isinstance(self.outcome, Ask):
                self.answer("the truth")
            elif isinstance(self.outcome, Revise):
                assert isinstance(self.outcome.earlier, Trust), "the truth contradicts only trust"
                self.check_blame(self.state.tree.id(self.state.space().top), ())
                self.send(Resolved(keep_earlier=turn % 3 == 0))
            elif not (isinstance(self.outcome, Exhausted) and self.outcome.rest):
                break
            else:
                self.check_diagnosis(self.outcome.diagnosis)
                self.send(RestSearched())
        assert isinstance(self.outcome, Found | Exhausted), "the truth leads to an end"
        self.check_diagnosis(self.outcome.diagnosis)

    def check_diagnosis(self, diagnosis: Diagnosis) -> None:
        truth = self.truth.verdicts
        if diagnosis.status is Status.FOUND:
            assert diagnosis.node is not None
            self.check_blame(diagnosis.node, diagnosis.group)
            through = self.looked_through(diagnosis.node) | set(diagnosis.group)
            led_to = self.led_to(diagnosis.node, through - {diagnosis.node})
            bad = {node for node in led_to if truth[node] is Verdict.INADMISSIBLE}
            assert bad <= set(diagnosis.bad_input) or diagnosis.group, "bad input is told"
            assert all(truth[node] is Verdict.INADMISSIBLE for node in diagnosis.bad_input)
        elif diagnosis.status is Status.CANDIDATES:
            top = self.state.tree.id(self.state.space().top)
            if truth[top] is Verdict.WRONG and top not in self.trusted():
                assert any(map(self.holds_fault, diagnosis.candidates)), "the fault is not lost"
        elif diagnosis.status is Status.UNDETERMINED and isinstance(self.outcome, Found):
            ends = self.whole.columns.end
            below = [n for node in diagnosis.candidates for n in range(node, int(ends[node]))]
            assert any(map(self.holds_fault, below)), "the fault lies where it is said to lie"
        elif diagnosis.status is Status.NONE:
            assert truth[0] in FINE
            if isinstance(self.outcome, Exhausted) and not self.outcome.rest:
                assert all(truth[node] in FINE for node in self.led_to(0, self.looked_through(0)))

    def check_blame(self, node: int, group: tuple[int, ...]) -> None:
        rules = {int(self.whole.columns.rule[each]) for each in group}
        assert len(rules) <= 1, "a group has one rule"
        assert self.truth.verdicts[node] is Verdict.WRONG, "what is blamed is wrong"
        through = self.looked_through(node)
        assert self.is_at_fault(node, through | set(group)) or any(
            self.is_at_fault(each, self.looked_through(each)) for each in group
        ), "what it leads to is right"

    def holds_fault(self, node: int) -> bool:
        """Whether a call is at fault, or one that is hidden below it."""
        stop = int(self.whole.columns.end[node]) if self.is_implicit(node) else node + 1
        inside = range(node, stop)
        return any(self.is_at_fault(each, self.looked_through(each)) for each in inside)

    def is_implicit(self, node: int) -> bool:
        tree = self.state.tree
        try:
            return bool(tree.columns.implicit[tree.position(node)])
        except UsageError:
            return False

    def is_at_fault(self, node: int, through: set[int]) -> bool:
        wrong = self.truth.verdicts[node] is Verdict.WRONG
        led_to = self.led_to(node, through - {node})
        return wrong and all(self.truth.verdicts[each] in FINE for each in led_to)

    def led_to(self, node: int, through: set[int]) -> list[int]:
        columns, found, inner = self.whole.columns, [], node + 1
        while inner < columns.end[node]:
            if inner not in through:
                found.append(inner)
            inner = inner + 1 if inner in through else int(columns.end[inner])
        return found

    def looked_through(self, node: int) -> set[int]:
        """Trusted calls, and those outside a complete slice of a part that was marked here."""
        through = {each for each in self.trusted() if not self.was_judged(each)}
        for judged in self.state.space().history:
            marked = self.state.tree.id(judged.position) == node
            marked = marked and self.state.facts.switches.slicing
            if marked and judged.influence is not None and judged.influence.complete:
                through |= set(range(len(self.whole.columns))) - judged.influence.nodes
        return through

    def trusted(self) -> set[int]:
        numbers = trusted_functions(self.whole, self.state.facts.trusts)
        functions = self.whole.columns.function
        return {p for p in range(len(functions)) if functions[p] in numbers}

    def was_judged(self, node: int) -> bool:
        facts, equation = self.state.facts, self.whole.columns.equation
        said = {a.node for a in facts.answers if a.verdict is not Verdict.UNKNOWN}
        if facts.switches.duplicates:
            return int(equation[node]) in {int(equation[each]) for each in said}
        return node in said

    def is_lie(self, answer: Answer) -> bool:
        return answer.verdict not in (Verdict.UNKNOWN, self.truth.verdicts[answer.node])

    def some_node(self, number: int) -> int:
        return self.state.tree.id(number % len(self.state.tree.columns))


def check_weights(space: SearchSpace) -> None:
    """A weight is the sum of the own weights of the suspects in a subtree."""
    area = slice(space.top, space.stop)
    counted = space.flags[area] & (REMOVED | JUDGED | TRUSTED | FOLDED | ASIDE) == 0
    own = np.where(counted, space.columns.own[area], 0.0)
    sums = subtree_sums(own, space.columns.end[area] - space.top)
    left = space.flags[area] & REMOVED == 0
    assert np.allclose(space.weight[area][left], sums[left]), "weights count suspects"


AnySession.TestCase.settings = settings(
    max_examples=settings().max_examples // 2, stateful_step_count=20, deadline=None
)
# Shrinking a session that fails takes minutes on a busy machine.
TestAnySession = pytest.mark.timeout(900)(AnySession.TestCase)
