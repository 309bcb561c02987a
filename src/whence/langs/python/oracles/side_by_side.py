"""Compares the recorded run with a run of a version that differs from it in a few definitions.

The trees of both runs are aligned: the same functions, called by aligned callers in the same order.
Until a call of a differing function does something else, both runs do the same. So such a call had
the same inputs in both, even where these cannot be compared (a lock, an open file), if no earlier
call of a differing function is known to differ.

Invariant: a call is `DIFFERENT` only if its inputs were the same, by comparison or by what came
before it, and its outcome or effects are known to differ in every run of the other version. It is
`SAME` only if inputs and outcome are known in full and equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property

import numpy as np

from whence.langs.python.oracles.recipe_comparison import (
    Comparison,
    Match,
    compare_effects,
    compare_equations,
    compare_inputs,
    compare_state,
    first_difference,
)
from whence.langs.python.oracles.reference_runs import NotFullyRecorded, equation_at
from whence.langs.python.trace.call_recipes import place_of
from whence.model.call import OutcomeKind
from whence.model.value import BRIEF
from whence.ports import Int64s
from whence.tree.column_tree import ColumnTree
from whence.tree.readable_call import readable_call

_MOST_SIBLINGS = 5_000
"""Of more callees of one call, only those at the beginning and at the end are aligned."""
_MOST_COMPARED = 2_000
"""So many calls of differing functions are compared."""
_UNPAIRED = "the other version makes no such call"
_ENDED = (OutcomeKind.RETURNED, OutcomeKind.RAISED)


class SideBySide:
    """The recorded run beside runs of another version."""

    def __init__(
        self, ours: ColumnTree, theirs: Sequence[ColumnTree], differs: Callable[[int], bool]
    ) -> None:
        """`differs` says of a function of the recorded run, by its number, whether it differs."""
        numbers = [number for number in range(len(ours.functions)) if differs(number)]
        calls = np.flatnonzero(np.isin(ours.columns.function, numbers))
        self._ours = ours
        self._theirs = theirs
        self._calls = calls[calls > 0]
        self._differing = frozenset(self._calls.tolist())
        self._partners = [Alignment(ours, tree, self._calls).partners for tree in theirs]

    @property
    def has_difference(self) -> bool:
        """Whether some call is known to differ: then those that were seen to be the same are."""
        return any(compared.match is Match.DIFFERENT for compared in self._compared.values())

    def compare(self, position: int) -> Comparison:
        """How a call of a differing function compares with its partners."""
        return self._compared.get(position, Comparison(Match.UNKNOWN, _UNPAIRED))

    def there(self, position: int) -> str:
        """What the other version's run does in the place of a call, as a text; empty if unknown."""
        if not self._partners or position not in self._partners[0]:
            return ""
        call, problem = readable_call(self._theirs[0], self._partners[0][position])
        return "" if problem else call.equation(BRIEF)

    @cached_property
    def _compared(self) -> dict[int, Comparison]:
        """Compare in the order in which the calls ended."""
        compared: dict[int, Comparison] = {}
        if len(self._calls) > _MOST_COMPARED:
            return compared
        # When the first call ended that is not known to be the same: later inputs may differ.
        first_open = _LAST
        for position in sorted(self._calls.tolist(), key=self._ended):
            began = self._began(position)
            # A caller that differs may pass something else, and ends after its callees.
            is_first = not self._has_differing_caller(position) and began < first_open
            compared[position] = self._compare_one(position, is_first)
            if compared[position].match is not Match.SAME:
                first_open = min(first_open, self._ended(position))
        return compared

    def _compare_one(self, position: int, has_same_inputs: bool) -> Comparison:
        """Compare with the partner in each run; they have to agree."""
        results = []
        for tree, partners in zip(self._theirs, self._partners, strict=True):
            if position not in partners:
                return Comparison(Match.UNKNOWN, _UNPAIRED)
            results.append(self._with_partner(position, tree, partners[position], has_same_inputs))
        matches = {result.match for result in results}
        if len(matches) == 1:
            return results[0]
        unknown = [result for result in results if result.match is Match.UNKNOWN]
        return Comparison(Match.UNKNOWN, unknown[0].why if unknown else "its outcome varies")

    def _with_partner(
        self, position: int, tree: ColumnTree, partner: int, has_same_inputs: bool
    ) -> Comparison:
        try:
            one, other = equation_at(self._ours, position), equation_at(tree, partner)
        except NotFullyRecorded as problem:
            return self._by_ending(position, tree, partner, has_same_inputs, str(problem))
        inputs = first_difference([compare_inputs(one.call, other.call), compare_state(one, other)])
        if inputs.match is Match.SAME:
            compared = compare_equations(one, other)
        elif has_same_inputs:
            compared = compare_effects(one, other)
        else:
            return Comparison(Match.UNKNOWN, f"it got other inputs there ({inputs.why})")
        if compared.match is not Match.UNKNOWN:
            return compared
        return self._by_ending(position, tree, partner, has_same_inputs, compared.why)

    def _by_ending(
        self, position: int, tree: ColumnTree, partner: int, has_same_inputs: bool, why: str
    ) -> Comparison:
        """Whether one call raised and the other returned; more is not known of them."""
        kinds = [
            OutcomeKind(int(side.columns.outcome[at]))
            for side, at in ((self._ours, position), (tree, partner))
        ]
        if has_same_inputs and kinds[0] is not kinds[1] and all(kind in _ENDED for kind in kinds):
            return Comparison(Match.DIFFERENT, " and ".join(kind.name.lower() for kind in kinds))
        return Comparison(Match.UNKNOWN, why)

    # --- time ------------------------------------------------------------------------------------

    def _ended(self, position: int) -> int:
        source, number = place_of(self._ours, position)
        at = int(source.records.positions.exit_at[number]) if number > 0 else -1
        return at if at >= 0 else _LAST

    def _began(self, position: int) -> int:
        source, number = place_of(self._ours, position)
        return int(source.records.positions.call_at[number]) if number > 0 else -1

    def _has_differing_caller(self, position: int) -> bool:
        parent = self._ours.columns.parent
        at = int(parent[position])
        while at > 0:
            if at in self._differing:
                return True
            at = int(parent[at])
        return False


