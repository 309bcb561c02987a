"""In the process of the program: makes a run that can be run again.

What differs from run to run although the program does the same: the seed of string hashes, which
whoever starts the process pins, and the hashes of plain objects, which `_identity` counts. Both
decide in which order sets are walked. Nothing else is pinned here; a run that diverges all the
same is noticed when the two are compared.

Invariant: the program sees neither. The variable that pins the seed is taken out of its
environment unless it was there before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any, TypeVar

from whence.langs.python.record.backend import CodeDescription, CodeReader
from whence.langs.python.record.summaries import Summary, can_change

HASH_SEED = "PYTHONHASHSEED"
PINNED = "pinned"
"""The seed was set by whence, and is none of the program's business."""
OWN = "own"
"""The program was started with a seed of its own, or with none."""

_T = TypeVar("_T")
Aside = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Makes a function of whence one that no journal notices, called from the frame that calls it."""


def directly(function: Callable[..., Any]) -> Callable[..., Any]:
    """An `Aside` for where there is no journal."""
    return function


def pin_hash_seed(environment: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """The environment with a fixed hash seed, and who chose it (`PINNED` or `OWN`)."""
    if environment.get(HASH_SEED, "random") != "random":
        return dict(environment), OWN
    # Any number will do, and it must not be 0, which means that hashes are not random at all.
    seed = int.from_bytes(os.urandom(4), "little") % (2**32 - 1) + 1
    return {**environment, HASH_SEED: str(seed)}, PINNED


def make_repeatable(seed: str) -> dict[str, Any]:
    """From here on what the program does depends on chance no more than it must; for the header."""
    value = os.environ.pop(HASH_SEED, "") if seed == PINNED else os.environ.get(HASH_SEED, "")
    return {"hash_seed": value, "hash_seed_by": seed, "identity": _installed()}


def _installed() -> bool:
    try:
        from whence.langs.python.record import _identity
    except ImportError:
        return False
    _identity.install()
    return True


def _inside_the_journal() -> Callable[[bool], bool]:
    """What tells a journal that it is whence that asks, and not the program."""
    try:
        from whence.langs.python.record.journal import _interposition
    except ImportError:
        return bool
    return _interposition.inside


def aside(function: Callable[..., _T]) -> Callable[..., _T]:
    """A function of whence that objects are hashed in, so that the program's count goes on after.

    How often it is called depends on what is recorded. So no journal notes what it asks for.
    """
    from whence.langs.python.record import _identity

    switch, inside = _identity.aside, _inside_the_journal()

    def called(*arguments: Any) -> _T:
        before, was_inside = switch(True), inside(True)
        try:
            return function(*arguments)
        finally:
            inside(was_inside)
            switch(before)

    return called


class AsideReader:
    """A reader of code that works aside."""

    def __init__(self, reader: CodeReader):
        self._describe = aside(reader.describe)

    def describe(self, code: CodeType, namespace: dict[str, Any]) -> CodeDescription | None:
        """What the reader says."""
        return self._describe(code, namespace)


class AsideSummaries(Mapping[type, Summary]):
    """Summaries that are looked up and made aside."""

    def __init__(self, summaries: Mapping[type, Summary]):
        self._summaries = summaries
        self._find = aside(summaries.__getitem__)
        self._made: dict[int, tuple[Summary, Summary]] = {}

    def __getitem__(self, kind: type) -> Summary:
        found = self._find(kind)
        known = self._made.get(id(found))
        if known is None:
            # The function stands beside: its number is its own only while it lives.
            summary = aside(found)
            summary.fixed = not can_change(found)  # type: ignore[attr-defined]
            known = self._made[id(found)] = (found, summary)
        return known[1]

    def __iter__(self) -> Iterator[type]:
        return iter(self._summaries)

    def __len__(self) -> int:
        return len(self._summaries)
