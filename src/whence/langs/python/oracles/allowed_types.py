"""What an annotation allows, as far as it is certain, and whether a recorded value is in it.

`Allowed` is a small language of types; whatever is not in it is `Unclear`. `fits` is
three-valued: True and False are certain, None says nothing. It never asks an object, only recipes.

Invariant: a False holds whatever classes, metaclasses or protocols do that are not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from whence.langs.python.source.bindings import ProgramBindings
from whence.langs.python.trace import value_recipes as r
from whence.langs.python.trace.partial_recipes import TypeOnlyRecipe

_DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Unclear:
    """An annotation that is not understood."""


@dataclass(frozen=True, slots=True)
class Anything:
    """`Any`, `object`."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """`Never`, `NoReturn`: no value at all."""


@dataclass(frozen=True, slots=True)
class Builtin:
    """A builtin class without parts: `int`, `str`, `None`, a plain `list`."""

    name: str


@dataclass(frozen=True, slots=True)
class Container:
    """A builtin container or a class of `collections.abc` with what it holds.

    For `dict` and `Mapping` keys and values, for the others one type.
    """

    name: str
    held: tuple[Allowed, ...]


@dataclass(frozen=True, slots=True)
class FixedTuple:
    """A tuple with a fixed number of items, each of its own type."""

    items: tuple[Allowed, ...]


@dataclass(frozen=True, slots=True)
class UnionOf:
    """A union."""

    options: tuple[Allowed, ...]


@dataclass(frozen=True, slots=True)
class LiteralOf:
    """`Literal[…]`."""

    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class UserClass:
    """A class that the program's source defines."""

    name: r.QualifiedName


Allowed: TypeAlias = (
    Unclear
    | Anything
    | Nothing
    | Builtin
    | Container
    | FixedTuple
    | UnionOf
    | LiteralOf
    | UserClass
)

_OfClass = (
    r.InstanceRecipe | r.ExtendedRecipe | r.ExceptionRecipe | r.MemberRecipe | r.SummaryRecipe
)
_PROMOTED = {"float": {"int", "bool"}, "complex": {"int", "float", "bool"}, "int": {"bool"}}
_TOLERATED = {("bytes", "bytearray")}
_ITERABLE = {"list", "tuple", "set", "frozenset", "dict", "str", "bytes", "bytearray"}
_ABSTRACT: Mapping[str, set[str]] = {
    "Iterable": _ITERABLE,
    "Collection": _ITERABLE,
    "Container": _ITERABLE,
    "Reversible": {"list", "tuple", "dict", "str", "bytes", "bytearray"},
    "Sequence": {"list", "tuple", "str", "bytes", "bytearray"},
    "MutableSequence": {"list", "bytearray"},
    "Set": {"set", "frozenset"},
    "MutableSet": {"set"},
    "Mapping": {"dict"},
    "MutableMapping": {"dict"},
    "Sized": _ITERABLE,
    "Callable": {"function", "type", "method"},
    "Iterator": set(),
    "Generator": set(),
}
"""Which builtins are instances of a class of `collections.abc`, among those that count here."""
ABSTRACT = frozenset(_ABSTRACT)
_MUTABLE_MAPPINGS = frozenset(("dict", "MutableMapping"))
_FROZENDICT = r.QualifiedName("builtins", "frozendict")
CONTAINERS = frozenset(("list", "tuple", "set", "frozenset", "dict"))
BUILTINS = frozenset(
    (*CONTAINERS, "int", "float", "complex", "bool", "str", "bytes", "bytearray", "type")
)


Find = Callable[[int], "r.Recipe | None"]
"""What a label stands for."""


def fits(recipe: r.Recipe, allowed: Allowed, modules: ProgramBindings, find: Find) -> bool | None:
    """Whether a value is what an annotation allows; None if that is not certain."""
    return _Fitting(modules, find).fits(recipe, allowed, 0)


