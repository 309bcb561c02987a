"""What is different between two values: only the parts that changed, each with its address.

Identities do not count: they number the objects of one moment, and a change is about contents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whence.model.value import Kind, Steps, Value


@dataclass(frozen=True, slots=True)
class Change:
    """A part before and after; absent where there was none."""

    steps: Steps
    before: Value | None
    after: Value | None


def changes(before: Value | None, after: Value | None, steps: Steps = ()) -> Iterator[Change]:
    """The smallest parts that differ, in the order in which they stand."""
    if before is None or after is None:
        if before is not after:
            yield Change(steps, before, after)
        return
    if not _alike(before, after):
        yield Change(steps, before, after)
        return
    old, new = dict(before.parts), dict(after.parts)
    for step in dict.fromkeys([*old, *new]):
        yield from changes(old.get(step), new.get(step), (*steps, step))


def _alike(before: Value, after: Value) -> bool:
    """Whether two values can only differ in their parts."""
    if before.kind is not after.kind or before.text != after.text:
        return False
    if before.kind is Kind.SHARED:
        return before.identity == after.identity
    if before.omitted != after.omitted:
        return False
    return bool(before.parts) == bool(after.parts)
