"""Puts the code of the reference in the place of the program's own, in all functions that exist
and in all modules that are still to be loaded.

Invariant: a function keeps all but its code: its variables, its defaults, what it captured.
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
"""Which all loaders of modules from files of Python have their code from."""

_absolute = functools.cache(os.path.abspath)


class _Known(NamedTuple):
    """What is known of some code of either version."""

    code: CodeType
    place: str
    """What tells it apart from other code of its name."""
    theirs: CodeType | None = None
    """What it is in the reference."""
    captured: frozenset[str] | None = None
    """What both versions capture, where that is not the same."""


class CodeSwap:
    """The code of both versions of some files, which differ in functions only.

    Own code that runs may have been changed by those who watch it, so it is known by its place. The
    reference's may stand where other code stood, but comes from nowhere else than from here.
    """

    def __init__(self, files: Sequence[tuple[str, str]]) -> None:
        self._files = frozenset(own for own, _ in files)
        self._own: dict[_Key, _Known] = {}
        self._there: dict[int, _Known] = {}
        for own, other in files:
            ours, theirs = (_by_name(_compiled(file, own)) for file in (own, other))
            for name in ours.keys() | theirs.keys():
                self._pair(ours.get(name, []), theirs.get(name, []))

    def _pair(self, ours: list[CodeType], theirs: list[CodeType]) -> None:
        """Code of one name: what is the first here is the first there.

        If some is missing, only what does the same is known to be one.
        """
        if len(ours) == len(theirs):
            for number, (one, two) in enumerate(zip(ours, theirs, strict=True)):
                both = None
                if one.co_freevars != two.co_freevars:
                    both = frozenset(one.co_freevars) & frozenset(two.co_freevars)
                self._own[_key(one)] = _Known(one, str(number), two, both)
                self._there[id(two)] = _Known(two, str(number), two, both)
            return
        there = {content(code, whole=True): code for code in theirs}
        for code in ours:
            same = there.get(content(code, whole=True))
            self._own[_key(code)] = _Known(code, _by_what_it_does(code), same)
        for code in theirs:
            self._there[id(code)] = _Known(code, _by_what_it_does(code), code)

    def _known(self, code: CodeType) -> _Known | None:
        return self._there.get(id(code)) or self._own.get(_key(code))

    def place(self, code: CodeType) -> str:
        """What tells code apart from other code of its name, in both versions."""
        known = self._known(code)
        if known is not None:
            return known.place
        return blake2b(b"%d " % code.co_firstlineno + code.co_linetable, digest_size=8).hexdigest()

    def captured(self, function: FunctionType) -> list[Any]:
        """The cells that a function has in both versions. What else it has is for its own code."""
        code = function.__code__
        known = self._known(code)
        both = None if known is None else known.captured
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        return [cell for name, cell in sorted(cells) if both is None or name in both]

    def copy_function(self, function: FunctionType, theirs: bool) -> FunctionType:
        """A function like one, with the reference's code if there is any."""
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        code = self._exchanged(function.__code__) if theirs else function.__code__
        if {*code.co_freevars} - {*cells}:
            raise CannotBuild(f"{code.co_qualname} has other free variables there")
        closure = tuple(cells[name] for name in code.co_freevars) or None
        return FunctionType(code, function.__globals__, function.__name__, None, closure)

    def _exchanged(self, code: CodeType) -> CodeType:
        """The reference's code in the place of some code, if there is any."""
        known = self._known(code)
        return code if known is None or known.theirs is None else known.theirs

    def is_own(self, code: CodeType) -> bool:
        """Whether code is the program's own, and not the same in the reference."""
        if id(code) in self._there or _absolute(code.co_filename) not in self._files:
            return False
        known = self._own.get(_key(code))
        return known is None or known.code != known.theirs

    def swap_everywhere(self) -> None:
        """Give all functions that there are the reference's code, and all that are loaded later."""
        gc.unfreeze()  # what a program froze is not among the objects that there are
        for each in gc.get_objects():
            if type(each) is FunctionType:
                code = self._exchanged(each.__code__)
                if code is each.__code__:
                    continue
                if code.co_freevars != each.__code__.co_freevars:
                    raise CannotBuild(f"{code.co_qualname} has other free variables there")
                each.__code__ = code
        self._when_loaded()

    def _when_loaded(self) -> None:
        loaded = SourceLoader.get_code

        def get_code(loader: Any, name: str) -> CodeType | None:
            code: CodeType | None = loaded(loader, name)
            return code and self._exchanged(code)

        SourceLoader.get_code = get_code


def _by_what_it_does(code: CodeType) -> str:
    return blake2b(code.co_code + repr(code.co_names).encode(), digest_size=8).hexdigest()


def _by_name(code: CodeType) -> dict[str, list[CodeType]]:
    found: dict[str, list[CodeType]] = {}
    for each in all_code(code):
        found.setdefault(each.co_qualname, []).append(each)
    return found


def _compiled(file: str, name: str) -> CodeType:
    try:
        with open(file, "rb") as source:
            return compile(source.read(), name, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError) as problem:
        raise CannotBuild(f"{file} cannot be compiled ({problem})") from None


def _key(code: CodeType) -> _Key:
    file = _absolute(code.co_filename)
    return file, code.co_qualname, code.co_firstlineno, code.co_linetable
