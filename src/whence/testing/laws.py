"""The laws of the ports: what anything that plugs into whence has to keep.

Each function raises `AssertionError` with the place where a law is broken, so that the author of a
recorder, a strategy or a provenance can run it over what they made.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np

from whence.errors import CannotExpand
from whence.model.call import Mark, MarkedPart, find_mark, roots
from whence.model.replay_settings import ReplayMode, ReplaySettings
from whence.ports import (
    Choice,
    ClosableOracle,
    Frontend,
    Identify,
    Judged,
    Opened,
    OracleSet,
    Provenance,
    RunSymptoms,
    Strategy,
    Tree,
)
from whence.search.space import SearchSpace, Switches
from whence.testing.meanings import one_fault
from whence.testing.trees import random_parents, tree_from_parents
from whence.tree.build import subtree_sums

_CALLS_READ = 200
_PARTS_TRIED = 50


def check_tree(tree: Tree) -> None:
    """A tree is in preorder, its weights add up, and every id leads back to its position."""
    columns, count = tree.columns, len(tree.columns)
    assert count > 0, "a tree has a root"
    assert columns.parent[0] == -1, "the root stands first and has no parent"
    assert columns.depth[0] == 0, "the root has depth 0"
    inner = np.arange(1, count)
    parents = columns.parent[1:]
    assert (parents >= 0).all(), "there is one root"
    assert (parents < inner).all(), "a caller stands before its callees"
    assert (columns.end[parents] >= columns.end[1:]).all(), "a subtree lies in its caller's"
    assert (columns.end > np.arange(count)).all(), "a subtree holds its own call"
    assert columns.end[0] == count, "the root's subtree is the whole tree"
    assert (columns.depth[1:] == columns.depth[parents] + 1).all(), "depths count callers"
    assert (columns.end[parents] > inner).all(), "a call lies in its parent's subtree"
    assert np.isfinite(columns.own).all(), "own weights are numbers"
    assert (columns.own >= 0).all(), "own weights are not negative"
    sums = subtree_sums(columns.own, columns.end)
    assert np.allclose(columns.weight, sums), "a weight is the sum of the own weights below"
    assert columns.function.max() < len(tree.functions), "every function is in the table"
    assert columns.rule.max() < len(tree.rules), "every rule is in the table"
    below_implicit = columns.implicit[parents] != 0
    assert not below_implicit.any(), "an implicit call has no callees in the tree"
    for position in _some(count):
        assert tree.position(tree.id(position)) == position, "an id leads back to its position"
        call = tree.call(position)
        assert call.function == tree.functions[int(columns.function[position])]
        assert call.outcome.kind == columns.outcome[position], "the outcome column tells the kind"


def check_expansion(tree: Tree, levels: int = 2) -> None:
    """Expanding an implicit call keeps every other call, its id and its place in the order."""
    for position in np.flatnonzero(tree.columns.implicit)[:20].tolist():
        try:
            grown = tree.expand(position, levels)
        except CannotExpand:
            continue
        check_tree(grown)
        before = [tree.id(p) for p in range(len(tree.columns))]
        old = set(before)
        after = [grown.id(p) for p in range(len(grown.columns))]
        assert [node for node in after if node in old] == before, "no call moves or is lost"
        expanded = grown.position(tree.id(position))
        assert not grown.columns.implicit[expanded], "an expanded call is explicit"
        new = [p for p, node in enumerate(after) if node not in old]
        inside = [expanded < p < grown.columns.end[expanded] for p in new]
        assert all(inside), "all that is new lies below the expanded call"


def check_frontend(frontend: Frontend, path: Path) -> Opened:
    """What a front end opens keeps the laws of every port that it offers. Runs no program."""
    opened = frontend.open(path)
    assert frontend.name, "a front end has a name"
    check_tree(opened.tree)
    if opened.replay is not None:
        opened.replay.configure(ReplaySettings(ReplayMode.OFF))
    if opened.provenance is not None:
        check_provenance(opened.tree, opened.provenance)
    if opened.oracles is not None:
        _check_oracles(opened.oracles.gather(None))
    if opened.identify is not None:
        _check_identity(opened.tree, opened.identify(path.parent))
    if opened.symptoms is not None:
        _check_symptoms(opened.tree, opened.symptoms)
    if opened.call_graph is not None:
        functions = opened.tree.functions
        for function in functions:
            callees = opened.call_graph.callees(function, functions)
            in_table = callees is None or all(0 <= callee < len(functions) for callee in callees)
            assert in_table, "a callee is a function of the tree"
    if opened.replay is not None:
        opened.replay.close()
        opened.replay.close()  # ends nothing twice
    return opened


def _check_oracles(oracles: OracleSet) -> None:
    every = [*oracles.first, *oracles.last]
    names = [oracle.name for oracle in every]
    assert len(set(names)) == len(names), "every oracle has a name of its own"
    for oracle in every:
        if isinstance(oracle, ClosableOracle):
            oracle.close()


def _check_identity(tree: Tree, identify: Identify) -> None:
    for position in _some(len(tree.columns)):
        node, call = tree.id(position), tree.call(position)
        equation = identify(node, call)
        assert equation, "a call that is not the same in every run has a reason"
        assert identify(node, call) == equation, "a call is always known by the same equation"


def _check_symptoms(tree: Tree, symptoms: RunSymptoms) -> None:
    summary = symptoms.summary()
    assert 0 <= summary.top < len(tree.columns), "a symptom is about a call of the tree"
    assert summary.ending, "a run has an ending"
    if summary.default is not None:
        answers, _ = symptoms.first_answers(summary.default)
        assert answers, "the most likely symptom says something about a call"
        for answer in answers:
            tree.position(answer.node)


def check_strategy(strategy: Strategy, sessions: int = 200, seed: int = 0) -> None:
    """Whatever the tree and the faulty call, a strategy asks about open calls until it is found."""
    numbers = random.Random(seed)
    for _ in range(sessions):
        shape = numbers.choice(["random", "deep", "wide", "binary"])
        tree = tree_from_parents(random_parents(numbers, numbers.randint(1, 40), shape))
        fault = numbers.randrange(len(tree.columns))
        meaning = one_fault(tree, fault)
        space = SearchSpace(tree, Switches(), (), rest=False)
        space.apply(Judged(0, meaning.verdicts[0]))
        while space.suspects_left():
            chosen = strategy.choose(space)
            assert chosen is not None, "while suspects are left there is something to ask"
            assert isinstance(chosen, Choice), "in an explicit tree nothing has to be expanded"
            assert chosen.why, "a choice has a reason"
            assert chosen.position in space.open_calls.positions(), "only open calls are asked"
            space.apply(Judged(chosen.position, meaning.verdicts[chosen.position]))
        assert space.top == fault, f"{strategy.name} blames another call"
        assert strategy.choose(space) is None, "when nothing is open there is no choice"


def check_provenance(tree: Tree, provenance: Provenance) -> None:
    """Origins and slices name calls of the tree, and an unknown origin has a reason."""
    nodes = {tree.id(position) for position in range(len(tree.columns))}
    for position in _some(len(tree.columns)):
        call = tree.call(position)
        for root in roots(call):
            whole = find_mark(call, root, input_side=True)
            for steps, value in list(whole.value.paths())[:_PARTS_TRIED]:
                part = replace(whole, mark=Mark(root, steps), value=value)
                _check_part(tree, provenance, position, part, nodes)


def _check_part(
    tree: Tree, provenance: Provenance, position: int, part: MarkedPart, nodes: set[int]
) -> None:
    node = tree.id(position)
    origin = provenance.origin(node, part)
    if origin.node is None:
        assert origin.unknown, "an origin that is not known has a reason"
        assert not origin.chain, "without an origin there is no chain"
        return
    assert origin.node in nodes, "an origin is a call of the tree"
    assert nodes.issuperset(origin.chain), "a chain runs through calls of the tree"
    assert node not in origin.chain, "the marked call is not on its chain"
    influence = provenance.influence(node, part)
    if influence is None:
        return
    assert nodes >= influence.nodes, "an influence is made of calls of the tree"
    # What a call was given is taken to be right when its result is marked.
    below = position <= tree.position(origin.node) < tree.columns.end[position]
    if influence.complete and below:
        assert origin.node in influence.nodes, "what made a part influenced it"


def _some(count: int) -> list[int]:
    """All positions of a small tree, and some of a large one."""
    if count <= _CALLS_READ:
        return list(range(count))
    return sorted(random.Random(0).sample(range(count), _CALLS_READ))
