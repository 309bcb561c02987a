"""Finds what a dotted name of the program stands for, without running code on the way.

Invariant: what is not there is a `CannotBuild`, never something like it.
"""

from __future__ import annotations

import importlib
import sys
from types import MappingProxyType, ModuleType
from typing import Any

from whence.langs.python.objects.object_kinds import ProgramObject
from whence.langs.python.objects.raw_class import find_in_class

_MISSING = object()


class CannotBuild(Exception):
    """What cannot be built or called in this process, and why."""


def find_module(name: str) -> ModuleType:
    """A module, imported if need be."""
    try:
        return sys.modules.get(name) or importlib.import_module(name)
    except BaseException as problem:
        raise CannotBuild(f"the module {name} ({type(problem).__name__}: {problem})") from None


def find_name(module: str, qualname: str) -> ProgramObject:
    """What a dotted path in a module leads to."""
    value: Any = find_module(module or "builtins")
    for part in qualname.split("."):
        if isinstance(value, type):
            value = find_in_class(value, part, _MISSING)
        elif isinstance(value, ModuleType):
            value = MappingProxyType(vars(value)).get(part, _MISSING)
        else:
            value = _MISSING
        if value is _MISSING:
            raise CannotBuild(f"{module}.{qualname}, which is not there")
    return value


def find_class(module: str, qualname: str) -> type:
    """A class by its name."""
    value = find_name(module, qualname)
    if not isinstance(value, type):
        raise CannotBuild(f"{module}.{qualname}, which is no class here")
    return value
