"""Intended meanings: for every call of a tree what an all-knowing person would say of it.

A meaning may be consistent with one faulty call (every caller of it is wrong, all else is right),
or arbitrary: sound debugging must never blame a call that the meaning acquits, whatever it is.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from whence.model.question import Question
from whence.model.verdict import Answer, Verdict
from whence.ports import Tree


@dataclass(frozen=True)
class Meaning:
    """The verdict on every call, by id."""

    verdicts: Mapping[int, Verdict]

    def __call__(self, question: Question) -> Answer:
        """What the all-knowing person answers."""
        return Answer(question.node, self.verdicts[question.node])

    def is_at_fault(self, tree: Tree, node: int, trusted: Collection[int] = ()) -> bool:
        """Whether a call is wrong while all that it leads to is right or inadmissible.

        `trusted` holds function numbers, which are looked through.
        """
        position = tree.position(node)
        if self.verdicts[node] is not Verdict.WRONG:
            return False
        columns = tree.columns
        inner = position + 1
        while inner < columns.end[position]:
            if int(columns.function[inner]) in trusted:
                inner += 1
                continue
            if self.verdicts[tree.id(inner)] not in (Verdict.RIGHT, Verdict.INADMISSIBLE):
                return False
            inner = int(columns.end[inner])
        return True


def one_fault(tree: Tree, fault: int) -> Meaning:
    """The call at position `fault` is at fault: it and its callers are wrong, all else is right."""
    columns = tree.columns
    return Meaning(
        {
            tree.id(p): Verdict.WRONG if p <= fault < columns.end[p] else Verdict.RIGHT
            for p in range(len(columns))
        }
    )


def any_meaning(tree: Tree, seed: random.Random, kinds: Sequence[Verdict]) -> Meaning:
    """Verdicts at random, equal for equal equations; the top is wrong."""
    columns = tree.columns
    by_equation: dict[int, Verdict] = {int(columns.equation[0]): Verdict.WRONG}
    for position in range(len(columns)):
        by_equation.setdefault(int(columns.equation[position]), seed.choice(kinds))
    return Meaning({tree.id(p): by_equation[int(columns.equation[p])] for p in range(len(columns))})
