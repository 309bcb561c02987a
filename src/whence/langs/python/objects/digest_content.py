"""What is inside an object of this process, whatever it is made of.

For processes that were forked off to compare what two versions of a call leave behind. Unlike the
recorder, this may look into iterators, closures and other objects of C: nothing goes on afterwards.
No method that the program defines is run, but for `__hash__` and `__eq__` of an OrderedDict's keys.

Invariant: what is not told in full is said to be `known` in part only.
"""

from __future__ import annotations

import _random
import _thread
import abc
import collections
import contextlib
import functools
import gc
import io
import itertools
import random
import re
import struct
import sys
import types
import warnings
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from whence.langs.python.objects.class_slots import layout, own_names
from whence.langs.python.objects.template_types import TEMPLATES
from whence.langs.python.oracles.worker.swap_code import Exchange

_CODE = (types.FunctionType, types.ModuleType, type, staticmethod, classmethod, property)


class Content(NamedTuple):
    """An object: what it is, in words, and the objects that it holds."""

    label: str
    parts: Sequence[Any] = ()
    known: bool = True
    """Whether this is all that there is."""
    shared: bool = True
    """Whether it matters which object it is."""
    unordered: bool = False


Teller = Callable[[Any], Content]


class Contents:
    """Tells what objects hold. `modules` are the program's, `exchange` knows its versions."""

    def __init__(self, modules: Iterable[str], exchange: Exchange) -> None:
        self._modules = frozenset(modules)
        self._exchange = exchange
        self._own: dict[type, Teller] = {
            types.FunctionType: self._function,
            types.GeneratorType: self._generator,
        }
        # Iterators of itertools are deprecated to be looked into, which nobody here wants to know.
        warnings.simplefilter("ignore")

    def of(self, value: Any) -> Content:
        """What there is in it."""
        kind = type(value)
        teller = _TELLERS.get(kind) or self._own.get(kind)
        if teller is not None:
            return teller(value)
        if issubclass(kind, type):
            return self._class(value)
        base = layout(kind)[0]
        if base is object or base in _BASES or issubclass(base, BaseException):
            return _instance(value, base)
        return _of_c(value)

    def _class(self, value: type) -> Content:
        held = own_names(value)
        module = str(held.get("__module__", ""))
        label = f"class {module}.{value.__qualname__}"
        if module not in self._modules:
            return Content(label)
        data = {
            name: each
            for name, each in held.items()
            if not (name.startswith("_") and name.endswith("_"))
            and not hasattr(type(each), "__get__")
            and not issubclass(type(each), _CODE)
        }
        return Content(f"{label} {sorted(data)}", [data[name] for name in sorted(data)])

    def _function(self, value: types.FunctionType) -> Content:
        code = value.__code__
        place = self._exchange.place(code) if "<" in code.co_qualname else ""
        label = f"function {value.__module__}.{value.__qualname__} {code.co_qualname} {place}"
        held = [value.__defaults__, value.__kwdefaults__, value.__dict__]
        return Content(label, [*filter(None, held), *self._exchange.captured(value)])

    def _generator(self, value: types.GeneratorType[Any, Any, Any]) -> Content:
        code, frame = value.gi_code, value.gi_frame
        label = f"generator {code.co_qualname} {self._exchange.place(code)}"
        if code.co_name == "<genexpr>":
            # No call of its own: what it does is done by whoever made it.
            label += f" {code.co_code.hex()} {code.co_consts} {code.co_names}"
        if frame is None:
            return Content(f"{label} ended")
        begun = frame.f_lasti >= 0 and not _is_new(value)
        # Where it stands says nothing about another version of its code.
        at = f" at {frame.f_lasti}" if begun else ""
        label = f"{label}{at} {sorted(frame.f_locals)} running={value.gi_running}"
        return Content(label, _held(value))


def _held(value: types.GeneratorType[Any, Any, Any]) -> list[Any]:
    """The variables of a generator, and what else it has at hand: the iterators of its loops."""
    referents = gc.get_referents(value)
    codes = [at for at, each in enumerate(referents) if each is value.gi_code]
    # 3.11 tells the code twice: as the generator's, and as that of its frame.
    return referents[codes[1 if sys.version_info < (3, 12) else 0] + 1 :]


def _is_new(value: types.GeneratorType[Any, Any, Any]) -> bool:
    import inspect

    return inspect.getgeneratorstate(value) == inspect.GEN_CREATED


# --- objects of Python's classes -----------------------------------------------------------------

_BASES: dict[type, Teller] = {}


