"""The search space: what the answers so far leave of the tree.

It stands beside the tree, which never changes, and is a pure function of (tree, answers, trusts,
switches): applying the answers one by one or all at once gives the same space. Rules, after Naish
1997 and MacLarty et al. 2005: *wrong* on a call leaves only its subtree; *right* or *inadmissible*
removes its subtree; a trusted call is looked through, so that its callees stand for it.

Invariants: `weight[n]` is the sum of the own weights of the suspects in n's subtree (a suspect is
unjudged, not removed and not looked through; the top counts while nobody has judged it) for every
n at or below the top that was not removed. Every suspect can be asked about or was skipped.

Cost: one answer is a few passes over the columns' bytes between the top and its end; a mark also
looks up each call that its influence names.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whence.model.verdict import Verdict
from whence.ports import Bytes, CallGraph, Columns, Floats, Int32s, Int64s, Judged, Presumed, Tree
from whence.search.judged_calls import FINE, JudgedCalls, coverage, innermost, outermost
from whence.search.kept_sums import KeptSums
from whence.search.mark_slices import MarkSlices, explanation_of
from whence.search.weight_scan import BlockMaxima, CallScan
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
_ACQUITTED = REMOVED | JUDGED | TRUSTED | ASIDE
_BLOCK = 1 << 18
_DEFINITE = (Verdict.WRONG, *FINE)
LEAST_PRIOR = 0.02
"""A prior never counts less than this, so that no call is ruled out."""
_WALK = 512
_FEW = 64


@dataclass(frozen=True, slots=True)
class Switches:
    """What every strategy can be combined with.

    `duplicates`: equal equations get equal answers. `compression`: a call with its caller's rule
    is folded into it (Davie & Chitil 2006). `single_rule`: stop as soon as all that is left has
    one rule. `slicing`: a marked part sets aside the calls that cannot have influenced it, and what
    is wrong those that began after it had happened.
    `presumption`: calls that are presumed right, such as imports, are set aside until no other is
    left.
    """

    duplicates: bool = True
    compression: bool = False
    single_rule: bool = False
    slicing: bool = True
    presumption: bool = True


@dataclass(frozen=True, slots=True)
class LaterCalls:
    """The calls that began after what is wrong had happened, and whether that time is certain."""

    began_later: npt.NDArray[np.bool_]
    is_exact: bool


class SearchSpace:
    """The suspects of a tree; implements `whence.ports.Suspects`.

    Large, but one thing: every method reads or updates the same flags and weights, and the
    invariants above hold only if nobody else does. Answers and slices are kept apart.
    """

    def __init__(
        self,
        tree: Tree,
        switches: Switches,
        trusted_functions: Iterable[int],
        *,
        rest: bool,
        prior: Floats | None = None,
        presumed: Bytes | None = None,
        later: LaterCalls | None = None,
        graph: CallGraph | None = None,
    ) -> None:
        self.tree = tree
        self.columns: Columns = tree.columns
        self.switches = switches
        self.rest = rest
        """Whether to search below a top that was judged right: no call is known to be wrong."""
        self.prior: Floats | None = None if prior is None else np.clip(prior, LEAST_PRIOR, 1.0)
        self.graph = graph
        self.top = 0
        self.judged_calls = JudgedCalls(self.columns, duplicates=switches.duplicates)
        self.history: Sequence[Judged] = self.judged_calls.history
        self.flags: Bytes = np.zeros(len(self.columns), dtype=np.uint8)
        self.weight: Floats = self.columns.weight
        self._maxima = BlockMaxima(self.weight)
        self._kept: KeptSums | None = None
        self._yes: Int64s | None = None
        self.no: Int64s = np.zeros(len(tree.rules), dtype=np.int64)
        self._slices = MarkSlices()
        self._presumed: Bytes | None = None
        """A `Presumed` for each call, if any is presumed right."""
        if presumed is not None and switches.presumption and presumed.any():
            self._presumed = presumed
        self._searched = Presumed.NOT
        """Which of the presumed calls are searched all the same."""
        self._later: LaterCalls | None = None
        if later is not None and switches.slicing and later.began_later.any():
            self._later = later
        self._searches_later = False
        """Whether calls that began too late are searched all the same."""
        self._skips = 0
        self._resting: Int64s | None = None
        """The call that was skipped just now, which is not asked about again at once: it counts as
        given up until something else was said."""
        self._trusted = np.zeros(len(tree.functions), dtype=bool)
        self._trusted[list(trusted_functions)] = True
        self._reset()
        self._widen()

    # --- answers -------------------------------------------------------------------------------

    def apply(self, judged: Judged) -> None:
        """Take in one answer."""
        self.judged_calls.add(judged)
        self._yes = None
        position, verdict = judged.position, judged.verdict
        if self._resting is not None:
            self.flags[self._resting] &= ~GIVEN_UP
            self._resting = None
        if verdict is Verdict.UNKNOWN:
            equal = self.judged_calls.equal_calls(position)
            if not self.flags[position] & SKIPPED:
                self._resting = equal
            self.flags[equal] |= SKIPPED | GIVEN_UP
            self._skips += 1
        if verdict is Verdict.WRONG:
            self.no[self.columns.rule[position]] += 1
            self._judge_wrong(position)
        elif verdict is not Verdict.UNKNOWN:
            below_top = range(self.top + 1, self.stop)
            equal = self.judged_calls.equal_calls(position, below_top)
            self._remove(equal, counts=verdict is Verdict.RIGHT)
            if self.rest and self.judged_calls.are_equal(position, 0):
                self._reset()
        if judged.influence is not None and self.switches.slicing:
            self._slices.restart(self.history)
            self._reset()
        self._widen()

    def can_matter(self) -> npt.NDArray[np.bool_]:
        """For each call, whether the answers leave it in the tree."""
        left = np.zeros(len(self.columns), dtype=bool)
        left[self.top : self.stop] = self.flags[self.top : self.stop] & REMOVED == 0
        return left

    def verdict(self, position: int) -> Verdict | None:
        """What was said of a call, or of one with an equal equation."""
        return self.judged_calls.verdict(position)

    def _judge_wrong(self, position: int) -> None:
        subtree = range(position, int(self.columns.end[position]))
        equal = self.judged_calls.equal_calls(position, subtree)
        inside = self.top <= position < self.stop and not self.flags[position] & REMOVED
        if not inside or (self.flags[equal] & _LOOKED_THROUGH).any():
            self._reset()
            return
        equal = equal[self.flags[equal] & REMOVED == 0]
        counted = self.flags[position] & JUDGED == 0
        self.flags[equal] |= JUDGED
        self.top = innermost(self.columns, equal)
        if len(equal) > 1:
            self._recount()
        elif counted:
            self._own_weights()[position] -= self.columns.own[position]
            if self._kept is not None:
                self._kept.remove_own(position)

    def _remove(self, positions: Int64s, *, counts: bool) -> None:
        """Remove the subtrees of calls below the top; `counts`: their rules count as verified."""
        positions = positions[self.flags[positions] & REMOVED == 0]
        few = len(positions) <= _FEW
        for position in positions if few else ():
            if not self.flags[position] & REMOVED:
                below = self.flags[position : int(self.columns.end[position])]
                if counts:
                    np.bitwise_or(below, VERIFIED, out=below, where=below & _NOT_A_SUSPECT == 0)
                below |= REMOVED
                self._lighten(int(position))
        if not few:
            positions = outermost(self.columns, positions)
            area = self.flags[self.top : self.stop]
            ends = self.columns.end[positions].astype(np.int64)
            covered = _covered(positions - self.top, ends - self.top, area)
            here = area[covered]
            if counts:
                here[here & _NOT_A_SUSPECT == 0] |= VERIFIED
            area[covered] = here | REMOVED
            self._lighten_callers(positions)

    def _lighten_callers(self, positions: Int64s) -> None:
        """Subtract the weights of many calls from their callers up to the top, level by level."""
        parent = self.columns.parent
        for weight in self._changing_weights():
            callers, amounts = parent[positions].astype(np.int64), weight[positions]
            room = self.stop - self.top
            while len(callers):
                room -= len(callers)
                if room < 0:  # deep and wide: one pass over all calls takes less
                    self._recount()
                    return
                callers, amounts = _sums_by(callers, amounts)
                weight[callers] -= amounts
                below_top = callers > self.top
                callers = parent[callers[below_top]].astype(np.int64)
                amounts = amounts[below_top]

    def _lighten(self, position: int) -> None:
        """Subtract the weight of a call from its callers up to the top."""
        columns = self.columns
        callers: list[int] | Int64s
        if columns.depth[position] - columns.depth[self.top] <= _WALK:
            callers = []
            caller = int(columns.parent[position])
            while caller >= self.top:
                callers.append(caller)
                caller = int(columns.parent[caller])
        else:
            callers = self.top + np.flatnonzero(columns.end[self.top : position] > position)
        for weight in self._changing_weights():
            weight[callers] -= weight[position]

    def _changing_weights(self) -> list[Floats]:
        """The weights that an answer changes."""
        own = self._own_weights()
        return [own] if self._kept is None else [own, self._kept.weight]

    def _recount(self) -> None:
        """Compute all weights at or below the top again."""
        area = slice(self.top, self.stop)
        counts = self._are_suspects()
        if self._kept is not None:
            self._kept.sum_up(self.top, counts)
        end, own = self.columns.end[area], self.columns.own
        weight = self._own_weights()
        if own.strides == (0,) and own[0] == 1.0:
            # All weights are one number in memory: counting is faster than summing.
            prefix = np.zeros(len(counts) + 1, dtype=np.int32)
            np.cumsum(counts, out=prefix[1:])
            weight[area] = prefix[end - self.top] - prefix[:-1]
        else:
            weight[area] = subtree_sums(np.where(counts, own[area], 0.0), end - self.top)
        self._maxima = BlockMaxima(weight)

    def _own_weights(self) -> Floats:
        """The weights for writing: the tree's own are copied before the first change."""
        if self.weight is self.columns.weight:
            self.weight = np.array(self.columns.weight)
            self._maxima.now_in(self.weight)
        return self.weight

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
            # A caller that cannot be asked about, or was judged right, cannot stand for a call
            # that can be at fault.
            stands = self.flags[callers] & (TRUSTED | ASIDE) == 0
            if self.rest and self.verdict(0) in FINE:
                stands &= callers > 0
            self.flags[1:][same & stands] |= FOLDED
        self.flags |= kept
        self._take_verdicts()
        if self.rest and self.verdict(0) in FINE:
            self.flags[0] |= JUDGED
        looked_through = bool((self.flags & _LOOKED_THROUGH).any())
        self._callers: Int32s = self._direct_callers() if looked_through else columns.parent
        self.weight = columns.weight
        self._maxima = BlockMaxima(self.weight)
        self._kept = None
        if looked_through or self.judged_calls or self.rest:
            self.weight = np.zeros(len(columns))
            self._recount()

    def _take_verdicts(self) -> None:
        """Find the top, mark the wrong calls, and remove what was judged right below the top."""
        self.top = 0
        if not self.judged_calls:
            return
        wrong = self.judged_calls.with_verdict(Verdict.WRONG)
        covers = coverage(self.columns, self.judged_calls.with_verdict(*FINE))
        self.top = self.judged_calls.find_top()
        self.flags[wrong] = (self.flags[wrong] | JUDGED) & ~_LOOKED_THROUGH
        area = slice(self.top + 1, self.stop)
        self.flags[area][covers[area] > covers[self.top]] |= REMOVED

    def _set_aside(self) -> None:
        """Set aside the calls that are presumed right, those that began too late, and those that
        cannot have influenced the marked parts."""
        if self._presumed is not None:
            self.flags[1:][self._presumed[1:] > self._searched] |= ASIDE
        if self._later is not None and self._sets_later_aside:
            self.flags[1:][self._later.began_later[1:]] |= ASIDE
        in_slice = self._slice()
        if in_slice is None or not self.switches.slicing:
            return
        outside = np.ones(len(self.columns), dtype=bool)
        outside[self.tree.positions(in_slice)] = False
        outside[0] = False
        self.flags[outside] |= ASIDE

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

    def _slice(self) -> frozenset[int] | None:
        """The ids of the calls in the slice that is in use, if one is."""
        return self._slices.current(explanation_of(self.top, self.history))

    def _widen(self) -> None:
        """Use wider slices, then search what began too late, then what is presumed right, until
        there is something to ask."""
        while not self.can_ask() and (self._area() & ASIDE).any():
            if self._slice() is not None and not self.slice_explains_top:
                self._slices.widen()
            elif self._sets_later_aside and self.history and not self._time_explains_top:
                self._searches_later = True
            elif self._presumes:
                self._searched = Presumed(self._searched + 1)
            else:
                return
            self._reset()

    @property
    def _presumes(self) -> bool:
        """Whether some calls are still presumed right."""
        return self._presumed is not None and self._searched < Presumed.INSIDE

    @property
    def _sets_later_aside(self) -> bool:
        """Whether calls that began too late are set aside."""
        return self._later is not None and not self._searches_later

    @property
    def _time_explains_top(self) -> bool:
        """Whether the top is wrong because of what was seen of the run, and it is certain when that
        had happened. A call that is wrong for another reason may be so because of later calls."""
        if self._later is None or not self._later.is_exact or self.top_is_acquitted:
            return False
        return any(judged.position == self.top and judged.is_symptom for judged in self.history)

    # --- what strategies see -------------------------------------------------------------------

    @property
    def stop(self) -> int:
        """The end of the top's subtree."""
        return int(self.columns.end[self.top])

    @property
    def top_is_open(self) -> bool:
        """Whether nobody has judged the top yet."""
        return not self.top_is_acquitted and self.verdict(self.top) is None

    @property
    def top_is_acquitted(self) -> bool:
        """Whether no call is known to be wrong: the rest below a right top is being searched."""
        return self.rest and self.top == 0 and self.verdict(0) in FINE

    @property
    def slice_explains_top(self) -> bool:
        """Whether the slice in use holds a complete slice of a part marked on the top itself."""
        explanation = explanation_of(self.top, self.history)
        in_slice = self._slices.current(explanation)
        if explanation is None or in_slice is None or self.top_is_acquitted:
            return False
        return explanation <= in_slice

    @property
    def is_sliced(self) -> bool:
        """Whether calls below the top are set aside because of a mark."""
        if self._slice() is None:
            return False
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
        return self._calls_without(_NOT_A_SUSPECT).count()

    def left(self, most: int | None = None) -> Int64s:
        """The calls below the top that can still be at fault, with those that are folded, presumed
        right or began too late, unless it is certain that these cannot.

        At most the first `most` of them.
        """
        if self._presumes or self._sets_later_aside:
            return (self.top + 1 + np.flatnonzero(self._left_or_aside()))[:most]
        return self._calls_without(_ACQUITTED).positions(most)

    def count_left(self) -> int:
        """How many these are."""
        if self._presumes or self._sets_later_aside:
            return int(np.count_nonzero(self._left_or_aside()))
        return self._calls_without(_ACQUITTED).count()

    def _left_or_aside(self) -> npt.NDArray[np.bool_]:
        """For each call below the top, whether it can be at fault: calls outside of a slice cannot;
        those that are only presumed right, or may have begun too late, can."""
        area, inside = self._area(), slice(self.top + 1, self.stop)
        can = area & ASIDE == 0
        if self._presumed is not None:
            can |= self._presumed[inside] > self._searched
        if self._later is not None and self._sets_later_aside:
            later = self._later.began_later[inside]
            can = can & ~later if self._time_explains_top else can | later
        left: npt.NDArray[np.bool_] = can & (area & (_ACQUITTED & ~ASIDE) == 0)
        return left

    def skips(self, position: int) -> int:
        """How often a call was skipped: 0, 1, or 2 when it was given up or skipped just now."""
        return int(bool(self.flags[position] & SKIPPED)) + int(
            bool(self.flags[position] & GIVEN_UP)
        )

    def judged(self, verdict: Verdict) -> Int64s:
        """All calls with this verdict, in preorder."""
        return np.unique(self.judged_calls.with_verdict(verdict))

    def single_rule(self) -> bool:
        """Whether all calls that can be at fault, the top included, have one rule.

        The rules below an implicit call are not known, so with one the answer is no.
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
        """Implicit calls that nobody can judge, because they are looked through or given up.

        Their callees are not in the tree yet.
        """
        area = self._area()
        implicit = self.columns.implicit[self.top + 1 : self.stop] != 0
        open_ended = area & (TRUSTED | FOLDED | GIVEN_UP) != 0
        return self.top + 1 + np.flatnonzero(implicit & open_ended & (area & REMOVED == 0))

    def led_to(self, position: int) -> Int64s:
        """The calls that a call leads to directly; judged ones count even if trusted."""
        area = slice(position + 1, int(self.columns.end[position]))
        direct = (self._callers[area] == position) & (self.flags[area] & _LOOKED_THROUGH == 0)
        judged = self.judged_calls.with_verdict(*_DEFINITE)
        judged = judged[(judged > position) & (judged < area.stop)]
        return np.union1d(
            position + 1 + np.flatnonzero(direct), judged[self._callers[judged] == position]
        )

    def callees(self, position: int) -> Int64s:
        """The suspects that a call leads to directly."""
        few = self._few_callees(position)
        if few is not None:
            suspects: Int64s = few[self.flags[few] & _NOT_A_SUSPECT == 0]
            return suspects
        return self._callees(position, _NOT_A_SUSPECT).positions()

    def _few_callees(self, position: int) -> Int64s | None:
        """All direct callees of a call, if they are few, found without scanning its subtree."""
        if self._callers is not self.columns.parent:
            return None
        direct: list[int] = []
        end = self.columns.end
        inner, stop = position + 1, int(end[position])
        while inner < stop:
            if len(direct) == _FEW:
                return None
            direct.append(inner)
            inner = int(end[inner])
        return np.array(direct, dtype=np.int64)

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

    def suspect_mask(self) -> npt.NDArray[np.bool_]:
        """For each call of the tree, whether it can still be at fault."""
        mask = np.zeros(len(self.columns), dtype=bool)
        mask[self.top : self.stop] = self._are_suspects()
        mask[self.top] = self.top_is_open
        return mask

    def frontier(self) -> Iterator[CallScan]:
        """The top's callees that may be asked about; then those of skipped ones, and so on."""
        level = [self.top]
        blocked = self.open_calls.blocked
        while level:
            below: list[int] = []
            for position in level:
                open_callees = self._callees(position, blocked)
                if open_callees.any():
                    yield open_callees
                if self._skips:
                    callees = self.callees(position)
                    skipped = self.flags[callees] & (SKIPPED | GIVEN_UP) != 0
                    below += callees[skipped].tolist()
            level = below

    def _callees(self, position: int, blocked: np.uint8) -> CallScan:
        stop = int(self.columns.end[position])
        return CallScan(
            self.flags, blocked, position + 1, stop, self._callers, maxima=self._all_maxima
        )

    def askable(self, positions: Int64s) -> Int64s:
        """Those of the positions that may be asked about now."""
        open_now: Int64s = positions[self.flags[positions] & self.open_calls.blocked == 0]
        return open_now

    @property
    def open_calls(self) -> CallScan:
        """The calls below the top that may be asked about; skipped ones if no other is left."""
        fresh = self._calls_without(_NOT_A_SUSPECT | SKIPPED | GIVEN_UP)
        if not self._skips or fresh.any():
            return fresh
        return self._calls_without(_NOT_A_SUSPECT | GIVEN_UP)

    def sums(self, own: Floats) -> Floats:
        """The sums of another own weight over the suspects of each subtree."""
        counted = np.where(self.flags & _NOT_A_SUSPECT == 0, own, 0.0)
        return subtree_sums(counted, self.columns.end)

    def kept_sums(self, key: Hashable, own: Callable[[], Floats]) -> tuple[Floats, Floats]:
        """The sums of an own weight, and that weight. `key` says which weight it is: as long as it
        is the same, the sums are kept, and an answer costs what it costs without them."""
        kept = self._kept
        if kept is None or kept.key != key:
            kept = self._kept = KeptSums(key, own(), self.columns.end)
            kept.sum_up(self.top, self._are_suspects())
        elif kept.little_is_left(self.top):
            kept.sum_up(self.top, self._are_suspects())
        return kept.weight, kept.own

    # --- inside --------------------------------------------------------------------------------

    def _area(self) -> Bytes:
        return self.flags[self.top + 1 : self.stop]

    def _are_suspects(self) -> npt.NDArray[np.bool_]:
        """For the top and each call below it, whether it can still be at fault."""
        are_suspects: npt.NDArray[np.bool_] = self.flags[self.top : self.stop] & _NOT_A_SUSPECT == 0
        return are_suspects

    def _calls_without(self, flags: np.uint8) -> CallScan:
        return CallScan(self.flags, flags, self.top + 1, self.stop, maxima=self._all_maxima)

    @property
    def _all_maxima(self) -> tuple[BlockMaxima, ...]:
        return (self._maxima,) if self._kept is None else (self._maxima, self._kept.maxima)


def _covered(starts: Int64s, stops: Int64s, area: Bytes) -> Int64s | npt.NDArray[np.bool_]:
    """The places in some disjoint ranges of an area: their indices if they are few, else a mask."""
    sizes = stops - starts
    total = int(sizes.sum())
    if total < len(area) // 8:
        return np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(total)
    steps = np.zeros(len(area) + 1, dtype=np.int8)
    steps[starts] += 1
    steps[stops] -= 1
    np.cumsum(steps, out=steps)
    return steps[:-1].view(np.bool_)


def _sums_by(keys: Int64s, amounts: Floats) -> tuple[Int64s, Floats]:
    """The distinct keys, and the sum of the amounts of each."""
    first, last = int(keys.min()), int(keys.max())
    if last - first < 4 * len(keys):
        sums: Floats = np.bincount(keys - first, amounts).astype(np.float64)
        is_key = np.zeros(last - first + 1, dtype=bool)
        is_key[keys - first] = True
        offsets = np.flatnonzero(is_key)
        return offsets + first, sums[offsets]
    distinct, places = np.unique(keys, return_inverse=True)
    return distinct, np.bincount(places, amounts).astype(np.float64)
