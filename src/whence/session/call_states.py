"""What the answers make of each call, for a picture of the whole tree.

The search space knows flags; this module gives them the names that a person reads. It decides
nothing: each state follows from `SearchSpace` and the answers.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from whence.model.verdict import Answer, Verdict
from whence.ports import Bytes, Floats, Int64s
from whence.search.space import ASIDE, FOLDED, GIVEN_UP, REMOVED, SKIPPED, TRUSTED, SearchSpace
from whence.session.state import State


class CallState(IntEnum):
    """What is known of a call."""

    SUSPECT = 0
    """It can still be at fault."""
    RIGHT = 1
    WRONG = 2
    INADMISSIBLE = 3
    TRUSTED = 4
    """Its code cannot be at fault; what it calls still can."""
    ASIDE = 5
    """It is asked about only when nothing else is left."""
    CLEARED = 6
    """It is out of the search: below a right call, or outside of the wrong one."""
    SKIPPED = 7
    """Somebody did not know."""


_JUDGED = {
    Verdict.RIGHT: CallState.RIGHT,
    Verdict.WRONG: CallState.WRONG,
    Verdict.INADMISSIBLE: CallState.INADMISSIBLE,
}


class CallStates:
    """The states of all calls in one state of a session."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._space = state.space()
        self._judged: dict[int, Answer] | None = None

    @property
    def suspects(self) -> npt.NDArray[np.bool_]:
        """For each position, whether the call can still be at fault."""
        return self._space.suspect_mask()

    def suspicion(self) -> Floats:
        """For each position how much suspicion lies on the call itself."""
        space = self._space
        own = space.columns.own if space.prior is None else space.columns.own * space.prior
        weights: Floats = np.where(space.suspect_mask(), own, 0.0)
        return weights

    def of(self, positions: Int64s) -> Bytes:
        """The states of some calls."""
        space = self._space
        flags = space.flags[positions]
        states = np.full(len(positions), CallState.CLEARED, dtype=np.uint8)
        states[_inside(space, positions) & (flags & REMOVED == 0)] = CallState.SUSPECT
        is_open = states == CallState.SUSPECT
        for flag, name in (
            (SKIPPED | GIVEN_UP, CallState.SKIPPED),
            (ASIDE | FOLDED, CallState.ASIDE),
            (TRUSTED, CallState.TRUSTED),
        ):
            states[is_open & (flags & flag != 0)] = name
        for verdict, name in _JUDGED.items():
            states[np.isin(positions, space.judged(verdict))] = name
        return states

    def answer(self, position: int) -> Answer | None:
        """The answer that holds for a call: about itself, or about one with an equal equation."""
        if self._judged is None:
            self._judged = {}
            for answer in self._state.facts.answers:
                if answer.verdict is not Verdict.UNKNOWN:
                    self._judged[self._state.tree.position(answer.node)] = answer
        direct = self._judged.get(position)
        if direct is not None or self._space.verdict(position) is None:
            return direct
        are_equal = self._space.judged_calls.are_equal
        return next((a for p, a in self._judged.items() if are_equal(p, position)), None)


def _inside(space: SearchSpace, positions: Int64s) -> npt.NDArray[np.bool_]:
    inside: npt.NDArray[np.bool_] = (positions >= space.top) & (positions < space.stop)
    return inside
