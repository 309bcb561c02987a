"""Makes the order of sets the same in a run and its re-runs.

The order depends on the hash seed of strings, which is set when the process starts, and on the
hashes of plain objects, which `_identity` replaces by a count. Other differences between runs are
handled by the journal, or show as a divergence.

Invariant: the program cannot observe either. The variable that sets the seed is removed from its
environment unless the user had set it.
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
"""Whence set the seed and hides it from the program."""
OWN = "own"
"""The program has a seed of its own, or none."""

_T = TypeVar("_T")
Aside = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Wraps a function of whence so that no journal notices what it does."""


def directly(function: Callable[..., Any]) -> Callable[..., Any]:
    """An `Aside` for where there is no journal."""
    return function


def pin_hash_seed(environment: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """The environment with a fixed hash seed, and who chose it (`PINNED` or `OWN`)."""
    if environment.get(HASH_SEED, "random") != "random":
        return dict(environment), OWN
    # Any number but 0, which turns hash randomization off.
    seed = int.from_bytes(os.urandom(4), "little") % (2**32 - 1) + 1
    return {**environment, HASH_SEED: str(seed)}, PINNED


def make_repeatable(seed: str) -> dict[str, Any]:
    """Fix what can be fixed in this process; returns what the header says about it."""
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
    """The function that tells a journal whether whence or the program is asking."""
    try:
        from whence.langs.python.record.journal import _interposition
    except ImportError:
        return bool
    return _interposition.inside


def aside(function: Callable[..., _T]) -> Callable[..., _T]:
    """Wrap a function of whence so that the hashes it takes do not count, and no journal sees it.

    How often it is called depends on what is recorded, so it must not affect the program.
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


def uncounted(function: Callable[..., _T]) -> Callable[..., _T]:
    """Wrap a function so that the hashes it takes do not count, if hashes are counted at all."""
    try:
        from whence.langs.python.record import _identity
    except ImportError:
        return function
    switch = _identity.aside

    def called(*arguments: Any) -> _T:
        before = switch(True)
        try:
            return function(*arguments)
        finally:
            switch(before)

    return called


class AsideReader:
    """A code reader whose work the program cannot notice."""

    def __init__(self, reader: CodeReader):
        self._describe = aside(reader.describe)

    def describe(self, code: CodeType, namespace: dict[str, Any]) -> CodeDescription | None:
        """As the reader describes it."""
        return self._describe(code, namespace)


class AsideSummaries(Mapping[type, Summary]):
    """Summaries whose making the program cannot notice."""

    def __init__(self, summaries: Mapping[type, Summary]):
        self._summaries = summaries
        self._find = aside(summaries.__getitem__)
        self._wrapped: dict[int, tuple[Summary, Summary]] = {}

    def __getitem__(self, kind: type) -> Summary:
        summary = self._find(kind)
        entry = self._wrapped.get(id(summary))
        if entry is None:
            wrapped = aside(summary)
            wrapped.fixed = not can_change(summary)  # type: ignore[attr-defined]
            # The entry keeps the function alive: its id is unique only while it lives.
            entry = self._wrapped[id(summary)] = (summary, wrapped)
        return entry[1]

    def __iter__(self) -> Iterator[type]:
        return iter(self._summaries)

    def __len__(self) -> int:
        return len(self._summaries)
