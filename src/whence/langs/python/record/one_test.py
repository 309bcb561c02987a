"""The pytest test that a recording is of, where it is not of the whole program.

A debuggee that records one test does not begin with the program's first line. It leaves here what
is to happen when the test begins and ends, and the pytest plugin (`_whence_pytest`) does it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OneTest:
    """A test, and how far it is recorded: from its set-up to the end of its call, or further."""

    name: str
    """Its node id."""
    with_teardown: bool = False


@dataclass(frozen=True, slots=True)
class AwaitedTest:
    """A test that this process is to record, and what to do when it begins and ends."""

    test: OneTest
    begin: Callable[[], object]
    end: Callable[[], object]


awaited: list[AwaitedTest] = []
"""At most one: the test of this process."""
