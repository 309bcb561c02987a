"""The imports that a generated test needs, and the names that things have in it."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Mapping

from whence.langs.python.rebuilding.checked_source import (
    dotted_name,
    identifier,
    is_identifier,
)
from whence.langs.python.trace.value_recipes import QualifiedName


class ImportNames:
    """Gives each thing a name and collects the imports for it.

    `modules` maps recorded module names to those in the test: a script that ran as `__main__` has
    another name there. `held` maps modules that the test loads itself to the variables that hold
    them. All of these names become source, so one that is no identifier is refused.
    """

    def __init__(self, modules: Mapping[str, str], held: Mapping[str, str]) -> None:
        self._modules = modules
        self._held = held
        self._whole: set[str] = set()
        self._from: dict[str, dict[str, str]] = {}
        self.taken: set[str] = set(map(identifier, held.values()))

    def module(self, name: str) -> str:
        """The expression for a module."""
        name = self._modules.get(name, name)
        if name in self._held:
            return self._held[name]
        self._whole.add(dotted_name(name))
        self.taken.add(name.partition(".")[0])
        return name

    def name(self, name: QualifiedName) -> str:
        """The expression for a class or function."""
        dotted_name(name.qualname)
        if name.module in ("builtins", ""):
            return name.qualname
        module = self._modules.get(name.module, name.module)
        if module in self._held:
            return f"{self._held[module]}.{name.qualname}"
        top, dot, rest = name.qualname.partition(".")
        names = self._from.setdefault(dotted_name(module), {})
        if top not in names:
            if self.is_taken(top):
                # The name is taken, so this one is reached through its module.
                return f"{self.module(module)}.{name.qualname}"
            names[top] = top
            self.taken.add(top)
        return names[top] + dot + rest

    def is_taken(self, name: str) -> bool:
        """Whether a name already means something."""
        return name in self.taken or hasattr(builtins, name) or keyword.iskeyword(name)

    def variable(self, hint: str) -> str:
        """An unused name for a variable."""
        base = hint if is_identifier(hint) else "value"
        name, number = base, 1
        while self.is_taken(name):
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name

    def lines(self) -> list[str]:
        """The import statements."""
        out = [f"import {name}" for name in sorted(self._whole)]
        for module in sorted(self._from):
            names = sorted(self._from[module])
            if names:
                out.append(f"from {module} import {', '.join(names)}")
        return out
