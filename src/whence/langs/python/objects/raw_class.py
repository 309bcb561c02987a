"""What `type` itself says of a class, whatever its metaclass says.

Each getter is taken from `type` once and bound here. Calling it runs no code of the program: no
metaclass method, no `__getattribute__`, no property.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType
from typing import Any

class_order: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
"""A class and all that it inherits from, in the order of lookup."""
own_names: Callable[[type], Mapping[str, Any]] = type.__dict__["__dict__"].__get__
"""What a class itself defines."""
base_of: Callable[[type], type | None] = type.__dict__["__base__"].__get__
flags_of: Callable[[type], int] = type.__dict__["__flags__"].__get__
size_of: Callable[[type], int] = type.__dict__["__basicsize__"].__get__
item_size_of: Callable[[type], int] = type.__dict__["__itemsize__"].__get__
dict_offset_of: Callable[[type], int] = type.__dict__["__dictoffset__"].__get__
weakref_offset_of: Callable[[type], int] = type.__dict__["__weakrefoffset__"].__get__
module_of: Callable[[type], Any] = type.__dict__["__module__"].__get__
qualname_of: Callable[[type], str] = type.__dict__["__qualname__"].__get__
name_of: Callable[[type], str] = type.__dict__["__name__"].__get__

MANAGED_DICT, IMMUTABLE_TYPE, HEAP_TYPE = 1 << 4, 1 << 8, 1 << 9
IS_STRING, IS_DICT, IS_EXCEPTION, IS_CLASS = 1 << 28, 1 << 29, 1 << 30, 1 << 31

BUILTIN_FUNCTIONS = (BuiltinFunctionType, type(re.compile("").match))
"""The types of functions in C. `types` names only the first; the second is that of methods that
know the class which defines them, as those of patterns and, from 3.12 on, of raw files."""
_MISSING = object()


def find_in_class(cls: type, name: str, default: Any = None) -> Any:
    """What a class or one of its bases defines under a name; descriptors are not called."""
    for base in class_order(cls):
        value = own_names(base).get(name, _MISSING)
        if value is not _MISSING:
            return value
    return default


def is_builtin_function(kind: type) -> bool:
    """Whether this is the type of functions and bound methods in C."""
    return kind is BUILTIN_FUNCTIONS[0] or kind is BUILTIN_FUNCTIONS[1]


def full_name(cls: type) -> str:
    """Module and qualified name of a class; no module for builtins."""
    try:
        module = module_of(cls)
    except AttributeError:  # the program deleted it
        module = None
    is_named = type(module) is str and module != "builtins"
    return f"{module}.{qualname_of(cls)}" if is_named else str(qualname_of(cls))
