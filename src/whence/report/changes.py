"""The differences between two values: only the parts that changed, each with its path.

Identities do not count: they number the objects of one moment, and a change is about contents. An
item that was inserted into a list or removed from it is one change: the items after it do not
count as changed. A set differs in its members; a dict may differ in its order alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from whence.model.call import Call, Effect
from whence.model.value import FULL, Kind, Limits, Steps, Value, show

_NAMED = frozenset({Kind.OBJECT, Kind.DICT})
_LOST = "<not known: the name was rebound"


@dataclass(frozen=True, slots=True)
class Change:
    """A part before and after; None where there was none.

    `within`: a list where the part was put in or taken out between others; a set (then `steps`
    lead to the set, whose members have no address); or DICT if the order of the keys or attributes
    of the part itself changed.
    """

    steps: Steps
    before: Value | None
    after: Value | None
    within: Kind | None = None

    def words(self, target: str, limits: Limits) -> str:
        """The change of something by this name, in words: `made x[2] = 3`."""
        name = target + "".join(self.steps)
        before, after = _shown(self.before, limits), _shown(self.after, limits)
        if self.before is None:
            if self.within is Kind.SET:
                return f"added {after} to {name}"
            return f"{'inserted' if self.within else 'made'} {name} = {after}"
        if self.after is None:
            if self.within is Kind.SET:
                return f"removed {before} from {name}"
            return f"removed {name}, which was {before}"
        if self._is_lost():
            return f"may have changed {name}: the name was rebound"
        if self.is_unseen():
            return f"changed {name} in a part that was not recorded ({self._unseen()})"
        return f"{'reordered' if self.within else 'changed'} {name}: {before} → {after}"

    def short(self, target: str, limits: Limits) -> str:
        """The change of something by this name: `x[2]: nothing → 3`."""
        name = target + "".join(self.steps)
        before, after = _shown(self.before, limits), _shown(self.after, limits)
        if self._is_lost():
            return f"perhaps {name}: the name was rebound"
        if self.is_unseen():
            return f"{name}, in a part that was not recorded: {self._unseen()}"
        if self.within is None:
            return f"{name}: {before} → {after}"
        if self.within is Kind.DICT:
            return f"{name}, reordered: {before} → {after}"
        verb = "inserted" if self.within is Kind.LIST else "added"
        return f"{name}: {verb} {after}" if self.before is None else f"{name}: removed {before}"

    def state(self, target: str, limits: Limits) -> tuple[str, Value | None]:
        """What is so after the change, as words and the value that they lead to."""
        name = target + "".join(self.steps)
        if self.within is not None or self.is_unseen():
            return self.short(target, limits), None
        return (f"{name} is gone", None) if self.after is None else (f"{name} = ", self.after)

    def is_unseen(self) -> bool:
        """Whether only how much was left out of the recording differs."""
        before, after = self.before, self.after
        if before is None or after is None or before.omitted == after.omitted:
            return False
        return equal(replace(before, omitted=after.omitted), after)

    def _unseen(self) -> str:
        assert self.before is not None
        assert self.after is not None
        return f"…{self.before.omitted} more → …{self.after.omitted} more"

    def _is_lost(self) -> bool:
        """Whether the value after the change is unknown."""
        return self.after is not None and self.after.text.startswith(_LOST)


_MOST_PARTS = 8


def afterwards(call: Call, limits: Limits, room: int) -> list[tuple[str, Value | None]]:
    """The state after a step and how it ended, as texts, each with the value that it introduces.

    Of a value that is longer than `room`, only the changed parts are included.
    """
    lines: list[tuple[str, Value | None]] = []
    for effect in call.effects:
        lines += _after(effect, limits, room)
    lines += [(text, None) for text in (call.step.same if call.step else ())]
    lines += [("yields ", value) for value in call.outcome.yielded]
    ending, value = call.step.ending if call.step else "", call.outcome.value
    if ending or value is not None:
        lines.append((f"{ending} " if value is not None else ending, value))
    return lines or [("nothing changed", None)]


def _after(effect: Effect, limits: Limits, room: int) -> list[tuple[str, Value | None]]:
    if effect.after is None:
        return [(f"{effect.target} is gone", None)]
    whole = f"{effect.target} = "
    shown = whole + show(effect.after, limits)
    if effect.before is None or (len(shown) <= room and "…" not in shown):
        return [(whole, effect.after)]
    parts = list(changes(effect.before, effect.after))
    if not 0 < len(parts) <= _MOST_PARTS or not parts[0].steps:
        return [(whole, effect.after)]
    return [change.state(effect.target, limits) for change in parts]


def _shown(value: Value | None, limits: Limits) -> str:
    return "nothing" if value is None else show(value, limits)


def changes(before: Value | None, after: Value | None, steps: Steps = ()) -> Iterator[Change]:
    """The smallest parts that differ, in the order in which they stand."""
    if before is None or after is None:
        if before is not after:
            yield Change(steps, before, after)
        return
    if not _alike(before, after):
        old, new = dict(before.parts), dict(after.parts)
        if (
            before.kind in _NAMED
            and old.keys() == new.keys()
            and _alike(replace(before, omitted=after.omitted), after)
        ):
            yield from _parts(before, after, steps)
            before = replace(after, omitted=before.omitted)
        yield Change(steps, before, after)
        return
    if before.kind is Kind.SET:
        yield from _members(before, after, steps)
        return
    if before.kind is Kind.LIST and len(before.parts) != len(after.parts):
        moved = list(_moved(before, after, steps))
        if moved:
            yield from moved
            return
    yield from _parts(before, after, steps)


def _parts(before: Value, after: Value, steps: Steps) -> Iterator[Change]:
    """The changes of single parts, and of the order of those that both values have."""
    old, new = dict(before.parts), dict(after.parts)
    if before.kind in _NAMED and before.omitted and old.keys() != new.keys():
        yield Change(steps, before, after)  # a new part may have been there, but not recorded
        return
    for step in dict.fromkeys([*old, *new]):
        yield from changes(old.get(step), new.get(step), (*steps, step))
    if [step for step in old if step in new] != [step for step in new if step in old]:
        yield Change(steps, before, after, Kind.DICT)


def _alike(before: Value, after: Value) -> bool:
    """Whether two values can only differ in their parts."""
    if before.kind is not after.kind or before.text != after.text:
        return False
    if before.kind is Kind.SHARED:
        return before.identity == after.identity
    if before.omitted != after.omitted:
        return False
    return bool(before.parts) == bool(after.parts)


def equal(one: Value, other: Value) -> bool:
    """Whether two values differ in nothing but their identities."""
    return next(changes(one, other), None) is None


def _members(before: Value, after: Value, steps: Steps) -> Iterator[Change]:
    old = [(show(part, FULL), part) for _, part in before.parts]
    new = [(show(part, FULL), part) for _, part in after.parts]
    kept = Counter(text for text, _ in old) & Counter(text for text, _ in new)
    for members, is_new in ((old, False), (new, True)):
        left = kept.copy()
        for text, part in members:
            if left[text] > 0:
                left[text] -= 1
            elif is_new:
                yield Change(steps, None, part, Kind.SET)
            else:
                yield Change(steps, part, None, Kind.SET)


def _moved(before: Value, after: Value, steps: Steps) -> Iterator[Change]:
    """The items that were inserted or removed, if that is one run and the only change."""
    old, new = [part for _, part in before.parts], [part for _, part in after.parts]
    shorter = min(len(old), len(new))
    first = 0
    while first < shorter and equal(old[first], new[first]):
        first += 1
    last = 0
    while last < shorter - first and equal(old[-1 - last], new[-1 - last]):
        last += 1
    # A change at the end shifts no other item, so a comparison by index shows it as well.
    if first + last < shorter or first == shorter:
        return
    for index in range(first, max(len(old), len(new)) - last):
        step = (*steps, f"[{index}]")
        if len(new) > len(old):
            yield Change(step, None, new[index], Kind.LIST)
        else:
            yield Change(step, old[index], None, Kind.LIST)
