"""Where a marked part of a value came from."""

from __future__ import annotations

from dataclasses import dataclass

from whence.model.call import Location


@dataclass(frozen=True, slots=True)
class Origin:
    """The call that created a marked part, and the calls that the part passed through.

    `chain` runs from the origin to the marked call, which is not in it. An unknown origin has no
    `node` and a reason: whence never guesses one.
    """

    node: int | None
    chain: tuple[int, ...] = ()
    passed_through: frozenset[int] = frozenset()
    """Calls on the chain that only received the part and returned it."""
    location: Location | None = None
    expression: str = ""
    unknown: str = ""
    candidates: tuple[Origin, ...] = ()
    """If it is not known which of several origins it was: all of them, without chains."""
    made_of: tuple[Origin, ...] = ()
    """The origins of the values that the expression used, as far as they are known; without chains.
    """
    below: int | None = None
    """The implicit call below which the part was created: ask again when that call is expanded."""


@dataclass(frozen=True, slots=True)
class Influence:
    """The calls that could have influenced a marked part.

    `wider` are further slices, each used when nothing is left to ask in the one before; after the
    last one, all calls are. `complete` says that no call outside the widest slice can have
    influenced the part, so a fault found inside needs no search outside. Otherwise the calls
    outside are only set aside.
    """

    nodes: frozenset[int]
    complete: bool
    wider: tuple[frozenset[int], ...] = ()

    def slices(self) -> tuple[frozenset[int], ...]:
        """All slices, the narrowest first."""
        return (self.nodes, *self.wider)
