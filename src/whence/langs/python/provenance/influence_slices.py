"""The calls that could have influenced a marked part, in three widths.

- L1: those that the part's tags lead to, by data and by control: assignments that a test left out
  are among them (`PHI`).
- L2: also calls that could have written to an object that was read, and did not: those that could
  reach the object and whose code writes to such places. And what decides the changes of calls in
  the slice: whether they append to a list, and to which of several.
- L3: also calls that could reach the object and whose code does not write to such places. What
  a call outside L3 does cannot influence the part. For characters of a string, L3 includes all
  that the string was made of.

An exception can influence more: if a call inside `try` or `with` raised none, that may be why
other code ran. `calls_below_handlers` returns these calls.

Reachability is over-estimated: an object that once held another counts as holding it ever since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from types import FunctionType
from typing import Any

from whence.langs.python.objects.raw_class import BUILTIN_FUNCTIONS
from whence.langs.python.provenance.marked_parts import Criterion
from whence.langs.python.provenance.runtime.attribute_access import REMAKING
from whence.langs.python.provenance.runtime.run_state import RUN
from whence.langs.python.provenance.runtime.shadow_memory import deep_tags
from whence.langs.python.provenance.runtime.type_inspection import IdentitySet
from whence.langs.python.provenance.runtime.world_state import world_changes
from whence.langs.python.provenance.tags import (
    AMBIG,
    ARG,
    BOUND,
    COPIES,
    CTL,
    FRAME,
    LOAD,
    NEW,
    OP,
    RET,
    SCALARS,
    SITES,
    STORE,
    WHOLE,
    Activation,
    MaybeTag,
    Pair,
    Tag,
    activation_of,
    attribute_owner,
    is_attribute_load,
    needs_of,
    sources_of,
)

Interval = tuple[int, int, Any, Any]
"""From when to when, of which object, which key."""

Span = tuple[int, int]
_Place = tuple[object, object]
"""An object and a key."""

_FOREVER = 1 << 62
_METHOD = ("attribute", None)
"""The place of all methods: the key is the name, which calls could have replaced."""
_REMADE = ("remade", None)
_PASSING = frozenset({ARG, RET, STORE})
_DECIDING = frozenset({CTL, OP})
"""The kinds of decisions that chose no object: tests, and what was attempted inside `try`."""
_UNCHANGING = SCALARS | IdentitySet(FunctionType, *BUILTIN_FUNCTIONS, type)
_REST = IdentitySet(tuple, dict)


def influencing_calls(criterion: Criterion, width: int) -> frozenset[Activation]:
    """The calls that could have influenced a marked part: L1, L2 or L3."""
    collected = _Slice(width, criterion.time, criterion.activation)
    for place in criterion.places:
        collected.start(place.tag, place.shape)
        written = place.written if _stays(place.key) else 0
        collected.read.add((written, place.read, place.thing, place.key))
    collected.start(criterion.tag, *criterion.parts)
    collected.read.update((0, criterion.time, _REMADE, name) for name in REMAKING)
    if width > 1:
        collected.start(*(tag for time, tag in RUN.remade if time <= criterion.time))
    if width > 2:
        collected.start(*criterion.texts)
    return frozenset(collected.complete())


def calls_below_handlers(top: Activation, calls: Iterable[Activation]) -> frozenset[Activation]:
    """Those of the calls below `top` whose exceptions may be caught before they leave it."""
    return frozenset(call for call in calls if call.guarded and call is not top)


def _before(tag: Tag) -> Iterator[MaybeTag]:
    """The tags that a tag depends on directly."""
    kind = tag.kind
    yield tag.control
    if kind >= CTL:
        yield tag.predicate
        return
    yield from sources_of(tag)
    yield from needs_of(tag)
    if kind == NEW and tag.run is not None:
        yield from (callback_tag for _, callback_tag in tag.run.callbacks)
        activation = tag.run.activation
        if activation is None:
            return
        # Code that has a generator or coroutine may have received its values.
        yield from (activation.result, activation.failure)
        yield from (tag for _, tag in activation.yielded)


class _Slice:
    def __init__(self, width: int, until: int, marked: Activation):
        self.calls: set[Activation] = set()
        self._until = until
        self._decided: set[Activation] = set()
        self.read: set[Interval] = set()
        self._width = width
        self._pending: list[MaybeTag] = []
        self._visited: set[int] = set()
        self._looked_at: set[Interval] = set()
        self._world: dict[str, int] = {}
        """How many changes of the world were followed, by region."""
        self._entered: set[Activation] = set()
        self._with_all_targets: set[Activation] = set()
        """Calls of which everything that chose the objects they changed was followed."""
        self._around = frozenset(_with_callers(marked))
        """The marked call and its callers: if one of them had raised, there would be no mark."""
        self._attempted: set[Activation] = set()
        """Calls inside `try` or `with`: what decided whether they raised was followed."""
        self._change_targets = cache(_change_targets)
        self._heap = _Heap() if width > 1 else None

    def start(self, *tags: MaybeTag) -> None:
        self._pending += tags

    def complete(self) -> set[Activation]:
        while True:
            self._follow()
            if self._heap is None:
                break
            self._add_decisions()
            fresh = self.read - self._looked_at
            if not fresh and not self._pending:
                break
            self._looked_at |= fresh
            for (thing, key), spans in _spans_by_place(fresh, self._width).items():
                for activation in self._heap.reaching(thing, key, self._width):
                    self._could_write(activation, spans)
        self.calls.discard(RUN.root)
        return self.calls

    def _follow(self) -> None:
        pending, visited = self._pending, self._visited
        while pending:
            tag = pending.pop()
            if tag is None or id(tag) in visited:
                continue
            visited.add(id(tag))
            made_by = activation_of(tag)
            if made_by is not None:
                self.calls.add(made_by)
            pending += _before(tag)
            kind = tag.kind
            if kind == LOAD:
                source, key = tag.source, tag.key
                is_stored = source is not None and source.kind == STORE
                written = source.time if source is not None and is_stored and _stays(key) else 0
                self.read.add((
                    written, tag.time, tag.address, key if type(key) in SCALARS else None
                ))  # fmt: skip
            elif kind == BOUND and tag.name:
                self.read.add((0, self._until, _METHOD, tag.name))
            elif kind == WHOLE and type(tag.address) is tuple:
                if self._width > 2:
                    self._read_world(tag.time, tag.address[1])
            elif kind == WHOLE:
                self.read.add((0, tag.time, tag.address, None))

    def _read_world(self, count: int, region: str) -> None:
        """Follow what may have changed a region of the world, among the first `count` changes."""
        done = self._world.get(region, 0)
        if count > done:
            self._pending += world_changes(done, count, region)
            self._world[region] = count

    def _add_decisions(self) -> None:
        """Follow the decisions of calls in the slice: they could have changed other objects."""
        for activation in self.calls - self._decided:
            self._decided.add(activation)
            for time, test in activation.decisions():
                if time > self._until:
                    continue
                if test.kind != OP:
                    self._pending.append(test if test.kind == CTL else _choice(test))
                elif self._width > 2:  # it was attempted, and raised no exception
                    self._pending.append(test)
            for call in activation.calls:
                if call.start <= self._until:
                    self._pending += _chosen(call)
                    if self._width > 2 and SITES[call.control.site].is_guarded:
                        self._attempt(call)

    def _attempt(self, attempted: Activation) -> None:
        """Follow all that could have made a call raise an exception which its caller handles."""
        left = [attempted]
        while left:
            call = left.pop()
            if call in self._attempted or call in self._around or call.start > self._until:
                continue
            self._attempted.add(call)
            self._pending += (call.result, call.failure, call.control)
            self._pending += deep_tags(tuple(zip(call.values, call.arguments, strict=False)))
            left += call.calls

    def _could_write(self, activation: Activation, spans: list[Span]) -> None:
        """Add a call that could reach an object which had to stay unchanged in these spans."""
        end = activation.end if activation.end >= 0 else _FOREVER
        met = [span for span in spans if activation.start <= span[1] and end >= span[0]]
        if not met:
            return
        if activation not in self._entered:
            self._entered.add(activation)
            self.calls.add(activation)
            self._pending.append(activation.control)
            self._pending += activation.arguments
        if activation in self._with_all_targets:
            return
        if any(since <= activation.start and end <= until for since, until in met):
            self._with_all_targets.add(activation)  # other spans add nothing
        # Which objects it changed; all its tests are in the slice already.
        self._pending += (
            target
            for time, target in self._change_targets(activation)
            if any(since <= time <= until for since, until in met)
        )


def _with_callers(activation: Activation | None) -> Iterator[Activation]:
    while activation is not None:
        yield activation
        activation = activation.parent


def _change_targets(activation: Activation) -> list[tuple[int, Tag]]:
    """The tags of the objects that a call chose to change, each with the time."""
    return [decision for decision in activation.decisions() if decision[1].kind not in _DECIDING]


def _chosen(activation: Activation) -> Iterator[MaybeTag]:
    """The tags that chose the objects a call received: it might have changed others instead."""
    operands: Iterable[Pair] = zip(activation.values, activation.arguments, strict=False)
    if activation.operation is not None:  # it received what the operation received
        operands = activation.operation.operands
    for value, tag in operands:
        if type(value) not in _UNCHANGING:
            yield _choice(tag)


def _choice(tag: MaybeTag) -> MaybeTag:
    """What chose an object among others; None if it is the only one that it could have been.

    An attribute was chosen with the object that has it: code that could have set it to another
    object had that object.
    """
    while tag is not None:
        kind, control = tag.kind, tag.control
        if is_attribute_load(tag):
            tag = attribute_owner(tag)
        elif kind in _PASSING and control is not None and control.kind == FRAME:
            tag = tag.source
        else:
            return tag if kind in COPIES or kind == AMBIG else None
    return None


def _spans_by_place(intervals: set[Interval], width: int) -> dict[_Place, list[Span]]:
    """For each place the spans in which it had to stay unchanged; overlapping ones are merged."""
    spans_by_place: dict[_Place, list[Span]] = {}
    for since, until, thing, key in intervals:
        matters = width == 2 or issubclass(type(thing), tuple)
        spans_by_place.setdefault((thing, key if matters else None), []).append((since, until))
    for place, spans in spans_by_place.items():
        merged: list[Span] = []
        for since, until in sorted(spans):
            if merged and since <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(until, merged[-1][1]))
            else:
                merged.append((since, until))
        spans_by_place[place] = merged
    return spans_by_place


def _stays(key: object) -> bool:
    """Whether changes of other places cannot move a place: not so in a list or an iterator."""
    return key is not None and type(key) is not int


class _Heap:
    """Which calls could reach which objects, by everything that was ever stored."""

    def __init__(self) -> None:
        self._holders: dict[int, set[int]] = {}
        for holder, value in zip(RUN.holder_addresses, RUN.held_addresses, strict=True):
            self._holders.setdefault(value, set()).add(holder)
        self._received_by: dict[int, list[Activation]] = {}
        for activation in RUN.activations[1:]:
            for address in {id(value) for value in _reached_by(activation)}:
                self._received_by.setdefault(address, []).append(activation)
            caller = activation.parent
            if caller is not None and caller.function is not None:
                self._received_by.setdefault(id(activation.value), []).append(caller)
        self._calls_by_place: dict[_Place, list[Activation]] = {}

    def reaching(self, thing: Any, key: Any, width: int) -> list[Activation]:
        """The calls that could write to a place, whenever they ran."""
        place = (thing, key)
        if place not in self._calls_by_place:
            if issubclass(type(thing), tuple):
                calls = RUN.activations[1:]
                calls_there = [call for call in calls if _sets_variable(call, thing, key)]
            else:
                calls_there = [
                    call for call in self._reaching(thing) if width > 2 or _may_write(call, key)
                ]
            self._calls_by_place[place] = calls_there
        return self._calls_by_place[place]

    def _reaching(self, thing: int) -> set[Activation]:
        """The calls that received an object, or something that held it."""
        visited = {thing}
        pending = [thing]
        calls: set[Activation] = set()
        while pending:
            address = pending.pop()
            calls.update(self._received_by.get(address, ()))
            for holder in self._holders.get(address, ()):
                if holder not in visited:
                    visited.add(holder)
                    pending.append(holder)
        return calls


def _reached_by(activation: Activation) -> Iterable[object]:
    fixed = activation.function.fixed if activation.function is not None else ()
    for value in (*activation.values, *activation.roots, *fixed):
        if type(value) not in SCALARS:
            yield value
            if type(value) in _REST:  # `*rest` and `**more` are made at the call
                yield from value if type(value) is tuple else value.values()


def _may_write(activation: Activation, key: object) -> bool:
    info = activation.function
    assert info is not None
    if info.sets_anything or info.sets_items:
        return True
    return type(key) is str and key in info.attributes


def _sets_variable(activation: Activation, variable: tuple[str, object], name: str) -> bool:
    info = activation.function
    assert info is not None
    kind, owner = variable
    if kind == "cell":
        return variable in info.sets_cells
    if variable == _REMADE:
        return name in info.attributes
    if info.sets_anything or name in info.attributes:
        return True
    return info.module == owner and name in info.sets_globals
