"""Builds objects from recipes that came as JSON (`oracles/recipe_json.py` writes them).

Invariants: building an object runs no code of the program, except the `__hash__` and `__eq__` of
members of sets and keys of dicts. What cannot be built as it was is a `CannotBuild`, never
something like it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType

from whence.langs.python.objects.atoms import CONTENT_TYPES, SCALARS, decode_atom, encode_atom
from whence.langs.python.objects.kind_table import kind_of_exact
from whence.langs.python.objects.newer_types import FROZENDICTS
from whence.langs.python.objects.object_content import write_attribute
from whence.langs.python.objects.object_kinds import OBJECT, ObjectKind, ProgramObject
from whence.langs.python.objects.raw_class import (
    HEAP_TYPE,
    class_order,
    flags_of,
    module_of,
    own_names,
)
from whence.langs.python.oracles.worker.program_names import (
    CannotBuild,
    find_class,
    find_module,
    find_name,
)
from whence.langs.python.oracles.worker.summary_values import value_from_summary
from whence.langs.python.oracles.worker.worker_protocol import NamedRecipes, RecipeJson

_BUILTIN_ITEMS = {"list": list, "set": set, "tuple": tuple, "frozenset": frozenset}
_CONTENT = frozenset(map(id, CONTENT_TYPES))
_VISIBLE = _CONTENT | {id(object)}


class RecipeBuilder:
    """Builds the objects of one call; what they share is one object.

    One method per kind of recipe, found by its name.
    """

    def __init__(self) -> None:
        self._labelled: dict[int, ProgramObject] = {}

    def build(self, recipe: RecipeJson) -> ProgramObject:
        """The object that a recipe describes."""
        kind, *rest = recipe
        build = getattr(self, f"_build_{kind}", None)
        if build is None:
            raise CannotBuild(f"a value of the unknown kind {kind}")
        return build(*rest)

    def _label(self, label: int | None, value: ProgramObject) -> ProgramObject:
        if label is not None:
            self._labelled[label] = value
        return value

    def _build_same(self, label: int) -> ProgramObject:
        try:
            return self._labelled[label]
        except KeyError:
            raise CannotBuild("a value that holds itself in a way that cannot be made") from None

    # --- builtins --------------------------------------------------------------------------------

    _build_literal = staticmethod(decode_atom)

    def _build_bytearray(self, text: str, label: int | None) -> ProgramObject:
        return self._label(label, bytearray.fromhex(text))

    def _build_items(self, name: str, items: list[RecipeJson], label: int | None) -> ProgramObject:
        return self._build_content(_BUILTIN_ITEMS[name], ["items", name, items, None], label)

    def _build_dict(
        self, entries: list[tuple[RecipeJson, RecipeJson]], label: int | None
    ) -> ProgramObject:
        return self._build_content(dict, ["dict", entries, None], label)

    def _build_content(
        self, cls: type, content: RecipeJson, label: int | None, base: type | None = None
    ) -> ProgramObject:
        """An object of a builtin type or of a subclass: labelled before its parts if it can be."""
        base = base or cls
        kind = kind_of_exact(base)
        assert kind is not None
        if not _is_content_of(base, content):
            raise CannotBuild(
                f"an object of {cls.__qualname__}, which extends another builtin here"
            )
        if kind.make_empty is None:
            assert kind.make_full is not None
            parts = [self.build(item) for item in _parts(content)]
            return self._label(label, kind.make_full(cls, None, parts))
        if base in SCALARS:
            return self._label(label, kind.make_empty(cls, encode_atom(self.build(content))))
        value = self._label(label, kind.make_empty(cls, None))
        self._fill(kind, value, content)
        return value

    def _fill(self, kind: ObjectKind, value: ProgramObject, content: RecipeJson) -> None:
        assert kind.write is not None
        match content:
            case ["bytearray", text, _]:
                kind.write(value, text, ())
            case ["dict", entries, _]:
                kind.write(value, None, [self.build(part) for entry in entries for part in entry])
            case [_, _, items, _]:
                kind.write(value, None, [self.build(item) for item in items])

    # --- objects ---------------------------------------------------------------------------------

    def _build_instance(
        self, module: str, qualname: str, attributes: NamedRecipes, label: int | None
    ) -> ProgramObject:
        cls = find_class(module, qualname)
        assert OBJECT.make_empty is not None
        try:
            value = self._label(label, OBJECT.make_empty(cls, None))
        except TypeError as problem:
            raise CannotBuild(f"an object of {qualname} ({problem})") from None
        self._set_attributes(value, attributes)
        return value

    def _build_extended(
        self,
        module: str,
        qualname: str,
        content: RecipeJson,
        attributes: NamedRecipes,
        label: int | None,
    ) -> ProgramObject:
        cls = find_class(module, qualname)
        bases = class_order(cls)
        base = next((base for base in bases if id(base) in _CONTENT), None)
        if any(not flags_of(base) & HEAP_TYPE for base in bases if id(base) not in _VISIBLE):
            raise CannotBuild(f"an object of {qualname}, which holds more than can be seen")
        if base is None:
            raise CannotBuild(f"an object of {qualname}, which is no subclass of a builtin here")
        try:
            value = self._build_content(cls, content, label, base)
        except TypeError as problem:
            raise CannotBuild(f"an object of {qualname} ({problem})") from None
        self._set_attributes(value, attributes)
        return value

    def _build_raised(
        self,
        module: str,
        qualname: str,
        args: RecipeJson,
        attributes: NamedRecipes,
        label: int | None,
    ) -> ProgramObject:
        cls = find_class(module, qualname)
        if not issubclass(cls, BaseException):
            raise CannotBuild(f"{qualname} is no exception here")
        arguments = self.build(args)
        base = next(base for base in class_order(cls) if module_of(base) == "builtins")
        new: Callable[..., BaseException] = base.__new__
        init: Callable[..., None] = own_names(base).get("__init__", BaseException.__init__)
        try:
            value = new(cls, *arguments)
            init(value, *arguments)
        except Exception as problem:
            raise CannotBuild(f"a {qualname} ({problem})") from None
        value.args = arguments
        self._label(label, value)
        self._set_attributes(value, attributes)
        return value

    def _set_attributes(self, value: ProgramObject, attributes: NamedRecipes) -> None:
        for name, recipe in attributes:
            if not write_attribute(value, name, self.build(recipe)):
                raise CannotBuild(f"an object of {type(value).__qualname__}: it has no {name}")

    # --- what is found by its name ---------------------------------------------------------------

    def _build_member(
        self, module: str, qualname: str, name: str, label: int | None
    ) -> ProgramObject:
        members = getattr(find_class(module, qualname), "_member_map_", {})
        if name not in members:
            raise CannotBuild(f"{qualname} has no member {name} here")
        return self._label(label, members[name])

    def _build_written(
        self, module: str, qualname: str, text: str, label: int | None
    ) -> ProgramObject:
        return self._label(label, value_from_summary(module, qualname, text))

    def _build_method(self, qualname: str, owner: RecipeJson, label: int | None) -> ProgramObject:
        bound_to = self.build(owner)
        name = qualname.rpartition(".")[2]
        for base in class_order(bound_to if isinstance(bound_to, type) else type(bound_to)):
            definition = own_names(base).get(name)
            function = getattr(definition, "__func__", definition)
            if callable(function):
                return self._label(label, MethodType(function, bound_to))
        raise CannotBuild(f"the method {qualname}")

    _build_class = staticmethod(find_class)
    _build_module = staticmethod(find_module)

    @staticmethod
    def _build_function(module: str, qualname: str) -> ProgramObject:
        definition = find_name(module, qualname)
        function = getattr(definition, "__func__", definition)
        if not callable(function):
            raise CannotBuild(f"the function {module}.{qualname}")
        return function


def _parts(content: RecipeJson) -> list[RecipeJson]:
    """The items of a content, or its keys and values in turn."""
    match content:
        case ["dict", entries, _]:
            return [part for entry in entries for part in entry]
    items: list[RecipeJson] = content[2]
    return items


def _is_content_of(base: type, content: RecipeJson) -> bool:
    """Whether a recipe describes the content of a builtin type."""
    match content:
        case ["dict", *_] if base in FROZENDICTS:
            return True
        case ["items", name, *_] | [("dict" | "bytearray") as name, *_]:
            return bool(name == base.__name__)
    return base in SCALARS
