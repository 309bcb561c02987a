"""Which of two twins works out tags: the one in C where it was built, else the one in Python.

The functions that rewritten code calls most are written twice. The one in Python says what it does
and is complete; the one in C does the same where nothing is out of the ordinary, and calls the
other for all else, before anything was done. Both leave the same tags, in the same order.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

try:
    from whence.langs.python.provenance import _tagging
except ImportError:  # whence was installed without a compiler
    HAS_NATIVE = False
else:
    HAS_NATIVE = True

IMPLEMENTATION_VARIABLE = "WHENCE_TAGGING"
"""The environment variable that says `python` where the twins in C are not to be used."""

F = TypeVar("F", bound=Callable[..., Any])


def with_native(function: F) -> F:
    """The twin in C of a function, if there is one; else the function itself."""
    return _tagging.native_of(function) if HAS_NATIVE else function  # type: ignore[return-value]


def native_operator(name: str, function: F) -> F:
    """The same for an operator."""
    return _tagging.operator(name, function) if HAS_NATIVE else function  # type: ignore[return-value]


def bind_native(names: dict[str, Any]) -> None:
    """Tell the twins in C what they are about; from then on they work."""
    if HAS_NATIVE:
        _tagging.bind(names)
        use_native(os.environ.get(IMPLEMENTATION_VARIABLE) != "python")


def native_tag_count() -> int:
    """How many tags there are that were made in C; all others are tuples."""
    return _tagging.tag_count() if HAS_NATIVE else 0


def use_native(on: bool) -> bool:
    """Whether the twins in C work, from now on; gives whether they did. For tests."""
    return _tagging.enable(on) if HAS_NATIVE else False
