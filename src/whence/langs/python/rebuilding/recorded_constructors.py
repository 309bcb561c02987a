"""Finds the recorded constructor call that made an object, so that a test makes it the same way.

The trace does not say which call made which object. A constructor call fits if it left an object
of the same class with no attribute that the object lacks; attributes that have another value since
are set afterwards. So the state is right whichever call is chosen, and the one that leaves the
least to be set is.
"""

from __future__ import annotations

import numpy as np

from whence.langs.python.rebuilding.call_source import argument_parts
from whence.langs.python.rebuilding.checked_source import CannotRebuild
from whence.langs.python.rebuilding.program_modules import RecordedProgram
from whence.langs.python.rebuilding.source_layout import Group, Text
from whence.langs.python.rebuilding.value_source import ValueWriter
from whence.langs.python.source.scopes import FunctionNode
from whence.langs.python.trace.call_recipes import CallRecipe, CallTooLong, call_recipe
from whence.langs.python.trace.trace_pages import TraceError
from whence.langs.python.trace.value_recipes import (
    InstanceRecipe,
    QualifiedName,
    Recipe,
    SharedRecipe,
    State,
    unlabelled,
    walk,
)
from whence.model.call import OutcomeKind
from whence.ports import Tree

_INIT = ".__init__"
_MOST = 200
"""How many constructor calls are looked at, the latest first."""


class RecordedConstructors:
    """The constructor calls that began before a call of a recording."""

    def __init__(self, tree: Tree, before: int, program: RecordedProgram) -> None:
        """`before` is the position of that call."""
        self._tree = tree
        self._before = before
        self._program = program
        self._calls: list[CallRecipe] | None = None

    def construct(self, writer: ValueWriter, recipe: InstanceRecipe) -> tuple[Text, State] | None:
        """A constructor call that makes such an object, and the attributes to set after it."""
        best: tuple[CallRecipe, State] | None = None
        for call in self._all():
            left = self._left(call, recipe)
            if left is not None and (best is None or len(left) < len(best[1])):
                best = call, left
        if best is None or (len(best[1]) > 1 and 2 * len(best[1]) > len(recipe.state)):
            return None
        call, left = best
        node = self._definition(call, recipe.of)
        assert node is not None, "it was found by its definition"
        arguments = _arguments(call, recipe)
        if arguments is None:
            return None
        try:
            parts = argument_parts(writer, call, node, arguments, {}, skip=1, positional=0)
        except CannotRebuild:
            return None
        return Group(f"{writer.imports.name(recipe.of)}(", parts, ")"), left

    def _all(self) -> list[CallRecipe]:
        if self._calls is None:
            functions = self._tree.functions
            numbers = [k for k, known in enumerate(functions) if known.qualname.endswith(_INIT)]
            column = self._tree.columns.function[: self._before]
            positions = np.flatnonzero(np.isin(column, numbers))[::-1][:_MOST].tolist()
            self._calls = [call for call in map(self._read, positions) if call is not None]
        return self._calls

    def _read(self, position: int) -> CallRecipe | None:
        try:
            call = call_recipe(self._tree, position)
        except (CallTooLong, TraceError, TypeError):
            return None
        return call if call.outcome.kind is OutcomeKind.RETURNED else None

    def _left(self, call: CallRecipe, recipe: InstanceRecipe) -> State | None:
        """The attributes that differ after the constructor; None if it made no such object."""
        own = next(iter(call.arguments), "")
        made = call.changed.get(own, call.arguments.get(own))
        if not isinstance(made, InstanceRecipe) or made.of != recipe.of:
            return None
        if self._definition(call, recipe.of) is None:
            return None
        before, now = dict(made.state), dict(recipe.state)
        if not before.keys() <= now.keys():
            return None
        return tuple(
            (name, value)
            for name, value in recipe.state
            if name not in before or not _same(before[name], value)
        )

    def _definition(self, call: CallRecipe, of: QualifiedName) -> FunctionNode | None:
        """The definition of the constructor, if it is the one that this class calls."""
        module = self._program.module(of.module)
        if module is None or call.code.module != of.module:
            return None
        known = module.methods(of.qualname, "__init__") or []
        node = module.function(call.code.qualname, call.code.first_line)
        return node if node is not None and any(node is other for other in known) else None


def _arguments(call: CallRecipe, recipe: InstanceRecipe) -> dict[str, Recipe] | None:
    """The arguments of a constructor; one that the object holds is that very object."""
    _, *names = call.arguments
    arguments: dict[str, Recipe] = {}
    for name in names:
        given = call.arguments[name]
        held = dict(sorted(recipe.state, key=lambda item: item[0].strip("_") != name))
        same = next((value for value in held.values() if _same(given, value)), None)
        if same is None and any(isinstance(part, SharedRecipe) for part in walk(given)):
            return None
        arguments[name] = unlabelled(given) if same is None else same
    return arguments


def _same(one: Recipe, other: Recipe) -> bool:
    """Whether two values of different calls are the same; what is shared cannot be compared."""
    if any(isinstance(part, SharedRecipe) for both in (one, other) for part in walk(both)):
        return False
    return unlabelled(one) == unlabelled(other)
