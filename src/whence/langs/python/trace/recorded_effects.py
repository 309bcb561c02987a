"""The effects of a call on a value, from the snapshots before and after it.

Each part that differs is one effect, on a path such as `self.items[2]`. If too many differ, or the
difference is beyond the bound of the snapshot, the effect is on the whole value.
"""

from __future__ import annotations

from dataclasses import dataclass

from whence.model.call import Effect
from whence.model.value import Kind, Steps, Value, atom

MOST_PARTS = 12
"""More differences than this are shown as one effect on the whole."""

UNKNOWN = atom("<not known: the name was rebound>")
_ABSENT = "<unbound>"


@dataclass(frozen=True, slots=True)
class _Difference:
    steps: Steps
    before: Value | None
    after: Value | None


def effects_on(target: str, before: Value | None, after: Value | None) -> list[Effect]:
    """The effects of a change to the value of a name."""
    if before is None or after is None or _shares(before) or _shares(after):
        # A part may share an object of a part that is not shown.
        differences: list[_Difference] | None = None
    else:
        differences = _differences(before, after, ())
    if not differences:
        return [Effect(target, bound(before), bound(after))]
    return [
        Effect(
            target + "".join(difference.steps), bound(difference.before), bound(difference.after)
        )
        for difference in sorted(differences, key=lambda difference: len(difference.steps))
    ]


def bound(value: Value | None) -> Value | None:
    """The value, or None for a name without one."""
    return None if value is not None and value.text == _ABSENT else value


def _shares(value: Value) -> bool:
    return value.identity is not None or any(_shares(part) for _, part in value.parts)


def _differences(before: Value, after: Value, steps: Steps) -> list[_Difference] | None:
    """The parts in which two values differ; None if there are too many.

    An empty list means that they look alike, though something differs beyond the bound.
    """
    whole = [_Difference(steps, before, after)]
    if before == after:
        return []
    if before.kind is not after.kind or before.text != after.text:
        return whole
    if before.kind in (Kind.ATOM, Kind.SET, Kind.SHARED) or before.omitted != after.omitted:
        return whole
    if before.brief is not None and after.brief is not None:
        return whole  # an object of a library is not opened
    if not before.parts and before.kind is Kind.OBJECT and _has_attributes(after):
        return whole  # an object under construction is shown as a whole
    old, new = dict(before.parts), dict(after.parts)
    if _is_reordered(old, new) or (before.kind is Kind.LIST and _has_moved(before, after)):
        return whole
    if before.omitted and old.keys() != new.keys():
        return whole  # a part that is new here may have been there before, beyond the bound
    differences: list[_Difference] = []
    for step in dict.fromkeys((*old, *new)):
        if step not in old or step not in new:
            differences.append(_Difference((*steps, step), old.get(step), new.get(step)))
        elif old[step] != new[step]:
            differences += _differences(old[step], new[step], (*steps, step)) or ()
        if len(differences) > MOST_PARTS:
            return whole if steps else None
    return differences or whole


def _has_attributes(value: Value) -> bool:
    return bool(value.parts) and all(step.startswith(".") for step, _ in value.parts)


def _is_reordered(old: dict[str, Value], new: dict[str, Value]) -> bool:
    return [step for step in old if step in new] != [step for step in new if step in old]


def _has_moved(before: Value, after: Value) -> bool:
    """Whether a list grew or shrank elsewhere than at its end, so that items have new indices."""
    if len(before.parts) == len(after.parts):
        return False
    return any(old != new for old, new in zip(before.parts, after.parts, strict=False))
