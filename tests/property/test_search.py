"""Laws of the search: any tree, any faulty call, every strategy, every switch."""

from __future__ import annotations

import random
from dataclasses import replace
from math import ceil, log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.model.call import Mark
from whence.model.diagnosis import Status
from whence.model.origin import Influence, Origin
from whence.model.symptom import SYMPTOM, SymptomTime
from whence.model.verdict import Answer, Trust, TrustScope, Verdict
from whence.ports import Judged
from whence.search.registry import STRATEGIES
from whence.search.space import REMOVED, SearchSpace, Switches
from whence.session.engine import expansion, step
from whence.session.events import (
    Answered,
    Ask,
    Expand,
    Found,
    NotExpandable,
    Redone,
    Revise,
    Started,
    StrategyChosen,
    SwitchTurned,
    Undone,
)
from whence.session.reaction import count_left, left_to_blame
from whence.session.state import Facts, Options, State, trusted_functions
from whence.testing.answerer import run
from whence.testing.meanings import Meaning, any_meaning, one_fault
from whence.testing.trees import partly_implicit, random_parents, tree_from_parents

SWITCHES = st.builds(
    Switches,
    duplicates=st.booleans(),
    compression=st.booleans(),
    single_rule=st.booleans(),
    slicing=st.booleans(),
    presumption=st.booleans(),
)


