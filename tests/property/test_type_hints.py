"""Annotations against values: what is said without running anything holds for the real objects."""

from __future__ import annotations

import ast
import collections.abc
import types
import typing
from typing import Any, Literal, Union

from hypothesis import given, settings
from hypothesis import strategies as st

from whence.langs.python.oracles.allowed_types import fits
from whence.langs.python.oracles.annotations import AnnotationReader, AnnotationScope
from whence.langs.python.source.bindings import ModuleBindings, ProgramBindings
from whence.langs.python.trace import value_recipes as r
from whence.langs.python.trace.partial_recipes import TypeOnlyRecipe

SOURCE = """
import typing, typing as t, collections.abc
from typing import Any, Optional, Union, List, Dict, Literal, Sequence as Seq
class Base: pass
class Derived(Base): pass
class Apart: pass
class Text(str): pass
Number = int | float
Names = List[str]
Id = typing.NewType("Id", int)
"""
NAMESPACE: dict[str, Any] = {"__name__": "program"}
exec(SOURCE, NAMESPACE)
Base, Derived, Apart, Text = (NAMESPACE[name] for name in ("Base", "Derived", "Apart", "Text"))

PLAIN = ["int", "str", "float", "bool", "complex", "bytes", "None", "list", "dict", "tuple", "set"]
PLAIN += ["Base", "Derived", "Apart", "Text", "Number", "Names", "Id", "Any", "object", "frozenset"]
PLAIN += ["t.Mapping", "collections.abc.Iterable", "Seq", "Literal[1, 'a', None]", "Literal[True]"]


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, inner)
    return st.one_of(
        inner.map("list[{}]".format),
        inner.map("List[{}]".format),
        inner.map("set[{}]".format),
        inner.map("frozenset[{}]".format),
        inner.map("tuple[{}, ...]".format),
        inner.map("Optional[{}]".format),
        inner.map("Seq[{}]".format),
        inner.map("collections.abc.Iterable[{}]".format),
        inner.map(lambda text: repr(text) if "'" not in text else text),
        two.map(lambda both: f"Dict[{both[0]}, {both[1]}]"),
        two.map(lambda both: f"t.Mapping[{both[0]}, {both[1]}]"),
        two.map(lambda both: f"tuple[{both[0]}, {both[1]}]"),
        two.map(lambda both: f"Union[{both[0]}, {both[1]}]"),
    )


ANNOTATIONS = st.recursive(st.sampled_from(PLAIN), _combined, max_leaves=4)
ATOMS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from([0.5, 1j, "", "a", b"a", bytearray(b"a")]),
    st.sampled_from([Base, Derived, Apart]).map(lambda made: made()),
    st.just("a").map(Text),
)
HASHABLE = st.one_of(st.none(), st.booleans(), st.integers(0, 2), st.sampled_from(["a", 0.5]))
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(HASHABLE, inner, max_size=2),
        st.sets(HASHABLE, max_size=2),
        st.frozensets(HASHABLE, max_size=2),
    ),
    max_leaves=5,
)


def recipe_of(value: Any) -> r.Recipe:
    """What would be recorded of an object."""
    name = r.QualifiedName(type(value).__module__, type(value).__qualname__)
    if isinstance(value, Text):
        return r.ExtendedRecipe(name, r.LiteralRecipe(str(value)), ())
    if isinstance(value, bytearray):
        return r.BytearrayRecipe(bytes(value))
    if isinstance(value, dict):
        return r.EntriesRecipe(tuple((recipe_of(k), recipe_of(v)) for k, v in value.items()))
    if isinstance(value, list | tuple | set | frozenset):
        return r.ItemsRecipe(type(value).__name__, tuple(map(recipe_of, value)))
    if isinstance(value, Base | Apart):
        return r.InstanceRecipe(name, ())
    return r.LiteralRecipe(value)


def is_in(value: Any, annotation: Any) -> bool:
    """Whether an object is what a type says: slow, obvious, with real classes."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in (Any, object):
        return True
    if isinstance(annotation, str | typing.ForwardRef):
        text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
        return is_in(value, eval(text, NAMESPACE))
    if annotation is None:
        return value is None
    if isinstance(annotation, typing.NewType):
        return is_in(value, annotation.__supertype__)
    if origin in (Union, types.UnionType):
        return any(is_in(value, each) for each in inner)
    if origin is Literal:
        return any(value == each and type(value) is type(each) for each in inner)
    if annotation is float:
        return isinstance(value, int | float)
    if annotation is complex:
        return isinstance(value, int | float | complex)
    if origin is None:
        return isinstance(value, annotation)
    if not isinstance(value, origin):
        return False
    if not inner:  # typing.Mapping, without more
        return True
    if origin is tuple and inner[-1] is not ...:
        return len(value) == len(inner) and all(map(is_in, value, inner))
    if isinstance(value, collections.abc.Mapping) and len(inner) == 2:
        return all(is_in(k, inner[0]) and is_in(v, inner[1]) for k, v in value.items())
    if isinstance(value, bytes | bytearray):
        return is_in(1, inner[0])
    return all(is_in(each, inner[0]) for each in value)


MODULE = ModuleBindings("program", ast.parse(SOURCE))


class _Program(ProgramBindings):
    def module(self, name: str) -> ModuleBindings | None:
        return MODULE if name == "program" else None


PROGRAM = _Program({})


def said_of(value: r.Recipe, annotation: str) -> bool | None:
    expression = ast.parse(annotation, mode="eval").body
    allowed = AnnotationReader(PROGRAM).allowed(expression, AnnotationScope(MODULE))
    return fits(value, allowed, PROGRAM, dict[int, r.Recipe]().get)


@settings(max_examples=600)
@given(ANNOTATIONS, VALUES)
def test_what_is_said_of_a_value_holds_for_the_object(annotation: str, value: Any) -> None:
    said = said_of(recipe_of(value), annotation)
    assert said in (None, is_in(value, eval(annotation, NAMESPACE)))


@settings(max_examples=300)
@given(ANNOTATIONS, VALUES)
def test_what_is_said_of_a_cut_off_value_holds_for_the_object(annotation: str, value: Any) -> None:
    """Only the type of such a value is known, so that its content must not matter."""
    recipe = recipe_of(value)
    if isinstance(recipe, r.ItemsRecipe):
        recipe = r.ItemsRecipe(recipe.kind, ())
    elif isinstance(recipe, r.EntriesRecipe):
        recipe = r.EntriesRecipe(())
    elif isinstance(recipe, r.LiteralRecipe) and isinstance(recipe.value, str):
        recipe = r.LiteralRecipe("")
    said = said_of(TypeOnlyRecipe("cut off", None, recipe), annotation)
    assert said in (None, is_in(value, eval(annotation, NAMESPACE)))


SIMPLE = st.recursive(
    st.sampled_from(["int", "str", "None", "bool", "Base", "Derived"]), _combined, max_leaves=3
)


@settings(max_examples=300)
@given(SIMPLE, st.recursive(st.none() | st.booleans() | st.integers(0, 2), st.lists, max_leaves=4))
def test_of_plain_values_and_types_nothing_is_left_open(annotation: str, value: Any) -> None:
    assert said_of(recipe_of(value), annotation) == is_in(value, eval(annotation, NAMESPACE))
