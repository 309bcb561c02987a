"""Recorded values as Python source: literals, constructor calls, variables for shared objects.

Invariant: the source creates exactly the recorded value. A value that cannot be written so raises
`CannotRebuild` with the reason; nothing is ever written in part.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable

from whence.errors import WhenceError
from whence.langs.python.rebuilding.import_names import ImportNames
from whence.langs.python.rebuilding.source_layout import Group, Text, flat, fold
from whence.langs.python.record import matches
from whence.langs.python.source.definitions import NOT_LITERAL, Construction, ModuleDefinitions
from whence.langs.python.trace.value_recipes import (
    BytearrayRecipe,
    ClassRecipe,
    EntriesRecipe,
    ExceptionRecipe,
    ExtendedRecipe,
    FunctionRecipe,
    InstanceRecipe,
    ItemsRecipe,
    LiteralRecipe,
    MemberRecipe,
    MethodRecipe,
    ModuleRecipe,
    QualifiedName,
    Recipe,
    SharedRecipe,
    State,
    SummaryRecipe,
    UnboundRecipe,
    UnknownRecipe,
    literal_arguments,
    walk,
)

_BRACKETS = {"list": ("[", "]"), "tuple": ("(", ")"), "set": ("{", "}")}
_SNAKE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class CannotRebuild(WhenceError):
    """A value cannot be written as source; says which and why."""


def plain(recipe: Recipe) -> object:
    """The value of a recipe that consists of literals; `NOT_LITERAL` for others."""
    match recipe:
        case LiteralRecipe(value):
            return value
        case ItemsRecipe("list" | "tuple" | "set" as kind, items):
            values = [plain(item) for item in items]
            if any(item_value is NOT_LITERAL for item_value in values):
                return NOT_LITERAL
            try:
                return {"list": list, "tuple": tuple, "set": set}[kind](values)
            except TypeError:
                return NOT_LITERAL
        case EntriesRecipe(entries):
            pairs = [(plain(key), plain(value)) for key, value in entries]
            if any(key is NOT_LITERAL or value is NOT_LITERAL for key, value in pairs):
                return NOT_LITERAL
            return dict(pairs)
        case _:
            return NOT_LITERAL


def same(one: object, other: object) -> bool:
    """Whether two plain values are the same, including their types."""
    return repr(one) == repr(other)


class ValueWriter:
    """Writes the values of one call, with statements where an expression is not enough.

    It has many methods because it has one for each kind of recipe; they share the variables.
    """

    def __init__(
        self, imports: ImportNames, module: Callable[[str], ModuleDefinitions | None]
    ) -> None:
        """`module` gives the definitions of a module, if its text is available."""
        self.imports = imports
        self.statements: list[str] = []
        self._module = module
        self._named: dict[int, str] = {}
        self._known: dict[int, Recipe] = {}
        self._shared: set[int] = set()

    def register(self, recipes: Iterable[Recipe]) -> None:
        """Register all values that will be written, to find what they share."""
        for part in (part for recipe in recipes for part in walk(recipe)):
            if isinstance(part, SharedRecipe):
                self._shared.add(part.label)
            elif (label := getattr(part, "label", None)) is not None:
                self._known.setdefault(label, part)

    def variable(self, hint: str, recipe: Recipe) -> str:
        """A variable that holds the value."""
        target = self._target(recipe)
        label = getattr(target, "label", None)
        if label in self._named:
            return self._named[label]
        if self._contains_itself(target):
            return self._cyclic(target, hint)
        if isinstance(target, InstanceRecipe):
            return self._instance_variable(target, hint)
        return self._assign(hint, self._new(target), label)

    def expression(self, recipe: Recipe) -> Text:
        """The value as an expression; shared values get variables."""
        target = self._target(recipe)
        label = getattr(target, "label", None)
        if label is not None and label in self._named:
            return self._named[label]
        if label is not None and label in self._shared:
            return self.variable(variable_name(target), target)
        return self._new(target)

    def _target(self, recipe: Recipe) -> Recipe:
        if not isinstance(recipe, SharedRecipe):
            return recipe
        target = self._known.get(recipe.label)
        if target is None:
            raise CannotRebuild("something refers to an object that was not recorded")
        return target

    def _assign(self, hint: str, value: Text, label: int | None) -> str:
        name = self.imports.variable(hint)
        self.statements += fold(value, before=f"{name} = ")
        if label is not None:
            self._named[label] = name
        return name

    # --- what contains itself --------------------------------------------------------------------

    def _contains_itself(self, recipe: Recipe) -> bool:
        label = getattr(recipe, "label", None)
        if label is None or label not in self._shared:
            return False
        left, visited = [recipe], {label}
        while left:
            for part in walk(left.pop()):
                if isinstance(part, SharedRecipe):
                    if part.label == label:
                        return True
                    if part.label not in visited and part.label in self._known:
                        visited.add(part.label)
                        left.append(self._known[part.label])
        return False

    def _cyclic(self, recipe: Recipe, hint: str) -> str:
        """Create an empty object first, to which its own contents can refer."""
        match recipe:
            case InstanceRecipe(of, state, label):
                name = self._assign(hint, self._raw(of), label)
                self._set_state(name, of, state)
            case ItemsRecipe("list", items, label):
                name = self._assign(hint, "[]", label)
                whole = Group("[", tuple(("", self.expression(item)) for item in items), "]")
                self.statements += fold(whole, before=f"{name} += ")
            case EntriesRecipe(entries, label):
                name = self._assign(hint, "{}", label)
                self.statements += fold(self._entries(entries), before=f"{name} |= ")
            case _:
                raise CannotRebuild(f"{variable_name(recipe)} contains itself")
        return name

    # --- kinds of values -------------------------------------------------------------------------

    def _new(self, recipe: Recipe) -> Text:
        match recipe:
            case LiteralRecipe(value):
                return literal_source(value)
            case ItemsRecipe():
                return self._items(recipe)
            case EntriesRecipe(entries):
                return self._entries(entries)
            case BytearrayRecipe(content):
                return f"bytearray({content!r})"
            case MemberRecipe(of, name):
                return f"{self.imports.name(of)}.{name}"
            case ClassRecipe(class_name) | FunctionRecipe(class_name):
                return self.imports.name(class_name)
            case ModuleRecipe(name):
                return self.imports.module(name)
            case MethodRecipe(qualname, owner):
                return self._method(qualname.rpartition(".")[2], self._target(owner))
            case SummaryRecipe():
                return summary_source(self.imports, recipe)
            case ExtendedRecipe():
                return self._extended(recipe)
            case ExceptionRecipe():
                return self._exception(recipe)
            case InstanceRecipe():
                return self._instance(recipe)
            case UnknownRecipe(reason):
                raise CannotRebuild(reason)
            case UnboundRecipe():
                raise CannotRebuild("a variable without a value")
            case SharedRecipe():
                return self._new(self._target(recipe))

    def _items(self, recipe: ItemsRecipe) -> Text:
        parts = tuple(("", self.expression(item)) for item in recipe.items)
        if recipe.kind == "frozenset":
            return f"frozenset({flat(Group('{', parts, '}'))})" if parts else "frozenset()"
        if recipe.kind == "set" and not parts:
            return "set()"
        return Group(_BRACKETS[recipe.kind][0], parts, _BRACKETS[recipe.kind][1])

    def _entries(self, entries: tuple[tuple[Recipe, Recipe], ...]) -> Group:
        parts = [(flat(self.expression(k)) + ": ", self.expression(v)) for k, v in entries]
        return Group("{", tuple(parts), "}")

    def _method(self, method: str, owner: Recipe) -> Text:
        if isinstance(owner, ClassRecipe | ModuleRecipe):
            return f"{flat(self.expression(owner))}.{method}"
        return f"{self.variable(variable_name(owner), owner)}.{method}"

    def _extended(self, recipe: ExtendedRecipe) -> Text:
        name = self.imports.name(recipe.of)
        definitions = self._module(recipe.of.module)
        if recipe.of in _PLAIN_MAPPINGS and not recipe.state:
            return Group(f"{name}(", (("", self.expression(recipe.content)),), ")")
        fields = definitions.tuple_fields(recipe.of.qualname) if definitions else None
        content = self._target(recipe.content)
        items = content.items if isinstance(content, ItemsRecipe) else ()
        if fields is not None and isinstance(content, ItemsRecipe) and len(fields) == len(items):
            parts = zip(fields, items, strict=True)
            named = tuple((f"{field}=", self.expression(part)) for field, part in parts)
            return Group(f"{name}(", named, ")")
        if definitions is None or not definitions.extends_plainly(recipe.of.qualname):
            raise CannotRebuild(f"an object of {recipe.of}: how it is made is not known")
        expression = Group(f"{name}(", (("", self._new(content)),), ")")
        if not recipe.state:
            return expression
        variable = self._assign(variable_name(recipe), expression, recipe.label)
        self._set_state(variable, recipe.of, recipe.state)
        return variable

    def _exception(self, recipe: ExceptionRecipe) -> Text:
        name = self.imports.name(recipe.of)
        args = self._target(recipe.args)
        if not isinstance(args, ItemsRecipe):
            raise CannotRebuild(f"the exception {recipe.of}: its arguments are not known")
        parts = tuple(("", self.expression(item)) for item in args.items)
        definitions = self._module(recipe.of.module)
        simple = recipe.of.module == "builtins" or (
            definitions is not None and definitions.extends_plainly(recipe.of.qualname)
        )
        expression = Group(f"{name}(", parts, ")")
        if not simple:
            expression = Group(f"{name}.__new__(", (("", name), *parts), ")")
        if not recipe.state:
            return expression
        variable = self._assign("error", expression, recipe.label)
        self._set_state(variable, recipe.of, recipe.state)
        return variable

    # --- instances -------------------------------------------------------------------------------

    def _instance(self, recipe: InstanceRecipe) -> Text:
        construction = self._construct(recipe)
        if construction is not None and not construction[1]:
            return construction[0]
        return self._instance_variable(recipe, variable_name(recipe))

    def _instance_variable(self, recipe: InstanceRecipe, hint: str) -> str:
        expression, state = self._construct(recipe) or (self._raw(recipe.of), recipe.state)
        name = self._assign(hint, expression, recipe.label)
        self._set_state(name, recipe.of, state)
        return name

    def _construct(self, recipe: InstanceRecipe) -> tuple[Text, State] | None:
        """A constructor call, and the attributes that must be set after it."""
        definitions = self._module(recipe.of.module)
        construction = definitions.construction(recipe.of.qualname) if definitions else None
        state = dict(recipe.state)
        if construction is None or not _fits(construction, state):
            return None
        parts = []
        for parameter, attribute, default in construction.parameters:
            value = state.pop(attribute)
            if default is NOT_LITERAL or not same(plain(value), default):
                parts.append((f"{parameter}=", self.expression(value)))
        for attribute, constant in construction.constants.items():
            if same(plain(state[attribute]), constant):
                del state[attribute]
        if state and construction.frozen:
            return None
        name = self.imports.name(recipe.of)
        return Group(f"{name}(", tuple(parts), ")"), tuple(state.items())

    def _raw(self, of: QualifiedName) -> str:
        if of.module in ("builtins", ""):
            raise CannotRebuild(f"an object of {of}: how it is made is not known")
        name = self.imports.name(of)
        # A comment on the line before says why this is no constructor call.
        comment = f"# The constructor of {of.qualname} does more than to take its attributes."
        if comment not in self.statements:
            self.statements.append(comment)
        return f"object.__new__({name})"

    def _set_state(self, variable: str, of: QualifiedName, state: State) -> None:
        definitions = self._module(of.module)
        plainly = definitions is not None and definitions.sets_plainly(of.qualname)
        for attribute, recipe in state:
            value = self.expression(recipe)
            if plainly and attribute.isidentifier():
                self.statements += fold(value, before=f"{variable}.{attribute} = ")
            else:
                before = f"object.__setattr__({variable}, {literal_source(attribute)}, "
                self.statements += fold(value, before=before, after=")")


def _fits(construction: Construction, state: dict[str, Recipe]) -> bool:
    attributes = {attribute for _, attribute, _ in construction.parameters}
    return attributes.union(construction.constants) <= set(state)


def variable_name(recipe: Recipe) -> str:
    """A variable name for such a value."""
    of = getattr(recipe, "of", None)
    if isinstance(of, QualifiedName):
        last = of.qualname.rpartition(".")[2]
        return _SNAKE.sub("_", last).lower()
    names = {ItemsRecipe: "items", EntriesRecipe: "table"}
    return names.get(type(recipe), "value")


# --- atoms ---------------------------------------------------------------------------------------


def literal_source(value: object) -> str:
    """A literal as people write it."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, complex) and not (math.isfinite(value.real + value.imag)):
        return f"complex({literal_source(value.real)}, {literal_source(value.imag)})"
    text = repr(value)
    if isinstance(value, str) and "'" not in value and '"' not in value:
        return f'"{text[1:-1]}"'
    return text


