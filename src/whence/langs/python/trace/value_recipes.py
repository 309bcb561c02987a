"""A recorded value as a recipe to make it again, read straight from the bytes of a trace.

A `Value` is for eyes: it has names shortened and types written as text. A recipe says what each
part is, of which module and type, and which parts are one object. Two use it: another process,
which makes the objects, and whoever writes them as source text. Nothing is made here: reading a
trace runs nothing that is in it. `call_recipes.py` has `inputs_of`, `outcome_of` and whole calls.

Invariant: what cannot be made again is an `Unknown` with the reason, never left out and never
guessed. A recipe without an `Unknown` stands for all that there was, but for what an object hides
from everybody. Sharing is kept: a value that something refers to has a `label`, and `Shared` is
that object once more, also inside itself, or inside another recipe of the same call.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.trace_format import read_bytes, read_text, read_v, read_z
from whence.langs.python.trace.trace_tables import TypeEntry
from whence.langs.python.trace.value_decoder import Decoder

_CUT: Final = "beyond what was recorded"


@dataclass(frozen=True, slots=True)
class Name:
    """Where a class or function is found: a module, and the dotted path in it."""

    module: str
    qualname: str

    def __str__(self) -> str:
        return f"{self.module}.{self.qualname}" if self.module else self.qualname

    @property
    def is_local(self) -> bool:
        """Whether it was made by a call, so that no path leads to it."""
        return "<" in self.qualname


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that Python writes as it is: None, a bool, a number, a str, bytes."""

    value: bool | int | float | complex | str | bytes | None


@dataclass(frozen=True, slots=True)
class Items:
    """An exact list, tuple, set or frozenset, by the name of its type."""

    kind: str
    items: tuple[Recipe, ...]
    label: int | None = None


@dataclass(frozen=True, slots=True)
class Entries:
    """An exact dict, in its order."""

    entries: tuple[tuple[Recipe, Recipe], ...]
    label: int | None = None


@dataclass(frozen=True, slots=True)
class Bytearray:
    """An exact bytearray."""

    content: bytes
    label: int | None = None


State: TypeAlias = "tuple[tuple[str, Recipe], ...]"
"""Attributes by name, as they stand in `__dict__` and in slots."""


@dataclass(frozen=True, slots=True)
class Instance:
    """An object by its class and raw state."""

    of: Name
    state: State
    label: int | None = None


@dataclass(frozen=True, slots=True)
class Extended:
    """An instance of a subclass of a builtin: what it holds as the builtin, and its state."""

    of: Name
    content: Recipe
    state: State
    label: int | None = None


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception by its class, `args` (a tuple) and state."""

    of: Name
    args: Recipe
    state: State
    label: int | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an enum."""

    of: Name
    name: str
    label: int | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A value of the standard library, numpy or pandas by a text that says all that it is.

    `text` is that of `record/summaries.py`: `Decimal('1.5')`, `datetime.date(2024, 1, 31)`.
    """

    of: Name
    text: str
    label: int | None = None


@dataclass(frozen=True, slots=True)
class ClassItself:
    """A class."""

    name: Name


@dataclass(frozen=True, slots=True)
class FunctionItself:
    """A function, or one of a module in C."""

    name: Name


@dataclass(frozen=True, slots=True)
class Method:
    """A function bound to an object; `qualname` is the function's."""

    qualname: str
    owner: Recipe
    label: int | None = None


@dataclass(frozen=True, slots=True)
class ModuleItself:
    """A module."""

    name: str


@dataclass(frozen=True, slots=True)
class Shared:
    """The object that carries this label."""

    label: int


