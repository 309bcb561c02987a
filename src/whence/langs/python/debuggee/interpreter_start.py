"""What the interpreter had when the process started, before whence imported anything.

The program gets it back: the import path as `python` makes it, and modules of its own where whence
has loaded others of the same name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import all_suffixes
from types import ModuleType

_STANDARD = os.path.realpath(os.path.dirname(os.__file__))
_WHENCE = ("whence", "_whence_pytest", "__main__")
_SUFFIXES = tuple(all_suffixes())


@dataclass(frozen=True, slots=True)
class InterpreterStart:
    """The state of the interpreter when it started."""

    argv: tuple[str, ...]
    """The interpreter and its options."""
    path: list[str]
    """`sys.path` without the entry for the script: the very list that the interpreter made."""
    modules: frozenset[str]
    """The modules that were loaded."""

    displaced: list[ModuleType] = field(default_factory=list)
    """The modules that gave way. They stay alive, because whence uses them."""

    def give_way(self, places: Mapping[str, str]) -> None:
        """Let the program import its own modules where whence has loaded others of the same name.

        `places` is what `program_places` returned. No file is looked at, so this can be called
        when a journal is open.
        """
        self.displaced.extend(
            sys.modules.pop(name)
            for name in tuple(sys.modules)
            if (package := name.partition(".")[0]) in places
            and package not in self.modules
            and not _is_from(package, places[package])
        )


def program_places(path: Sequence[str]) -> dict[str, str]:
    """The folders in which a program has modules of its own before those of the standard library.

    Only names that whence may have loaded count: those that are loaded, or of the library.
    """
    places: dict[str, str] = {}
    names = {name.partition(".")[0] for name in tuple(sys.modules)} | sys.stdlib_module_names
    names.difference_update(_WHENCE, sys.builtin_module_names)
    for folder in path:
        if folder and os.path.realpath(folder) == _STANDARD:
            break
        try:
            entries = os.listdir(folder or os.curdir)
        except OSError:  # an archive, or nothing
            continue
        for entry in entries:
            name, dot, _ = entry.partition(".")
            if name in names and (
                entry.endswith(_SUFFIXES) if dot else _is_package(os.path.join(folder, entry))
            ):
                places.setdefault(name, os.path.realpath(folder))
    return places


def _is_package(folder: str) -> bool:
    try:
        return any(entry.startswith("__init__.") for entry in os.listdir(folder))
    except OSError:
        return False


def _is_from(name: str, folder: str) -> bool:
    """Whether a loaded module is the one in a folder, or one that no file can replace."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    origin = getattr(spec, "origin", None)
    if not isinstance(origin, str) or not os.path.isabs(origin):
        return True  # built into the interpreter
    return origin.startswith(os.path.join(folder, ""))
