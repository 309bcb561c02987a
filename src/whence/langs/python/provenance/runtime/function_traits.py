"""What is known of functions out of sight: what they share, and whether they compute their results.

Invariant: no code of the program runs here. A function that nothing is known of may do anything.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from types import FunctionType, MethodType, ModuleType
from typing import Any

from whence.langs.python.objects.raw_class import (
    class_order,
    is_builtin_function,
    module_of,
    name_of,
)
from whence.langs.python.provenance.runtime.type_inspection import IdentitySet
from whence.langs.python.provenance.runtime.world_state import may_change_world, region_of
from whence.langs.python.provenance.tags import SCALARS

_COMPUTING_MODULES = frozenset({
    "_bisect", "_codecs", "_datetime", "_hashlib", "_io", "_json", "_locale", "_pickle", "_socket",
    "_sre", "_string", "_struct", "base64", "binascii", "bisect", "calendar", "cmath", "datetime",
    "decimal", "fractions", "genericpath", "gzip", "hashlib", "hmac", "html", "io", "json", "math",
    "nt", "ntpath", "numbers", "os", "pathlib", "pickle", "posix", "posixpath", "re", "secrets",
    "shlex", "socket", "string", "struct", "sys", "textwrap", "time", "unicodedata", "urllib",
    "uuid", "zlib",
})  # fmt: skip
"""Modules whose functions compute their results or read them from outside the program. A plain
value that they return was made in the call."""
_PASSING_BUILTINS = frozenset({"anext", "getattr", "max", "min", "next", "sum", "vars"})
_PASSING_METHODS = frozenset({"choice", "choices", "sample", "shuffle"})
_CONTAINERS = IdentitySet(list, dict, set, deque)
_RETURNING_NOTHING = frozenset({
    "add", "append", "appendleft", "clear", "difference_update", "discard", "extend", "extendleft",
    "insert", "intersection_update", "move_to_end", "remove", "reverse", "rotate", "sort",
    "symmetric_difference_update", "update",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class FunctionTraits:
    """What is known of a function out of sight."""

    region: str | None
    """The region of the world that it may read."""
    changes_world: bool
    """Whether it may change that region."""
    computes: bool
    """Whether it makes the plain values that it returns: it passes none on."""


_ANYTHING = FunctionTraits(None, False, False)
"""Of an object that is no function: the opaque object itself is an operand."""
_TRAITS: dict[object, FunctionTraits] = {}
"""By module and name, or by type and name: what is known of a function depends on nothing else."""
_COMPUTING_TYPES: dict[int, tuple[type, bool]] = {}


def traits_of(function: Any) -> FunctionTraits:
    """What is known of a function, method or other object that is called."""
    key = _key(function)
    if key is None:
        return _ANYTHING
    traits = _TRAITS.get(key)
    if traits is None:
        region = region_of(function)
        changes = region is not None and may_change_world(function)
        traits = _TRAITS[key] = FunctionTraits(region, changes, _computes(function))
    return traits


def _key(function: Any) -> tuple[object, ...] | None:
    kind = type(function)
    if is_builtin_function(kind):
        owner = function.__self__
        if owner is not None and not issubclass(type(owner), ModuleType):
            owner_type = owner if issubclass(type(owner), type) else type(owner)
            return (module_of(owner_type), name_of(owner_type), function.__name__)
    elif kind is MethodType:
        if type(function.__func__) is not FunctionType:
            return None
        is_random = issubclass(type(function.__self__), random.Random)
        function = function.__func__
        return (function.__module__, function.__name__, is_random)
    elif kind is not FunctionType:
        return None
    module = function.__module__
    return (module, function.__name__) if type(module) is str else None


def _computes(function: Any) -> bool:
    if is_builtin_function(type(function)):
        owner = function.__self__
        if owner is None or issubclass(type(owner), ModuleType):
            if function.__module__ == "builtins":
                return function.__name__ not in _PASSING_BUILTINS
            return _is_computing_module(function.__module__)
        kind: Any = owner if issubclass(type(owner), type) else type(owner)
        if kind in _CONTAINERS:
            return function.__name__ in _RETURNING_NOTHING
        return kind in SCALARS or _is_computing_module(module_of(kind))
    if type(function) is MethodType:
        if issubclass(type(function.__self__), random.Random):
            return function.__name__ not in _PASSING_METHODS
        function = function.__func__
    return type(function) is FunctionType and _is_computing_module(function.__module__)


def _is_computing_module(name: object) -> bool:
    return type(name) is str and name.partition(".")[0] in _COMPUTING_MODULES


def is_computing_type(kind: type) -> bool:
    """Whether an object of a type computes its attributes and items, as a date does."""
    entry = _COMPUTING_TYPES.get(id(kind))
    if entry is None:
        computes = any(_is_computing_module(module_of(base)) for base in class_order(kind)[:-1])
        entry = _COMPUTING_TYPES[id(kind)] = (kind, computes)
    return entry[1]
