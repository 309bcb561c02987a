"""The search space: what the answers so far leave of the tree.

It stands beside the tree, which never changes, and is a pure function of (tree, answers, trusts,
switches): applying the answers one by one or all at once gives the same space. Rules, after Naish
1997 and MacLarty et al. 2005: wrong on a call leaves only its subtree; right or inadmissible takes
its subtree away; a trusted call is looked through, so that its callees stand for it.

Invariants: `weight[n]` is the sum of the own weights of the suspects in n's subtree (a suspect is
unjudged, not removed and not looked through; the top counts while nobody has judged it) for every
n at or below the top that was not removed. Every suspect can be asked about or was skipped.

Cost: one answer is a few passes over the columns' bytes between the top and its end; a mark also
looks up each call that its influence names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whence.model.verdict import Verdict
from whence.ports import Bytes, CallGraph, Columns, Floats, Int32s, Int64s, Judged, Tree
from whence.search.weight_scan import Calls
from whence.tree.build import subtree_sums

REMOVED = np.uint8(1)
JUDGED = np.uint8(2)
TRUSTED = np.uint8(4)
FOLDED = np.uint8(8)
ASIDE = np.uint8(16)
SKIPPED = np.uint8(32)
GIVEN_UP = np.uint8(64)
VERIFIED = np.uint8(128)

_LOOKED_THROUGH = TRUSTED | FOLDED | ASIDE
_NOT_A_SUSPECT = REMOVED | JUDGED | _LOOKED_THROUGH
_BLOCK = 1 << 18
_FINE = (Verdict.RIGHT, Verdict.INADMISSIBLE)
_DEFINITE = (Verdict.WRONG, *_FINE)
LEAST_PRIOR = 0.02
"""However unlikely a call is, it counts as much as this part of it."""
_WALK = 512
_FEW = 64


@dataclass(frozen=True, slots=True)
class Switches:
    """What every strategy can be combined with.

    `duplicates`: equal equations get equal answers. `compression`: a call with its caller's rule
    is folded into it (Davie & Chitil 2006). `single_rule`: stop as soon as all that is left has
    one rule. `slicing`: a marked part sets aside the calls that cannot have influenced it.
    """

    duplicates: bool = True
    compression: bool = False
    single_rule: bool = False
    slicing: bool = True


class SearchSpace:
    """The suspects of a tree; implements `whence.ports.Suspects`."""

    def __init__(
        self,
        tree: Tree,
        switches: Switches,
        trusted_functions: Iterable[int],
        *,
        rest: bool,
        prior: Floats | None = None,
        graph: CallGraph | None = None,
    ) -> None:
        self.tree = tree
        self.columns: Columns = tree.columns
        self.switches = switches
        self.rest = rest
        """The top was judged right, yet the rest is to be searched: no call is known wrong."""
        self.prior: Floats | None = None if prior is None else np.clip(prior, LEAST_PRIOR, 1.0)
        self.graph = graph
        self.top = 0
        self.history: list[Judged] = []
        self.flags: Bytes = np.zeros(len(self.columns), dtype=np.uint8)
        self.weight: Floats = self.columns.weight
        self._yes: Int64s | None = None
        self.no: Int64s = np.zeros(len(tree.rules), dtype=np.int64)
        self._verdicts: dict[int, Verdict] = {}
        self._width = 0
        """How many of the slices that the marks amount to were too narrow."""
        self._common: list[frozenset[int]] = []
        self._skips = 0
        self._trusted = np.zeros(len(tree.functions), dtype=bool)
        self._trusted[list(trusted_functions)] = True
        self._reset()

    # --- answers -------------------------------------------------------------------------------

    def apply(self, judged: Judged) -> None:
        """Take in one answer."""
        self.history.append(judged)
        self._yes = None
        position, verdict = judged.position, judged.verdict
        if verdict is Verdict.UNKNOWN:
            again = self.flags[position] & SKIPPED
            self.flags[self._equal_calls(position)] |= GIVEN_UP if again else SKIPPED
            self._skips += 1
        else:
            self._verdicts[self._key(position)] = verdict
        if verdict is Verdict.WRONG:
            self.no[self.columns.rule[position]] += 1
            self._judge_wrong(position)
        elif verdict is not Verdict.UNKNOWN:
            self._remove(self._equal_calls(position), counts=verdict is Verdict.RIGHT)
            if self.rest and self._key(position) == self._key(0):
                self._reset()
        if judged.influence is not None and self.switches.slicing:
            self._width = 0
            self._common = self._common_slices()
            self._reset()
        self._widen()

    def can_matter(self) -> npt.NDArray[np.bool_]:
        """Of each call, whether it lies in what the answers leave."""
        left = np.zeros(len(self.columns), dtype=bool)
        left[self.top : self.stop] = self.flags[self.top : self.stop] & REMOVED == 0
        return left

    def verdict(self, position: int) -> Verdict | None:
        """What was said of a call, or of one with an equal equation."""
        return self._verdicts.get(self._key(position))

    def _key(self, position: int) -> int:
        return int(self.columns.equation[position]) if self.switches.duplicates else position

    def _equal_calls(self, position: int) -> Int64s:
        """The calls that an answer about this one holds for, in preorder."""
        return self._positions(self._key(position))

    def _judge_wrong(self, position: int) -> None:
        twins = self._equal_calls(position)
        twins = twins[(twins >= position) & (twins < self.columns.end[position])]
        inside = self.top <= position < self.stop and not self.flags[position] & REMOVED
        if not inside or (self.flags[twins] & _LOOKED_THROUGH).any():
            self._reset()
            return
        twins = twins[self.flags[twins] & REMOVED == 0]
        counted = self.flags[position] & JUDGED == 0
        self.flags[twins] |= JUDGED
        self.top = self._innermost(twins)
        if len(twins) > 1:
            self._recount()
        elif counted:
            self._own_weights()[position] -= self.columns.own[position]

    def _innermost(self, positions: Int64s) -> int:
        """The call with the fewest calls below it: none of the others lies inside."""
        return int(positions[np.argmin(self.columns.end[positions] - positions)])

    def _remove(self, positions: Int64s, *, counts: bool) -> None:
        """Take away the subtrees of calls below the top; `counts`: they ran as intended."""
        positions = positions[(positions > self.top) & (positions < self.stop)]
        positions = positions[self.flags[positions] & REMOVED == 0]
        few = len(positions) <= _FEW
        for position in positions if few else ():
            if not self.flags[position] & REMOVED:
                below = self.flags[position : int(self.columns.end[position])]
                if counts:
                    np.bitwise_or(below, VERIFIED, out=below, where=below & _NOT_A_SUSPECT == 0)
                below |= REMOVED
                self._lighten(int(position), float(self.weight[position]))
        if not few:
            area = self.flags[self.top : self.stop]
            covered = self._cover(positions)[self.top : self.stop] > 0
            if counts:
                area[covered & (area & _NOT_A_SUSPECT == 0)] |= VERIFIED
            area[covered] |= REMOVED
            self._recount()

    def _lighten(self, position: int, amount: float) -> None:
        """Take a weight off a call's callers up to the top."""
        columns, weight = self.columns, self._own_weights()
        if columns.depth[position] - columns.depth[self.top] <= _WALK:
            caller = int(columns.parent[position])
            while caller >= self.top:
                weight[caller] -= amount
                caller = int(columns.parent[caller])
        else:
            callers = self.top + np.flatnonzero(columns.end[self.top : position] > position)
            weight[callers] -= amount

    def _recount(self) -> None:
        """Sum up the weights from the top down anew."""
        area = slice(self.top, self.stop)
        own = np.where(self.flags[area] & _NOT_A_SUSPECT == 0, self.columns.own[area], 0.0)
        self._own_weights()[area] = subtree_sums(own, self.columns.end[area] - self.top)

    def _own_weights(self) -> Floats:
        """The weights, to be written to: the tree's are copied when they are about to change."""
        if self.weight is self.columns.weight:
            self.weight = np.array(self.columns.weight)
        return self.weight

    def _cover(self, positions: Int64s) -> Int32s:
        """For each call, how many of the given calls' subtrees it lies in."""
        steps = np.zeros(len(self.columns) + 1, dtype=np.int32)
        np.add.at(steps, positions, 1)
        np.add.at(steps, self.columns.end[positions], -1)
        return np.cumsum(steps[:-1], dtype=np.int32)

    # --- from scratch --------------------------------------------------------------------------

    def _reset(self) -> None:
        """Recompute everything from the answers: top, removed subtrees, flags and weights."""
        columns = self.columns
        kept = self.flags & (SKIPPED | GIVEN_UP | VERIFIED)
        self.flags = np.zeros(len(columns), dtype=np.uint8)
        if self._trusted.any():
            self.flags[self._trusted[columns.function]] |= TRUSTED
        self._set_aside()
        if self.switches.compression and len(columns) > 1:
            callers = columns.parent[1:]
            same = columns.rule[1:] == columns.rule[callers]
            # A caller that cannot be asked about, or was acquitted, cannot stand for a call that
            # can be at fault.
            stands = self.flags[callers] & (TRUSTED | ASIDE) == 0
            if self.rest and self.verdict(0) in _FINE:
                stands &= callers > 0
            self.flags[1:][same & stands] |= FOLDED
        self.flags |= kept
        self._take_verdicts()
        if self.rest and self.verdict(0) in _FINE:
            self.flags[0] |= JUDGED
        looked_through = bool((self.flags & _LOOKED_THROUGH).any())
        self._callers: Int32s = self._direct_callers() if looked_through else columns.parent
        self.weight = columns.weight
        if looked_through or self._verdicts or self.rest:
            self.weight = np.zeros(len(columns))
            self._recount()

    def _take_verdicts(self) -> None:
        """Find the top, mark the wrong calls, and remove what was judged right below the top."""
        self.top = 0
        if not self._verdicts:
            return
        wrong = self._said(Verdict.WRONG)
        covers = self._cover(self._said(*_FINE))
        self.top = self._find_top()
        self.flags[wrong] = (self.flags[wrong] | JUDGED) & ~_LOOKED_THROUGH
        area = slice(self.top + 1, self.stop)
        self.flags[area][covers[area] > covers[self.top]] |= REMOVED

    def _said(self, *verdicts: Verdict) -> Int64s:
        """The calls that one of these was said of, themselves or by an equal call."""
        found = [self._positions(key) for key, said in self._verdicts.items() if said in verdicts]
        return np.concatenate(found) if found else np.empty(0, dtype=np.int64)

    def _positions(self, key: int) -> Int64s:
        if self.switches.duplicates:
            return np.flatnonzero(self.columns.equation == key)
        return np.array([key], dtype=np.int64)

    def _set_aside(self) -> None:
        """Look through what cannot have influenced the parts that were marked."""
        slices = self._slices()
        if self._width >= len(slices) or not self.switches.slicing:
            return
        outside = np.ones(len(self.columns), dtype=bool)
        outside[self.tree.positions(slices[self._width])] = False
        outside[0] = False
        self.flags[outside] |= ASIDE

    def _common_slices(self) -> list[frozenset[int]]:
        """The slices of all marks: what is in each of them, for each width.

        Whatever made several parts wrong is there. If each has a cause of its own, it may be that
        none is: then nothing is found in them, and they are widened.
        """
        slices = [each.influence.slices() for each in self.history if each.influence is not None]
        widths = range(max(map(len, slices), default=0))
        return [
            frozenset.intersection(*(each[min(width, len(each) - 1)] for each in slices))
            for width in widths
        ]

    def _slices(self) -> list[frozenset[int]]:
        """The slices to be taken one after the other, the one last that explains the top."""
        explaining = self._explanation()
        return self._common if explaining is None else [*self._common, explaining]

    def _explanation(self) -> frozenset[int] | None:
        """The slice of a part that was marked on the top itself, if it misses nothing."""
        for each in reversed(self.history):
            if each.position == self.top and each.influence is not None:
                return each.influence.slices()[-1] if each.influence.complete else None
        return None

    def _find_top(self) -> int:
        """The wrong call that the search has come down to.

        An answer moves it into the subtree judged wrong, and on to a call inside that is known to
        be wrong as well (its equation is equal) unless that was judged right away before; a wrong
        call elsewhere takes over only if it is lighter, for either holds a fault.
        """
        columns, top = self.columns, 0
        wrong = np.empty(0, dtype=np.int64)
        for number, judged in enumerate(self.history):
            asked = judged.position
            if judged.verdict is not Verdict.WRONG or self.verdict(asked) is not Verdict.WRONG:
                continue
            above = asked <= top < columns.end[asked]
            inside = top <= asked < columns.end[top]
            if inside or (not above and columns.weight[asked] < columns.weight[top]):
                top = asked
            wrong = np.union1d(wrong, self._equal_calls(asked))
            deeper = wrong[(wrong > top) & (wrong < columns.end[top])]
            if len(deeper):
                covers = self._cover(self._removed_before(number))
                deeper = deeper[covers[deeper] == covers[top]]
            if len(deeper):
                top = self._innermost(deeper)
        return top

    def _removed_before(self, number: int) -> Int64s:
        """The calls that the first answers took away."""
        fine = [
            self._equal_calls(judged.position)
            for judged in self.history[:number]
            if judged.verdict in _FINE
        ]
        return np.concatenate(fine) if fine else np.empty(0, dtype=np.int64)

    def _direct_callers(self) -> Int32s:
        """For each call its nearest caller that is not looked through, by pointer doubling."""
        callers = np.array(self.columns.parent)
        through = self.flags & _LOOKED_THROUGH != 0
        through[0] = False
        while True:
            jump = np.flatnonzero(through[callers] & (callers > 0))
            if len(jump) == 0:
                return callers
            callers[jump] = callers[callers[jump]]

    def _widen(self) -> None:
        """Take back what a slice set aside: inside it there is nothing left to ask."""
        most = len(self._slices())
        while self._width < most and not self.can_ask() and not self.slice_explains_top:
            if not (self._area() & ASIDE).any():
                return
            self._width += 1
            self._reset()

    # --- what strategies see -------------------------------------------------------------------

    @property
    def stop(self) -> int:
        """The end of the top's subtree."""
        return int(self.columns.end[self.top])

    @property
    def top_is_open(self) -> bool:
        """Whether nobody has said anything about the top yet."""
        return not self.top_is_acquitted and self.verdict(self.top) is None

    @property
    def top_is_acquitted(self) -> bool:
        """Whether no call is known to be wrong: the rest below a right top is being searched."""
        return self.rest and self.top == 0 and self.verdict(0) in _FINE

    @property
    def slice_explains_top(self) -> bool:
        """Whether all was searched that is in a slice of the top itself which misses nothing."""
        explaining = self._explanation()
        if explaining is None or self.top_is_acquitted or self._width >= len(self._slices()):
            return False
        return explaining <= self._slices()[self._width]

    @property
    def is_sliced(self) -> bool:
        """Whether calls below the top are set aside, as they cannot have made what was marked."""
        area = self._area()
        return bool(((area & ASIDE != 0) & (area & REMOVED == 0)).any())

    @property
    def yes(self) -> Int64s:
        """For each rule, how many of its calls lie in subtrees that were judged right."""
        if self._yes is None:
            verified = self.columns.rule[self.flags & VERIFIED != 0]
            self._yes = np.bincount(verified, minlength=len(self.tree.rules))
        return self._yes

    def suspects_left(self) -> bool:
        """Whether any call below the top can still be at fault."""
        return self._calls_without(_NOT_A_SUSPECT).any()

    def can_ask(self) -> bool:
        """Whether any of them may still be asked about."""
        return self._calls_without(_NOT_A_SUSPECT | GIVEN_UP).any()

    def count(self) -> int:
        """How many calls below the top can still be at fault."""
        return int(np.count_nonzero(self._area() & _NOT_A_SUSPECT == 0))

    def left(self) -> Int64s:
        """The calls below the top that can still be at fault, folded ones included."""
        acquitted = REMOVED | JUDGED | TRUSTED | ASIDE
        return self.top + 1 + np.flatnonzero(self._area() & acquitted == 0)

    def skips(self, position: int) -> int:
        """How often a call was left open: not yet, once, or for good."""
        return int(bool(self.flags[position] & SKIPPED)) + int(
            bool(self.flags[position] & GIVEN_UP)
        )

    def judged(self, verdict: Verdict) -> Int64s:
        """All calls that this was said of, in preorder."""
        return np.unique(self._said(verdict))

    def single_rule(self) -> bool:
        """Whether all that can be at fault, the top included, has one rule.

        What is below an implicit call is not in the tree, so its rules are not known.
        """
        rule = self.columns.rule[self.top]
        implicit = self.columns.implicit[self.top + 1 : self.stop] != 0
        if (implicit & (self._area() & REMOVED == 0)).any():
            return False
        for start in range(self.top + 1, self.stop, _BLOCK):
            block = slice(start, min(start + _BLOCK, self.stop))
            others = self.columns.rule[block] != rule
            if (others & (self.flags[block] & (REMOVED | JUDGED | TRUSTED) == 0)).any():
                return False
        return True

    def same_rule(self) -> Int64s:
        """The calls left below the top that have its rule, folded ones included."""
        left = self._area() & (REMOVED | JUDGED | TRUSTED) == 0
        rules = self.columns.rule[self.top + 1 : self.stop]
        return self.top + 1 + np.flatnonzero(left & (rules == self.columns.rule[self.top]))

    def folded_into_top(self) -> Int64s:
        """The calls that compression folded into the top."""
        area = slice(self.top + 1, self.stop)
        folded = (self.flags[area] & FOLDED != 0) & (self.flags[area] & REMOVED == 0)
        return self.top + 1 + np.flatnonzero(folded & (self._callers[area] == self.top))

    def unseen(self) -> Int64s:
        """Implicit calls that nobody can acquit: looked through, or given up.

        What they lead to is not in the tree yet.
        """
        area = self._area()
        implicit = self.columns.implicit[self.top + 1 : self.stop] != 0
        open_ended = area & (TRUSTED | FOLDED | GIVEN_UP) != 0
        return self.top + 1 + np.flatnonzero(implicit & open_ended & (area & REMOVED == 0))

    def led_to(self, position: int) -> Int64s:
        """The calls that a call leads to directly; one that was judged counts even if trusted."""
        area = slice(position + 1, int(self.columns.end[position]))
        found = (
            position
            + 1
            + np.flatnonzero(
                (self._callers[area] == position) & (self.flags[area] & _LOOKED_THROUGH == 0)
            )
        )
        said = self._said(*_DEFINITE)
        said = said[(said > position) & (said < area.stop)]
        return np.union1d(found, said[self._callers[said] == position])

    def callees(self, position: int) -> Int64s:
        """The suspects that a call leads to directly."""
        few = self._few_callees(position)
        if few is not None:
            suspects: Int64s = few[self.flags[few] & _NOT_A_SUSPECT == 0]
            return suspects
        return self._callees(position, _NOT_A_SUSPECT).positions()

    def _few_callees(self, position: int) -> Int64s | None:
        """All calls that a call made, if they are few, without a look at what is below them."""
        if self._callers is not self.columns.parent:
            return None
        found: list[int] = []
        end = self.columns.end
        inner, stop = position + 1, int(end[position])
        while inner < stop:
            if len(found) == _FEW:
                return None
            found.append(inner)
            inner = int(end[inner])
        return np.array(found, dtype=np.int64)

    def is_trusted(self, position: int) -> bool:
        """Whether a call's own code cannot be at fault, whatever was said of the call."""
        return bool(self._trusted[self.columns.function[position]])

    def is_suspect(self, positions: Int64s) -> npt.NDArray[np.bool_]:
        """For each of the positions, whether that call can still be at fault."""
        inside = (positions > self.top) & (positions < self.stop)
        if self.top_is_open:
            inside |= positions == self.top
        open_ones: npt.NDArray[np.bool_] = self.flags[positions] & _NOT_A_SUSPECT == 0
        return inside & open_ones

    def frontier(self) -> Iterator[Calls]:
        """The top's callees that may be asked about; then, below skipped ones, their callees."""
        level = [self.top]
        blocked = self.open_calls.blocked
        while level:
            below: list[int] = []
            for position in level:
                found = self._callees(position, blocked)
                if found.any():
                    yield found
                if self._skips:
                    callees = self.callees(position)
                    skipped = self.flags[callees] & (SKIPPED | GIVEN_UP) != 0
                    below += callees[skipped].tolist()
            level = below

    def _callees(self, position: int, blocked: np.uint8) -> Calls:
        stop = int(self.columns.end[position])
        return Calls(self.flags, blocked, position + 1, stop, self._callers)

    def askable(self, positions: Int64s) -> Int64s:
        """Those of the positions that may be asked about now."""
        open_now: Int64s = positions[self.flags[positions] & self.open_calls.blocked == 0]
        return open_now

    @property
    def open_calls(self) -> Calls:
        """The calls below the top that may be asked about: skipped ones when no other is left."""
        fresh = self._calls_without(_NOT_A_SUSPECT | SKIPPED | GIVEN_UP)
        if not self._skips or fresh.any():
            return fresh
        return self._calls_without(_NOT_A_SUSPECT | GIVEN_UP)

    def sums(self, own: Floats) -> Floats:
        """The sums of another own weight over the suspects of each subtree."""
        counted = np.where(self.flags & _NOT_A_SUSPECT == 0, own, 0.0)
        return subtree_sums(counted, self.columns.end)

    # --- inside --------------------------------------------------------------------------------

    def _area(self) -> Bytes:
        return self.flags[self.top + 1 : self.stop]

    def _calls_without(self, flags: np.uint8) -> Calls:
        return Calls(self.flags, flags, self.top + 1, self.stop)