def _instance(value: Any, base: type) -> Content:
    kind = type(value)
    inner: Content = Content("")
    if issubclass(base, BaseException):
        inner = Content("raised", [value.args, value.__cause__])
    elif base is not object:
        inner = _BASES[base](value)
    state = _attributes(value)
    label = f"{kind.__module__}.{kind.__qualname__} {inner.label} {sorted(state)}"
    parts = [*inner.parts, *(state[name] for name in sorted(state))]
    if inner.unordered:
        # Its members have no order, its attributes have one.
        parts = [set(inner.parts), *(state[name] for name in sorted(state))]
    return Content(label, parts, inner.known)


def _attributes(value: Any) -> dict[str, Any]:
    """Attributes where they lie."""
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        held = {}
    found = {str(name): each for name, each in dict.items(held)} if type(held) is dict else {}
    for name, slot in layout(type(value))[1]:
        with contextlib.suppress(AttributeError):
            found[name] = slot.__get__(value)
    return found


# --- objects of C --------------------------------------------------------------------------------


def _of_c(value: Any) -> Content:
    """An object that nothing is known of: what it refers to, which may not be all."""
    kind = type(value)
    array = _numpy(value)
    if array is not None:
        return array
    if kind.__module__ == "functools" and kind.__name__ == "_lru_list_elem":
        return Content("remembered")  # by the cache that it is part of, which tells it
    parts = gc.get_referents(value)
    return Content(f"{kind.__module__}.{kind.__qualname__}", parts, known=False)


def _numpy(value: Any) -> Content | None:
    numpy: Any = sys.modules.get("numpy")
    kind = type(value)
    if numpy is None or kind.__module__.partition(".")[0] != "numpy":
        return None
    if kind is numpy.ndarray:
        label = f"ndarray {value.dtype} {value.shape}"
        if value.dtype.hasobject:
            return Content(label, [value.tolist()])
        return Content(f"{label} {value.tobytes().hex()}")
    if isinstance(value, numpy.generic):
        return Content(f"{kind.__qualname__} {value.tobytes().hex()}", shared=False)
    return None


def _atom(value: Any) -> Content:
    return Content(f"{type(value).__name__} {value!r}", shared=False)


def _named(value: Any) -> Content:
    owner = getattr(value, "__objclass__", None) or type(value)
    return Content(
        f"{type(value).__name__} {owner.__module__}.{owner.__qualname__}.{value.__name__}"
    )


def _builtin(value: Any) -> Content:
    owner = value.__self__
    label = f"builtin {value.__module__}.{value.__qualname__}"
    return Content(label, () if isinstance(owner, types.ModuleType) else [owner], shared=False)


def _wrapped(value: Any) -> Content:
    return Content(f"wrapper {value.__qualname__}", [value.__self__], shared=False)


def _bound(value: types.MethodType) -> Content:
    return Content("method", [value.__func__, value.__self__], shared=False)


def _entries(value: dict[Any, Any]) -> Content:
    parts = [each for entry in dict.items(value) for each in entry]
    return Content(f"dict {len(parts)}", parts)


def _ordered(value: Any) -> Content:
    parts = [each for entry in collections.OrderedDict.items(value) for each in entry]
    return Content("OrderedDict", parts)


def _defaulting(value: Any) -> Content:
    return Content("defaultdict", [value.default_factory, *_entries(value).parts])


def _queue(value: Any) -> Content:
    return Content(f"deque {value.maxlen}", list(collections.deque.__iter__(value)))


def _chance(value: Any) -> Content:
    return Content("random", [random.Random.getstate(value)])


def _cell(value: types.CellType) -> Content:
    try:
        return Content("cell", [value.cell_contents])
    except ValueError:
        return Content("empty cell")


def _match(value: re.Match[Any]) -> Content:
    label = f"match {value.regs} {value.pos} {value.endpos} {value.lastindex}"
    return Content(label, [value.re, value.string], shared=False)


def _stream(value: Any) -> Content:
    if value.closed:
        return Content("closed stream", [_attributes(value)])
    return Content(f"stream {value.tell()}", [value.getvalue()])


def _file(value: Any) -> Content:
    if value.closed:
        return Content("closed file")
    try:
        return Content(f"file {value.name!r} {value.mode} {value.tell()}")
    except Exception:
        return Content("file", known=False)


def _weak(value: Any) -> Content:
    return Content("weakref", [value()], shared=False)


def _cached(value: Any) -> Content:
    # What it refers to is its function, its attributes and all that it remembers.
    return Content(f"cached {value.cache_info()}", gc.get_referents(value))


def _referring(value: Any) -> Content:
    return Content(type(value).__qualname__, gc.get_referents(value))


def _of_items(kind: type) -> Teller:
    items: Any = vars(kind)["__iter__"]

    def told(value: Any) -> Content:
        parts = list(items(value))
        return Content(f"{kind.__name__} {len(parts)}", parts, shared=kind is not tuple)

    return told


