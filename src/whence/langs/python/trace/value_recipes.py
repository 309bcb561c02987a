"""A recorded value as a recipe to rebuild it, read straight from the bytes of a trace.

A `Value` is for display: its names are shortened and its types are text. A recipe says what each
part is, of which module and type, and which parts are one object. A worker process builds objects
from it, and others write it as source text. Nothing is built here: reading a trace runs nothing
that is in it. `call_recipes.py` has the recipes of whole calls.

Invariant: what cannot be rebuilt is an `UnknownRecipe` with the reason, never left out and never
guessed. A recipe without one stands for the whole value, but for what an object hides from
everybody. Sharing is kept: a value that something refers to has a `label`, and a `SharedRecipe` is
that object again, inside itself or inside another recipe of the same call.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.trace_format import read_bytes, read_text, read_v, read_z
from whence.langs.python.trace.trace_tables import TypeEntry
from whence.langs.python.trace.value_decoder import ValueDecoder

_CUT: Final = "beyond what was recorded"


@dataclass(frozen=True, slots=True)
class QualifiedName:
    """The path to a class or function: a module, and the dotted path in it."""

    module: str
    qualname: str

    def __str__(self) -> str:
        return f"{self.module}.{self.qualname}" if self.module else self.qualname

    @property
    def is_local(self) -> bool:
        """Whether it was defined inside a call, so that no path leads to it."""
        return "<" in self.qualname


@dataclass(frozen=True, slots=True)
class LiteralRecipe:
    """A value with a literal: None, a bool, a number, a str, bytes."""

    value: bool | int | float | complex | str | bytes | None


@dataclass(frozen=True, slots=True)
class ItemsRecipe:
    """An exact list, tuple, set or frozenset, by the name of its type."""

    kind: str
    items: tuple[Recipe, ...]
    label: int | None = None


@dataclass(frozen=True, slots=True)
class EntriesRecipe:
    """An exact dict, in its order."""

    entries: tuple[tuple[Recipe, Recipe], ...]
    label: int | None = None


@dataclass(frozen=True, slots=True)
class BytearrayRecipe:
    """An exact bytearray."""

    content: bytes
    label: int | None = None


State: TypeAlias = "tuple[tuple[str, Recipe], ...]"
"""Attributes by name, from `__dict__` and slots."""


@dataclass(frozen=True, slots=True)
class InstanceRecipe:
    """An object by its class and raw state."""

    of: QualifiedName
    state: State
    label: int | None = None


@dataclass(frozen=True, slots=True)
class ExtendedRecipe:
    """An instance of a subclass of a builtin: what it holds as the builtin, and its state."""

    of: QualifiedName
    content: Recipe
    state: State
    label: int | None = None


@dataclass(frozen=True, slots=True)
class ExceptionRecipe:
    """An exception by its class, `args` (a tuple) and state."""

    of: QualifiedName
    args: Recipe
    state: State
    label: int | None = None


@dataclass(frozen=True, slots=True)
class MemberRecipe:
    """A member of an enum."""

    of: QualifiedName
    name: str
    label: int | None = None


@dataclass(frozen=True, slots=True)
class SummaryRecipe:
    """A value of the standard library, numpy or pandas by a complete summary.

    `text` is that of `record/summaries.py`: `Decimal('1.5')`, `datetime.date(2024, 1, 31)`.
    """

    of: QualifiedName
    text: str
    label: int | None = None


@dataclass(frozen=True, slots=True)
class ClassRecipe:
    """A class."""

    name: QualifiedName


@dataclass(frozen=True, slots=True)
class FunctionRecipe:
    """A function, or one of a module in C."""

    name: QualifiedName


@dataclass(frozen=True, slots=True)
class MethodRecipe:
    """A function bound to an object; `qualname` is the function's."""

    qualname: str
    owner: Recipe
    label: int | None = None


@dataclass(frozen=True, slots=True)
class ModuleRecipe:
    """A module."""

    name: str


@dataclass(frozen=True, slots=True)
class SharedRecipe:
    """The object that carries this label."""

    label: int


@dataclass(frozen=True, slots=True)
class UnboundRecipe:
    """A name without a value."""


