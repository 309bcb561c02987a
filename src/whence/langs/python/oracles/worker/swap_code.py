"""Replaces the code of one version by that of the other, in all functions and in later modules.

Invariant: a function keeps its variables and captured cells. It gets the code and the defaults of
the other version, or `CannotBuild` says why it cannot.
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

from whence.langs.python.oracles.worker.function_defaults import SourceDefaults, give_defaults
from whence.langs.python.oracles.worker.program_names import CannotBuild
from whence.langs.python.source.code_digest import all_code, content

_Key = tuple[str, str, int, bytes]

SourceLoader: Any = _bootstrap_external.SourceLoader
"""From which all loaders of Python source files inherit."""

_absolute = functools.cache(os.path.abspath)


class _CodePair(NamedTuple):
    """The code of a function in both versions."""

    place: str
    """Tells it from other code of its name, equally in both versions."""
    own: CodeType | None
    theirs: CodeType | None
    captured: frozenset[str] | None = None
    """The names that both versions capture, where these differ."""

    def of(self, reference: bool) -> CodeType | None:
        """The code of one version."""
        return self.theirs if reference else self.own


class CodeSwap:
    """The code of both versions of some files, which differ only inside functions.

    A monitor may have changed the program's own code objects, so they are identified by file, name
    and lines. The reference's code objects are all made here and identified by address.
    """

    def __init__(self, files: Sequence[tuple[str, str]]) -> None:
        self._files = frozenset(own for own, _ in files)
        self._own: dict[_Key, _CodePair] = {}
        self._there: dict[int, _CodePair] = {}
        self._defaults: dict[tuple[str, bool], SourceDefaults] = {}
        self._loads_reference = False
        self._is_hooked = False
        for own, other in files:
            versions = []
            for file, is_reference in ((own, False), (other, True)):
                source, code = _compiled(file, own)
                self._defaults[own, is_reference] = SourceDefaults(source)
                versions.append(_by_name(code))
            ours, theirs = versions
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
                pair = _CodePair(str(number), one, two, both)
                self._own[_key(one)] = self._there[id(two)] = pair
            return
        here = {content(code, whole=True): code for code in ours}
        there = {content(code, whole=True): code for code in theirs}
        for code in ours:
            same = there.get(content(code, whole=True))
            self._own[_key(code)] = _CodePair(_content_digest(code), code, same)
        for code in theirs:
            same = here.get(content(code, whole=True))
            self._there[id(code)] = _CodePair(_content_digest(code), same, code)

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

    def copy_function(self, function: FunctionType, reference: bool) -> FunctionType:
        """A copy of a function with the code of a version, if that has any."""
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        code = self.counterpart(function.__code__, reference)
        if {*code.co_freevars} - {*cells}:
            raise CannotBuild(f"{code.co_qualname} has other free variables there")
        closure = tuple(cells[name] for name in code.co_freevars) or None
        return FunctionType(code, function.__globals__, function.__name__, None, closure)

    def counterpart(self, code: CodeType, reference: bool) -> CodeType:
        """The code of a version for some code, if there is any; otherwise the code itself."""
        pair = self._find_pair(code)
        found = None if pair is None else pair.of(reference)
        # The program's own code may have been changed by a monitor; keep it where it stands.
        is_of_version = (id(code) in self._there) is reference
        return code if found is None or is_of_version else found

    def theirs_of(self, file: str, qualname: str, line: int, line_table: bytes) -> CodeType | None:
        """The reference's code for code of the program; None if there is none."""
        pair = self._own.get((file, qualname, line, line_table))
        return None if pair is None else pair.theirs

    def is_foreign(self, code: CodeType, reference: bool) -> bool:
        """Whether code is of one version only, and not of the one that is wanted."""
        pair = self._there.get(id(code))
        if pair is not None:
            return not reference and pair.own != code
        if not reference or _absolute(code.co_filename) not in self._files:
            return False
        pair = self._own.get(_key(code))
        return pair is None or pair.own != pair.theirs

    def swap_everywhere(self, reference: bool) -> None:
        """Give all functions the code of a version, those that are loaded later included."""
        gc.unfreeze()  # get_objects leaves out what a program froze
        for value in gc.get_objects():
            if type(value) is FunctionType:
                code = self.counterpart(value.__code__, reference)
                if code is value.__code__:
                    continue
                if code.co_freevars != value.__code__.co_freevars:
                    raise CannotBuild(f"{code.co_qualname} has other free variables there")
                if "<locals>" in code.co_qualname:
                    # Those of other functions are the same: their modules do not differ.
                    self._swap_defaults(value, code, reference)
                value.__code__ = code
        self.swap_on_load(reference)

    def _swap_defaults(self, function: FunctionType, code: CodeType, reference: bool) -> None:
        file = _absolute(code.co_filename)
        pair = self._find_pair(code)
        assert pair is not None and pair.own is not None and pair.theirs is not None
        own = self._defaults[file, False].of(pair.own)
        theirs = self._defaults[file, True].of(pair.theirs)
        held, wanted = (own, theirs) if reference else (theirs, own)
        give_defaults(function, code, held, wanted)

    def swap_on_load(self, reference: bool) -> None:
        """Give modules that are loaded from now on the code of a version."""
        self._loads_reference = reference
        if self._is_hooked:
            return
        self._is_hooked = True
        loaded = SourceLoader.get_code

        def get_code(loader: Any, name: str) -> CodeType | None:
            code: CodeType | None = loaded(loader, name)
            return code and self.counterpart(code, self._loads_reference)

        SourceLoader.get_code = get_code


def _content_digest(code: CodeType) -> str:
    return blake2b(code.co_code + repr(code.co_names).encode(), digest_size=8).hexdigest()


def _by_name(code: CodeType) -> dict[str, list[CodeType]]:
    by_name: dict[str, list[CodeType]] = {}
    for inner in all_code(code):
        by_name.setdefault(inner.co_qualname, []).append(inner)
    return by_name


def _compiled(file: str, name: str) -> tuple[bytes, CodeType]:
    """The text of a file, and its code as if it were of the file `name`."""
    try:
        with open(file, "rb") as source:
            text = source.read()
        return text, compile(text, name, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError) as problem:
        raise CannotBuild(f"{file} cannot be compiled ({problem})") from None


def _key(code: CodeType) -> _Key:
    file = _absolute(code.co_filename)
    return file, code.co_qualname, code.co_firstlineno, code.co_linetable
