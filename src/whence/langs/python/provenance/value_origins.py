"""The origin of a value: the expression that made it, and the calls that it came through.

Follows copies of the marked value back to the tag that made it ([M] section 5: down into the call
that bound it, up into the caller that passed it). If several values are identical, all are
candidates; if code out of sight changed the value, the origin is unknown. The operands of the
expression are followed one step further: a user who marks a word of a string wants to know about
the value in it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from whence.langs.python.provenance.marked_parts import Criterion, Step
from whence.langs.python.provenance.tags import (
    AMBIG,
    ARG,
    CONST,
    CONTROLS,
    COPIES,
    EXC,
    INPUT,
    LOST,
    OP,
    PART,
    RET,
    SITES,
    TEXT,
    Activation,
    MaybeTag,
    Site,
    Tag,
    activation_of,
    needs_of,
)

MOST_OPERANDS = 8
_OPERATIONS = frozenset({OP, TEXT, EXC})


@dataclass(frozen=True, slots=True)
class ValueMaker:
    """What made a value: an expression of a call, or a parameter of the shadowed call."""

    activation: Activation
    site: Site
    parameter: str = ""
    path: tuple[Step, ...] = ()
    """Of a parameter: the part of it."""
    tag: MaybeTag = field(default=None, compare=False, repr=False)
    """Its tag in the run."""


@dataclass(frozen=True, slots=True)
class OriginResult:
    """Where a marked part came from."""

    makers: tuple[ValueMaker, ...]
    """More than one: it was one of these."""
    chain: tuple[Activation, ...] = ()
    """From the marked call to the origin."""
    unknown: str = ""
    made_of: tuple[ValueMaker, ...] = ()
    """If there is one maker: the makers of the operands of its expression, as far as known."""


def find_origin(criterion: Criterion) -> OriginResult:
    """Where a marked part came from."""
    ends, hops, unknown = _follow(criterion.tag)
    makers = tuple(dict.fromkeys(ends))
    if not makers:
        return OriginResult((), (), unknown or "nothing is known of it")
    path = _CallPath(criterion.activation)
    for place in criterion.places:
        for hop in _copies(place.tag):
            activation = hop.control.activation if hop.kind == ARG else _returned_by(hop)
            if activation is not None and activation.start > place.written > 0:
                path.to(activation)
    for hop in hops:
        path.to(activation_of(hop))
        if hop.kind == ARG:
            path.to(hop.control.activation.parent)
        else:
            path.to(_returned_by(hop))
    if len(makers) > 1:
        return OriginResult(makers, tuple(path.calls))
    path.to(makers[0].activation)
    return OriginResult(makers, tuple(path.calls), made_of=_operands(makers[0]))


def _operands(maker: ValueMaker) -> tuple[ValueMaker, ...]:
    """The makers of the operands of an expression. Constants of the same call and the values of
    its own parts are left out.
    """
    if maker.tag is None or maker.tag.kind not in _OPERATIONS:
        return ()
    makers: dict[ValueMaker, None] = {}
    left = deque(needs_of(maker.tag))
    visited: set[int] = set()
    while left and len(makers) < MOST_OPERANDS:
        tag = left.popleft()
        if tag is None or id(tag) in visited or tag.kind in CONTROLS:
            continue
        visited.add(id(tag))
        if tag.control is None:  # made by no call: a complete read, or stray results
            left += needs_of(tag)
            continue
        for operand in _follow(tag)[0]:
            if operand.parameter or operand.tag is None:
                continue
            is_own = operand.activation is maker.activation
            if is_own and operand.site.is_inside(maker.site):
                left += needs_of(operand.tag)
            elif not (is_own and operand.tag.kind == CONST):
                makers[operand] = None
    return tuple(makers)[:MOST_OPERANDS]


def _returned_by(hop: Tag) -> Activation | None:
    return hop.returned_by if hop.kind == RET else None


def _copies(tag: MaybeTag) -> list[Tag]:
    """The copies of a value, from the last to the first."""
    hops = []
    while tag is not None and tag.kind in COPIES:
        hops.append(tag)
        tag = tag.source
    return hops


def _follow(tag: MaybeTag) -> tuple[list[ValueMaker], list[Tag], str]:
    """The makers of a value, the copies on the way, and why there is no maker."""
    hops: list[Tag] = []
    path: tuple[Step, ...] = ()
    while tag is not None:
        if tag.kind in COPIES:
            hops.append(tag)
        elif tag.kind == PART:
            hops.append(tag)
            path = (tag.step, *path)
        else:
            break
        tag = tag.source
    if tag is None or (tag.kind != AMBIG and activation_of(tag) is None):
        return [], hops, "it came from code that was not followed"
    if tag.kind == AMBIG:
        makers: list[ValueMaker] = []
        for choice in tag.choices:
            inner, _, unknown = _follow(choice)
            if not inner:
                return [], hops, unknown
            makers += inner
        return makers, hops, ""
    if tag.kind == LOST:
        return [], hops, "it was changed by code that was not followed"
    if path and tag.kind != INPUT:
        return [], hops, "it is a part of something that code which was not followed made"
    activation = activation_of(tag)
    assert activation is not None
    parameter = tag.name if tag.kind == INPUT else ""
    rest = path if tag.kind == INPUT else ()
    return [ValueMaker(activation, SITES[tag.site], parameter, rest, tag)], hops, ""


class _CallPath:
    """A path through the tree of calls."""

    def __init__(self, start: Activation):
        self.calls = [start]

    def to(self, goal: Activation | None) -> None:
        """Extend the path to a call, through the nearest common caller."""
        if goal is None or goal is self.calls[-1]:
            return
        up = _callers(self.calls[-1])
        down = [goal]
        while down[-1] not in up and down[-1].parent is not None:
            down.append(down[-1].parent)
        if down[-1] in up:
            top = up.index(down[-1])
            self.calls += up[1 : top + 1]
            down.pop()
        self.calls += reversed(down)


def _callers(activation: Activation) -> list[Activation]:
    callers = [activation]
    while callers[-1].parent is not None:
        callers.append(callers[-1].parent)
    return callers