@dataclass(frozen=True, slots=True)
class UnknownRecipe:
    """A value that cannot be rebuilt, and why."""

    reason: str
    label: int | None = None


@dataclass(frozen=True, slots=True)
class SecretRecipe(UnknownRecipe):
    """A secret: it cannot be rebuilt, but equal ones have equal digests."""

    reason: str = "it is a secret, which is not recorded"
    digest: tuple[int, int, str] = (0, 0, "")
    """Its kind and length are part of it."""


Recipe: TypeAlias = (
    LiteralRecipe | ItemsRecipe | EntriesRecipe | BytearrayRecipe | InstanceRecipe | ExtendedRecipe
    | ExceptionRecipe | MemberRecipe | SummaryRecipe | ClassRecipe | FunctionRecipe | MethodRecipe
    | ModuleRecipe | SharedRecipe | UnboundRecipe | UnknownRecipe
)  # fmt: skip


def parts(recipe: Recipe) -> tuple[Recipe, ...]:
    """The recipes that one consists of."""
    match recipe:
        case ItemsRecipe(_, items):
            return items
        case EntriesRecipe(entries):
            return tuple(part for entry in entries for part in entry)
        case InstanceRecipe(_, state):
            return tuple(part for _, part in state)
        case ExtendedRecipe(_, content, state) | ExceptionRecipe(_, content, state):
            return (content, *(part for _, part in state))
        case MethodRecipe(_, owner):
            return (owner,)
        case _:
            return ()


def walk(recipe: Recipe) -> Iterator[Recipe]:
    """The recipe and all that is in it."""
    left = [recipe]
    while left:
        part = left.pop()
        yield part
        left += reversed(parts(part))


def unlabelled(recipe: Recipe) -> Recipe:
    """The recipe without the labels that tell its objects from others of its call."""
    match recipe:
        case ItemsRecipe(kind, items):
            return ItemsRecipe(kind, tuple(map(unlabelled, items)))
        case EntriesRecipe(entries):
            return EntriesRecipe(tuple((unlabelled(k), unlabelled(v)) for k, v in entries))
        case InstanceRecipe(of, state):
            return InstanceRecipe(of, _unlabelled_state(state))
        case ExtendedRecipe(of, content, state) | ExceptionRecipe(of, content, state):
            return type(recipe)(of, unlabelled(content), _unlabelled_state(state))
        case MethodRecipe(qualname, owner):
            return MethodRecipe(qualname, unlabelled(owner))
        case BytearrayRecipe() | MemberRecipe() | SummaryRecipe() | UnknownRecipe():
            return replace(recipe, label=None)
        case _:
            return recipe


def _unlabelled_state(state: State) -> State:
    return tuple((name, unlabelled(value)) for name, value in state)


def why_unknown(recipe: Recipe) -> str | None:
    """Why it cannot be rebuilt; None if it can."""
    return next((part.reason for part in walk(recipe) if isinstance(part, UnknownRecipe)), None)


_FROZENDICT = QualifiedName("builtins", "frozendict")
_OBJECT = QualifiedName("builtins", "object")
_KINDS = {f.LIST: "list", f.TUPLE: "tuple", f.SET: "set", f.FROZENSET: "frozenset"}
_CONSTANTS: dict[int, Recipe] = {
    f.UNBOUND: UnboundRecipe(),
    f.NONE: LiteralRecipe(None),
    f.TRUE: LiteralRecipe(True),
    f.FALSE: LiteralRecipe(False),
    f.LEFT_OUT: UnknownRecipe(_CUT),
    **{f.SMALL + number: LiteralRecipe(number) for number in range(f.SMALL)},
}


