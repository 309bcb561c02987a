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
_INDIRECT = {"super", "locals", "vars", "eval", "exec", "__class__"}
"""Names through which code can reach an object without naming it."""


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
    return _AttributeUses(module, of, attributes).of_function(node, parameter, 0)


class _AttributeUses:
    def __init__(self, module: ModuleDefinitions, of: str, attributes: Collection[str]) -> None:
        self._module = module
        self._of = of
        self._attributes = attributes
        self._visited: set[str] = set()

    def of_function(
        self, node: FunctionNode | ast.Module, parameter: str, depth: int
    ) -> frozenset[str] | None:
        """What a function uses, with what the methods use that it calls on the object."""
        if depth > _DEEPEST:
            return None
        names = [e for e in ast.walk(node) if isinstance(e, ast.Name)]
        if any(name.id in _INDIRECT for name in names):
            return None
        uses = [id(name) for name in names if name.id == parameter]
        accesses = {id(e.value): e for e in ast.walk(node) if isinstance(e, ast.Attribute)}
        if not accesses.keys() >= set(uses):
            return None
        read = {accesses[use].attr for use in uses if not isinstance(accesses[use].ctx, ast.Store)}
        attributes: set[str] = set()
        for name in (accesses[use].attr for use in uses):
            if name in self._attributes:
                attributes.add(name)
            elif name in read:
                more = self._of_method(name, depth)
                if more is None:
                    return None
                attributes |= more
        return frozenset(attributes)

    def _of_method(self, name: str, depth: int) -> frozenset[str] | None:
        if name in self._visited:
            return frozenset()
        self._visited.add(name)
        methods = self._module.methods(self._of, name)
        if methods is None:
            return None
        attributes: frozenset[str] = frozenset()
        for method in methods:
            if not method.args.args:
                return None
            more = self.of_function(method, method.args.args[0].arg, depth + 1)
            if more is None:
                return None
            attributes |= more
        return attributes