@dataclass(frozen=True, slots=True)
class Unbound:
    """A name without a value."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """What cannot be made again, and why."""

    reason: str
    label: int | None = None


Recipe: TypeAlias = (
    Literal | Items | Entries | Bytearray | Instance | Extended | Raised | Member | Written
    | ClassItself | FunctionItself | Method | ModuleItself | Shared | Unbound | Unknown
)  # fmt: skip


def parts(recipe: Recipe) -> tuple[Recipe, ...]:
    """The recipes that one consists of."""
    match recipe:
        case Items(_, items):
            return items
        case Entries(entries):
            return tuple(part for entry in entries for part in entry)
        case Instance(_, state):
            return tuple(part for _, part in state)
        case Extended(_, content, state) | Raised(_, content, state):
            return (content, *(part for _, part in state))
        case Method(_, owner):
            return (owner,)
        case _:
            return ()


def walk(recipe: Recipe) -> Iterator[Recipe]:
    """The recipe and all that is in it."""
    left = [recipe]
    while left:
        each = left.pop()
        yield each
        left += reversed(parts(each))


def why_unknown(recipe: Recipe) -> str | None:
    """Why it cannot be made again; None if it can."""
    return next((each.reason for each in walk(recipe) if isinstance(each, Unknown)), None)


_OBJECT = Name("builtins", "object")
_KINDS = {f.LIST: "list", f.TUPLE: "tuple", f.SET: "set", f.FROZENSET: "frozenset"}
_CONSTANTS: dict[int, Recipe] = {
    f.UNBOUND: Unbound(),
    f.NONE: Literal(None),
    f.TRUE: Literal(True),
    f.FALSE: Literal(False),
    f.LEFT_OUT: Unknown(_CUT),
    **{f.SMALL + number: Literal(number) for number in range(f.SMALL)},
}


class RecipeReader(Decoder[Recipe]):
    """Reads one root value as what can be made again of it.

    Labels are those of `decoding.Identities`: whoever reads all values of a call reads them a
    second time if the first reading found that some are shared.
    """

    constants = _CONSTANTS

    # --- values without parts --------------------------------------------------------------------

    def _plain(self, kind: int, place: int) -> tuple[Recipe, int]:
        data = self._data
        if kind == f.WHOLE:
            number, place = read_z(data, place)
            return Literal(number), place
        if kind == f.STRING:
            text, place = read_text(data, place)
            return Literal(text), place
        if kind == f.FLOAT:
            return Literal(self._float(place)), place + 8
        if kind == f.COMPLEX:
            return Literal(complex(self._float(place), self._float(place + 8))), place + 16
        if kind == f.CUT_STRING:
            _, place = read_v(data, place)
            _, place = read_text(data, place)
            return Unknown("a text longer than what was recorded of it"), place
        if kind == f.LARGE:
            return self._large(place)
        if kind == f.BYTES:
            content, place = self._blob(place)
            cut = Unknown("bytes longer than what was recorded of them")
            return (cut if content is None else Literal(content)), place
        return self._named(kind, place)

    def _named(self, kind: int, place: int) -> tuple[Recipe, int]:
        number, place = read_v(self._data, place)
        if kind == f.CLASS:
            return _found(ClassItself(_name(self._tables.type(number)))), place
        if kind == f.MODULE:
            return ModuleItself(self._tables.name(number)), place
        if kind == f.FUNCTION:
            qualname, place = read_v(self._data, place)
            name = Name(self._tables.name(number), self._tables.name(qualname))
            return _found(FunctionItself(name)), place
        return Shared(self._referred(kind, number)), place

    def _large(self, place: int) -> tuple[Recipe, int]:
        negative = self._byte(place) != 0
        bits, place = read_v(self._data, place + 1)
        raw, place = read_bytes(self._data, place)
        if -(-bits // 8) != len(raw):
            return Unknown("a number longer than what was recorded of it"), place
        number = int.from_bytes(raw, "little")
        return Literal(-number if negative else number), place

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
                return Unknown("bytes longer than what was recorded of them", label), place
            return Bytearray(content, label), place
        if kind in _KINDS:
            items, whole, place = self._items(place, nesting)
            label = self._label(number)
            made = Items(_KINDS[kind], items, label)
            return made if whole else _cut(_KINDS[kind], label), place
        if kind == f.DICT:
            entries, whole, place = self._entries(place, nesting)
            label = self._label(number)
            return Entries(entries, label) if whole else _cut("dict", label), place
        if kind == f.METHOD:
            name, place = read_v(self._data, place)
            owner, place = self._value(place, nesting + 1)
            label = self._label(number)
            qualname = self._tables.name(name)
            if "<" in qualname:
                return Unknown(f"the method {qualname}, which a call made", label), place
            return Method(qualname, owner, label), place
        return self._typed(kind, place, nesting, number)

    def _typed(self, kind: int, place: int, nesting: int, number: int) -> tuple[Recipe, int]:
        """A container that names its type."""
        type_number, place = read_v(self._data, place)
        named = self._tables.type(type_number)
        name = _name(named)
        if kind == f.OPAQUE:
            reason = f"an object of {named.full}, whose state cannot be seen"
            return Unknown(reason, self._label(number)), place
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
            return Unknown(f"an object of {name.qualname}, a class that a call made", label), place
        if not whole:
            return _cut(named.full, label), place
        if name == _OBJECT:
            return Unknown("an object that is known only by being that one", label), place
        if content is None and named.flags & f.C_TYPE:
            return Unknown(f"a {named.full}, which is not made of its attributes", label), place
        if content is None:
            return Instance(name, state, label), place
        if kind == f.SUBCLASS and named.flags & f.C_TYPE:
            # The order of an OrderedDict, what a defaultdict makes.
            return Unknown(f"a {named.full}, which holds more than can be seen", label), place
        made = Extended if kind == f.SUBCLASS else Raised
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


def _name(entry: TypeEntry) -> Name:
    return Name(entry.module, entry.qualname)


def _found(recipe: ClassItself | FunctionItself) -> Recipe:
    """The recipe, unless no path leads to what it names."""
    name = recipe.name
    if name.is_local:
        what = "class" if isinstance(recipe, ClassItself) else "function"
        return Unknown(f"the {what} {name.qualname}, which a call made")
    return recipe


def _cut(what: str, label: int | None) -> Unknown:
    return Unknown(f"a {what} of which less was recorded than there is", label)


_MEMBER = re.compile(r"[^\W\d]\w*\Z")


def _summary(of: Name, text: str, complete: bool, label: int | None) -> Recipe:
    """An enum member by its name; else what a text says, if it says all."""
    if not complete:
        return Unknown(f"an object of {of} of which only a summary was recorded", label)
    if of.is_local:
        return Unknown(f"an object of {of.qualname}, a class that a call made", label)
    prefix, dot, name = text.rpartition(".")
    if dot and prefix == of.qualname and _MEMBER.match(name):
        return Member(of, name, label)
    return Written(of, text, label)


def literal_arguments(text: str) -> tuple[str, list[object], dict[str, object]] | None:
    """A text such as `Decimal('1.5')` as a name, arguments and named ones; None if it is none.

    Only literals are taken, so that nothing is run.
    """
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call):
            return None
        positional = [ast.literal_eval(each) for each in call.args]
        named = {each.arg: ast.literal_eval(each.value) for each in call.keywords if each.arg}
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    if len(named) != len(call.keywords):
        return None
    return ast.unparse(call.func), positional, named
