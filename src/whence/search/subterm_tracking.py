"""Subterm dependency tracking (MacLarty et al. 2005): follow a marked part to where it was made.

Without a mark it is top-down search. A mark gives a chain of calls from the part's origin to the
marked call. The origin is asked first, or, if it is no longer a suspect, the nearest suspect on the
chain. After "right" the rest of the chain follows: from the origin on (as Silva 2006 has it), or
as in Mercury from the marked call downwards or by bisection, both without the calls that the part
only passed through. A wrong call off the chain, or the end of the chain, returns to top-down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from whence.model.call import OutcomeKind
from whence.model.origin import Origin
from whence.model.verdict import Verdict
from whence.ports import Choice, Judged, Suspects
from whence.search.top_down import TopDown

MADE_IT = "it made the part that you marked"
MAY_HAVE_MADE_IT = "it may have made the part that you marked"
MET_IN_EXCEPTION = "it made what the exception was raised over"


class ChainSearch(Enum):
    """How the chain is searched after its origin was judged right."""

    FROM_ORIGIN = "from-origin"
    TOP_DOWN = "top-down"
    BISECT = "bisect"


@dataclass(frozen=True)
class SubtermTracking(TopDown):
    """Follows marks, else goes top-down."""

    name: str = "subterm-tracking"
    chain_search: ChainSearch = ChainSearch.FROM_ORIGIN

    def choose(self, suspects: Suspects) -> Choice | None:
        """The next call of the chain, else the next one top-down."""
        followed = following_chain(suspects, self.chain_search)
        return followed or super().choose(suspects)


def last_mark(suspects: Suspects) -> Judged | None:
    """The mark that is being followed: the last one, until a call off its way is wrong.

    On its way are the calls of the chain, and the callers of its origin. A mark whose origin is
    unknown cannot be followed: the one before it is.
    """
    tree, end = suspects.tree, suspects.columns.end
    wrong_since: list[int] = []
    for judged in reversed(suspects.history):
        if judged.origin is not None and judged.origin.node is not None:
            chain = {tree.position(node) for node in judged.origin.chain}
            origin = tree.position(judged.origin.node)
            on_way = (
                position in chain or position <= origin < end[position] for position in wrong_since
            )
            return judged if all(on_way) else None
        if judged.verdict is Verdict.WRONG:
            wrong_since.append(judged.position)
    return None


def origin_of_mark(suspects: Suspects) -> int | None:
    """The position of the call that made what was marked last, if it may be asked about."""
    marked = last_mark(suspects)
    if marked is None or marked.origin is None or marked.origin.node is None:
        return None
    position = suspects.tree.position(marked.origin.node)
    inside = suspects.top < position < suspects.stop
    is_open = inside and len(suspects.askable(np.array([position], dtype=np.int64)))
    return position if is_open else None


def operands_of_exception(suspects: Suspects, marked: Judged) -> list[int]:
    """If an exception was marked: the calls that made what it was raised over, if they may be asked
    about. The call that raised over a wrong None is rarely the one that made it."""
    raised = suspects.columns.outcome[marked.position] == OutcomeKind.RAISED
    if not raised or marked.verdict is not Verdict.WRONG or marked.origin is None:
        return []
    return _open_ones(suspects, marked.origin.made_of)


def _open_ones(suspects: Suspects, origins: Sequence[Origin]) -> list[int]:
    """The positions of the calls of some origins that may be asked about, in their order."""
    positions = [
        suspects.tree.position(origin.node) for origin in origins if origin.node is not None
    ]
    inside = {position for position in positions if suspects.top < position < suspects.stop}
    still_open = set(suspects.askable(np.array(sorted(inside), dtype=np.int64)).tolist())
    return [position for position in dict.fromkeys(positions) if position in still_open]


def possible_origins(suspects: Suspects) -> list[int]:
    """Where it is not known which of several calls made what was marked last: the positions of
    those that may be asked about."""
    marked = next(
        (judged for judged in reversed(suspects.history) if judged.origin is not None), None
    )
    if marked is None or marked.origin is None:
        return []
    return sorted(_open_ones(suspects, marked.origin.candidates))


def following_chain(suspects: Suspects, search: ChainSearch) -> Choice | None:
    """The next open call on the chain of the last mark."""
    marked = last_mark(suspects)
    if marked is None or marked.origin is None or marked.origin.node is None:
        return None
    origin = marked.origin
    chain = [suspects.tree.position(node) for node in origin.chain]
    if search is not ChainSearch.FROM_ORIGIN and chain:
        passed = {suspects.tree.position(node) for node in origin.passed_through}
        chain = chain[:1] + [position for position in chain[1:] if position not in passed]
    below = [position for position in chain if suspects.top < position < suspects.stop]
    still_open = suspects.askable(np.array(below, dtype=np.int64)).tolist()
    if not still_open:
        return None
    if still_open[0] == chain[0]:
        return Choice(still_open[0], MADE_IT)
    if search is ChainSearch.TOP_DOWN:
        return Choice(still_open[-1], "the part that you marked passed through it")
    middle = still_open[len(still_open) // 2] if search is ChainSearch.BISECT else still_open[0]
    return Choice(middle, "the part that you marked passed through it")
