"""Which type is of which kind: the one table, and its lookup for any class.

Types are looked up by address: hashing a class of the program could run a metaclass method, and
would give the class one of the numbers that plain objects get when they are first hashed.
"""

from __future__ import annotations

import _collections  # type: ignore[import-not-found]
import _random
import _thread
import abc
import collections
import functools
import io
import itertools
import operator
import re
import types
import weakref
from array import array
from typing import Any

from whence.langs.python.objects import object_kinds as k
from whence.langs.python.objects.atoms import ATOMS, PLAIN, SCALARS
from whence.langs.python.objects.newer_types import FROZENDICTS, SENTINELS, TEMPLATES
from whence.langs.python.objects.object_kinds import ObjectKind
from whence.langs.python.objects.raw_class import BUILTIN_FUNCTIONS

_ITERATORS = tuple(
    map(type, (
        iter([]), iter(()), iter(""), iter("\xff"), iter(b""), iter(bytearray()), iter(range(0)),
        iter(range(2**70)), iter({}), iter({}.items()), iter({}.values()), iter(set()),
        reversed([]), reversed({}), iter(int, 0), iter(collections.deque()),
        reversed(collections.deque()),
    ))
)  # fmt: skip


def _pickled_iterators() -> list[Any]:
    """The iterators of itertools that can be pickled: up to 3.13 all of them."""
    classes = [value for value in vars(itertools).values() if isinstance(value, type)]
    return [cls for cls in classes if "__reduce__" in vars(cls)]


_TABLE: dict[Any, ObjectKind] = {
    **dict.fromkeys(_pickled_iterators(), k.PICKLED_ITERATOR),
    **dict.fromkeys(ATOMS.difference(PLAIN), k.ATOM),
    **{base: k.scalar(base) for base in SCALARS},
    object: k.OBJECT, list: k.LIST, dict: k.DICT, set: k.SET, tuple: k.TUPLE,
    frozenset: k.FROZENSET, bytearray: k.BYTEARRAY, array: k.ARRAY, _random.Random: k.RANDOM,
    collections.OrderedDict: k.ORDERED_DICT, collections.defaultdict: k.DEFAULTDICT,
    collections.deque: k.DEQUE,
    io.StringIO: k.memory_stream(io.StringIO), io.BytesIO: k.memory_stream(io.BytesIO),
    # code
    types.CellType: k.CELL, types.FunctionType: k.FUNCTION, types.MethodType: k.METHOD,
    types.ModuleType: k.MODULE, types.CodeType: k.CODE,
    # holders
    functools.partial: k.HOLDER, types.MappingProxyType: k.HOLDER, slice: k.HOLDER,
    property: k.HOLDER, staticmethod: k.HOLDER, classmethod: k.HOLDER,
    types.GenericAlias: k.HOLDER, types.UnionType: k.HOLDER, types.SimpleNamespace: k.HOLDER,
    operator.itemgetter: k.HOLDER, operator.attrgetter: k.HOLDER, operator.methodcaller: k.HOLDER,
    type({}.keys()): k.HOLDER, type({}.values()): k.HOLDER, type({}.items()): k.HOLDER,
    **dict.fromkeys(TEMPLATES, k.HOLDER), **dict.fromkeys(FROZENDICTS, k.FROZENDICT),
    **dict.fromkeys(SENTINELS, k.HOLDER),
    types.FrameType: k.UNSEEN_HOLDER, _collections._tuplegetter: k.UNSEEN_HOLDER,
    **dict.fromkeys(BUILTIN_FUNCTIONS, k.BUILTIN),
    types.MethodWrapperType: k.METHOD_WRAPPER, types.MethodDescriptorType: k.DESCRIPTOR,
    types.WrapperDescriptorType: k.DESCRIPTOR, types.GetSetDescriptorType: k.DESCRIPTOR,
    types.MemberDescriptorType: k.DESCRIPTOR, types.ClassMethodDescriptorType: k.DESCRIPTOR,
    re.Match: k.MATCH, weakref.ref: k.WEAK_REFERENCE, memoryview: k.MEMORYVIEW,
    types.TracebackType: k.TRACEBACK, type(vars(abc.ABC)["_abc_impl"]): k.ABSTRACT_CLASS_CACHE,
    # what moves on
    **dict.fromkeys((*_ITERATORS, map, filter, zip, reversed), k.ITERATOR),
    enumerate: k.ENUMERATE, itertools.count: k.COUNT, types.GeneratorType: k.GENERATOR,
    _thread.LockType: k.LOCK, _thread.RLock: k.RECURSIVE_LOCK,
    functools._lru_cache_wrapper: k.FUNCTION_CACHE,
    io.TextIOWrapper: k.FILE, io.BufferedReader: k.FILE, io.FileIO: k.FILE,
    io.BufferedWriter: k.WRITTEN_FILE, io.BufferedRandom: k.WRITTEN_FILE,
}  # fmt: skip
_EXACT = {id(cls): kind for cls, kind in _TABLE.items()}

_BY_NAME = {
    ("datetime", "date"): k.VALUE, ("datetime", "datetime"): k.VALUE,
    ("datetime", "time"): k.VALUE, ("datetime", "timedelta"): k.VALUE,
    ("decimal", "Decimal"): k.VALUE, ("datetime", "timezone"): k.KEPT_VALUE,
    ("_struct", "Struct"): k.STRUCT,
    ("_contextvars", "ContextVar"): k.UNSEEN_HOLDER, ("contextvars", "ContextVar"): k.UNSEEN_HOLDER,
    ("typing", "TypeVar"): k.UNSEEN_HOLDER,
}  # fmt: skip
"""C classes of modules that the program may not have imported. It would notice an import here."""


def kind_of_exact(cls: type) -> ObjectKind | None:
    """The kind of a type that is in the table itself; not that of a subclass."""
    return _EXACT.get(id(cls))


def kind_of_c_class(cls: type) -> ObjectKind | None:
    """The kind of a C class, by identity or by name."""
    return kind_of_exact(cls) or _BY_NAME.get((cls.__module__, cls.__qualname__))