_PLAIN_MAPPINGS = {
    QualifiedName("collections", "OrderedDict"),
    QualifiedName("collections", "Counter"),
    QualifiedName("builtins", "frozendict"),
}
"""Mappings that are made from a dict."""
_IN_MODULE = {
    "decimal": {"Decimal"},
    "fractions": {"Fraction"},
    "uuid": {"UUID"},
    "collections": {"deque"},
    "array": {"array"},
}
_DTYPES = set("biufcSU")


def summary_source(imports: ImportNames, recipe: SummaryRecipe) -> Text:
    """An expression that creates the value that `record/summaries.py` summarized."""
    of, text = recipe.of, recipe.text
    package = of.module.partition(".")[0]
    if package in ("datetime", "zoneinfo"):
        imports.module("datetime")
        if "zoneinfo." in text:
            imports.module("zoneinfo")
        return text
    if package == "pathlib":
        # The program's Path is the one of the machine it runs on.
        name = of.qualname.removeprefix("Posix") if of.qualname == "PosixPath" else of.qualname
        return imports.name(QualifiedName("pathlib", name)) + text.removeprefix(of.qualname)
    if package == "re":
        imports.module("re")
        return _match(recipe) if of.qualname == "Match" else text
    if package == "builtins" and of.qualname == "slice":
        return text
    if package in _IN_MODULE and of.qualname in _IN_MODULE[package]:
        arguments = text[len(of.qualname) :]
        if literal_arguments(text) is not None:
            return imports.name(QualifiedName(package, of.qualname)) + arguments
    if package == "numpy":
        return _numpy(imports, recipe)
    flags = text.removeprefix(f"{of.qualname}.").split("|")
    if text.startswith(f"{of.qualname}.") and all(flag.isidentifier() for flag in flags):
        return " | ".join(f"{imports.name(of)}.{flag}" for flag in flags)
    raise CannotRebuild(f"an object of {of}: {text[:60]}")


def _match(recipe: SummaryRecipe) -> Text:
    match = matches.read(recipe.text)
    source = None if match is None else matches.rebuild(match)
    if source is None:
        raise CannotRebuild("a match that no function of re gives")
    return source[1]


def _numpy(imports: ImportNames, recipe: SummaryRecipe) -> Text:
    parsed = literal_arguments(recipe.text)
    if parsed is None:
        raise CannotRebuild(f"an object of {recipe.of}: {recipe.text[:60]}")
    called, positional, named = parsed
    numpy = imports.module("numpy")
    if called != "array":
        return f"{numpy}.{called}({', '.join(map(literal_source, positional))})"
    dtype = named.get("dtype")
    if not isinstance(dtype, str) or dtype.strip("<>|=")[:1] not in _DTYPES:
        raise CannotRebuild(f"an array of {dtype}")
    values = positional[0] if positional else []
    array = f"{numpy}.array({values!r}, dtype={literal_source(dtype)})"
    shape = named.get("shape")
    return array if shape is None else f"{array}.reshape({shape!r})"
