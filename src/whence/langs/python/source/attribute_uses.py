"""Which attributes of its arguments a function uses, according to its text.

A method that uses two of an object's thirty attributes can be judged by these two. As soon as the
object is passed on, compared or printed as a whole, or a method from elsewhere is called on it, all
of it may matter.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from whence.langs.python.source.definitions import ModuleDefinitions
from whence.langs.python.source.scopes import FunctionNode

_DEEPEST = 20
_UNNAMED = {"super", "locals", "vars", "eval", "exec", "__class__"}
"""Names that can reach an object without naming it."""


def attributes_used(
    module: ModuleDefinitions,
    node: FunctionNode | ast.Module,
    parameter: str,
    of: str,
    attributes: Collection[str],
) -> frozenset[str] | None:
    """The attributes of a parameter that a function or some statements use.

    The parameter is an object of class `of` with `attributes`. None if all of them may matter.
    """
    return _Look(module, of, attributes).at(node, parameter, 0)


class _Look:
    def __init__(self, module: ModuleDefinitions, of: str, attributes: Collection[str]) -> None:
        self._module = module
        self._of = of
        self._attributes = attributes
        self._seen: set[str] = set()

    def at(
        self, node: FunctionNode | ast.Module, parameter: str, depth: int
    ) -> frozenset[str] | None:
        """What a function uses, including the methods that it calls on the object."""
        if depth > _DEEPEST:
            return None
        names = [e for e in ast.walk(node) if isinstance(e, ast.Name)]
        if any(name.id in _UNNAMED for name in names):
            return None
        uses = [name for name in names if name.id == parameter]
        taken = {
            id(e.value): e.attr
            for e in ast.walk(node)
            if isinstance(e, ast.Attribute) and isinstance(e.value, ast.Name)
        }
        attributes: set[str] = set()
        for use in uses:
            name = taken.get(id(use))
            if name is None:
                return None
            if name in self._attributes:
                attributes.add(name)
            elif not self._is_stored(node, parameter, name):
                more = self._method(name, depth)
                if more is None:
                    return None
                attributes |= more
        return frozenset(attributes)

    @staticmethod
    def _is_stored(node: FunctionNode | ast.Module, parameter: str, name: str) -> bool:
        """Whether the function only sets the attribute and never reads it."""
        places = [
            e
            for e in ast.walk(node)
            if isinstance(e, ast.Attribute)
            and e.attr == name
            and isinstance(e.value, ast.Name)
            and e.value.id == parameter
        ]
        return all(isinstance(attribute.ctx, ast.Store) for attribute in places)

    def _method(self, name: str, depth: int) -> frozenset[str] | None:
        if name in self._seen:
            return frozenset()
        self._seen.add(name)
        methods = self._module.methods(self._of, name)
        if methods is None:
            return None
        attributes: frozenset[str] = frozenset()
        for method in methods:
            if not method.args.args:
                return None
            more = self.at(method, method.args.args[0].arg, depth + 1)
            if more is None:
                return None
            attributes |= more
        return attributes