_LAST = 2**62
"""After all records of a trace."""


class Alignment:
    """The partners of some calls of a tree, and of their callers, in another tree."""

    def __init__(self, ours: ColumnTree, theirs: ColumnTree, calls: Int64s) -> None:
        self._trees = ours, theirs
        self._calls = np.sort(calls)
        self._keys: list[list[tuple[str, str]]] = [
            [(function.module, function.qualname) for function in tree.functions]
            for tree in self._trees
        ]
        self.partners: dict[int, int] = {0: 0}
        pending = [(0, 0)]
        while pending:
            for pair in self._aligned(*pending.pop()):
                self.partners[pair[0]] = pair[1]
                if self._leads_on(pair[0]):
                    pending.append(pair)

    def _leads_on(self, position: int) -> bool:
        """Whether one of the calls is below a call."""
        first = int(np.searchsorted(self._calls, position + 1))
        end = int(self._trees[0].columns.end[position])
        return first < len(self._calls) and int(self._calls[first]) < end

    def _aligned(self, one: int, other: int) -> Iterator[tuple[int, int]]:
        """The pairs of callees of two calls: the same functions in the same order."""
        ours, theirs = (
            list(_callees(tree, position))
            for tree, position in zip(self._trees, (one, other), strict=True)
        )
        left, right = (
            [keys[int(tree.columns.function[at])] for at in callees]
            for tree, keys, callees in zip(self._trees, self._keys, (ours, theirs), strict=True)
        )
        start, stop = _common_ends(left, right)
        yield from zip(ours[:start], theirs[:start], strict=True)
        if stop:
            yield from zip(ours[-stop:], theirs[-stop:], strict=True)
        middle = slice(start, len(left) - stop), slice(start, len(right) - stop)
        if max(len(left), len(right)) - start - stop > _MOST_SIBLINGS:
            return
        matcher = SequenceMatcher(None, left[middle[0]], right[middle[1]], autojunk=False)
        for block in matcher.get_matching_blocks():
            for step in range(block.size):
                yield ours[start + block.a + step], theirs[start + block.b + step]


def _callees(tree: ColumnTree, position: int) -> Iterator[int]:
    at, end = position + 1, int(tree.columns.end[position])
    while at < end:
        yield at
        at = int(tree.columns.end[at])


def _common_ends(left: Sequence[object], right: Sequence[object]) -> tuple[int, int]:
    """How many items two sequences have in common at their beginning, and then at their end."""
    most = min(len(left), len(right))
    start = next((at for at in range(most) if left[at] != right[at]), most)
    rest = most - start
    stop = next((at for at in range(rest) if left[-1 - at] != right[-1 - at]), rest)
    return start, stop