class _Fitting:
    def __init__(self, modules: ProgramBindings, find: Find) -> None:
        self._modules = modules
        self._find = find

    def fits(self, recipe: r.Recipe, allowed: Allowed, depth: int) -> bool | None:
        if isinstance(allowed, Anything):
            return True
        if isinstance(allowed, Unclear) or depth > _DEEPEST:
            return None
        whole = True
        if isinstance(recipe, r.SharedRecipe):
            target = self._find(recipe.label)
            if target is None or isinstance(target, r.SharedRecipe):
                return None
            recipe = target
        if isinstance(recipe, TypeOnlyRecipe):
            recipe, whole = recipe.sample, False
        if isinstance(recipe, r.UnknownRecipe | r.UnboundRecipe):
            return None
        if isinstance(allowed, Nothing):
            return False
        if isinstance(allowed, UnionOf):
            value = whole_or_type(recipe, whole)
            return any_of(self.fits(value, option, depth + 1) for option in allowed.options)
        if isinstance(allowed, UserClass):
            return self._of_class(recipe, allowed.name)
        return self._of_builtin(recipe, whole, allowed, depth)

    # --- classes of the program ------------------------------------------------------------------

    def _of_class(self, recipe: r.Recipe, name: r.QualifiedName) -> bool | None:
        own = _class_of(recipe)
        if own is None:
            _, complete = self._modules.ancestors(name)
            return False if complete and builtin_of(recipe) is not None else None
        above, complete = self._modules.ancestors(own)
        if name in above:
            return True
        _, is_known = self._modules.ancestors(name)
        return False if complete and is_known else None

    # --- builtins --------------------------------------------------------------------------------

    def _of_builtin(
        self, recipe: r.Recipe, whole: bool, allowed: Allowed, depth: int
    ) -> bool | None:
        own = _class_of(recipe)
        if own is not None:
            return self._subclass(recipe, own, whole, allowed, depth)
        builtin = builtin_of(recipe)
        if builtin is None:
            return None
        match allowed:
            case Builtin(name):
                return _is_builtin(builtin, name)
            case LiteralOf(values):
                return _is_one_of(recipe, whole, values)
            case FixedTuple(items):
                if builtin != "tuple":
                    return False
                if not whole or not isinstance(recipe, r.ItemsRecipe):
                    return None
                if len(recipe.items) != len(items):
                    return False
                pairs = zip(recipe.items, items, strict=True)
                return all_of(self.fits(part, one, depth + 1) for part, one in pairs)
            case Container(name, held):
                outer = _is_builtin(builtin, name)
                return outer and self._content(recipe, whole, held, depth)
            case _:
                return None

    def _subclass(
        self, recipe: r.Recipe, own: r.QualifiedName, whole: bool, allowed: Allowed, depth: int
    ) -> bool | None:
        """An instance of another class, which may be one of a builtin too."""
        is_mapping = isinstance(allowed, Builtin | Container) and allowed.name in _MUTABLE_MAPPINGS
        if own == _FROZENDICT and is_mapping:
            return False  # it is recorded as if it extended dict, which it does not
        if isinstance(recipe, r.ExtendedRecipe):
            inner = self.fits(whole_or_type(recipe.content, whole), allowed, depth + 1)
            if inner and not isinstance(allowed, LiteralOf):
                return True
        if not isinstance(recipe, r.InstanceRecipe) or not isinstance(
            allowed, Builtin | FixedTuple | Container
        ):
            return None
        if isinstance(allowed, Builtin | Container) and allowed.name not in BUILTINS | {"None"}:
            return None  # whatever has its methods is an instance of an abstract class
        _, complete = self._modules.ancestors(own)
        return False if complete else None

    def _content(
        self, recipe: r.Recipe, whole: bool, held: tuple[Allowed, ...], depth: int
    ) -> bool | None:
        if not whole:
            return None
        match recipe:
            case r.ItemsRecipe(_, items) if len(held) == 1:
                return all_of(self.fits(part, held[0], depth + 1) for part in items)
            case r.EntriesRecipe(entries) if len(held) == 2:
                return all_of(
                    self.fits(part, one, depth + 1)
                    for entry in entries
                    for part, one in zip(entry, held, strict=True)
                )
            case r.EntriesRecipe(entries) if len(held) == 1:
                return all_of(self.fits(key, held[0], depth + 1) for key, _ in entries)
            case r.LiteralRecipe(str()) if held == (Builtin("str"),):
                return True
            case _:
                return None


def whole_or_type(recipe: r.Recipe, whole: bool) -> r.Recipe:
    """The recipe, or only its type unless it is whole."""
    return recipe if whole else TypeOnlyRecipe("", None, recipe)


def any_of(verdicts: Iterable[bool | None]) -> bool | None:
    """Three-valued or."""
    results = set(verdicts)
    return True if True in results else None if None in results else False


def all_of(verdicts: Iterable[bool | None]) -> bool | None:
    """Three-valued and."""
    results = set(verdicts)
    return False if False in results else None if None in results else True


def _class_of(recipe: r.Recipe) -> r.QualifiedName | None:
    """The class of a value that is no exact builtin."""
    return recipe.of if isinstance(recipe, _OfClass) else None


def builtin_of(recipe: r.Recipe) -> str | None:
    """The name of the builtin class that a value is an exact instance of."""
    match recipe:
        case r.LiteralRecipe(value):
            return "None" if value is None else type(value).__name__
        case r.ItemsRecipe(kind):
            return kind
        case r.EntriesRecipe():
            return "dict"
        case r.BytearrayRecipe():
            return "bytearray"
        case r.FunctionRecipe():
            return "function"
        case r.ModuleRecipe():
            return "module"
        case _:
            return None  # a class has a metaclass, which may be anything; so may a method's


def _is_builtin(own: str, wanted: str) -> bool | None:
    """Whether a value of an exact builtin class is in another one, or in an abstract one."""
    if (wanted, own) in _TOLERATED:
        return None
    if wanted in _ABSTRACT:
        return own in _ABSTRACT[wanted]
    if wanted in BUILTINS or wanted == "None":
        return own == wanted or own in _PROMOTED.get(wanted, ())
    return None


def _is_one_of(recipe: r.Recipe, whole: bool, values: tuple[object, ...]) -> bool | None:
    if not isinstance(recipe, r.LiteralRecipe):
        return False
    kinds = {type(value) for value in values}
    if type(recipe.value) not in kinds:
        # True and 1 are equal: one may be written for the other.
        return None if any(value == recipe.value for value in values) else False
    if not whole:
        return None
    return any(type(value) is type(recipe.value) and value == recipe.value for value in values)
