"""Recipes that also tell what is known of a value that was cut off: its type, and no more.

For whoever judges by types, a list of a thousand items is a list, though no recipe to make it
again. A `Partly` is an `UnknownRecipe` to all others.
"""

from __future__ import annotations

from dataclasses import dataclass

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.call_recipes import CallRecipe, RecipeSource, place_of
from whence.langs.python.trace.trace_format import read_v
from whence.langs.python.trace.value_recipes import (
    BytearrayRecipe,
    EntriesRecipe,
    ExceptionRecipe,
    ExtendedRecipe,
    InstanceRecipe,
    ItemsRecipe,
    LiteralRecipe,
    QualifiedName,
    Recipe,
    RecipeReader,
    SummaryRecipe,
    UnboundRecipe,
    UnknownRecipe,
)
from whence.ports import Tree

_NOTHING = UnboundRecipe()


@dataclass(frozen=True, slots=True)
class Partly(UnknownRecipe):
    """A value of which only the type is known: that of `known`, whose content says nothing."""

    known: Recipe = _NOTHING


_TYPES: dict[int, Recipe] = {
    f.LIST: ItemsRecipe("list", ()),
    f.TUPLE: ItemsRecipe("tuple", ()),
    f.SET: ItemsRecipe("set", ()),
    f.FROZENSET: ItemsRecipe("frozenset", ()),
    f.DICT: EntriesRecipe(()),
    f.BYTEARRAY: BytearrayRecipe(b""),
    f.STRING: LiteralRecipe(""),
    f.CUT_STRING: LiteralRecipe(""),
    f.BYTES: LiteralRecipe(b""),
    f.WHOLE: LiteralRecipe(0),
    f.LARGE: LiteralRecipe(0),
    f.FLOAT: LiteralRecipe(0.0),
    f.COMPLEX: LiteralRecipe(0j),
}
"""By the byte of a value something of the same type."""


def partial_recipe(tree: Tree, position: int) -> CallRecipe:
    """The call at a position as recipes, what was cut off as `Partly` where its type is known."""
    source, number = place_of(tree, position)
    return _Source(source).call_recipe(number)


class _Reader(RecipeReader):
    def _plain(self, kind: int, place: int) -> tuple[Recipe, int]:
        made, place = super()._plain(kind, place)
        return _known(made, _TYPES.get(kind)), place

    def _container(self, kind: int, place: int, nesting: int, number: int) -> tuple[Recipe, int]:
        made, place = super()._container(kind, place, nesting, number)
        return _known(made, _TYPES.get(kind)), place

    def _typed(self, kind: int, place: int, nesting: int, number: int) -> tuple[Recipe, int]:
        made, end = super()._typed(kind, place, nesting, number)
        if not isinstance(made, UnknownRecipe):
            return made, end
        type_number, inner = read_v(self._data, place)
        entry = self._tables.type(type_number)
        name = QualifiedName(entry.module, entry.qualname)
        known: Recipe | None = InstanceRecipe(name, ())
        if kind == f.SUBCLASS:
            byte = self._data[inner]
            content = LiteralRecipe(0) if byte >= f.SMALL else _TYPES.get(byte)
            known = None if content is None else ExtendedRecipe(name, content, ())
        elif kind == f.EXCEPTION:
            known = ExceptionRecipe(name, ItemsRecipe("tuple", ()), ())
        elif kind in (f.SUMMARY, f.OPAQUE):
            known = SummaryRecipe(name, "")
        return _known(made, None if name.is_local else known), end


def _known(made: Recipe, known: Recipe | None) -> Recipe:
    if not isinstance(made, UnknownRecipe) or isinstance(made, Partly) or known is None:
        return made
    return Partly(made.reason, made.label, known)


class _Source(RecipeSource):
    _reader = _Reader
