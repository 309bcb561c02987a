"""The four sets into which a marked part divides an execution tree (Silva 2006, 3.6 and Example 6).

Set 1: the part's origin and all below it. Set 2: the calls that passed the part on, between the
origin and the marked call, both excluded. Set 4: the calls that could not have influenced the
part. Set 3: the rest. A call that belongs to several is in the first of 1, 2, 4.

They need an origin and an influence, from whatever `Provenance`; dynamic weighting, the combination
and `auto` weigh calls by them. Cost: a few passes over arrays as long as the tree, and one look
at each call that the influence names.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whence.model.origin import Influence, Origin
from whence.ports import Bytes, Tree


@dataclass(frozen=True)
class FourSets:
    """The number of the set that each position of a tree is in.

    `certain` says that set 4 holds only calls that cannot have mattered; without it a search may
    put them last, but not drop them. Nothing known of the influence makes set 4 empty.
    """

    number: Bytes
    certain: bool

    def ids(self, tree: Tree, number: int) -> frozenset[int]:
        """The ids of the calls in one set."""
        return frozenset(
            tree.id(int(position)) for position in np.flatnonzero(self.number == number)
        )


def four_sets(tree: Tree, origin: Origin, influence: Influence | None, marked: int) -> FourSets:
    """The sets of a part that was marked in call `marked` (its id)."""
    number = np.full(len(tree.columns), 3, dtype=np.uint8)
    if influence is not None:
        number[:] = 4
        number[tree.positions(influence.nodes)] = 3
    passed_on = [node for node in origin.chain if node not in (origin.node, marked)]
    number[tree.positions(passed_on)] = 2
    if origin.node is not None:
        first = tree.position(origin.node)
        number[first : int(tree.columns.end[first])] = 1
    number.flags.writeable = False
    certain = influence is not None and influence.complete and not influence.wider
    return FourSets(number, certain)
