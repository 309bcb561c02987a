"""Sums that are kept from question to question equal sums computed afresh, and choose the same."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.model.call import Mark
from whence.model.origin import Influence, Origin
from whence.model.verdict import Verdict
from whence.ports import Floats, Judged
from whence.search.kept_sums import KeptSums
from whence.search.space import REMOVED, SearchSpace, Switches
from whence.session.state import Facts, State
from whence.testing.answerer import run
from whence.testing.meanings import any_meaning, one_fault
from whence.testing.trees import random_parents, tree_from_parents

SEEDS = st.integers(0, 2**32)
KINDS = [Verdict.RIGHT, Verdict.WRONG, Verdict.INADMISSIBLE]


def any_tree(seed: random.Random, most: int) -> Any:
    """A tree of any shape, whose calls may have equal equations."""
    count = seed.randint(1, most)
    parents = random_parents(seed, count, seed.choice(["random", "deep", "wide", "binary"]))
    rules = [seed.randrange(max(1, count // 3)) for _ in range(count)]
    equations = [rule + count * seed.randrange(4) for rule in rules]
    weights = [seed.choice([0, 1, 1, 2, 5]) for _ in range(count)] if seed.random() < 0.5 else None
    return tree_from_parents(parents, rules, weights, equations)


class AnyFactors:
    """Likelihoods that have no short binary fractions; some are tiny."""

    def __init__(self, seed: int, smallest: float = 1e-3) -> None:
        self.seed, self.smallest = seed, smallest

    def factors(self, tree: Any) -> Floats:
        numbers = np.random.default_rng(self.seed)
        likely = numbers.random(len(tree.columns))
        return np.where(numbers.random(len(likely)) < 0.3, likely * self.smallest, likely)


@pytest.mark.parametrize(("few", "walk"), [(0, 512), (64, 512), (64, 0)])
@given(seed=SEEDS, switches=st.builds(Switches, duplicates=st.booleans(), slicing=st.booleans()))
def test_after_any_answers_the_kept_sums_are_those_computed_afresh(
    few: int, walk: int, seed: int, switches: Switches
) -> None:
    numbers = random.Random(seed)
    tree = any_tree(numbers, 60)
    own = tree.columns.own * AnyFactors(seed, 1e-9).factors(tree)
    meaning = any_meaning(tree, numbers, KINDS)
    trusted = [1] if len(tree.functions) > 1 and numbers.random() < 0.3 else []
    space = SearchSpace(tree, switches, trusted, rest=numbers.random() < 0.3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whence.search.space._FEW", few)
        patch.setattr("whence.search.space._WALK", walk)
        for _ in range(numbers.randrange(1, 12)):
            _check_kept(space, own)
            position = numbers.randrange(len(tree.columns))
            verdict = Verdict.UNKNOWN if numbers.random() < 0.1 else meaning.verdicts[position]
            origin = influence = None
            if numbers.random() < 0.1:
                origin = Origin(None)
                inside = {p for p in range(len(tree.columns)) if numbers.random() < 0.6}
                influence = Influence(frozenset(inside), complete=False)
            space.apply(Judged(position, verdict, origin, influence))
        _check_kept(space, own)


def _check_kept(space: SearchSpace, own: Floats) -> None:
    weight, _ = space.kept_sums("likelihood", lambda: own)
    kept = space._kept
    assert kept is not None
    left = space.top + np.flatnonzero(space.flags[space.top : space.stop] & REMOVED == 0)
    inside = np.zeros(len(own))
    inside[left] = own[left]
    assert np.array_equal(weight[left], space.sums(kept._rounded(inside))[left])
    plain = space.sums(inside)
    slack = 1e-9 * max(plain[space.top], 1e-300)
    assert np.allclose(weight[left], plain[left], rtol=0, atol=slack)


@given(seed=SEEDS, many=st.integers(1, 2000), largest=st.sampled_from([1e-300, 1e-9, 1.0, 1e300]))
def test_nothing_is_left_of_a_sum_when_all_its_calls_are_gone(
    seed: int, many: int, largest: float
) -> None:
    own = np.random.default_rng(seed).random(many + 1) ** 9 * largest / many
    end = np.arange(1, many + 2, dtype=np.int32)
    end[0] = many + 1
    kept = KeptSums(None, own, end)
    kept.sum_up(0, np.ones(many + 1, dtype=bool))
    for position in range(1, many + 1):
        kept.weight[0] -= kept.weight[position]
    kept.remove_own(0)
    assert kept.weight[0] == 0.0


def test_the_weight_is_computed_once_while_its_key_stays_the_same() -> None:
    tree = tree_from_parents([-1, 0, 1, 1, 0, 4, 4])
    space = SearchSpace(tree, Switches(), (), rest=False)
    computed = []

    def own() -> Floats:
        computed.append(1)
        return np.full(7, 0.3)

    space.kept_sums("a", own)
    for position, verdict in ((0, Verdict.WRONG), (5, Verdict.RIGHT), (1, Verdict.WRONG)):
        space.apply(Judged(position, verdict))
        space.kept_sums("a", own)
    assert len(computed) == 1
    space.kept_sums("b", own)
    assert len(computed) == 2


def test_when_little_is_left_tiny_likelihoods_differ_again() -> None:
    tree = tree_from_parents([-1, 0, 0, 2, 2])
    own = np.array([1.0, 1e9, 1.0, 1e-9, 3e-9])
    space = SearchSpace(tree, Switches(), (), rest=False)
    space.apply(Judged(0, Verdict.WRONG))
    weight, _ = space.kept_sums(None, lambda: own)
    assert weight[3] == weight[4], "rounded up to one and the same number"
    space.apply(Judged(2, Verdict.WRONG))
    weight, _ = space.kept_sums(None, lambda: own)
    assert weight[4] == pytest.approx(3 * weight[3])


class SeededOrigins:
    """Origins that depend on nothing but a seed and on what is marked."""

    def __init__(self, tree: Any, fault: int, seed: int) -> None:
        self.tree, self.fault, self.seed = tree, fault, seed

    def origin(self, node: int, part: Any) -> Origin:
        numbers = random.Random(f"{self.seed} {node}")
        chain = numbers.sample(range(len(self.tree.columns)), min(3, len(self.tree.columns)))
        chain = [call for call in chain if call != node] or [0]
        return Origin(chain[0] if numbers.random() < 0.5 else None, tuple(chain))

    def influence(self, node: int, part: Any) -> Influence | None:
        numbers = random.Random(f"{self.seed} influence {node}")
        if numbers.random() < 0.3:
            return None
        end = self.tree.columns.end
        inside = {p for p in range(len(end)) if numbers.random() < 0.7}
        inside |= {p for p in range(self.fault + 1) if end[p] > self.fault}
        return Influence(frozenset(inside), numbers.random() < 0.5)

    def with_tree(self, tree: Any) -> SeededOrigins:
        return self


def _asked(tree: Any, fault: int, seed: int) -> list[int]:
    """What `auto` asks in a session with marks, skipped questions and learned likelihoods."""
    numbers = random.Random(seed)
    meaning = one_fault(tree, fault)

    def judge(question: Any) -> Any:
        answer, chance = meaning(question), numbers.random()
        if chance < 0.1:
            return replace(answer, verdict=Verdict.UNKNOWN)
        if chance < 0.3:
            root = "result" if answer.verdict is Verdict.WRONG else "x"
            verdict = Verdict.WRONG if root == "result" else Verdict.INADMISSIBLE
            return replace(answer, verdict=verdict, mark=Mark(root))
        return answer

    prior = AnyFactors(seed) if numbers.random() < 0.7 else None
    provenance: Any = SeededOrigins(tree, fault, seed)
    state = State(tree, provenance, prior=prior, facts=Facts(strategy="auto"))
    return run(state, judge).nodes()


def _summed_afresh(
    space: SearchSpace, key: Hashable, own: Callable[[], Floats]
) -> tuple[Floats, Floats]:
    return space.sums(own()), own()


@given(seed=SEEDS)
def test_the_questions_are_those_of_sums_computed_afresh(seed: int) -> None:
    numbers = random.Random(seed)
    tree = any_tree(numbers, 120)
    fault = numbers.randrange(len(tree.columns))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whence.search.auto.WEIGHED", 0)
        kept = _asked(tree, fault, seed)
        patch.setattr(SearchSpace, "kept_sums", _summed_afresh)
        assert kept == _asked(tree, fault, seed)
