"""Puts the code of the reference in the place of the program's own, in all functions that exist.

Invariant: a function keeps all but its code: its variables, its defaults, what it captured.
"""

from __future__ import annotations

import functools
import gc
import os
from hashlib import blake2b
from types import CodeType, FunctionType
from typing import Any

from whence.langs.python.oracles.worker.loading import all_codes
from whence.langs.python.oracles.worker.making import CannotMake

_Key = tuple[str, str, int, bytes]


_absolute = functools.cache(os.path.abspath)


class Exchange:
    """The code of both versions of some files, which differ in functions only.

    Code that runs may have been changed by those who watch it, so it is known by its place.
    """

    def __init__(self, files: list[tuple[str, str]]) -> None:
        self._theirs: dict[_Key, CodeType] = {}
        self._places: dict[_Key, str] = {}
        self._captured: dict[_Key, frozenset[str]] = {}
        """What both versions of some code capture, where that is not the same."""
        for own, other in files:
            ours, theirs = (_by_name(_compiled(file, own)) for file in (own, other))
            for name in ours.keys() | theirs.keys():
                self._pair(ours.get(name, []), theirs.get(name, []))

    def _pair(self, ours: list[CodeType], theirs: list[CodeType]) -> None:
        """Code of one name: what is the first here is the first there, unless some is missing."""
        for codes in (ours, theirs):
            for number, code in enumerate(codes):
                alike = code.co_code + repr(code.co_names).encode()
                place = blake2b(alike, digest_size=8).hexdigest()
                self._places[_key(code)] = str(number) if len(ours) == len(theirs) else place
        if len(ours) == len(theirs):
            for one, two in zip(ours, theirs, strict=True):
                if one != two:
                    self._theirs[_key(one)] = two
                if one.co_freevars != two.co_freevars:
                    both = frozenset(one.co_freevars) & frozenset(two.co_freevars)
                    self._captured[_key(one)] = self._captured[_key(two)] = both

    def place(self, code: CodeType) -> str:
        """What tells code apart from other code of its name, in both versions."""
        place = self._places.get(_key(code))
        if place is not None:
            return place
        return blake2b(b"%d " % code.co_firstlineno + code.co_linetable, digest_size=8).hexdigest()

    def captured(self, function: FunctionType) -> list[Any]:
        """The cells that a function has in both versions. What else it has is for its own code."""
        code = function.__code__
        both = self._captured.get(_key(code))
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        return [cell for name, cell in sorted(cells) if both is None or name in both]

    def made(self, function: FunctionType, theirs: bool) -> FunctionType:
        """A function like one, with the reference's code if there is any."""
        code = self._theirs.get(_key(function.__code__)) if theirs else None
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        code = code or function.__code__
        if {*code.co_freevars} - {*cells}:
            raise CannotMake(f"{code.co_qualname} has other free variables there")
        closure = tuple(cells[name] for name in code.co_freevars) or None
        return FunctionType(code, function.__globals__, function.__name__, None, closure)

    def everywhere(self) -> None:
        """Give all functions that there are the reference's code."""
        for each in gc.get_objects():
            if type(each) is FunctionType:
                code = self._theirs.get(_key(each.__code__))
                if code is None:
                    continue
                if code.co_freevars != each.__code__.co_freevars:
                    raise CannotMake(f"{code.co_qualname} has other free variables there")
                each.__code__ = code


def _by_name(code: CodeType) -> dict[str, list[CodeType]]:
    found: dict[str, list[CodeType]] = {}
    for each in all_codes(code):
        found.setdefault(each.co_qualname, []).append(each)
    return found


def _compiled(file: str, name: str) -> CodeType:
    try:
        with open(file, "rb") as source:
            return compile(source.read(), name, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError) as problem:
        raise CannotMake(f"{file} cannot be compiled ({problem})") from None


def _key(code: CodeType) -> _Key:
    file = _absolute(code.co_filename)
    return file, code.co_qualname, code.co_firstlineno, code.co_linetable
