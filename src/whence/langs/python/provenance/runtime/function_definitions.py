"""Definitions of rewritten functions: registers their code and the tags of their defaults."""

from __future__ import annotations

import weakref
from types import CodeType, FunctionType
from typing import Any

from whence.langs.python.provenance.runtime.run_state import RUN, THREAD
from whence.langs.python.provenance.tags import FUNCTIONS, NEW, Control, MaybeTag, Pair, Tag

REWRITTEN_CODES: dict[int, CodeType] = {}
"""The code of rewritten functions, by its address."""
_Defaults = tuple[object, tuple[MaybeTag, ...], dict[str, MaybeTag], tuple[object, ...]]
"""A weak reference to the function, the tags of its defaults, those of keywords, and the values."""
DEFAULTS: dict[int, _Defaults] = {}


def is_rewritten(function: object) -> bool:
    """Whether a function was rewritten."""
    return type(function) is FunctionType and id(function.__code__) in REWRITTEN_CODES


class _Definition:
    """Collects the tags of a function's defaults, which are evaluated before the function
    exists.
    """

    def __init__(self, number: int):
        self.number = number
        self.tags: list[MaybeTag] = []
        THREAD.defining.append(self)

    def __call__(self, function: Any) -> object:
        while THREAD.defining and THREAD.defining.pop() is not self:
            pass
        code = function.__code__
        REWRITTEN_CODES[id(code)] = code
        info = FUNCTIONS[self.number]
        info.namespace = function.__globals__
        RUN.note_namespace(info.namespace, info.module)
        count = len(function.__defaults__ or ())
        named = [name for name in info.keyword_only if name in (function.__kwdefaults__ or {})]
        if any(tag is not None for tag in self.tags):
            address = id(function)
            defaults = DEFAULTS  # survives until the interpreter ends
            forget = weakref.ref(function, lambda _: defaults.pop(address, None))
            tags = dict(zip(named, self.tags[count:], strict=False))
            DEFAULTS[address] = (forget, tuple(self.tags[:count]), tags, defaults_of(function))
        if not count and not function.__kwdefaults__:
            _AGAIN[self.number] = _DefinedAgain(self.number)
        return function


class _DefinedAgain:
    """The decorator of a function without defaults that was defined before.

    An inner function is defined at every call of the outer one, so this must be fast.
    """

    __slots__ = ("number",)

    def __init__(self, number: int):
        self.number = number

    def __call__(self, function: Any) -> object:
        is_known = id(function.__code__) in REWRITTEN_CODES
        if is_known and FUNCTIONS[self.number].namespace is function.__globals__:
            return function
        return _Definition(self.number)(function)


_AGAIN: dict[int, _DefinedAgain] = {}
"""By the number of the function."""


def defaults_of(function: Any) -> tuple[object, ...]:
    return (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())


def define_function(number: int) -> _Definition | _DefinedAgain:
    """The innermost decorator of every rewritten function."""
    return _AGAIN.get(number) or _Definition(number)


def note_default(default: Pair) -> object:
    """Note the tag of a default of the function that is being defined."""
    if THREAD.defining:
        THREAD.defining[-1].tags.append(default[1])
    return default[0]


def function_tag(site: int, control: Control) -> MaybeTag:
    """The tag of a function that was just defined."""
    return Tag((NEW, site, control, None))
