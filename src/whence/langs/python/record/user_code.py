"""Decides which code is user code, and so what becomes a call of the tree.

By default everything is, except the standard library, installed packages and whence itself. Code
that a library generates (the `__init__` of a dataclass) is the library's, although it runs in the
user's namespace.

Invariant: the decision depends only on the file and names of a code object and on its module. It
runs and imports nothing of the program.
"""

from __future__ import annotations

import fnmatch
import os
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

from whence.langs.python.objects.newer_types import FROZENDICTS
from whence.langs.python.objects.raw_class import IS_DICT, flags_of

_INSTALLED = ("site-packages", "dist-packages")
_HEADER_FIELDS = ("user_code", "only", "left_out", "filter")
_DATACLASS_MAKER = "__create_fn__"
_OF_ATTRS = "<attrs generated "


@dataclass(frozen=True, slots=True)
class UserCodeRules:
    """The user's own rules for what is user code.

    A pattern (`*`, `?`, `[…]` as in a shell) is matched with the file (whole, or its name), the
    dotted module or a package above it, and the function's qualified name, alone or after its
    module.
    """

    added: tuple[str, ...] = ()
    """Packages by dotted name, or paths: user code although they are installed."""
    only: tuple[str, ...] = ()
    """Patterns: if there are any, only what matches one of them is user code."""
    left_out: tuple[str, ...] = ()
    """Patterns: what matches one of them is not."""
    kept: tuple[str, ...] = ()
    """Patterns of functions: if there are any, other calls of user code are only counted."""

    @classmethod
    def from_header(cls, options: Mapping[str, Any]) -> UserCodeRules:
        """The rules that a trace's header quotes."""
        return cls(*(tuple(options.get(name) or ()) for name in _HEADER_FIELDS))


class UserCode:
    """Decides once for each file and module; for each function if there are patterns."""

    def __init__(self, rules: UserCodeRules | None = None, directory: str | None = None):
        self._rules = rules = rules or UserCodeRules()
        # The program may change its directory; file names are relative to the initial one.
        self._directory = directory or _current_directory()
        self._libraries = _library_folders()
        self._whence = whence_folders()
        self._added_paths = tuple(self._absolute(name) for name in rules.added if _is_path(name))
        self._added_packages = tuple(name for name in rules.added if not _is_path(name))
        self._decided: dict[tuple[str, str, str], bool] = {}

    def owns(self, code: CodeType, namespace: dict[str, Any]) -> bool:
        """Whether code that runs in this namespace is user code."""
        module = module_name(namespace)
        key = (code.co_filename, module, _text(namespace, "__file__"))
        decided = self._decided.get(key)
        if decided is None:
            decided = self._decided[key] = self._owns_file(*key)
        if not decided or _was_generated(code):
            return False
        return self._passes(code, module)

    def owns_module(self, name: str, file: str) -> bool:
        """Whether a module is user code, without regard to patterns."""
        return self._owns_file(file, name, file)

    def keeps(self, code: CodeType, namespace: dict[str, Any]) -> bool:
        """Whether calls of user code are recorded, and not only counted. Module bodies always are:
        they are few, and they are the callers of all calls without another one."""
        if not self._rules.kept or code.co_name == "<module>":
            return True
        qualname = code.co_qualname
        names = (qualname, f"{module_name(namespace)}.{qualname}", code.co_name)
        return any(_matches(pattern, names) for pattern in self._rules.kept)

    def _owns_file(self, file: str, module: str, module_file: str) -> bool:
        if any(module == name or module.startswith(f"{name}.") for name in self._added_packages):
            return True
        if file.startswith("<frozen "):
            return False
        if file.startswith("<") and file.endswith(">"):
            # From exec, eval or compile: its module decides.
            if module_file:
                return self._owns_path(module_file)
            return module == "__main__"
        return self._owns_path(file)

    def _owns_path(self, file: str) -> bool:
        if file.startswith("<frozen "):
            return False
        path = self._absolute(file)
        if any(_is_below(path, added) for added in self._added_paths):
            return True
        if any(_is_below(path, folder) for folder in self._whence):
            return False
        for spelling in (path, os.path.realpath(path)):
            if any(_is_below(spelling, folder) for folder in self._libraries):
                return False
            if any(part in _INSTALLED for part in spelling.split(os.sep)):
                return False
        return True

    def _absolute(self, file: str) -> str:
        return os.path.normpath(os.path.join(self._directory, file))

    def _passes(self, code: CodeType, module: str) -> bool:
        rules = self._rules
        if not rules.only and not rules.left_out:
            return True
        names = self._names(code, module)
        if any(_matches(pattern, names) for pattern in rules.left_out):
            return False
        return not rules.only or any(_matches(pattern, names) for pattern in rules.only)

    def _names(self, code: CodeType, module: str) -> tuple[str, ...]:
        path = self._absolute(code.co_filename)
        packages = module.split(".")
        dotted = [".".join(packages[:length]) for length in range(1, len(packages) + 1)]
        qualname = code.co_qualname
        return (
            code.co_filename, path, os.path.basename(path), os.path.relpath(path, self._directory),
            qualname, f"{module}.{qualname}", *dotted,
        )  # fmt: skip


def module_name(namespace: dict[str, Any]) -> str:
    """The name of the module that a namespace belongs to; empty if it is not known."""
    return _text(namespace, "__name__")


def _text(namespace: dict[str, Any], name: str) -> str:
    get = dict.get if flags_of(type(namespace)) & IS_DICT else FROZENDICTS[0].get
    value = get(namespace, name)
    # An exact string: a subclass could define its own comparison.
    return value if type(value) is str else ""


def _was_generated(code: CodeType) -> bool:
    """Whether dataclasses or attrs made it: their methods run in the namespace of the user's
    module, and are compiled as `<string>` or as a file such as `<attrs generated methods m.C>`."""
    if code.co_filename.startswith(_OF_ATTRS):
        return True
    if code.co_filename != "<string>":
        return False
    if code.co_qualname.startswith(_DATACLASS_MAKER):
        return True
    return code.co_name == "<module>" and any(
        isinstance(constant, CodeType) and constant.co_name == _DATACLASS_MAKER
        for constant in code.co_consts
    )


def _matches(pattern: str, names: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for name in names)


def _is_path(name: str) -> bool:
    return os.sep in name or name.endswith(".py") or name in {".", ".."}


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


def _current_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return os.sep


def _library_folders() -> tuple[str, ...]:
    """The folders of the standard library, with symbolic links resolved and unresolved."""
    paths = sysconfig.get_paths()
    named = {paths["stdlib"], paths["platstdlib"], os.path.dirname(os.__file__)}
    version = "".join(map(str, sys.version_info[:2]))
    named.add(os.path.join(sys.base_prefix, "lib", f"python{version}.zip"))
    return tuple(sorted(named | {os.path.realpath(folder) for folder in named}))


def whence_folders() -> tuple[str, str]:
    """The folders of whence and of its plugin for pytest."""
    folder = os.path.abspath(__file__)
    for _ in range(4):  # whence/langs/python/record/user_code.py
        folder = os.path.dirname(folder)
    return folder, os.path.join(os.path.dirname(folder), "_whence_pytest")
