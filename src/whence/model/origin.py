"""Where a marked part of a value came from."""

from __future__ import annotations

from dataclasses import dataclass

from whence.model.call import Location


@dataclass(frozen=True, slots=True)
class Origin:
    """The call that made a marked part, and the calls that the part passed through.

    `chain` runs from the origin to the marked call, which is not in it. An origin that cannot be
    told has no `node` and a reason: whence never guesses one.
    """

    node: int | None
    chain: tuple[int, ...] = ()
    passed_through: frozenset[int] = frozenset()
    """Calls on the chain that only took the part in and gave it back."""
    location: Location | None = None
    expression: str = ""
    unknown: str = ""
    candidates: tuple[Origin, ...] = ()
    """Where it is not known which of several it was: each of them, without a chain."""
    made_of: tuple[Origin, ...] = ()
    """Where what came into the expression was made, as far as that is known; without chains."""
    below: int | None = None
    """The implicit call below which it was made: when that was expanded, it can be asked again."""


@dataclass(frozen=True, slots=True)
class Influence:
    """The calls that could have influenced a marked part.

    `wider` are further slices, each of which is taken when nothing is left to ask in the one before
    it, and then everything. `complete` says that a call outside of the widest cannot have
    influenced the part: then a fault found inside needs no look outside. Without it the calls
    outside are only set aside.
    """

    nodes: frozenset[int]
    complete: bool
    wider: tuple[frozenset[int], ...] = ()

    def slices(self) -> tuple[frozenset[int], ...]:
        """All slices, the narrowest first."""
        return (self.nodes, *self.wider)
