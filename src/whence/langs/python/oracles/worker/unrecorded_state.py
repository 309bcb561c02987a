"""State of the program's modules that no recording shows: attributes of classes and functions.

A call that changes such state has an effect that no comparison sees, so equal outcomes do not prove
it right. If such state or a default value differs between the versions, other outcomes do not prove
a call wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from types import FunctionType, ModuleType
from typing import Any

from whence.langs.python.objects.raw_class import own_names
from whence.langs.python.record.options import Bound
from whence.langs.python.record.snapshot import Snapshots, Tables
from whence.langs.python.record.summaries import SUMMARIES

_BOUND = Bound(depth=4, width=200, attributes=200, text=2000, budget=2000)
_CODE = (FunctionType, ModuleType, type, staticmethod, classmethod, property)


def hidden_state(modules: Iterable[str]) -> dict[str, str]:
    """A digest of each piece of such state, by name; equal in all processes for equal state."""
    names = tuple(modules)
    return {name: _digest(value, names) for name, value in _unrecorded(names)}


def _digest(value: object, modules: tuple[str, ...]) -> str:
    tables = bytearray()
    snapshots = Snapshots(Tables(tables, modules), SUMMARIES)
    data = snapshots.write(value, _BOUND, foreign_is_opaque=True)
    return blake2b(bytes(tables) + data, digest_size=8).hexdigest()


def _unrecorded(modules: Iterable[str]) -> Iterator[tuple[str, Any]]:
    for module in modules:
        held = sys.modules.get(module)
        for name, value in list(vars(held).items()) if held is not None else ():
            if isinstance(value, type) and value.__module__ == module:
                held_by_class = dict(own_names(value))
                yield from _data(f"{module}:{name}", held_by_class)
                for part in held_by_class.values():
                    yield from _defaults(module, part)
            elif isinstance(value, FunctionType):
                yield from _data(f"{module}:{name}", value.__dict__)
                yield from _defaults(module, value)
            elif not name.startswith("__") and not isinstance(value, _CODE):
                yield f"{module}.{name}", value


def _data(prefix: str, held: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in list(held.items()):
        is_descriptor = hasattr(type(value), "__get__")
        # `_value2member_map_` and the like are how an enum or a class is made, and may grow.
        is_internal = name.startswith("_") and name.endswith("_")
        if not is_internal and not is_descriptor and not isinstance(value, _CODE):
            yield f"{prefix}.{name}", value


def _defaults(module: str, held: object) -> Iterator[tuple[str, Any]]:
    """The defaults of a function, of a method, or of what a function wraps."""
    while isinstance(held, staticmethod | classmethod):
        held = held.__func__
    if isinstance(held, property):
        held = held.fget
    if not isinstance(held, FunctionType):
        return
    code, defaults = held.__code__, held.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    values = {**dict(zip(names, defaults, strict=True)), **(held.__kwdefaults__ or {})}
    for name, value in values.items():
        yield f"{module}.{code.co_qualname}({name})", value
