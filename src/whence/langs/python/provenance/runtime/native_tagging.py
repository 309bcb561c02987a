"""Chooses the implementation that computes tags: in C if it was built, else in Python.

The functions that rewritten code calls most exist twice. The Python function is complete and
defines the meaning. The native one does the common cases and hands all others to the Python one
before it has done anything. Both make the same tags in the same order.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

try:
    from whence.langs.python.provenance import _tagging
except ImportError:  # whence was installed without a compiler
    HAS_NATIVE = False
    NATIVE_TAG = None
else:
    HAS_NATIVE = True
    NATIVE_TAG = _tagging.Tag

IMPLEMENTATION_VARIABLE = "WHENCE_TAGGING"
"""The environment variable that switches the native functions off if it is `python`."""

Function = TypeVar("Function", bound=Callable[..., Any])


def with_native(function: Function) -> Function:
    """The native version of a function, if there is C; else the function itself."""
    return _tagging.native_of(function) if HAS_NATIVE else function  # type: ignore[return-value]


def native_operator(name: str, function: Function) -> Function:
    """The same for an operator."""
    return _tagging.operator(name, function) if HAS_NATIVE else function  # type: ignore[return-value]


def bind_native(names: dict[str, object]) -> None:
    """Give the native functions the objects they need, and switch them on."""
    if HAS_NATIVE:
        _tagging.bind(names)
        use_native(os.environ.get(IMPLEMENTATION_VARIABLE) != "python")


def native_tag_count() -> int:
    """The number of native tags that are alive."""
    return _tagging.tag_count() if HAS_NATIVE else 0


def use_native(on: bool) -> bool:
    """Switch the native functions on or off; returns what they were. For tests."""
    return _tagging.enable(on) if HAS_NATIVE else False
