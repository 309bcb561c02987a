"""Recipes that keep the type of a value that was not recorded in full.

An oracle that judges by types needs to know that a cut-off list is a list, although the list cannot
be rebuilt. For everyone else, a `TypeOnlyRecipe` is an `UnknownRecipe`.
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


@dataclass(frozen=True, slots=True)
class TypeOnlyRecipe(UnknownRecipe):
    """A value of which only the type is known: that of `sample`, whose content says nothing."""

    sample: Recipe = UnboundRecipe()  # noqa: RUF009  it is frozen


_SAMPLES: dict[int, Recipe] = {
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
"""For each kind byte, some value of that type."""


def partial_recipe(tree: Tree, position: int) -> CallRecipe:
    """The call at a position as recipes; a cut-off value of known type is a `TypeOnlyRecipe`."""
    source, number = place_of(tree, position)
    return _Source(source).call_recipe(number)


class _Reader(RecipeReader):
    def _plain(self, kind: int, place: int) -> tuple[Recipe, int]:
        recipe, place = super()._plain(kind, place)
        return _with_type(recipe, _SAMPLES.get(kind)), place

    def _container(self, kind: int, place: int, nesting: int, number: int) -> tuple[Recipe, int]:
        recipe, place = super()._container(kind, place, nesting, number)
        return _with_type(recipe, _SAMPLES.get(kind)), place

    def _typed(self, kind: int, place: int, nesting: int, number: int) -> tuple[Recipe, int]:
        recipe, end = super()._typed(kind, place, nesting, number)
        if not isinstance(recipe, UnknownRecipe):
            return recipe, end
        type_number, inner = read_v(self._data, place)
        entry = self._tables.type(type_number)
        name = QualifiedName(entry.module, entry.qualname)
        sample: Recipe | None = InstanceRecipe(name, ())
        if kind == f.SUBCLASS:
            byte = self._data[inner]
            content = LiteralRecipe(0) if byte >= f.SMALL else _SAMPLES.get(byte)
            sample = None if content is None else ExtendedRecipe(name, content, ())
        elif kind == f.EXCEPTION:
            sample = ExceptionRecipe(name, ItemsRecipe("tuple", ()), ())
        elif kind in (f.SUMMARY, f.OPAQUE):
            sample = SummaryRecipe(name, "")
        return _with_type(recipe, None if name.is_local else sample), end


def _with_type(recipe: Recipe, sample: Recipe | None) -> Recipe:
    if sample is None or not isinstance(recipe, UnknownRecipe):
        return recipe
    if isinstance(recipe, TypeOnlyRecipe):
        return recipe
    return TypeOnlyRecipe(recipe.reason, recipe.label, sample)


class _Source(RecipeSource):
    _reader = _Reader
