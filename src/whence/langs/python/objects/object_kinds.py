"""The kinds of objects that a program can have: what is seen of each, how it is put back or made.

Invariant: what is seen and has no way to be put back or made again says so by having none.
"""

from __future__ import annotations

import _collections  # type: ignore[import-not-found]
import _random
import _thread
import abc
import collections
import functools
import gc
import io
import itertools
import operator
import re
import types
import weakref
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from whence.langs.python.objects.atoms import SCALARS, value_of, value_text
from whence.langs.python.objects.class_slots import is_changeable, own_names
from whence.langs.python.objects.template_types import TEMPLATES

Told = tuple[Any, Sequence[Any]]
"""What is no object of its own, as JSON, and the objects that are held."""


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of object."""

    name: str
    tell: Callable[[Any], Told]
    put: Callable[[Any, Any, Sequence[Any]], None] | None = None
    """Has an object hold this, and nothing else."""
    blank: Callable[[type, Any], Any] | None = None
    """Makes one, which is then put to hold what it does."""
    whole: Callable[[type, Any, Sequence[Any]], Any] | None = None
    """Makes one that cannot be put: it holds what it does from the start."""
    changes: bool = True
    """Whether what it holds can change."""
    is_keyed: bool = False
    """Whether what it holds is hashed."""
    has_state: bool = False
    """Whether there is more to it than the objects that it refers to."""
    is_heard: bool = False
    """Whether something may happen when it ends."""
    is_memory: bool = False
    """Whether it only remembers what it could find out again."""


def _nothing(_: Any) -> Told:
    return None, ()


def _empty(kind: type, _: Any) -> Any:
    return object.__new__(kind)


def _keep(_: Any, __: Any, ___: Sequence[Any]) -> None:
    pass


# --- containers ----------------------------------------------------------------------------------


def _put_list(value: Any, _: Any, parts: Sequence[Any]) -> None:
    list.__setitem__(value, slice(None), parts)


def _entries(value: Any) -> Told:
    return None, list(itertools.chain.from_iterable(dict.items(value)))


def put_entries(value: Any, _: Any, parts: Sequence[Any]) -> None:
    """Somebody may be walking over it: entries that stay where they are are not taken out."""
    keys, missing = list(dict.keys(value)), object()
    if len(parts) < 2 * len(keys) or not all(map(operator.is_, keys, parts[::2])):
        dict.clear(value)
    for key, each in zip(parts[::2], parts[1::2], strict=True):
        if dict.get(value, key, missing) is not each:
            dict.__setitem__(value, key, each)


def _put_ordered(value: Any, _: Any, parts: Sequence[Any]) -> None:
    collections.OrderedDict.clear(value)
    for key, each in zip(parts[::2], parts[1::2], strict=True):
        collections.OrderedDict.__setitem__(value, key, each)


_factory: Any = vars(collections.defaultdict)["default_factory"]


def _put_defaulting(value: Any, _: Any, parts: Sequence[Any]) -> None:
    _factory.__set__(value, parts[0])
    put_entries(value, None, parts[1:])


def _put_members(value: Any, _: Any, parts: Sequence[Any]) -> None:
    set.clear(value)
    for each in parts:
        set.add(value, each)


def _blank_queue(kind: type, most: Any) -> Any:
    made: Any = collections.deque.__new__(kind)
    collections.deque.__init__(made, (), most)
    return made


def _put_queue(value: Any, _: Any, parts: Sequence[Any]) -> None:
    collections.deque.clear(value)
    collections.deque.extend(value, parts)


LIST = Kind(
    "list", lambda value: (None, list(list.__iter__(value))), _put_list,
    lambda kind, _: list.__new__(kind),
)  # fmt: skip
DICT = Kind("dict", _entries, put_entries, lambda kind, _: dict.__new__(kind), is_keyed=True)
ORDERED = Kind(
    "OrderedDict",
    lambda value: (None, [*itertools.chain(*collections.OrderedDict.items(value))]),
    _put_ordered, lambda kind, _: collections.OrderedDict.__new__(kind), is_keyed=True,
)  # fmt: skip
DEFAULTING = Kind(
    "defaultdict", lambda value: (None, [_factory.__get__(value), *_entries(value)[1]]),
    _put_defaulting, lambda kind, _: collections.defaultdict.__new__(kind), is_keyed=True,
)  # fmt: skip
SET = Kind(
    "set", lambda value: (None, list(set.__iter__(value))), _put_members,
    lambda kind, _: set.__new__(kind), is_keyed=True,
)  # fmt: skip
QUEUE = Kind(
    "deque", lambda value: (value.maxlen, list(collections.deque.__iter__(value))), _put_queue,
    _blank_queue,
)  # fmt: skip
TUPLE = Kind(
    "tuple", lambda value: (None, list(tuple.__iter__(value))),
    whole=lambda kind, _, parts: tuple.__new__(kind, parts), changes=False,
)  # fmt: skip
FROZENSET = Kind(
    "frozenset", lambda value: (None, list(frozenset.__iter__(value))),
    whole=lambda kind, _, parts: frozenset.__new__(kind, parts), changes=False, is_keyed=True,
)  # fmt: skip


# --- data without parts --------------------------------------------------------------------------


def _put_bytes(value: Any, text: str, _: Sequence[Any]) -> None:
    bytearray.__setitem__(value, slice(None), bytes.fromhex(text))


def _put_numbers(value: Any, told: Any, _: Sequence[Any]) -> None:
    array.__setitem__(value, slice(None), array(told[0], bytes.fromhex(told[1])))


def _put_chance(value: Any, state: Any, _: Sequence[Any]) -> None:
    _random.Random.setstate(value, tuple(state))


def _unseeded(kind: Any) -> Any:
    """Without chance from outside."""
    made: Any = _random.Random.__new__
    return made(kind, 1)


def _stream(kind: Any) -> Kind:
    def tell(value: Any) -> Told:
        if value.closed:
            return "closed", ()
        content, *rest, held = kind.__getstate__(value)
        return [content.hex() if type(content) is bytes else content, *rest], [held]

    def put(value: Any, told: Any, parts: Sequence[Any]) -> None:
        content, *rest = told
        content = bytes.fromhex(content) if kind is io.BytesIO else content
        kind.__setstate__(value, (content, *rest, parts[0]))

    return Kind(kind.__name__, tell, put, lambda made, _: kind.__new__(made), has_state=True)


def _of_value(kind: Any) -> Kind:
    """What extends an unchangeable builtin."""

    def tell(value: Any) -> Told:
        return value_text(kind.__new__(kind, value)), ()

    return Kind(
        kind.__name__, tell, put=_keep,
        blank=lambda made, told: kind.__new__(made, value_of(told)),
    )  # fmt: skip


BYTEARRAY = Kind(
    "bytearray", lambda value: (bytes(value).hex(), ()), _put_bytes,
    lambda kind, _: bytearray.__new__(kind), has_state=True,
)  # fmt: skip
ARRAY = Kind(
    "array", lambda value: ([value.typecode, value.tobytes().hex()], ()), _put_numbers,
    lambda kind, told: array.__new__(kind, told[0]), has_state=True,
)  # fmt: skip
CHANCE = Kind(
    "random", lambda value: (list(_random.Random.getstate(value)), ()), _put_chance,
    lambda kind, _: _unseeded(kind), has_state=True,
)  # fmt: skip
OBJECT = Kind("object", _nothing, _keep, _empty)


# --- code ----------------------------------------------------------------------------------------


def _cell(value: types.CellType) -> Told:
    try:
        return "", [value.cell_contents]
    except ValueError:
        return "empty", ()


def _put_cell(value: types.CellType, told: Any, parts: Sequence[Any]) -> None:
    if told == "empty":
        del value.cell_contents
    else:
        value.cell_contents = parts[0]


def _function(value: types.FunctionType) -> Told:
    """Without asking it for what is not there yet, which would be made."""
    function: Any = value  # not every description of functions knows of it
    builtins = function.__builtins__
    return None, [each for each in gc.get_referents(value) if each is not builtins]


def whole_function(value: types.FunctionType) -> Told:
    """The same with each thing in its place."""
    label = [value.__name__, value.__qualname__]
    return label, [
        value.__code__, value.__globals__, value.__closure__, value.__defaults__,
        value.__kwdefaults__, value.__dict__, value.__module__, value.__doc__,
        value.__annotations__,
    ]  # fmt: skip


def _made_function(_: type, told: Any, parts: Sequence[Any]) -> types.FunctionType:
    code, variables, closure, defaults, named, held, module, doc, annotations = parts
    made = types.FunctionType(code, variables, told[0], defaults, closure)
    made.__qualname__ = told[1]
    made.__kwdefaults__ = named
    made.__dict__ = held
    made.__module__, made.__doc__, made.__annotations__ = module, doc, annotations
    return made


def _class(value: type) -> Told:
    if not is_changeable(value):
        return None, ()
    held = own_names(value)
    return list(held), list(held.values())


def _put_class(value: type, names: Any, parts: Sequence[Any]) -> None:
    held = own_names(value)
    for name in [each for each in held if each not in names]:
        type.__delattr__(value, name)
    for name, part in zip(names, parts, strict=True):
        if held.get(name, held) is not part:
            type.__setattr__(value, name, part)


def variables_of_module(module: types.ModuleType) -> dict[str, Any]:
    """Where a module keeps them."""
    found: dict[str, Any] = types.ModuleType.__getattribute__(module, "__dict__")
    return found


CELL = Kind("cell", _cell, _put_cell, lambda kind, _: types.CellType())
FUNCTION = Kind("function", _function, whole=_made_function)
METHOD = Kind(
    "method", lambda value: (None, [value.__func__, value.__self__]),
    whole=lambda _, __, parts: types.MethodType(*parts), changes=False,
)  # fmt: skip
CLASS = Kind("class", _class, _put_class)
MODULE = Kind("module", lambda value: (None, [variables_of_module(value)]))
CODE = Kind("code", lambda value: (None, value.co_consts), changes=False)


# --- what cannot be put back ---------------------------------------------------------------------


def _referring(value: Any) -> Told:
    return None, gc.get_referents(value)


def _iterator(value: Any) -> Told:
    return operator.length_hint(value, -1), gc.get_referents(value)


def _generator(value: Any) -> Told:
    frame = value.gi_frame
    return [-1 if frame is None else frame.f_lasti], gc.get_referents(value)


def _file(value: Any) -> Told:
    try:
        return ["closed" if value.closed else value.tell()], ()
    except (OSError, ValueError):
        return ["?"], ()


def _labelled(label: Callable[[Any], Any]) -> Callable[[Any], Told]:
    return lambda value: (label(value), gc.get_referents(value))


def _made_by(value: Any) -> Told:
    kind: Any = type(value)
    return None, kind.__reduce__(value)[1]


VALUE = Kind("value", _made_by, whole=lambda kind, _, parts: kind(*parts), changes=False)
VALUES = {
    ("datetime", "date"), ("datetime", "datetime"), ("datetime", "time"),
    ("datetime", "timedelta"), ("decimal", "Decimal"),
}  # fmt: skip
KEPT = {
    ("datetime", "timezone"), ("_contextvars", "ContextVar"), ("contextvars", "ContextVar"),
    ("typing", "TypeVar"), ("_struct", "Struct"), ("types", "SimpleNamespace"),
}  # fmt: skip
"""Classes of C whose objects stay what they are, but for what they hold."""
ITERATOR = Kind("iterator", _iterator, has_state=True)
HOLDER = Kind("holder", _referring, changes=False)
"""Holds the same as long as it lives, or what it holds is nothing to a program."""
EXCEPTION = Kind("exception", _referring)
UNKNOWN = Kind("unknown", _referring, is_heard=True)
_ITERATORS = tuple(
    map(type, (
        iter([]), iter(()), iter(""), iter("\xff"), iter(b""), iter(bytearray()), iter(range(0)),
        iter(range(2**70)), iter({}), iter({}.items()), iter({}.values()), iter(set()),
        reversed([]), reversed({}), iter(int, 0), iter(collections.deque()),
        reversed(collections.deque()),
    ))
)  # fmt: skip

_EXTENDABLE: dict[type, Kind] = {
    object: OBJECT, list: LIST, dict: DICT, set: SET, tuple: TUPLE, frozenset: FROZENSET,
    collections.OrderedDict: ORDERED, collections.defaultdict: DEFAULTING,
    collections.deque: QUEUE, bytearray: BYTEARRAY, array: ARRAY, _random.Random: CHANCE,
    **{kind: _of_value(kind) for kind in SCALARS},
}  # fmt: skip
_FIXED: tuple[Any, ...] = (
    types.BuiltinFunctionType, type(re.compile("").match), _collections._tuplegetter,
    types.MethodWrapperType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
    types.ClassMethodDescriptorType, functools.partial, types.MappingProxyType, slice, property,
    staticmethod, classmethod, types.GenericAlias, types.UnionType, weakref.ref, re.Match,
    types.TracebackType, types.FrameType, type({}.keys()), type({}.values()), type({}.items()),
    operator.itemgetter, operator.attrgetter, operator.methodcaller, memoryview, *TEMPLATES,
    type(vars(abc.ABC)["_abc_impl"]),
)  # fmt: skip
_EXACT: dict[type, Kind] = {
    **_EXTENDABLE, **dict.fromkeys(_FIXED, HOLDER),
    **dict.fromkeys((*_ITERATORS, map, filter, zip, reversed), ITERATOR),
    enumerate: Kind(
        "enumerate", _labelled(lambda value: value.__reduce__()[1][1]), has_state=True
    ),
    io.StringIO: _stream(io.StringIO), io.BytesIO: _stream(io.BytesIO),
    types.CellType: CELL, types.FunctionType: FUNCTION, types.MethodType: METHOD,
    types.ModuleType: MODULE, types.CodeType: CODE,
    types.GeneratorType: Kind("generator", _generator, has_state=True, is_heard=True),
    functools._lru_cache_wrapper: Kind(
        "cache", _labelled(lambda value: list(value.cache_info())), is_memory=True
    ),
    itertools.count: Kind("count", _labelled(repr), has_state=True),
    _thread.LockType: Kind("lock", _labelled(lambda value: value.locked()), has_state=True),
    _thread.RLock: Kind("lock", _labelled(repr), has_state=True),
    **{
        kind: Kind("file", _file, has_state=True, is_heard=True)
        for kind in (io.TextIOWrapper, io.BufferedReader, io.BufferedWriter, io.BufferedRandom,
                     io.FileIO)
    },
}  # fmt: skip


# By address: who hashes a class of the program gives it a number among those that plain objects get
# when they are first hashed, which the program would see.
EXACT = {id(kind): known for kind, known in _EXACT.items()}
EXTENDABLE = {id(kind): known for kind, known in _EXACT.items() if known is HOLDER}
EXTENDABLE |= {id(kind): known for kind, known in _EXTENDABLE.items()}
