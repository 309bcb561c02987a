"""Descriptors of whence's own, with numbers that the program would never get."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
from collections.abc import Iterator

_HIGHEST_DESCRIPTOR = 1024


def to_high_number(low: int, below_limit: int = 8) -> int:
    """Duplicate a descriptor to a high number, so that the program gets the low ones."""
    return fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _high_number(below_limit))


@contextlib.contextmanager
def low_numbers_taken() -> Iterator[None]:
    """What is opened meanwhile gets a high number: for code that keeps descriptors to itself."""
    taken = [os.open(os.devnull, os.O_RDONLY)]
    try:
        while taken[-1] < _high_number(8):
            taken.append(os.dup(taken[0]))
        yield
    finally:
        for number in taken:
            os.close(number)


def _high_number(below_limit: int) -> int:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most == resource.RLIM_INFINITY or most > _HIGHEST_DESCRIPTOR:
        most = _HIGHEST_DESCRIPTOR
    return max(most - below_limit, 3)