class RecipeReader(ValueDecoder[Recipe]):
    """Reads one root value as a recipe.

    Labels are those of `ValueIdentities`: if the first reading of a call's values finds shared
    ones, a second reading labels them.
    """

    constants = _CONSTANTS

    # --- values without parts --------------------------------------------------------------------

    def _plain(self, kind: int, place: int) -> tuple[Recipe, int]:
        data = self._data
        if kind == f.WHOLE:
            number, place = read_z(data, place)
            return LiteralRecipe(number), place
        if kind == f.STRING:
            text, place = read_text(data, place)
            return LiteralRecipe(text), place
        if kind == f.FLOAT:
            return LiteralRecipe(self._float(place)), place + 8
        if kind == f.COMPLEX:
            return LiteralRecipe(complex(self._float(place), self._float(place + 8))), place + 16
        if kind == f.CUT_STRING:
            _, place = read_v(data, place)
            _, place = read_text(data, place)
            return UnknownRecipe("a text longer than what was recorded of it"), place
        if kind == f.LARGE:
            return self._large(place)
        if kind == f.SECRET:
            kind, length, digest, place = f.read_secret(data, place)
            return SecretRecipe(digest=(kind, length, digest.hex())), place
        if kind == f.BYTES:
            content, place = self._blob(place)
            cut = UnknownRecipe("bytes longer than what was recorded of them")
            return (cut if content is None else LiteralRecipe(content)), place
        return self._named(kind, place)

    def _named(self, kind: int, place: int) -> tuple[Recipe, int]:
        number, place = read_v(self._data, place)
        if kind == f.CLASS:
            return _found(ClassRecipe(_name(self._tables.type(number)))), place
        if kind == f.MODULE:
            return ModuleRecipe(self._tables.name(number)), place
        if kind == f.FUNCTION:
            qualname, place = read_v(self._data, place)
            name = QualifiedName(self._tables.name(number), self._tables.name(qualname))
            return _found(FunctionRecipe(name)), place
        return SharedRecipe(self._referred(kind, number)), place

    def _large(self, place: int) -> tuple[Recipe, int]:
        negative = self._byte(place) != 0
        bits, place = read_v(self._data, place + 1)
        raw, place = read_bytes(self._data, place)
        if -(-bits // 8) != len(raw):
            return UnknownRecipe("a number longer than what was recorded of it"), place
        number = int.from_bytes(raw, "little")
        return LiteralRecipe(-number if negative else number), place

    def _blob(self, place: int) -> tuple[bytes | None, int]:
        """Bytes; None if less is stored than there is."""
        length, place = read_v(self._data, place)
        raw, place = read_bytes(self._data, place)
        return (raw if len(raw) == length else None), place

    # --- containers ------------------------------------------------------------------------------

    def _container(self, kind: int, place: int, nesting: int, number: int) -> tuple[Recipe, int]:
        """A container that is the `number`-th to start in this root."""
        if kind == f.BYTEARRAY:
            content, place = self._blob(place)
            label = self._label(number)
            if content is None:
                return UnknownRecipe("bytes longer than what was recorded of them", label), place
            return BytearrayRecipe(content, label), place
        if kind in _KINDS:
            items, whole, place = self._items(place, nesting)
            label = self._label(number)
            made = ItemsRecipe(_KINDS[kind], items, label)
            return made if whole else _cut(_KINDS[kind], label), place
        if kind == f.DICT:
            entries, whole, place = self._entries(place, nesting)
            label = self._label(number)
            return EntriesRecipe(entries, label) if whole else _cut("dict", label), place
        if kind == f.METHOD:
            name, place = read_v(self._data, place)
            owner, place = self._value(place, nesting + 1)
            label = self._label(number)
            qualname = self._tables.name(name)
            if "<" in qualname:
                return UnknownRecipe(f"the method {qualname}, which a call made", label), place
            return MethodRecipe(qualname, owner, label), place
        return self._typed(kind, place, nesting, number)

    def _typed(self, kind: int, place: int, nesting: int, number: int) -> tuple[Recipe, int]:
        """A container that names its type."""
        type_number, place = read_v(self._data, place)
        named = self._tables.type(type_number)
        name = _name(named)
        if kind == f.OPAQUE:
            reason = f"an object of {named.full}, whose state cannot be seen"
            return UnknownRecipe(reason, self._label(number)), place
        if kind == f.SUMMARY:
            complete = self._byte(place) == 1
            text, place = read_text(self._data, place + 1)
            return _summary(name, text, complete, self._label(number)), place
        content: Recipe | None = None
        if kind in (f.SUBCLASS, f.EXCEPTION):
            self._contents[self._started] = number
            content, place = self._value(place, nesting + 1)
        state, whole, place = self._attributes(place, nesting)
        label = self._label(number)
        if name.is_local:
            return UnknownRecipe(
                f"an object of {name.qualname}, a class that a call made", label
            ), place
        if not whole:
            return _cut(named.full, label), place
        if name == _OBJECT:
            return UnknownRecipe("a plain object(), for which no other can stand", label), place
        if content is None and named.flags & f.C_TYPE:
            return UnknownRecipe(
                f"a {named.full}, which is not made of its attributes", label
            ), place
        if content is None:
            return InstanceRecipe(name, state, label), place
        if kind == f.SUBCLASS and named.flags & f.C_TYPE and name != _FROZENDICT:
            # The order of an OrderedDict, what a defaultdict makes.
            return UnknownRecipe(f"a {named.full}, which holds more than can be seen", label), place
        made = ExtendedRecipe if kind == f.SUBCLASS else ExceptionRecipe
        return made(name, content, state, label), place

    def _label(self, number: int) -> int | None:
        return self._root.identity(number)

    def _items(self, place: int, nesting: int) -> tuple[tuple[Recipe, ...], bool, int]:
        stored, omitted, place = self._counts(place)
        items: list[Recipe] = []
        for _ in range(stored):
            item, place = self._value(place, nesting + 1)
            items.append(item)
        return tuple(items), not omitted, place

    def _entries(
        self, place: int, nesting: int
    ) -> tuple[tuple[tuple[Recipe, Recipe], ...], bool, int]:
        stored, omitted, place = self._counts(place)
        entries: list[tuple[Recipe, Recipe]] = []
        for _ in range(stored):
            key, place = self._value(place, nesting + 1)
            value, place = self._value(place, nesting + 1)
            entries.append((key, value))
        return tuple(entries), not omitted, place

    def _attributes(self, place: int, nesting: int) -> tuple[State, bool, int]:
        stored, omitted, place = self._counts(place)
        state: list[tuple[str, Recipe]] = []
        for _ in range(stored):
            number, place = read_v(self._data, place)
            value, place = self._value(place, nesting + 1)
            state.append((self._tables.name(number), value))
        return tuple(state), not omitted, place


def _name(entry: TypeEntry) -> QualifiedName:
    return QualifiedName(entry.module, entry.qualname)


def _found(recipe: ClassRecipe | FunctionRecipe) -> Recipe:
    """The recipe, unless no path leads to what it names."""
    name = recipe.name
    if name.is_local:
        what = "class" if isinstance(recipe, ClassRecipe) else "function"
        return UnknownRecipe(f"the {what} {name.qualname}, which a call made")
    return recipe


def _cut(what: str, label: int | None) -> UnknownRecipe:
    return UnknownRecipe(f"a {what} of which less was recorded than there is", label)


_MEMBER = re.compile(r"[^\W\d]\w*\Z")


def _summary(of: QualifiedName, text: str, complete: bool, label: int | None) -> Recipe:
    """The recipe of a summary: an enum member by its name, or a complete text."""
    if not complete:
        return UnknownRecipe(f"an object of {of} of which only a summary was recorded", label)
    if of.is_local:
        return UnknownRecipe(f"an object of {of.qualname}, a class that a call made", label)
    prefix, dot, name = text.rpartition(".")
    if dot and prefix == of.qualname and _MEMBER.match(name):
        return MemberRecipe(of, name, label)
    return SummaryRecipe(of, text, label)


def literal_arguments(text: str) -> tuple[str, list[object], dict[str, object]] | None:
    """Parse a text such as `Decimal('1.5')`: its name, arguments and keyword arguments.

    None if it is no call, or an argument is no literal. Nothing is run.
    """
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call):
            return None
        positional = [ast.literal_eval(argument) for argument in call.args]
        named = {
            argument.arg: ast.literal_eval(argument.value)
            for argument in call.keywords
            if argument.arg
        }
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    if len(named) != len(call.keywords):
        return None
    return ast.unparse(call.func), positional, named
