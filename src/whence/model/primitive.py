"""The operation that raised an exception: a piece of a call's own code that cannot be at fault.

It is no call of the tree: nobody is asked about it and it is never blamed, so a place in the tree
would only renumber all calls. It is reported with the call that contains it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from whence.model.call import Binding, Location
from whence.model.value import Value

Span = tuple[int, int, int, int]
"""A piece of text: line, column (from 1), last line, column after it."""


@dataclass(frozen=True, slots=True)
class Primitive:
    """What raised in a call (`node`): its text, and the known values of its operands.

    `operands` are named by their texts; those with unknown values are left out.
    """

    node: int
    text: str
    location: Location | None
    operands: tuple[Binding, ...] = ()
    is_whole: bool = True
    """Whether the values of all operands are known."""


@dataclass(frozen=True, slots=True)
class WorkedOut:
    """What is known of the moment in which a call raised: its variables, and the values of the
    expressions that the statement had evaluated, by their spans."""

    variables: Mapping[str, Value] = field(default_factory=dict)
    parts: Mapping[Span, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RaisingOperand:
    """An expression whose value an operation takes, and the variables in it."""

    text: str
    span: Span
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RaisingOperation:
    """The operation that stands at a place of the source."""

    text: str
    operands: tuple[RaisingOperand, ...]
    rebound: frozenset[str]
    """Variables that the function binds: their values may differ from those at its start."""
    is_guarded: bool
    """Whether code of the function may run after the operation has raised."""
