"""Replaces the program's code by the reference's, in all functions and in modules loaded later.

Invariant: a function keeps everything but its code: its variables, defaults and captured cells.
"""

from __future__ import annotations

import functools
import gc
import os
from collections.abc import Sequence
from hashlib import blake2b
from importlib import _bootstrap_external
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from whence.langs.python.oracles.worker.program_names import CannotBuild
from whence.langs.python.source.code_digest import all_code, content

_Key = tuple[str, str, int, bytes]

SourceLoader: Any = _bootstrap_external.SourceLoader
"""From which all loaders of Python source files inherit."""

_absolute = functools.cache(os.path.abspath)


class _CodePair(NamedTuple):
    """Code of one version, with its counterpart."""

    code: CodeType
    place: str
    """Tells it from other code of its name, equally in both versions."""
    theirs: CodeType | None = None
    """Its counterpart in the reference."""
    captured: frozenset[str] | None = None
    """The names that both versions capture, where these differ."""


class CodeSwap:
    """The code of both versions of some files, which differ only inside functions.

    A monitor may have changed the program's own code objects, so they are identified by file, name
    and lines. The reference's code objects are all made here and identified by address.
    """

    def __init__(self, files: Sequence[tuple[str, str]]) -> None:
        self._files = frozenset(own for own, _ in files)
        self._own: dict[_Key, _CodePair] = {}
        self._there: dict[int, _CodePair] = {}
        for own, other in files:
            ours, theirs = (_by_name(_compiled(file, own)) for file in (own, other))
            for name in ours.keys() | theirs.keys():
                self._pair(ours.get(name, []), theirs.get(name, []))

    def _pair(self, ours: list[CodeType], theirs: list[CodeType]) -> None:
        """Pair code of one name by its order.

        If the numbers differ, only code that does the same is paired.
        """
        if len(ours) == len(theirs):
            for number, (one, two) in enumerate(zip(ours, theirs, strict=True)):
                differ = one.co_freevars != two.co_freevars
                both = frozenset(one.co_freevars) & {*two.co_freevars} if differ else None
                self._own[_key(one)] = _CodePair(one, str(number), two, both)
                self._there[id(two)] = _CodePair(two, str(number), two, both)
            return
        there = {content(code, whole=True): code for code in theirs}
        for code in ours:
            same = there.get(content(code, whole=True))
            self._own[_key(code)] = _CodePair(code, _content_digest(code), same)
        for code in theirs:
            self._there[id(code)] = _CodePair(code, _content_digest(code), code)

    def _find_pair(self, code: CodeType) -> _CodePair | None:
        return self._there.get(id(code)) or self._own.get(_key(code))

    def place(self, code: CodeType) -> str:
        """Tells code from other code of its name, equally in both versions."""
        pair = self._find_pair(code)
        if pair is not None:
            return pair.place
        return blake2b(b"%d " % code.co_firstlineno + code.co_linetable, digest_size=8).hexdigest()

    def captured(self, function: FunctionType) -> list[Any]:
        """The cells that a function has in both versions. Others are for its own code."""
        code = function.__code__
        pair = self._find_pair(code)
        both = None if pair is None else pair.captured
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        return [cell for name, cell in sorted(cells) if both is None or name in both]

    def copy_function(self, function: FunctionType, theirs: bool) -> FunctionType:
        """A copy of a function, with the reference's code if it is wanted and there is any."""
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        code = self._counterpart(function.__code__) if theirs else function.__code__
        if {*code.co_freevars} - {*cells}:
            raise CannotBuild(f"{code.co_qualname} has other free variables there")
        closure = tuple(cells[name] for name in code.co_freevars) or None
        return FunctionType(code, function.__globals__, function.__name__, None, closure)

    def _counterpart(self, code: CodeType) -> CodeType:
        """The reference's code for some code, if there is any; otherwise the code itself."""
        pair = self._find_pair(code)
        return code if pair is None or pair.theirs is None else pair.theirs

    def is_own(self, code: CodeType) -> bool:
        """Whether code is the program's own and differs in the reference."""
        if id(code) in self._there or _absolute(code.co_filename) not in self._files:
            return False
        pair = self._own.get(_key(code))
        return pair is None or pair.code != pair.theirs

    def swap_everywhere(self) -> None:
        """Give all functions the reference's code, those that are loaded later included."""
        gc.unfreeze()  # get_objects leaves out what a program froze
        for value in gc.get_objects():
            if type(value) is FunctionType:
                code = self._counterpart(value.__code__)
                if code is value.__code__:
                    continue
                if code.co_freevars != value.__code__.co_freevars:
                    raise CannotBuild(f"{code.co_qualname} has other free variables there")
                value.__code__ = code
        self._swap_on_load()

    def _swap_on_load(self) -> None:
        loaded = SourceLoader.get_code

        def get_code(loader: Any, name: str) -> CodeType | None:
            code: CodeType | None = loaded(loader, name)
            return code and self._counterpart(code)

        SourceLoader.get_code = get_code


def _content_digest(code: CodeType) -> str:
    return blake2b(code.co_code + repr(code.co_names).encode(), digest_size=8).hexdigest()


def _by_name(code: CodeType) -> dict[str, list[CodeType]]:
    by_name: dict[str, list[CodeType]] = {}
    for inner in all_code(code):
        by_name.setdefault(inner.co_qualname, []).append(inner)
    return by_name


def _compiled(file: str, name: str) -> CodeType:
    try:
        with open(file, "rb") as source:
            return compile(source.read(), name, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError) as problem:
        raise CannotBuild(f"{file} cannot be compiled ({problem})") from None


def _key(code: CodeType) -> _Key:
    file = _absolute(code.co_filename)
    return file, code.co_qualname, code.co_firstlineno, code.co_linetable