@st.composite
def trees(draw: Any, most: int = 40, repeated: bool = False) -> Any:
    """A tree of any shape; `repeated`: calls may have equal rules and equal equations."""
    count = draw(st.integers(1, most))
    shape = draw(st.sampled_from(["random", "deep", "wide", "binary"]))
    seed = random.Random(draw(st.integers(0, 2**32)))
    parents = random_parents(seed, count, shape)
    rules = [seed.randrange(max(1, count // 3)) for _ in range(count)]
    weights = [seed.choice([0, 1, 1, 2, 5]) for _ in range(count)] if draw(st.booleans()) else None
    equations = [rule + count * seed.randrange(3) for rule in rules] if repeated else None
    return tree_from_parents(parents, rules, weights, equations)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(tree=trees(), switches=SWITCHES, data=st.data())
def test_every_strategy_names_the_faulty_call(
    strategy: str, tree: Any, switches: Switches, data: Any
) -> None:
    fault = data.draw(st.integers(0, len(tree.columns) - 1))
    went = run(
        State(tree, facts=Facts(strategy=strategy, switches=switches)), one_fault(tree, fault)
    )
    found = went.outcome
    assert isinstance(found, Found) and found.diagnosis.status is Status.FOUND
    if found.diagnosis.group:
        # Compression and the single-rule stop promise the rule, and a group with the call in it.
        assert switches.compression or switches.single_rule
        assert fault in found.diagnosis.group
        assert tree.columns.rule[found.diagnosis.node] == tree.columns.rule[fault]
    else:
        assert found.diagnosis.node == fault
    assert len(set(went.nodes())) == len(went.nodes()), "a call was asked about twice"


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(
    tree=trees(), data=st.data(), levels=st.integers(0, 3), error=st.sampled_from([0.5, 1, 3]),
    held=st.sampled_from([1, 1000]),
)  # fmt: skip
def test_every_strategy_names_the_faulty_call_of_an_implicit_tree(
    strategy: str, tree: Any, data: Any, levels: int, error: float, held: int
) -> None:
    fault = data.draw(st.integers(0, len(tree.columns) - 1))
    hidden = partly_implicit(tree, levels, misjudge=lambda _, weight: weight * error)
    state = State(hidden, options=Options(held=held), facts=Facts(strategy=strategy))
    went = run(state, one_fault(tree, fault))
    assert isinstance(went.outcome, Found)
    assert went.diagnosis.node == fault


class AnyPrior:
    """Says anything of any call, also that it cannot be at fault."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def factors(self, tree: Any) -> Any:
        numbers = np.random.default_rng(self.seed)
        return numbers.choice([0.0, 1e-9, 0.1, 0.5, 1.0, 7.0], len(tree.columns))


@given(
    tree=trees(), switches=SWITCHES, levels=st.integers(0, 4), seed=st.integers(0, 99),
    data=st.data(),
)  # fmt: skip
def test_whatever_is_said_beforehand_the_faulty_call_is_found(
    tree: Any, switches: Switches, levels: int, seed: int, data: Any
) -> None:
    fault = data.draw(st.integers(0, len(tree.columns) - 1))
    switches = replace(switches, compression=False, single_rule=False)
    facts = Facts(strategy="auto", switches=switches)
    hidden = partly_implicit(tree, levels)
    went = run(State(hidden, prior=AnyPrior(seed), facts=facts), one_fault(tree, fault))
    assert isinstance(went.outcome, Found)
    assert went.diagnosis.node == fault
    assert len(set(went.nodes())) == len(went.nodes()), "a call was asked about twice"


class AnyPresumption:
    """Presumes that any calls are right."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def presumed(self, tree: Any) -> Any:
        numbers = np.random.default_rng(self.seed)
        return numbers.integers(0, 3, len(tree.columns), dtype=np.uint8)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(tree=trees(), switches=SWITCHES, seed=st.integers(0, 99), data=st.data())
def test_whatever_is_presumed_right_the_faulty_call_is_found(
    strategy: str, tree: Any, switches: Switches, seed: int, data: Any
) -> None:
    fault = data.draw(st.integers(0, len(tree.columns) - 1))
    switches = replace(switches, compression=False, single_rule=False)
    facts = Facts(strategy=strategy, switches=switches)
    went = run(State(tree, presumption=AnyPresumption(seed), facts=facts), one_fault(tree, fault))
    assert isinstance(went.outcome, Found)
    assert went.diagnosis.node == fault
    assert len(set(went.nodes())) == len(went.nodes()), "a call was asked about twice"


class Preorder:
    """Calls began in the order in which they stand in the whole tree, where ids are positions."""

    def began_later(self, tree: Any, last_begun: int) -> Any:
        later = [tree.id(position) > last_begun for position in range(len(tree.columns))]
        return np.array(later, dtype=bool)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(
    tree=trees(), switches=SWITCHES, levels=st.integers(0, 4), last=st.integers(0, 40),
    is_exact=st.booleans(), data=st.data(),
)  # fmt: skip
def test_whatever_began_later_the_faulty_call_is_found(
    strategy: str,
    tree: Any,
    switches: Switches,
    levels: int,
    last: int,
    is_exact: bool,
    data: Any,
) -> None:
    count = len(tree.columns)
    # If it is certain when what is wrong had happened, the fault began before.
    fault = data.draw(st.integers(0, min(last, count - 1) if is_exact else count - 1))
    switches = replace(switches, compression=False, single_rule=False)
    symptom = (Answer(0, Verdict.WRONG, by=SYMPTOM),)
    facts = Facts(symptom, strategy=strategy, switches=switches, time=SymptomTime(last, is_exact))
    hidden = partly_implicit(tree, levels)
    went = run(State(hidden, chronology=Preorder(), facts=facts), one_fault(tree, fault))
    assert isinstance(went.outcome, Found)
    assert went.diagnosis.node == fault
    assert len(set(went.nodes())) == len(went.nodes()), "a call was asked about twice"
    later = [node for node in went.nodes() if node > last]
    if is_exact and switches.slicing:
        in_fault = [node for node in later if node < tree.columns.end[fault]]
        assert later == (in_fault if fault else []), "it was too late to be the cause"
    if switches.slicing and later and not went.expanded:
        first = went.nodes().index(later[0])
        assert all(node > last for node in went.nodes()[first:]), "what began later comes last"


@given(tree=trees(), last=st.integers(0, 40), is_exact=st.booleans(), data=st.data())
def test_at_any_moment_the_fault_is_among_the_calls_that_are_left(
    tree: Any, last: int, is_exact: bool, data: Any
) -> None:
    count = len(tree.columns)
    fault = data.draw(st.integers(0, min(last, count - 1) if is_exact else count - 1))
    symptom = (Answer(0, Verdict.WRONG, by=SYMPTOM),)
    facts = Facts(symptom, time=SymptomTime(last, is_exact))
    state, outcome = step(State(tree, chronology=Preorder(), facts=facts), Started())
    meaning = one_fault(tree, fault)
    while isinstance(outcome, Ask):
        left = left_to_blame(state)
        assert fault in left
        assert len(left) == count_left(state)
        state, outcome = step(state, Answered((meaning(outcome.question),)))


def test_what_is_likely_beforehand_is_asked_about_first() -> None:
    tree = tree_from_parents([-1, *[0] * 40])

    class OneIsLikely:
        def factors(self, tree: Any) -> Any:
            return np.where(np.arange(len(tree.columns)) == 37, 1.0, 0.01)

    meaning = one_fault(tree, 37)
    assert run(State(tree, prior=OneIsLikely()), meaning).nodes()[0] == 37
    assert run(State(tree), meaning).nodes()[0] != 37


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(tree=trees(repeated=True), switches=SWITCHES, seed=st.randoms(), trust=st.integers(0, 3))
def test_no_strategy_blames_a_call_that_is_not_at_fault(
    strategy: str, tree: Any, switches: Switches, seed: random.Random, trust: int
) -> None:
    switches = replace(switches, duplicates=True)
    kinds = [Verdict.RIGHT, Verdict.WRONG, Verdict.INADMISSIBLE]
    meaning = any_meaning(tree, seed, kinds)
    names = [function.name for function in tree.functions[1:]]
    trusts = tuple(
        Trust(TrustScope.FUNCTION, name) for name in seed.sample(names, min(trust, len(names)))
    )
    facts = Facts(strategy=strategy, switches=switches, trusts=trusts)
    went = run(State(tree, facts=facts), meaning)
    numbers = trusted_functions(tree, trusts)
    if isinstance(went.outcome, Revise):
        assert int(tree.columns.function[went.outcome.later.node]) in numbers
        return
    diagnosis = went.diagnosis
    if diagnosis.status is Status.FOUND:
        assert diagnosis.node is not None
        group = diagnosis.group or (diagnosis.node,)
        if not diagnosis.group:
            assert meaning.is_at_fault(tree, diagnosis.node, numbers)
            assert all(meaning.verdicts[n] is Verdict.INADMISSIBLE for n in diagnosis.bad_input)
        else:
            # A chain of wrong calls of the group ends in one whose other callees are right.
            assert any(_is_at_fault_but_for(tree, meaning, n, numbers, set(group)) for n in group)
        assert meaning.verdicts[diagnosis.node] is Verdict.WRONG
        assert len({int(tree.columns.rule[n]) for n in group}) == 1
    else:
        assert int(tree.columns.function[0]) in numbers, (
            "only a trusted top may leave the fault undetermined"
        )


def _is_at_fault_but_for(
    tree: Any, meaning: Meaning, node: int, trusted: set[int], group: set[int]
) -> bool:
    """Whether a call is wrong and all that it leads to, looking through the group, is right."""
    columns, inner = tree.columns, node + 1
    if meaning.verdicts[node] is not Verdict.WRONG:
        return False
    while inner < columns.end[node]:
        through = inner in group or int(columns.function[inner]) in trusted
        if not through and meaning.verdicts[inner] is Verdict.WRONG:
            return False
        inner = inner + 1 if through else int(columns.end[inner])
    return True


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(tree=trees(most=20), seed=st.randoms(), data=st.data())
def test_open_questions_leave_candidates_that_hold_the_fault(
    strategy: str, tree: Any, seed: random.Random, data: Any
) -> None:
    fault = data.draw(st.integers(0, len(tree.columns) - 1))
    meaning = one_fault(tree, fault)
    unknown = {p for p in range(len(tree.columns)) if seed.random() < 0.4}

    def judge(question: Any) -> Any:
        answer = meaning(question)
        return replace(answer, verdict=Verdict.UNKNOWN) if question.node in unknown else answer

    went = run(State(tree, facts=Facts(strategy=strategy)), judge)
    diagnosis = went.diagnosis
    if diagnosis.status is Status.FOUND:
        assert diagnosis.node == fault
    else:
        assert diagnosis.status is Status.CANDIDATES
        assert fault in diagnosis.candidates
        assert went.state is not None
        assert set(diagnosis.candidates) <= unknown | {fault, went.state.space().top}
    counts = {node: went.nodes().count(node) for node in went.nodes()}
    assert all(count <= 1 + (node in unknown) for node, count in counts.items())


@given(tree=trees(), seed=st.randoms(), data=st.data())
def test_any_interleaving_of_answers_strategies_switches_and_undo_stays_sound(
    tree: Any, seed: random.Random, data: Any
) -> None:
    fault = data.draw(st.integers(0, len(tree.columns) - 1))
    meaning = one_fault(tree, fault)
    state, outcome = step(State(tree), Started())
    for _ in range(300):
        if isinstance(outcome, Found) and seed.random() < 0.7:
            break
        act = seed.random()
        if act < 0.2:
            event: Any = StrategyChosen(seed.choice(list(STRATEGIES)))
        elif act < 0.25:
            event = SwitchTurned("duplicates", seed.random() < 0.5)
        elif act < 0.4 and state.past:
            event = Undone()
        elif act < 0.5 and state.future:
            event = Redone()
        elif act < 0.55:
            # Without a question: a person may judge any call of a listing.
            anywhere = seed.randrange(len(tree.columns))
            event = Answered((Answer(anywhere, meaning.verdicts[anywhere]),))
        elif isinstance(outcome, Ask):
            event = Answered((meaning(outcome.question),))
        else:
            continue
        state, outcome = step(state, event)
    while isinstance(outcome, Ask):
        state, outcome = step(state, Answered((meaning(outcome.question),)))
    assert isinstance(outcome, Found)
    assert outcome.diagnosis.node == fault


@pytest.mark.parametrize("few", [0, 64])
@given(tree=trees(repeated=True), seed=st.randoms(), switches=SWITCHES, uniform=st.booleans())
def test_a_space_advanced_step_by_step_equals_one_recomputed(
    few: int, tree: Any, seed: random.Random, switches: Switches, uniform: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whence.search.space._FEW", few)
        patch.setattr("whence.search.judged_calls._BLOCK", 4)
        _check_advanced_space(_equally_heavy(tree) if uniform else tree, seed, switches)


def _equally_heavy(tree: Any) -> Any:
    """The tree with all own weights 1, which take the memory of one."""
    count = len(tree.columns)
    own = np.broadcast_to(np.float64(1), (count,))
    weight = (tree.columns.end - np.arange(count)).astype(float)
    return replace(tree, columns=replace(tree.columns, own=own, weight=weight))


def _check_advanced_space(tree: Any, seed: random.Random, switches: Switches) -> None:
    meaning = any_meaning(tree, seed, [Verdict.RIGHT, Verdict.WRONG, Verdict.INADMISSIBLE])
    space = SearchSpace(tree, switches, (), rest=False)
    for _ in range(seed.randrange(8)):
        position = seed.randrange(len(tree.columns))
        space.apply(Judged(position, meaning.verdicts[position]))
    top, flags = space.top, space.flags.copy()
    weights = space.weight[space.top : space.stop].copy()
    space._reset()
    assert space.top == top
    area = slice(top, space.stop)
    assert np.array_equal(space.flags[area] & REMOVED, flags[area] & REMOVED)
    left = flags[area] & REMOVED == 0  # nobody looks at what was removed
    assert np.array_equal(space.flags[area][left], flags[area][left])
    assert np.allclose(space.weight[area][left], weights[left])


@given(tree=trees(), data=st.data())
def test_optimal_division_keeps_the_logarithmic_bound(tree: Any, data: Any) -> None:
    count = len(tree.columns)
    tree = replace(
        tree,
        columns=replace(
            tree.columns,
            own=np.ones(count),
            weight=(tree.columns.end - np.arange(count)).astype(float),
        ),
    )
    fault = data.draw(st.integers(0, count - 1))
    branching = int(np.bincount(tree.columns.parent[1:], minlength=1).max()) if count > 1 else 1
    meaning = one_fault(tree, fault)
    known = (Answer(0, meaning.verdicts[0]),)
    facts = Facts(strategy="optimal-divide-and-query", answers=known)
    went = run(State(tree, facts=facts), meaning)
    assert len(went.asked) <= branching * ceil(log2(count + 1))
    if branching == 1:
        assert len(went.asked) <= ceil(log2(count))


@given(tree=trees(), levels=st.integers(1, 3), error=st.floats(0.2, 4))
def test_expanding_everything_gives_back_the_whole_tree(
    tree: Any, levels: int, error: float
) -> None:
    grown: Any = partly_implicit(tree, levels, misjudge=lambda _, weight: weight * error)
    while grown.columns.implicit.any():
        grown = grown.expand(int(np.flatnonzero(grown.columns.implicit)[0]), levels)
    for column in ("parent", "end", "function", "rule", "depth", "own", "weight", "equation"):
        assert np.array_equal(getattr(grown.columns, column), getattr(tree.columns, column))
    assert [grown.id(p) for p in range(len(tree.columns))] == list(range(len(tree.columns)))


@given(tree=trees(), data=st.data())
def test_what_cannot_be_expanded_is_said_and_never_blamed(tree: Any, data: Any) -> None:
    fault = data.draw(st.integers(0, len(tree.columns) - 1))
    hidden = partly_implicit(tree, 1)
    meaning = one_fault(tree, fault)
    state, outcome = step(State(hidden), Started())
    while not isinstance(outcome, Found):
        if isinstance(outcome, Expand):
            state, outcome = step(state, NotExpandable(outcome.node, "nothing was kept"))
        else:
            assert isinstance(outcome, Ask)
            state, outcome = step(state, Answered((meaning(outcome.question),)))
    if outcome.diagnosis.status is Status.FOUND:
        assert outcome.diagnosis.node == fault
    else:
        assert outcome.diagnosis.status is Status.UNDETERMINED
        (candidate,) = outcome.diagnosis.candidates
        assert candidate <= fault < tree.columns.end[candidate]


def test_expansion_is_what_a_loop_does() -> None:
    tree = tree_from_parents([-1, 0, 1, 2])
    hidden = partly_implicit(tree, 1)
    event = expansion(State(hidden), Expand(1, 2))
    assert len(event.tree.columns) == 4  # type: ignore[union-attr]


class RandomOrigins:
    """Origins at random. What it says of influences is true: the fault influenced what is wrong."""

    def __init__(self, tree: Any, fault: int, seed: random.Random) -> None:
        self.tree, self.fault, self.seed = tree, fault, seed

    def origin(self, node: int, part: Any) -> Origin:
        count = len(self.tree.columns)
        if self.seed.random() < 0.2:
            return Origin(None, unknown="nobody knows")
        chain = self.seed.sample(range(count), self.seed.randint(1, min(4, count)))
        chain = [each for each in chain if each != node] or [0]
        passed = frozenset(each for each in chain if self.seed.random() < 0.3)
        return Origin(chain[0], tuple(chain), passed)

    def influence(self, node: int, part: Any) -> Influence | None:
        if self.seed.random() < 0.2:
            return None
        inside = {p for p in range(len(self.tree.columns)) if self.seed.random() < 0.5}
        complete = self.seed.random() < 0.5
        if complete:
            inside |= {p for p in range(self.fault + 1) if self.tree.columns.end[p] > self.fault}
        return Influence(frozenset(inside), complete)

    def with_tree(self, tree: Any) -> RandomOrigins:
        return self


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(tree=trees(most=25), seed=st.randoms(use_true_random=False), data=st.data())
def test_marks_never_lose_the_fault(
    strategy: str, tree: Any, seed: random.Random, data: Any
) -> None:
    fault = data.draw(st.integers(0, len(tree.columns) - 1))
    meaning = one_fault(tree, fault)

    skips = seed.choice([0.0, 0.3])

    def judge(question: Any) -> Answer:
        answer = meaning(question)
        if seed.random() < skips:
            return replace(answer, verdict=Verdict.UNKNOWN)
        if seed.random() < 0.5:
            return answer
        root = "result" if answer.verdict is Verdict.WRONG else "x"
        verdict = Verdict.WRONG if root == "result" else Verdict.INADMISSIBLE
        return replace(answer, verdict=verdict, mark=Mark(root))

    provenance: Any = RandomOrigins(tree, fault, seed)
    went = run(State(tree, provenance, facts=Facts(strategy=strategy)), judge)
    assert isinstance(went.outcome, Found)
    diagnosis = went.diagnosis
    if diagnosis.status is Status.FOUND:
        assert diagnosis.node == fault
    else:
        assert skips
        assert fault in diagnosis.candidates