def _of_members(kind: type) -> Teller:
    items: Any = vars(kind)["__iter__"]

    def told(value: Any) -> Content:
        parts = list(items(value))
        label = f"{kind.__name__} {len(parts)}"
        return Content(label, parts, shared=kind is set, unordered=True)

    return told


def _of_text(kind: Any) -> Teller:
    written = kind.__repr__
    return lambda value: Content(f"{kind.__name__} {written(value)}", shared=False)


def _reducing(kind: Any) -> Teller:
    reduced = kind.__reduce__

    def told(value: Any) -> Content:
        made, *rest = reduced(value)
        return Content(f"{kind.__qualname__} {getattr(made, '__qualname__', '')}", rest)

    return told


_NUMBERS = (int, float, complex, type)


def _iterators() -> dict[type, Teller]:
    """Iterators of C that tell what they hold and how far they are: up to 3.13 all of them."""
    kinds: list[Any] = [
        map, filter, zip, enumerate, reversed, type(iter([])), type(iter(())), type(iter("")),
        type(iter("\xff")), type(iter(b"")), type(iter(bytearray())), type(iter(range(0))),
        type(iter(range(2**70))), type(iter({})), type(iter({}.items())), type(iter({}.values())),
        type(iter(set())), type(reversed([])), type(reversed({})), type(iter(int, 0)),
        type(iter(collections.deque())), type(reversed(collections.deque())), range,
    ]  # fmt: skip
    kinds += [each for each in vars(itertools).values() if isinstance(each, type)]
    telling = {kind: _reducing(kind) for kind in kinds if "__reduce__" in vars(kind)}
    return {itertools.count: _counting, **telling}


def _counting(value: Any) -> Content:
    if any(type(each) not in _NUMBERS for each in gc.get_referents(value)):
        return _of_c(value)  # a number of the program would be asked for its text
    return Content(f"count {value!r}")


def _written() -> dict[type, Teller]:
    """Values of the standard library that tell all that they are."""
    found: dict[type, Teller] = {}
    for module, names in (
        ("datetime", ("date", "datetime", "time", "timedelta", "timezone")),
        ("decimal", ("Decimal",)),
    ):
        try:
            kinds = [getattr(__import__(module), name) for name in names]
        except ImportError:  # this Python was built without it
            continue
        found |= {kind: _reducing(kind) for kind in kinds}
    return found


_BASES.update(
    {
        dict: _entries, list: _of_items(list), tuple: _of_items(tuple), set: _of_members(set),
        frozenset: _of_members(frozenset), str: _of_text(str), bytes: _of_text(bytes),
        bytearray: _of_text(bytearray), int: _of_text(int), float: _of_text(float),
        complex: _of_text(complex), collections.OrderedDict: _ordered,
        collections.defaultdict: _defaulting, collections.deque: _queue,
        **_written(), _random.Random: _chance,
        types.ModuleType: lambda value: Content(f"module {value.__name__}"),
    }
)  # fmt: skip
_TELLERS: dict[type, Teller] = {
    **_BASES, **_iterators(),
    types.EllipsisType: _atom, types.NotImplementedType: _atom,
    types.MethodType: _bound, types.MethodWrapperType: _wrapped,
    types.BuiltinFunctionType: _builtin, type(re.compile("").match): _builtin,
    types.MethodDescriptorType: _named, types.WrapperDescriptorType: _named,
    types.GetSetDescriptorType: _named, types.MemberDescriptorType: _named,
    types.ClassMethodDescriptorType: _named,
    functools.partial: _referring, types.MappingProxyType: _referring,
    types.SimpleNamespace: _referring, slice: _referring, property: _referring,
    staticmethod: _referring, classmethod: _referring, **dict.fromkeys(TEMPLATES, _referring),
    type({}.keys()): _referring, type({}.values()): _referring, type({}.items()): _referring,
    functools._lru_cache_wrapper: _cached, types.CellType: _cell, weakref.ref: _weak,
    re.Match: _match, io.StringIO: _stream, io.BytesIO: _stream,
    io.TextIOWrapper: _file, io.BufferedReader: _file, io.FileIO: _file,
    re.Pattern: lambda value: Content(f"re {value.pattern!r} {value.flags}", shared=False),
    memoryview: lambda value: Content("memoryview", [value.tobytes()]),
    struct.Struct: lambda value: Content(f"struct {value.format}"),
    _thread.LockType: lambda value: Content(f"lock {value.locked()}"),
    _thread.RLock: lambda value: Content("lock"),
    types.TracebackType: lambda value: Content("traceback"),
    types.CodeType: lambda value: Content(f"code {value.co_qualname}"),
    object: lambda value: Content("object"),
    # Which classes an abstract class took for its own: what isinstance remembers.
    type(vars(abc.ABC)["_abc_impl"]): lambda value: Content("abc"),
}  # fmt: skip
