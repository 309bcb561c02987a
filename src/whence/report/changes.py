"""The differences between two values: only the parts that changed, each with its path.

Identities do not count: they number the objects of one moment, and a change is about contents. A
reference to an object counts as changed only if it refers to something at another place. An item
that was inserted into a list or removed from it is one change: the items after it do not count as
changed. A set differs in its members; a dict may differ in its order alone. What lies beyond the
bound of a recording is not known, so it is no difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

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
        if self.is_inside():
            return f"changed the inside of {name}"
        if self.is_unseen():
            return f"changed {name} in a part that was not recorded ({self._unseen()})"
        return f"{'reordered' if self.within else 'changed'} {name}: {before} → {after}"

    def short(self, target: str, limits: Limits) -> str:
        """The change of something by this name: `x[2]: nothing → 3`."""
        name = target + "".join(self.steps)
        before, after = _shown(self.before, limits), _shown(self.after, limits)
        if self._is_lost():
            return f"perhaps {name}: the name was rebound"
        if self.is_inside():
            return f"the inside of {name}"
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

    def is_inside(self) -> bool:
        """Whether what differs is inside an object of a library, which is not shown."""
        before, after = self.before, self.after
        if before is None or after is None or before.brief is None or after.brief is None:
            return False
        return before.in_place == after.in_place

    def is_unseen(self) -> bool:
        """Whether only how much was left out of the recording differs."""
        before, after = self.before, self.after
        if before is None or after is None or before.omitted == after.omitted or self.is_inside():
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


def changes(before: Value | None, after: Value | None) -> Iterator[Change]:
    """The smallest parts that differ, in the order in which they stand."""
    return _Comparison(before, after).changes(before, after, ())


def equal(one: Value, other: Value) -> bool:
    """Whether two values differ in nothing but their identities."""
    return next(changes(one, other), None) is None


class _Comparison:
    """Compares two values, and knows which objects of one correspond to which of the other."""

    def __init__(self, before: Value | None, after: Value | None) -> None:
        self._pairs: dict[int, int | None] = {}
        self._pair(before, after)

    def _pair(self, before: Value | None, after: Value | None) -> None:
        """Objects at the same place correspond."""
        pending = [(before, after)]
        for old, new in pending:
            if old is None or new is None or Kind.SHARED in (old.kind, new.kind):
                continue
            if old.identity is not None:
                self._pairs.setdefault(old.identity, new.identity)
            parts = dict(new.parts)
            pending += [(part, parts[step]) for step, part in old.parts if step in parts]

    def changes(self, before: Value | None, after: Value | None, steps: Steps) -> Iterator[Change]:
        if before is None or after is None:
            if before is not after:
                yield Change(steps, before, after)
            return
        if _is_unrecorded(before, after):
            return
        if before.brief is not None and after.brief is not None and before.text == after.text:
            inner = self.changes(replace(before, brief=None), replace(after, brief=None), steps)
            if next(inner, None) is not None:
                yield Change(steps, before, after)
            return
        same = replace(before, omitted=after.omitted)
        if before.kind is after.kind is Kind.SET and self._alike(same, after, has_parts=False):
            yield from _members(before, after, steps)
        elif before.kind is after.kind is Kind.LIST and self._alike(same, after):
            yield from self._items(before, after, steps)
        elif self._alike(before, after):
            yield from self._parts(before, after, steps)
        else:
            keys = dict(before.parts).keys() == dict(after.parts).keys()
            if before.kind in _NAMED and keys and self._alike(same, after):
                yield from self._parts(before, after, steps)
                before = replace(after, omitted=before.omitted)
            yield Change(steps, before, after)

    def _equal(self, one: Value, other: Value) -> bool:
        return next(self.changes(one, other, ()), None) is None

    def _alike(self, before: Value, after: Value, *, has_parts: bool = True) -> bool:
        """Whether two values can only differ in their parts."""
        if before.kind is not after.kind or before.text != after.text:
            return False
        if before.kind is Kind.SHARED:
            number = before.identity
            return (None if number is None else self._pairs.get(number, number)) == after.identity
        if before.omitted != after.omitted:
            return False
        return not has_parts or bool(before.parts) == bool(after.parts)

    def _parts(self, before: Value, after: Value, steps: Steps) -> Iterator[Change]:
        """The changes of single parts, and of the order of those that both values have."""
        old, new = dict(before.parts), dict(after.parts)
        if before.kind in _NAMED and before.omitted and old.keys() != new.keys():
            yield Change(steps, before, after)  # a new part may have been there, but not recorded
            return
        for step in dict.fromkeys([*old, *new]):
            yield from self.changes(old.get(step), new.get(step), (*steps, step))
        if [step for step in old if step in new] != [step for step in new if step in old]:
            yield Change(steps, before, after, Kind.DICT)

    def _items(self, before: Value, after: Value, steps: Steps) -> Iterator[Change]:
        """The changes of a list: by index, or with insertions and removals if these are fewer."""
        by_index = list(self._parts(replace(before, omitted=after.omitted), after, steps))
        if by_index and self._shifts(before, after):
            moved = list(self._moved(before, after, steps))
            if moved and len(moved) < len(by_index):
                by_index = moved
        seen = [each for each in by_index if not _is_beyond(each, steps, before, after)]
        yield from seen
        if not seen and before.omitted != after.omitted:
            yield Change(steps, replace(after, omitted=before.omitted), after)

    def _shifts(self, before: Value, after: Value) -> bool:
        """Whether an item is at another place than before. One at the end shifts no other."""
        old, new = [part for _, part in before.parts], [part for _, part in after.parts]
        pairs = list(zip(old, new, strict=False))
        return not all(self._equal(*pair) for pair in pairs)

    def _moved(self, before: Value, after: Value, steps: Steps) -> Iterator[Change]:
        old, new = before.parts, after.parts
        ours, theirs = ([show(part, FULL) for _, part in parts] for parts in (old, new))
        matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
        for what, first, last, begin, end in matcher.get_opcodes():
            if what == "equal":
                continue
            both = min(last - first, end - begin)
            for offset in range(both):
                step = (*steps, f"[{begin + offset}]")
                yield from self.changes(old[first + offset][1], new[begin + offset][1], step)
            for index in range(first + both, last):
                within = Kind.LIST if last < len(old) or end < len(new) else None
                yield Change((*steps, f"[{index}]"), old[index][1], None, within)
            for index in range(begin + both, end):
                within = Kind.LIST if last < len(old) or end < len(new) else None
                yield Change((*steps, f"[{index}]"), None, new[index][1], within)


def _is_unrecorded(before: Value, after: Value) -> bool:
    """Whether the parts of one of two values were not recorded, and nothing else differs."""
    if (before.kind, before.text) != (after.kind, after.text):
        return False
    sizes = [len(value.parts) + value.omitted for value in (before, after)]
    hidden = [not value.parts and value.omitted > 0 for value in (before, after)]
    return sizes[0] == sizes[1] and any(hidden)


def _is_beyond(change: Change, steps: Steps, before: Value, after: Value) -> bool:
    """Whether an item at the end of what was recorded only appears there or only disappears."""
    if len(change.steps) != len(steps) + 1 or change.within is not None:
        return False
    return bool((change.before is None and before.omitted) or (not change.after and after.omitted))


def _members(before: Value, after: Value, steps: Steps) -> Iterator[Change]:
    """What was added to a set or removed from it, as far as that is known."""
    old = [(show(part, FULL), part) for _, part in before.parts]
    new = [(show(part, FULL), part) for _, part in after.parts]
    kept = Counter(text for text, _ in old) & Counter(text for text, _ in new)
    found = False
    for members, is_new, is_known in (
        (old, False, not after.omitted),
        (new, True, not before.omitted),
    ):
        left = kept.copy()
        for text, part in members:
            if left[text] > 0:
                left[text] -= 1
            elif is_known:
                found = True
                yield Change(steps, None if is_new else part, part if is_new else None, Kind.SET)
    sizes = [len(value.parts) + value.omitted for value in (before, after)]
    if not found and sizes[0] != sizes[1]:
        hidden = max(0, sizes[0] - len(after.parts))
        yield Change(steps, replace(after, omitted=hidden), after)
